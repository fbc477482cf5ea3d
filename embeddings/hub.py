"""Downloads of models from a Hugging Face hub, through the one door to the network like everything else.

huggingface_hub and the model libraries are never let near the network: they would follow redirects, retry and wait
as they like. Only `prepare` of `embeddings.resolver` gets here, and that runs in background jobs.
"""

import json
import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path, PurePosixPath
from typing import Final
from urllib.parse import urljoin, urlsplit

import structlog
from django.conf import settings

from core.errors import UpstreamError, UpstreamTimeoutError
from core.outbound import Client, Deadline, check_url, sync_client, telling_upstream_errors
from core.words import gettext as _
from embeddings.model_files import choose_cache_folder, find_weights, has_readable_weights, is_hub_name

log = structlog.get_logger(__name__)

PEER: Final = _("The model hub")
CONNECT_SECONDS: Final = 3.0
SILENCE_SECONDS: Final = 15.0
DOWNLOAD_SECONDS: Final = 600.0
MAX_HOPS: Final = 5
MAX_LIST_BYTES: Final = 4 * 1024 * 1024
MAX_MODEL_BYTES: Final = 4 * 1024 * 1024 * 1024
STATIC_FILES: Final = ("config.json", "tokenizer.json", "model.safetensors")
_NEEDED_SUFFIXES: Final = (".json", ".txt", ".model", ".safetensors")


class HubError(Exception):
    """A model could not be fetched; the message says why in words for operators."""


def download_model(name: str, files: Sequence[str] | None) -> Path:
    """Fetch the hub model `name` into our cache and return its folder, which appears there whole or not at all.

    `files` are what is fetched; None is everything that sentence-transformers needs. Raises `HubError`.
    """
    if settings.HF_HUB_OFFLINE:
        raise HubError(_("downloads are switched off by HF_HUB_OFFLINE"))
    if not is_hub_name(name):
        raise HubError(_("it is no model of the hub and no such folder exists"))
    target = choose_cache_folder(name)
    deadline = Deadline(DOWNLOAD_SECONDS)
    try:
        check_url(settings.HF_HUB_ENDPOINT)
        target.parent.mkdir(parents=True, exist_ok=True)
        with (
            tempfile.TemporaryDirectory(prefix=".download-", dir=target.parent) as temporary,
            sync_client(connect_timeout_seconds=CONNECT_SECONDS, read_timeout_seconds=SILENCE_SECONDS) as client,
        ):
            hub = _Hub(client, name, deadline)
            for file in files or hub.list_files():
                hub.fetch_file(file, Path(temporary) / file)
            _check_files(Path(temporary))
            _put_in_place(Path(temporary), target)
    except UpstreamError as error:
        raise HubError(error.message) from None
    except OSError as error:
        raise HubError(_("the cache folder can't be written (%(reason)s)") % {"reason": error.strerror}) from None
    log.info("embeddings.model.downloaded", model=name)
    return target


class _Hub:
    """One model's files on the hub."""

    def __init__(self, client: Client, name: str, deadline: Deadline) -> None:
        self._client = client
        self._name = name
        self._deadline = deadline
        self._bytes_left = MAX_MODEL_BYTES

    def list_files(self) -> list[str]:
        """Return the paths of the files that a sentence-transformers model is loaded from; no code, no pickles."""
        with tempfile.TemporaryDirectory() as folder:
            listing = Path(folder) / "listing.json"
            self._fetch(f"{self._endpoint()}/api/models/{self._name}", listing, MAX_LIST_BYTES)
            try:
                told = json.loads(listing.read_bytes())
                paths = [entry["rfilename"] for entry in told["siblings"]]
            except (ValueError, KeyError, TypeError):
                raise UpstreamError(_("%(peer)s did not list the model's files") % {"peer": PEER}) from None
        return [path for path in paths if isinstance(path, str) and _is_needed(path)]

    def fetch_file(self, path: str, target: Path) -> None:
        target.parent.mkdir(parents=True, exist_ok=True)
        self._bytes_left -= self._fetch(
            f"{self._endpoint()}/{self._name}/resolve/main/{path}", target, self._bytes_left
        )

    def _fetch(self, url: str, target: Path, max_bytes: int) -> int:
        """Write what `url` leads to into `target`; return its size. Every hop is judged like the first address."""
        for _hop in range(MAX_HOPS):
            with telling_upstream_errors(PEER), self._client.stream("GET", url) as response:
                if response.has_redirect_location:
                    url = _follow(url, response.headers["location"])
                    continue
                if response.status_code != 200:
                    raise UpstreamError(
                        _("%(peer)s answered with status %(status)d") % {"peer": PEER, "status": response.status_code}
                    )
                size = 0
                with target.open("wb") as file:
                    for chunk in response.iter_bytes():
                        size += len(chunk)
                        if size > max_bytes:
                            raise UpstreamError(
                                _("%(peer)s sent more than a model of use here can be") % {"peer": PEER}
                            )
                        if self._deadline.seconds_left() <= 0:
                            raise UpstreamTimeoutError(_("%(peer)s is too slow") % {"peer": PEER})
                        file.write(chunk)
                return size
        raise UpstreamError(_("%(peer)s redirects in circles") % {"peer": PEER})

    @staticmethod
    def _endpoint() -> str:
        endpoint: str = settings.HF_HUB_ENDPOINT
        return endpoint.rstrip("/")


def _follow(url: str, location: str) -> str:
    """Return where a redirect leads; one from https to http is refused."""
    hop = urljoin(url, location)
    if urlsplit(url).scheme == "https" and urlsplit(hop).scheme != "https":
        raise UpstreamError(_("%(peer)s redirects to an address that is not encrypted") % {"peer": PEER})
    return hop


def _is_needed(path: str) -> bool:
    """Weights and configuration at the top or in the folder of one layer; not the copies for other runtimes."""
    parts = PurePosixPath(path).parts
    return (
        path.endswith(_NEEDED_SUFFIXES)
        and len(parts) <= 2
        and not path.startswith(("/", "."))
        and ".." not in parts
        and "\\" not in path
        and (len(parts) == 1 or parts[0][:1].isdigit())
    )


def _check_files(folder: Path) -> None:
    """Refuse what is no model, such as the page of a login portal that answered in the hub's place."""
    if not has_readable_weights(folder):
        raise UpstreamError(_("%(peer)s has no weights of this model as safetensors") % {"peer": PEER})
    for path in folder.rglob("*.json"):
        try:
            json.loads(path.read_bytes())
        except ValueError:
            raise UpstreamError(_("%(peer)s sent something else than the model") % {"peer": PEER}) from None


def _put_in_place(temporary: Path, target: Path) -> None:
    whole = Path(tempfile.mkdtemp(prefix=".whole-", dir=target.parent))
    try:
        for entry in temporary.iterdir():
            shutil.move(entry, whole / entry.name)
        whole.chmod(0o755)
        if find_weights(target) is None:
            shutil.rmtree(target, ignore_errors=True)
            whole.replace(target)
    finally:
        shutil.rmtree(whole, ignore_errors=True)
