from django.db import migrations

from memory.triggers import run_sql_file


def create_index(apps, schema_editor):
    if schema_editor.connection.vendor == "sqlite":
        run_sql_file(schema_editor.connection, "fulltext.up")
        run_sql_file(schema_editor.connection, "fulltext_triggers")
        with schema_editor.connection.cursor() as cursor:
            cursor.execute("INSERT INTO memory_fts(memory_fts) VALUES ('rebuild')")
            # The owner column is a filter, not evidence.
            cursor.execute("INSERT INTO memory_fts(memory_fts, rank) VALUES ('rank', 'bm25(1.0, 1.0, 1.0, 0.0)')")


def drop_index(apps, schema_editor):
    if schema_editor.connection.vendor == "sqlite":
        run_sql_file(schema_editor.connection, "fulltext.down")


class Migration(migrations.Migration):
    dependencies = [("memory", "0001_initial")]
    operations = [migrations.RunPython(create_index, drop_index)]
