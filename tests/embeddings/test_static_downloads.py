"""Static models that are fetched from a hub, and the bundled one that stands in for them."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from embeddings.model_files import choose_cache_folder
from embeddings.resolver import embed_query, pin, prepare, resolve
from tests.embeddings.configs import build_config
from tests.embeddings.model_hub import NAME, Hub
from tests.embeddings.tiny_model import save_tiny_model

pytestmark = pytest.mark.usefixtures("wanted_model")

STATIC = build_config("static", static=True)


def test_preparing_fetches_the_model_and_asking_never_does(hub: Hub) -> None:
    before = resolve(STATIC)
    assert before.model == "bundled"
    assert NAME in before.reason
    embed_query(STATIC, "cats")
    assert hub.paths == []
    after = prepare(STATIC)
    assert (after.model, after.dimensions) == (NAME, 4)
    assert embed_query(STATIC, "cats").model == NAME
    asked = len(hub.paths)
    assert asked == 6
    assert prepare(STATIC) == after
    assert len(hub.paths) == asked
    assert sorted(path.name for path in choose_cache_folder(NAME).parent.iterdir()) == ["potion-base-8M"]


def test_an_unreachable_hub_leaves_the_bundled_model_in_for_good(settings: Any, hub: Hub) -> None:
    hub.status = 503
    standing_in = prepare(STATIC)
    assert standing_in.model == "bundled"
    assert "503" in standing_in.reason
    assert hub.url not in standing_in.reason
    asked = len(hub.paths)
    hub.status = 200
    # Neither asking again, nor another job, nor the model turning up changes it.
    for _ in range(3):
        assert resolve(STATIC) == standing_in
        assert prepare(STATIC) == standing_in
    assert len(hub.paths) == asked
    save_tiny_model(choose_cache_folder(NAME))
    assert resolve(STATIC) == standing_in
    assert prepare(STATIC, retry=True).model == NAME
    assert resolve(STATIC).model == NAME


def test_a_full_reindex_tries_the_hub_again(hub: Hub) -> None:
    hub.status = 500
    assert prepare(STATIC).model == "bundled"
    hub.status = 200
    assert prepare(STATIC, retry=True).model == NAME


def test_several_jobs_at_once_fetch_the_model_once(hub: Hub) -> None:
    with ThreadPoolExecutor(4) as pool:
        resolutions = list(pool.map(lambda _: prepare(STATIC), range(4)))
    assert {resolution.model for resolution in resolutions} == {NAME}
    assert len(hub.paths) == 6


def test_offline_nothing_is_fetched(settings: Any, hub: Hub) -> None:
    settings.HF_HUB_OFFLINE = True
    assert "HF_HUB_OFFLINE" in prepare(STATIC).reason
    assert hub.paths == []


def test_a_folder_that_does_not_exist_is_not_looked_for_on_the_hub(settings: Any, hub: Hub) -> None:
    settings.MEMORY_STATIC_MODEL = "/no/such/folder"
    resolution = prepare(STATIC)
    assert resolution.model == "bundled"
    assert "/no/such" not in resolution.reason
    assert hub.paths == []


@pytest.mark.parametrize("body", [b"<html>log in</html>", b"", b"{}"])
def test_what_is_no_model_is_not_kept(hub: Hub, body: bytes) -> None:
    hub.body = body
    assert prepare(STATIC).model == "bundled"
    assert not choose_cache_folder(NAME).exists()


def test_a_redirect_of_the_hub_to_a_forbidden_address_is_refused(hub: Hub) -> None:
    hub.location = "http://169.254.169.254/latest/meta-data"
    assert prepare(STATIC).model == "bundled"
    hub.location = "/x/resolve/main/round-and-round"
    assert "circles" in prepare(STATIC, retry=True).reason


def test_a_cache_folder_that_can_not_be_written_is_no_crash(settings: Any, hub: Hub, tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("")
    settings.MEMORY_STATIC_CACHE_DIR = blocked / "embeddings"
    assert prepare(STATIC).model == "bundled"
    assert prepare(STATIC).model == "bundled"
    assert embed_query(STATIC, "cats").model == "bundled"


def test_a_pinned_stand_in_stays_when_the_model_has_come(hub: Hub) -> None:
    pinned = pin(STATIC)
    bundled = resolve(STATIC)
    assert prepare(STATIC).model == NAME
    assert resolve(pinned).signature == bundled.signature
    assert prepare(pinned).signature == bundled.signature
