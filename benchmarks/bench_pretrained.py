"""The published encoder in our layers against transformers' BertModel (SDPA), same weights."""

import torch
from transformers import BertModel
from transformers.utils import logging

from benchmarks.harness import Row, compare
from tfmlib.pretrained import find_weights, load_encoder

BATCH, LENGTH = 32, 128


def batches() -> dict[str, torch.Tensor]:
    """Random tokens: one batch full, one padded by three tokens more in each row."""
    torch.manual_seed(0)
    full = torch.randint(1000, 30_000, (BATCH, LENGTH))
    places = torch.arange(LENGTH) + 3 * torch.arange(BATCH)[:, None]  # (B, S)
    return {"full": full, "padded": full.masked_fill(places >= LENGTH, 0)}


def contenders(ids: torch.Tensor) -> dict:
    """Both give a vector for each token, and the same one."""
    logging.set_verbosity_error()
    ours, folder = load_encoder(), find_weights()
    theirs = BertModel.from_pretrained(
        folder, add_pooling_layer=False, attn_implementation="sdpa"
    ).eval()
    mask = (ids != 0).long()
    calls = {
        "tfmlib": torch.inference_mode()(lambda: ours(ids)),
        "bert": torch.inference_mode()(lambda: theirs(ids, attention_mask=mask).last_hidden_state),
    }
    error = (calls["tfmlib"]() - calls["bert"]())[ids != 0].abs().max()
    assert error < 1e-5, f"the two differ by {error:.1e}"
    return calls


def rows() -> list[Row]:
    """How many times as long as BertModel the encoder takes."""
    table = []
    for name, ids in batches().items():
        times = compare(contenders(ids), rounds=9)
        claim = f"all-MiniLM-L6-v2, {name} batch of {BATCH} × {LENGTH}: time against BertModel"
        table.append(Row(claim, times.ratio("tfmlib", "bert"), 1.05))
    return table
