"""Pages far from the first: every memory is on one, and the address is the page that is shown."""

import pytest
from django.http import QueryDict

from memory import services
from memory.backends import listing
from memory.inspection import list_page
from memory.records import MEMORY_ORDERS, MemoryDraft, MemoryFilter
from studio.memory_list import MAX_PAGE, read_list_query

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize(("text", "page"), [("6421", 6421), ("10001", 10001), ("9" * 9, MAX_PAGE), ("0", 1), ("²", 1)])
def test_no_page_of_an_address_becomes_another_one(text: str, page: int) -> None:
    listed = read_list_query(QueryDict(f"page={text}"))
    assert listed.page == page
    assert listed.write() == (f"page={page}" if page > 1 else "")


@pytest.mark.parametrize("order", MEMORY_ORDERS)
@pytest.mark.parametrize("filter", [MemoryFilter(None), MemoryFilter("A"), MemoryFilter(None, text="even")])
def test_far_pages_go_on_where_near_ones_end(order, filter, monkeypatch) -> None:
    for number in range(24):
        services.create(MemoryDraft("AB"[number % 3 == 0], f"k{number * 7 % 24:02}", ("odd", "even")[number % 2]))
    whole = list_page(filter, limit=24, offset=0, order=order).records
    monkeypatch.setattr(listing, "DEEP_ROWS", 5)
    for offset in range(4, len(whole)):
        page = list_page(filter, limit=3, offset=offset, order=order)
        assert page.records == whole[offset : offset + 3]
        assert page.has_more == (offset + 3 < len(whole))


@pytest.mark.parametrize("offset", [20, 60])
def test_a_far_page_takes_as_many_queries_however_far_it_is(offset, monkeypatch, django_assert_num_queries) -> None:
    monkeypatch.setattr(listing, "DEEP_ROWS", 10)
    for number in range(80):
        services.create(MemoryDraft("A", f"k{number}", "memory"))
    with django_assert_num_queries(3):  # where memories are stored, the ids of the page, its memories
        list_page(MemoryFilter(None), limit=10, offset=offset, order="-key")
