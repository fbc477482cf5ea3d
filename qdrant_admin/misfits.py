"""What is told of a collection that can't take the vectors that are made, and what to do about it."""

from typing import Final

from core.words import gettext as _

REMEDY: Final = _(
    "choose another collection name, whose collection is then made and filled, or delete the collection in Qdrant"
)


def tell_other_width(name: str, held: int | None, made: int, model: str = "") -> str:
    """`held` and `made` are dimensions, None where the collection has no dense vectors; `model` makes the vectors."""
    if held is None:
        told = _(
            "the collection %(name)s holds no dense vectors, and %(model)s makes vectors of %(made)d dimensions; "
            "%(remedy)s"
        )
    else:
        told = _(
            "the collection %(name)s holds vectors of %(held)d dimensions, and %(model)s makes vectors of %(made)d "
            "dimensions; %(remedy)s"
        )
    values = {"name": name, "held": held, "model": model or _("the embedding"), "made": made, "remedy": REMEDY}
    return told % values


def tell_other_distance(name: str, distance: str) -> str:
    told = _("the collection %(name)s measures %(distance)s; %(remedy)s")
    return told % {"name": name, "distance": distance, "remedy": REMEDY}


def tell_other_model(name: str, held: str, made: str) -> str:
    """`held` and `made` are signatures."""
    told = _(
        "the collection %(name)s was there before us and has been filled with vectors of %(held)s, not of %(made)s; "
        "%(remedy)s"
    )
    return told % {"name": name, "held": held, "made": made, "remedy": REMEDY}
