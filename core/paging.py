"""Pages of long tables in the admin."""

from typing import Any

from django.core.paginator import Page, Paginator
from django.db.models import QuerySet


class KeyFirstPaginator(Paginator[Any]):
    """Puts keys in order first, and reads the rows of one page then.

    A table that is sorted as a whole is sorted with all its columns: with long texts in them that takes many times as
    long. The count is taken once.
    """

    object_list: QuerySet[Any, Any]

    def page(self, number: int | str) -> Page[Any]:
        number = self.validate_number(number)
        first = (number - 1) * self.per_page
        keys = list(self.object_list.values_list("pk", flat=True)[first : first + self.per_page])
        # Any order in SQL would have the planner walk an index again; there are only these few.
        rows = {row.pk: row for row in self.object_list.order_by().filter(pk__in=keys)}
        return Page([rows[key] for key in keys if key in rows], number, self)
