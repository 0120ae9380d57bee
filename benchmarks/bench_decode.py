"""Greedy decoding of 128 tokens against transformers' MarianMTModel.generate with its cache."""

import torch
from transformers import GenerationConfig, MarianConfig, MarianMTModel

from benchmarks.harness import Row, compare
from tfmlib.generate import greedy
from tfmlib.model import Transformer, TransformerConfig

LENGTH, SOURCE = 128, 64  # tokens written, tokens read
SMALL = TransformerConfig(vocab_size=8000, d_model=256, heads=4, d_ff=1024, encoder_layers=3,
                          decoder_layers=3)  # fmt: skip
BASE = TransformerConfig.preset("base")


def marian(config: TransformerConfig) -> MarianMTModel:
    """Marian of the same sizes, post-norm as ours, with random weights."""
    return MarianMTModel(
        MarianConfig(
            vocab_size=config.vocab_size,
            d_model=config.d_model,
            encoder_layers=config.encoder_layers,
            decoder_layers=config.decoder_layers,
            encoder_attention_heads=config.heads,
            decoder_attention_heads=config.heads,
            encoder_ffn_dim=config.d_ff,
            decoder_ffn_dim=config.d_ff,
            dropout=config.dropout,
            attention_dropout=config.dropout,
            activation_dropout=config.dropout,
            activation_function="relu",
            scale_embedding=True,
            pad_token_id=config.pad_id,
            eos_token_id=config.end_id,
            decoder_start_token_id=config.start_id,
            max_position_embeddings=2 * LENGTH,
        )
    )


def contenders(config: TransformerConfig, batch: int) -> dict:
    """Both write exactly LENGTH tokens: the end token cannot win."""
    torch.manual_seed(0)
    ours, theirs = Transformer(config).eval(), marian(config).eval()
    with torch.no_grad():
        ours.embedding.weight[config.end_id] = 0.0  # a logit of 0, far from the largest
    wanted = GenerationConfig(
        max_new_tokens=LENGTH,
        num_beams=1,
        do_sample=False,
        use_cache=True,
        eos_token_id=None,
        pad_token_id=config.pad_id,
        decoder_start_token_id=config.start_id,
    )
    src = torch.randint(3, config.vocab_size, (batch, SOURCE))
    calls = {
        "tfmlib": lambda: greedy(ours, src, LENGTH),
        "marian": lambda: theirs.generate(src, generation_config=wanted)[:, 1:],
    }
    for name, call in calls.items():
        assert call().shape == (batch, LENGTH), f"{name} did not write {LENGTH} tokens"
    return calls


def rows() -> list[Row]:
    """How many times faster greedy decoding is than Marian's."""
    cases = (
        ("d 256, batch 1", SMALL, 1, 9, 1.4, 2.0),
        ("d 256, batch 32", SMALL, 32, 5, 1.0, None),
        ("base, batch 1", BASE, 1, 5, 1.1, 1.5),
        ("base, batch 32", BASE, 32, 3, 1.0, None),
    )
    table = []
    for name, config, batch, rounds, bar, stretch in cases:
        times = compare(contenders(config, batch), rounds)
        claim, speed = (
            f"greedy decoding, {name}: faster than Marian",
            times.ratio("marian", "tfmlib"),
        )
        table.append(Row(claim, speed, bar, at_least=True))
        if stretch:
            table.append(Row(claim, speed, stretch, at_least=True, stretch=True))
    return table
