"""What the token vectors are trained towards: one vector a text, made from one teacher or several."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.typing as npt

FloatMatrix = npt.NDArray[np.float32]


def unit(vectors: FloatMatrix) -> FloatMatrix:
    scaled: FloatMatrix = vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-9)
    return scaled


def parse_shares(text: str) -> dict[str, float]:
    """`minilm:0.5,bge:0.5` as a table; a lone name has share 1."""
    shares = {}
    for part in text.split(","):
        name, _, share = part.partition(":")
        shares[name] = float(share or 1)
    return shares


def read_texts(build: Path, names: list[str], teachers: list[str]) -> tuple[list[str], dict[str, FloatMatrix]]:
    """All texts that every teacher has encoded, and each teacher's vectors of them.

    Where a teacher encoded only the head of a file, the rest of that file is left out.
    """
    texts: list[str] = []
    parts: dict[str, list[FloatMatrix]] = {teacher: [] for teacher in teachers}
    for name in names:
        files = {teacher: np.load(build / f"{name}.{teacher}.npy", mmap_mode="r") for teacher in teachers}
        count = min(len(vectors) for vectors in files.values())
        texts += (build / f"{name}.txt").read_text(encoding="utf-8").splitlines()[:count]
        for teacher, vectors in files.items():
            parts[teacher].append(np.asarray(vectors[:count], dtype=np.float32))
    return texts, {teacher: np.concatenate(rows) for teacher, rows in parts.items()}


def blend(vectors: dict[str, FloatMatrix], shares: dict[str, float]) -> FloatMatrix:
    """Puts the teachers side by side so that a cosine of blends is the teachers' cosines averaged by share.

    Each teacher is centred first: a common direction, strong in some, says nothing about a text.
    """
    total = sum(shares.values())
    parts = [np.sqrt(share / total) * unit(vectors[name] - vectors[name].mean(0)) for name, share in shares.items()]
    return np.concatenate(parts, axis=1).astype(np.float32)


class Projection:
    """Principal components: centred and cut to fewer dimensions, then scaled to length one."""

    def __init__(self, vectors: FloatMatrix, dimensions: int) -> None:
        self._mean = vectors.mean(0)
        values, axes = np.linalg.eigh(np.cov((vectors - self._mean).T))
        self._axes = axes[:, ::-1][:, :dimensions].astype(np.float32)
        self.kept = float(values[::-1][:dimensions].sum() / values.sum())

    def apply(self, vectors: FloatMatrix) -> FloatMatrix:
        return unit((vectors - self._mean) @ self._axes)


def carry_over(token_vectors: FloatMatrix, text_vectors: FloatMatrix, targets: FloatMatrix) -> FloatMatrix:
    """Brings token vectors of one teacher into the space of the targets, by least squares over the texts."""
    mean = text_vectors.mean(0)
    bridge = np.linalg.lstsq(text_vectors - mean, targets, rcond=None)[0]
    return unit(((token_vectors - mean) @ bridge).astype(np.float32))
