"""A static model so small that a test can make it and know every vector of it."""

from pathlib import Path

import numpy as np

WORDS = ("[UNK]", "cats", "dogs", "purr", "bark", "typescript", "tea")
VECTORS = np.array(
    [[0, 0, 0, 0], [3, 1, 0, 0], [0, 1, 3, 0], [2, 1, 0, 0], [0, 1, 2, 0], [0, 0, 0, 5], [0, 4, 0, 1]],
    dtype=np.float32,
)


def save_tiny_model(folder: Path, scale: float = 1.0) -> Path:
    """Write the model into `folder`, not normalised, so that a source that forgets to do it shows."""
    from model2vec.persistence import save_pretrained
    from tokenizers import Tokenizer
    from tokenizers.models import WordLevel
    from tokenizers.pre_tokenizers import Whitespace

    tokenizer = Tokenizer(WordLevel({word: index for index, word in enumerate(WORDS)}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = Whitespace()
    config = {"model_type": "model2vec", "architectures": ["StaticModel"], "normalize": False, "max_length": 512}
    save_pretrained(folder, VECTORS * scale, tokenizer, config, create_model_card=False)
    return folder
