"""Processes that write to a server's database past its doors, for as long as a test wants."""

import subprocess
import sys
import time

from core.db.sqlite.driver import DRIVER
from tests.live_server import ROOT, LiveServer


def hold_write_lock(server: LiveServer, seconds: float) -> None:
    """Another program on this machine that writes for a while."""
    connection = DRIVER.dbapi.connect(str(server.data_dir / "storage.sqlite"), timeout=30, isolation_level=None)
    connection.execute("BEGIN IMMEDIATE")
    time.sleep(seconds)
    connection.execute("ROLLBACK")
    connection.close()


# What an import does: many rows, one transaction each.
FILL = """
from datetime import timedelta
from django.utils import timezone
from memory import services
from memory.models import Memory
from memory.records import MemoryDraft
for number in range({count}):
    record = services.create(MemoryDraft("{owner}", "row %d" % number, "row number %d of an import" % number))
    if {days}:
        Memory.objects.filter(uuid=record.id).update(created_at=timezone.now() - timedelta(days={days}))
"""


def start_command(server: LiveServer, code: str) -> subprocess.Popen[str]:
    words = [sys.executable, "manage.py", "shell", "-v0", "-c", code]
    return subprocess.Popen(words, cwd=ROOT, env=server.environment, stdout=subprocess.PIPE, text=True)


WRITE = """
import json, time, sys
from django.db import DatabaseError, connection
from memory import services
from memory.records import MemoryDraft
with connection.cursor() as cursor:
    cursor.execute("PRAGMA busy_timeout")
    busy_ms = cursor.fetchone()[0]
ids, errors, over_at, number = [], [], time.monotonic() + {seconds}, 0
while time.monotonic() < over_at:
    number += 1
    for key in ("own-{name}-%d" % number, "shared-%d" % (number % 5)):
        try:
            ids.append(services.create(MemoryDraft("writers", key, "{name} wrote %d" % number)).id)
        except DatabaseError as error:
            errors.append(str(error))
print(json.dumps({{"ids": ids, "errors": errors, "count": number, "busy_ms": busy_ms}}))
"""
