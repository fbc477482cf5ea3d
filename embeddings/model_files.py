"""Where local models lie on this machine, and what their files tell without being loaded."""

import json
import re
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

from django.conf import settings

BUNDLED: Final = "bundled"
BUNDLED_FOLDER: Final = Path(__file__).parent / "bundled"
WEIGHTS: Final = "model.safetensors"

_HUB_NAME: Final = re.compile(r"[A-Za-z0-9][\w.-]*/[\w.-]*[\w-]", re.ASCII)
_USUAL_ORGANISATIONS: Final = ("minishlab", "sentence-transformers")
_MAX_HEADER_BYTES: Final = 64 * 1024 * 1024
_SAMPLE_BYTES: Final = 64 * 1024
_STATIC_TENSORS: Final = ("embeddings", "embedding.weight")


def is_hub_name(name: str) -> bool:
    """Say whether `name` can be a model of the hub, `organisation/model`, rather than a folder."""
    return _HUB_NAME.fullmatch(name) is not None and ".." not in name


def find_folder(name: str) -> Path | None:
    """Return the folder that holds the model called `name`: itself a folder, or in our cache, or in the hub's."""
    candidates = [Path(name).expanduser()]
    if is_hub_name(name):
        candidates.append(choose_cache_folder(name))
        candidates += _list_snapshots(name)
    return next((folder for folder in candidates if find_weights(folder) is not None), None)


def choose_cache_folder(name: str) -> Path:
    """Return where a download of the hub model `name` is kept, such as `<cache>/potion-base-8M`."""
    organisation, _, model = name.partition("/")
    folder = model if organisation in _USUAL_ORGANISATIONS else f"{organisation}--{model}"
    return Path(settings.MEMORY_STATIC_CACHE_DIR) / folder


def find_weights(folder: Path) -> Path | None:
    for path in (folder / WEIGHTS, folder / "0_StaticEmbedding" / WEIGHTS):
        if path.is_file():
            return path
    return None


def has_readable_weights(folder: Path) -> bool:
    """Say whether the weights are a safetensors file with tensors in it, and not some page saved under that name."""
    weights = find_weights(folder)
    return weights is not None and bool(_read_header(weights, weights.stat().st_mtime_ns))


def label_model(name: str) -> str:
    """Return how a model is called to people: a folder by its last part, since its path is nobody's business."""
    if name == BUNDLED or is_hub_name(name):
        return name
    return f"local/{Path(name).name}"


def sign_model(name: str, folder: Path) -> str:
    """Return what stands for a model in a signature: a hub model's name is enough, but a folder's content (and the
    bundled model with a new release) can change under the same name."""
    label = label_model(name)
    return label if label == name and name != BUNDLED else f"{label}@{_read_fingerprint(folder)}"


def read_static_dimensions(folder: Path) -> int | None:
    """Return the width of a static model's vectors; None when the weights can't be read."""
    weights = find_weights(folder)
    if weights is None:
        return None
    header = _read_header(weights, weights.stat().st_mtime_ns)
    shapes = (_read_shape(header, name) for name in _STATIC_TENSORS)
    return next((shape[1] for shape in shapes if len(shape) == 2), None)


def read_transformer_dimensions(folder: Path) -> int | None:
    """Return the width of a sentence-transformers model's vectors, as its last layer's configuration tells it."""
    for path, key in (
        ("2_Dense/config.json", "out_features"),
        ("1_Pooling/config.json", "word_embedding_dimension"),
        ("1_Pooling/config.json", "embedding_dimension"),
        ("config.json", "hidden_size"),
    ):
        width = _read_json(folder / path).get(key)
        if isinstance(width, int) and width > 0:
            return width
    return None


def read_architectures(folder: Path) -> list[str]:
    """Return the classes that a transformer model was saved from, such as BertForSequenceClassification."""
    told = _read_json(folder / "config.json").get("architectures")
    return [name for name in told if isinstance(name, str)] if isinstance(told, list) else []


def _list_snapshots(name: str) -> list[Path]:
    """The hub cache keeps `snapshots/<commit>`, and in `refs/main` which commit is the current one."""
    root = Path(settings.HF_HUB_CACHE) / f"models--{name.replace('/', '--')}"
    try:
        current = (root / "refs" / "main").read_text("ascii").strip()
        return [root / "snapshots" / current, *sorted((root / "snapshots").iterdir())]
    except (OSError, UnicodeError):
        return []


def _read_fingerprint(folder: Path) -> str:
    """Both decide over a vector: the weights, and how a text falls apart into tokens."""
    digest = sha256()
    weights = find_weights(folder)
    for path in (weights, weights and weights.with_name("tokenizer.json")):
        if path is not None and path.is_file():
            status = path.stat()
            digest.update(_hash_ends(path, status.st_size, status.st_mtime_ns))
    return digest.hexdigest()[:8]


@lru_cache(maxsize=32)
def _hash_ends(path: Path, size: int, _changed_at: int) -> bytes:
    """Hash the ends of a file: enough to tell models apart, and quick for one of several gigabytes."""
    with path.open("rb") as file:
        digest = sha256(str(size).encode())
        digest.update(file.read(_SAMPLE_BYTES))
        file.seek(max(size - _SAMPLE_BYTES, 0))
        digest.update(file.read(_SAMPLE_BYTES))
    return digest.digest()


@lru_cache(maxsize=16)
def _read_header(weights: Path, _changed_at: int) -> dict[str, Any]:
    """Return the header of a safetensors file: its length as 8 bytes, then JSON."""
    try:
        with weights.open("rb") as file:
            length = int.from_bytes(file.read(8), "little")
            header = json.loads(file.read(length)) if length <= _MAX_HEADER_BYTES else None
    except (OSError, ValueError):
        return {}
    return header if isinstance(header, dict) else {}


def _read_shape(header: dict[str, Any], name: str) -> list[int]:
    tensor = header.get(name)
    shape = tensor.get("shape") if isinstance(tensor, dict) else None
    return shape if isinstance(shape, list) and all(isinstance(size, int) for size in shape) else []


def _read_json(path: Path) -> dict[str, Any]:
    try:
        told = json.loads(path.read_bytes())
    except (OSError, ValueError):
        return {}
    return told if isinstance(told, dict) else {}
