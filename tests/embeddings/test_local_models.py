"""Static and transformers models: where they are found, the stand-in, downloads."""

import importlib.util
import json
import shutil
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from embeddings.base import EmbeddingError
from embeddings.model_files import BUNDLED_FOLDER, choose_cache_folder
from embeddings.resolver import embed_documents, embed_query, pin, prepare, resolve
from tests.embeddings.configs import build_config
from tests.embeddings.tiny_model import save_tiny_model

NAME = "minishlab/potion-base-8M"
STATIC = build_config("static", static=True)
TRANSFORMERS = build_config("transformers", transformers=True)
HAS_TRANSFORMERS = importlib.util.find_spec("sentence_transformers") is not None


class Hub:
    """A model hub that redirects to another host for the files, as the real one does."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.paths: list[str] = []
        self.status = 200
        self.body: bytes | None = None
        self.location: str | None = None
        hub = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                hub.paths.append(self.path)
                if "/resolve/main/" in self.path and hub.status == 200:
                    file = self.path.partition("/resolve/main/")[2]
                    self.send_response(302)
                    self.send_header("location", hub.location or f"http://localhost:{hub.port}/cdn/{file}?signed=1")
                    self.end_headers()
                    return
                self.send_response(hub.status)
                self.end_headers()
                self.wfile.write(hub.read(self.path))

            def log_message(self, *_: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("", 0), Handler)
        self._thread = Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01})

    @property
    def port(self) -> int:
        return self._server.server_address[1]

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def read(self, path: str) -> bytes:
        if self.body is not None:
            return self.body
        if path.startswith("/api/models/"):
            files = [str(file.relative_to(self.folder)) for file in self.folder.rglob("*") if file.is_file()]
            extra = ["onnx/model.onnx", "pytorch_model.bin", "../../evil.json", "modeling.py", "openvino/config.json"]
            return json.dumps({"siblings": [{"rfilename": name} for name in [*files, *extra]]}).encode()
        return (self.folder / path.removeprefix("/cdn/").partition("?")[0]).read_bytes()

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


@pytest.fixture
def hub(settings: Any, tmp_path: Path) -> Iterator[Hub]:
    served = Hub(save_tiny_model(tmp_path / "served"))
    served.start()
    settings.HF_HUB_ENDPOINT = served.url
    settings.HF_HUB_OFFLINE = False
    yield served
    served.stop()


@pytest.fixture(autouse=True)
def wanted(settings: Any) -> None:
    settings.MEMORY_STATIC_MODEL = NAME


# --- static: found on this machine ---


def test_the_bundled_model_can_be_chosen_and_needs_no_network(settings: Any) -> None:
    settings.MEMORY_STATIC_MODEL = "bundled"
    resolution = prepare(STATIC)
    assert (resolution.source, resolution.model) == ("static", "bundled")
    assert resolution.signature.startswith("static:bundled@")
    assert embed_query(STATIC, "TypeScript.").dimensions == resolution.dimensions


def test_a_folder_is_used_where_it_is_and_its_path_is_not_told(settings: Any, tiny_model: Path) -> None:
    settings.MEMORY_STATIC_MODEL = str(tiny_model)
    resolution = resolve(STATIC)
    assert (resolution.model, resolution.dimensions) == ("local/tiny-model", 4)
    assert str(tiny_model.parent) not in repr(resolution)


def test_another_content_under_the_same_folder_name_is_another_model(
    settings: Any, tmp_path: Path, tiny_model: Path
) -> None:
    settings.MEMORY_STATIC_MODEL = str(tiny_model)
    before = resolve(STATIC).signature
    settings.MEMORY_STATIC_MODEL = str(save_tiny_model(tmp_path / "elsewhere" / "tiny-model"))
    assert resolve(STATIC).signature == before
    settings.MEMORY_STATIC_MODEL = str(save_tiny_model(tmp_path / "other" / "tiny-model", scale=2.0))
    assert resolve(STATIC).signature != before


def test_another_tokenizer_makes_another_model(settings: Any, tiny_model: Path) -> None:
    settings.MEMORY_STATIC_MODEL = str(tiny_model)
    before = resolve(STATIC).signature
    tokenizer = tiny_model / "tokenizer.json"
    tokenizer.write_text(tokenizer.read_text().replace('"cats"', '"cows"'))
    assert resolve(STATIC).signature != before


def test_our_cache_and_the_hubs_cache_are_looked_through(settings: Any, tmp_path: Path) -> None:
    snapshot = settings.HF_HUB_CACHE / "models--minishlab--potion-base-8M" / "snapshots" / "abc"
    save_tiny_model(snapshot)
    (snapshot.parents[1] / "refs").mkdir()
    (snapshot.parents[1] / "refs" / "main").write_text("abc")
    resolution = resolve(STATIC)
    assert (resolution.model, resolution.signature) == (NAME, f"static:{NAME}:4")
    shutil.rmtree(settings.HF_HUB_CACHE)
    assert resolve(STATIC).model == "bundled"
    save_tiny_model(Path(settings.MEMORY_STATIC_CACHE_DIR) / "potion-base-8M")
    assert resolve(STATIC).model == NAME


def test_static_vectors_are_made_of_words_without_their_punctuation(settings: Any, tiny_model: Path) -> None:
    settings.MEMORY_STATIC_MODEL = str(tiny_model)
    results = embed_documents(STATIC, ["typescript.", "typescript", "unheard of"])
    assert not isinstance(results[0], EmbeddingError)
    assert not isinstance(results[1], EmbeddingError)
    assert float(results[0].vector @ results[1].vector) == pytest.approx(1)
    assert isinstance(results[2], EmbeddingError)
    assert not results[2].is_outage


def test_damaged_files_are_told_as_a_model_that_does_not_load(settings: Any, tiny_model: Path) -> None:
    settings.MEMORY_STATIC_MODEL = str(tiny_model)
    (tiny_model / "tokenizer.json").write_text("{}")
    with pytest.raises(EmbeddingError) as caught:
        embed_query(STATIC, "cats")
    assert caught.value.reason == "model_load_failed"
    assert str(tiny_model) not in caught.value.message
    (tiny_model / "model.safetensors").write_bytes(b"\xff" * 100)
    assert resolve(STATIC).failure == "model_load_failed"


# --- static: from the hub, and the stand-in ---


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


# --- transformers ---


@pytest.mark.skipif(HAS_TRANSFORMERS, reason="sentence-transformers is installed")
def test_without_the_package_the_install_line_is_told() -> None:
    for resolution in (resolve(TRANSFORMERS), prepare(TRANSFORMERS)):
        assert resolution.source == "transformers"
        assert resolution.failure == "model_load_failed"
        assert "pip install -r requirements.txt" in resolution.reason
        assert resolution.signature == "transformers:sentence-transformers/all-MiniLM-L6-v2:384"
    with pytest.raises(EmbeddingError) as caught:
        embed_query(TRANSFORMERS, "cats")
    assert caught.value.reason == "model_load_failed"
    assert "pip install -r requirements.txt" in caught.value.message


@pytest.fixture
def as_if_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the package be found; it is never imported by what these tests do."""
    if not HAS_TRANSFORMERS:
        monkeypatch.setitem(sys.modules, "sentence_transformers", importlib.util.module_from_spec(
            importlib.util.spec_from_loader("sentence_transformers", loader=None)  # type: ignore[arg-type]
        ))  # fmt: skip


def save_transformer_files(folder: Path) -> Path:
    """The files of a sentence-transformers model, enough for what is read without loading it."""
    (folder / "1_Pooling").mkdir(parents=True)
    (folder / "1_Pooling" / "config.json").write_text(json.dumps({"word_embedding_dimension": 12}))
    (folder / "config.json").write_text(json.dumps({"hidden_size": 99}))
    (folder / "tokenizer.json").write_text("{}")
    shutil.copy(BUNDLED_FOLDER / "model.safetensors", folder / "model.safetensors")
    return folder


def test_transformers_are_fetched_by_preparing_and_their_width_is_read(
    settings: Any, hub: Hub, tmp_path: Path, as_if_installed: None
) -> None:
    settings.MEMORY_TRANSFORMERS_MODEL = "some-org/some-model"
    hub.folder = save_transformer_files(tmp_path / "transformer")
    before = resolve(TRANSFORMERS)
    assert before.failure == "model_load_failed"
    assert "not on this machine" in before.reason
    after = prepare(TRANSFORMERS)
    assert after.is_available
    assert (after.model, after.dimensions) == ("some-org/some-model", 12)
    assert after.agrees_with(before.signature)
    folder = choose_cache_folder("some-org/some-model")
    files = {str(file.relative_to(folder)) for file in folder.rglob("*") if file.is_file()}
    assert files == {"config.json", "tokenizer.json", "model.safetensors", "1_Pooling/config.json"}
    assert not any("onnx" in path or "evil" in path or path.endswith(".bin") for path in hub.paths)


def test_a_failed_fetch_of_transformers_is_not_repeated_until_asked(hub: Hub, as_if_installed: None) -> None:
    hub.status = 503
    assert "503" in prepare(TRANSFORMERS).reason
    asked = len(hub.paths)
    prepare(TRANSFORMERS)
    assert len(hub.paths) == asked
    prepare(TRANSFORMERS, retry=True)
    assert len(hub.paths) > asked


def test_the_name_of_the_model_for_another_runtime_is_understood(settings: Any) -> None:
    settings.MEMORY_TRANSFORMERS_MODEL = "Xenova/all-MiniLM-L6-v2"
    assert resolve(TRANSFORMERS).model == "sentence-transformers/all-MiniLM-L6-v2"
