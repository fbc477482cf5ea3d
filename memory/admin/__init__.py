"""Memory in Django's admin: plain lists for bulk clean-up. Changes go through corrections, so they can be undone."""

from memory.admin import kept, memories

__all__ = ["kept", "memories"]
