#!/usr/bin/env python3
"""Command line of OmniRoute Memory: `manage.py help` lists every command."""

import os
import signal
import sys


def main() -> None:
    if sys.argv[1:2] == ["serve"]:
        # While modules load, Ctrl-C just ends the process: Python's own exception can get lost in one of them.
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "omniroute.settings")
    try:
        from django.conf import settings
        from django.core.exceptions import ImproperlyConfigured
        from django.core.management import execute_from_command_line
    except ImportError:
        sys.exit("error: Django is not installed here; `make run` makes .venv, or run .venv/bin/python manage.py")
    try:
        # Read the settings before Django does: it would bury a wrong value under "Unknown command".
        if not settings.configured:
            _ = settings.INSTALLED_APPS
        execute_from_command_line(sys.argv)
    except ImproperlyConfigured as error:
        sys.exit(f"error: {error}")


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit(130)
