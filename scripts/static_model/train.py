"""Fits one vector per token so that their mean says what the teachers say about the whole text.

    python train.py --build build --out build/model

Reads from the build folder pairs.tsv, and NAME.txt with NAME.TEACHER.npy for each text and each teacher.
Two things are learned at once:
  1. distillation: a text's vector is that of the teachers (after PCA), and so are likenesses inside a batch;
  2. retrieval: among a batch of statements a question is nearest to the one that answers it.
There is no weight decay, so that a token's length is free to become its weight in the mean.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import torch
from encode_teacher import MINILM, Teacher
from export import save_model
from targets import FloatMatrix, Projection, blend, carry_over, parse_shares, read_texts
from tokenizers import Tokenizer
from torch.nn import functional
from vocabulary import build_tokenizer, encode_tokens, tokenize

TEXT_BATCH, PAIR_BATCH = 512, 512
HELD_OUT = 2_000
START_LENGTH = 0.1
RANK_SCALE, RETRIEVAL_SCALE = 20.0, 20.0
RANK_WEIGHT, LIKENESS_WEIGHT = 0.1, 5.0


@dataclass(frozen=True, slots=True)
class Bags:
    """Many texts as token ids, ready to be drawn as flat batches for an embedding bag."""

    flat: npt.NDArray[np.int64]
    starts: npt.NDArray[np.int64]
    lengths: npt.NDArray[np.int64]

    @classmethod
    def of(cls, token_ids: list[list[int]]) -> Bags:
        filled = [ids or [0] for ids in token_ids]
        lengths = np.array([len(ids) for ids in filled])
        flat = np.concatenate([np.array(ids, dtype=np.int64) for ids in filled])
        return cls(flat, np.cumsum(lengths) - lengths, lengths)

    def take(self, rows: npt.NDArray[np.int64]) -> tuple[torch.Tensor, torch.Tensor]:
        pieces = [self.flat[self.starts[i] : self.starts[i] + self.lengths[i]] for i in rows]
        offsets = np.cumsum(self.lengths[rows]) - self.lengths[rows]
        return torch.from_numpy(np.concatenate(pieces)), torch.from_numpy(offsets)


@dataclass(frozen=True, slots=True)
class Pairs:
    questions: Bags
    statements: Bags
    groups: npt.NDArray[np.int64]


def embed(weights: torch.Tensor, bags: Bags, rows: npt.NDArray[np.int64]) -> torch.Tensor:
    flat, offsets = bags.take(rows)
    return functional.normalize(functional.embedding_bag(flat, weights, offsets, mode="mean"), dim=1)


def distillation_loss(vectors: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
    """Same direction as the target, nearer to it than to other targets, same likenesses inside the batch."""
    near = (1 - (vectors * targets).sum(1)).mean()
    rank = functional.cross_entropy(vectors @ targets.T * RANK_SCALE, torch.arange(len(vectors)))
    likeness = ((vectors @ vectors.T - targets @ targets.T) ** 2).mean()
    return near + RANK_WEIGHT * rank + LIKENESS_WEIGHT * likeness


def retrieval_loss(questions: torch.Tensor, statements: torch.Tensor, groups: torch.Tensor) -> torch.Tensor:
    """Each question against all statements of the batch; statements of its own group are no opposites."""
    logits = questions @ statements.T * RETRIEVAL_SCALE
    same = groups[:, None] == groups[None, :]
    same.fill_diagonal_(False)
    logits = logits.masked_fill(same, float("-inf"))
    answer = torch.arange(len(questions))
    return (functional.cross_entropy(logits, answer) + functional.cross_entropy(logits.T, answer)) / 2


def read_pairs(path: Path, tokenizer: Tokenizer) -> Pairs:
    rows = [line.split("\t") for line in path.read_text(encoding="utf-8").splitlines()]
    numbers: dict[str, int] = {}
    groups = np.array([numbers.setdefault(group, len(numbers)) for _, _, group in rows])
    questions, statements = ([row[column] for row in rows] for column in (0, 1))
    return Pairs(Bags.of(tokenize(tokenizer, questions)), Bags.of(tokenize(tokenizer, statements)), groups)


def train(start: FloatMatrix, texts: Bags, targets: FloatMatrix, pairs: Pairs, args: argparse.Namespace) -> FloatMatrix:
    rng = np.random.default_rng(args.seed)
    weights = torch.nn.Parameter(torch.from_numpy(start))
    optimizer = torch.optim.AdamW([weights], lr=args.rate, weight_decay=0.0)
    rows = rng.permutation(len(targets))
    held, rows = rows[:HELD_OUT], rows[HELD_OUT:]
    steps = args.epochs * (len(rows) // TEXT_BATCH)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, args.rate, total_steps=steps, pct_start=0.05)
    goal = torch.from_numpy(targets)
    begun = time.monotonic()
    for epoch in range(args.epochs):
        total = 0.0
        for batch in np.array_split(rng.permutation(rows), len(rows) // TEXT_BATCH):
            loss = distillation_loss(embed(weights, texts, batch), goal[batch])
            if args.retrieval > 0:
                drawn = rng.choice(len(pairs.groups), PAIR_BATCH, replace=False)
                asked, told = embed(weights, pairs.questions, drawn), embed(weights, pairs.statements, drawn)
                loss = loss + args.retrieval * retrieval_loss(asked, told, torch.from_numpy(pairs.groups[drawn]))
            optimizer.zero_grad()
            torch.autograd.backward(loss)
            optimizer.step()
            schedule.step()
            total += float(loss.detach())
        with torch.no_grad():
            cosine = float((embed(weights, texts, held) * goal[held]).sum(1).mean())
        mean_loss, seconds = total * TEXT_BATCH / len(rows), time.monotonic() - begun
        print(f"epoch {epoch}: loss {mean_loss:.4f}, held-out cosine {cosine:.4f}, {seconds:.0f} s", flush=True)
    result: FloatMatrix = weights.detach().numpy()
    return result


def main() -> None:
    layout = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=layout)
    parser.add_argument("--build", type=Path, required=True, help="folder of the corpora and the teacher's vectors")
    parser.add_argument("--texts", default="wordnet,templates")
    parser.add_argument("--teachers", default="minilm:0.4,bge:0.6", help="names and shares; minilm must be there")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--dimensions", type=int, default=256)
    parser.add_argument("--epochs", type=int, default=7)
    parser.add_argument("--rate", type=float, default=1e-2, help="highest learning rate")
    parser.add_argument("--retrieval", type=float, default=0.1, help="weight of the question-statement pairs")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--threads", type=int, default=2)
    args = parser.parse_args()

    torch.manual_seed(args.seed)
    torch.set_num_threads(args.threads)
    tokenizer = build_tokenizer()
    shares = parse_shares(args.teachers)
    texts, by_teacher = read_texts(args.build, args.texts.split(","), [*shares])
    blended = blend(by_teacher, shares)
    projection = Projection(blended, args.dimensions)
    targets = projection.apply(blended)
    print(f"{len(texts)} texts; {args.dimensions} dimensions keep {projection.kept:.1%} of the variance")
    tokens = encode_tokens(tokenizer, Teacher(MINILM, args.threads))
    start = START_LENGTH * carry_over(tokens, by_teacher["minilm"], targets)
    pairs = read_pairs(args.build / "pairs.tsv", tokenizer)
    trained = train(start, Bags.of(tokenize(tokenizer, texts)), targets, pairs, args)
    save_model(trained, tokenizer, args.out)


if __name__ == "__main__":
    main()
