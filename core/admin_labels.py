"""What the admin calls models and their fields, in the language of who reads it."""

from django.db.models import Field, Model
from django_stubs_ext import StrOrPromise


def label_model(model: type[Model], one: StrOrPromise, many: StrOrPromise, **fields: StrOrPromise) -> None:
    """Give a model and its fields lazily translated names.

    Here and not in the models: a name there is part of the migrations' state, and would need one to be translatable.
    """
    model._meta.verbose_name, model._meta.verbose_name_plural = one, many
    for name, label in fields.items():
        field = model._meta.get_field(name)
        if isinstance(field, Field):
            field.verbose_name = label
