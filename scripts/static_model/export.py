"""Saves a trained model in model2vec's own form, with 8-bit vectors and without model2vec's card.

That card states a wrong licence and the local path of the base model. The card and the notices of the bundled
model are kept by hand.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.typing as npt
from model2vec.persistence import save_pretrained
from model2vec.types import StaticModelConfig
from tokenizers import Tokenizer

MAX_TOKENS = 512


def quantize(vectors: npt.NDArray[np.float32]) -> npt.NDArray[np.int8]:
    """One scale for all, so that the vectors' lengths, which are the tokens' weights, keep their proportions.

    The largest values are clipped: a scale that fits them would leave few steps for all the others.
    """
    limit = np.quantile(np.abs(vectors), 0.9999)
    steps: npt.NDArray[np.int8] = np.clip(np.rint(vectors / limit * 127), -127, 127).astype(np.int8)
    return steps


def save_model(vectors: npt.NDArray[np.float32], tokenizer: Tokenizer, folder: Path) -> None:
    config: StaticModelConfig = {
        "model_type": "model2vec",
        "architectures": ["StaticModel"],
        "normalize": True,
        "max_length": MAX_TOKENS,
    }
    save_pretrained(folder, quantize(vectors), tokenizer, config, create_model_card=False)
    (folder / "modules.json").unlink()  # it points sentence-transformers at a folder that isn't written
    for file in folder.iterdir():
        file.chmod(0o644)
    size = sum(file.stat().st_size for file in folder.iterdir())
    print(f"{folder}: {vectors.shape[0]} tokens, {vectors.shape[1]} dimensions, {size / 1e6:.2f} MB")
