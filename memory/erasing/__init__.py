"""Erasing all that an owner has, or one session of it, everywhere, with a receipt that a second look has proved.

Rooms that keep something of an owner's stand in settings.ERASERS; those of memory itself are in `places`.
"""

from memory.erasing.receipts import ErasedPlace, ErasePlan, EraseReceipt, PlaceCount
from memory.erasing.runs import confirm_and_erase, erase, erase_again, plan_erase, run_erasing, start_erase

__all__ = [
    "ErasePlan",
    "EraseReceipt",
    "ErasedPlace",
    "PlaceCount",
    "confirm_and_erase",
    "erase",
    "erase_again",
    "plan_erase",
    "run_erasing",
    "start_erase",
]
