from django.db import migrations

from memory.triggers import run_sql_file


def create_triggers(apps, schema_editor):
    if schema_editor.connection.vendor == "sqlite":
        run_sql_file(schema_editor.connection, "change_triggers")
    with schema_editor.connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO memory_changes(api_key_id, memory_id) SELECT api_key_id, memory_id FROM memories ORDER BY memory_id"
        )


def drop_triggers(apps, schema_editor):
    with schema_editor.connection.cursor() as cursor:
        if schema_editor.connection.vendor == "sqlite":
            for event in ("ai", "ad", "au"):
                cursor.execute(f"DROP TRIGGER IF EXISTS memory_changes_{event}")
        cursor.execute("DELETE FROM memory_changes")


class Migration(migrations.Migration):
    dependencies = [("memory", "0002_fulltext")]
    operations = [migrations.RunPython(create_triggers, drop_triggers)]
