"""Training: the loss and the schedule are the reference's, and a small model learns by heart."""

import doctest

import numpy as np
import pytest
import torch

from tfmlib import data, generate, ref, train
from tfmlib.model import Transformer, TransformerConfig
from tfmlib.parallel import World

B, T, V, PAD = 3, 5, 7, 0
PAIRS = data.number_pairs([*range(7, 100, 5), 100])
pytestmark = pytest.mark.usefixtures("one_thread")


@pytest.fixture(scope="module")
def tokenizer():
    return data.number_task(below=100, train=10, validation=1, test=1).tokenizer


def tiny(tokenizer, dropout=0.0):
    torch.manual_seed(0)
    sizes = {"d_model": 32, "heads": 2, "d_ff": 64, "encoder_layers": 1, "decoder_layers": 1}
    return Transformer(TransformerConfig(tokenizer.vocab_size, **sizes, dropout=dropout))


def same_weights(one, other):
    return all(map(torch.equal, one.parameters(), other.parameters()))


# --- the objective ------------------------------------------------------------------------------


def test_the_decoder_reads_all_but_the_last_token_and_predicts_all_but_the_first():
    tgt = torch.tensor([[1, 5, 6, 3, 2], [1, 4, 2, 0, 0]])
    inputs, targets = train.shift(tgt)
    assert inputs.tolist() == [[1, 5, 6, 3], [1, 4, 2, 0]]
    assert targets.tolist() == [[5, 6, 3, 2], [4, 2, 0, 0]]


@pytest.mark.parametrize("smoothing", [0.0, 0.1, 0.7])
@pytest.mark.parametrize("ignore_id", [None, PAD])
def test_the_loss_is_that_of_the_reference(smoothing, ignore_id):
    rng = np.random.default_rng(1)
    logits, targets = 3 * rng.normal(size=(B, T, V)), rng.integers(0, V, size=(B, T))
    targets[1, 3:] = PAD
    ours = train.cross_entropy(
        torch.tensor(logits), torch.tensor(targets), smoothing, ignore_id
    ).item()
    assert ours == pytest.approx(
        ref.cross_entropy(logits, targets, smoothing, ignore_id), abs=1e-12
    )


@pytest.mark.parametrize(("target", "smoothing"), [(1, 0.0), (0, 0.0), (1, 0.1), (0, 0.1)])
def test_an_impossible_token_costs_what_it_costs_in_the_reference(target, smoothing):
    logits = torch.tensor([[-torch.inf, 2.0]])
    ours = train.cross_entropy(logits, torch.tensor([target]), smoothing)
    assert ours == ref.cross_entropy(logits.numpy(), [target], smoothing)


def test_what_stands_at_the_padding_does_not_matter():
    logits, targets = torch.randn(B, T, V), torch.tensor([[3, 5, 0, 0, 0]] * B)
    other = logits.clone()
    other[:, 2:] += 5 * torch.randn(B, T - 2, V)
    assert train.cross_entropy(other, targets, 0.1, PAD) == train.cross_entropy(
        logits, targets, 0.1, PAD
    )


@pytest.mark.parametrize("step", [1, 7, 199, 200, 201, 5000])
def test_the_schedule_is_that_of_the_reference(step):
    assert train.learning_rate(step, 64, 200) == pytest.approx(ref.learning_rate(step, 64, 200))
    scaled = train.learning_rate(step, 64, 200, peak=3e-3)
    assert scaled == pytest.approx(3e-3 * min(step / 200, (200 / step) ** 0.5))


# --- the loop -----------------------------------------------------------------------------------


def test_a_tiny_model_learns_twenty_pairs_by_heart(tokenizer):
    model = tiny(tokenizer)
    batches = data.Batches(PAIRS, tokenizer, batch_size=len(PAIRS))
    before = train.exact_match(model, tokenizer, PAIRS)
    reports = list(train.train(model, batches, 120, warmup=20, peak=1e-2, smoothing=0.0))
    assert before == 0
    assert reports[0].loss > 2 > 0.05 > reports[-1].loss
    assert train.exact_match(model, tokenizer, PAIRS) == 1
    assert train.mean_loss(model, batches) < 0.05


def test_each_report_tells_step_rate_loss_and_tokens(tokenizer):
    model = tiny(tokenizer)
    batches = data.Batches(PAIRS, tokenizer, batch_size=7)
    src, tgt = map(torch.from_numpy, batches[0])
    with torch.no_grad():
        loss = ref.cross_entropy(model(src, tgt[:, :-1]).numpy(), tgt[:, 1:].numpy(), 0.1, PAD)
    first, second = train.train(model, batches, 2, warmup=10, peak=1e-3)
    assert (first.number, second.number) == (1, 2)
    assert first.loss == pytest.approx(loss, abs=1e-5)
    assert (first.rate, second.rate) == pytest.approx((1e-4, 2e-4))
    assert first.tokens == (tgt[:, 1:] != 0).sum()


def test_the_rate_that_is_reported_is_the_one_that_moves_the_weights(tokenizer):
    """Adam's first step moves every weight with a gradient by the rate, whatever the gradient."""
    model = tiny(tokenizer)
    before = model.decoder[0].feed_forward[0].weight.detach().clone()
    (report,) = train.train(model, data.Batches(PAIRS, tokenizer, 7), 1, warmup=10, peak=1e-2)
    moved = (model.decoder[0].feed_forward[0].weight.detach() - before).abs()
    assert (
        moved.max().item() == pytest.approx(report.rate, rel=1e-3) == pytest.approx(1e-3, rel=1e-3)
    )


def test_a_long_gradient_is_cut_to_the_clip(tokenizer):
    model = tiny(tokenizer)
    for _ in train.train(model, data.Batches(PAIRS, tokenizer, 7), 1, clip=0.01):
        pass
    norm = torch.stack([p.grad.norm() for p in model.parameters()]).norm()
    assert norm.item() == pytest.approx(0.01, rel=1e-4)


def test_the_same_seed_trains_to_the_same_weights_and_half_by_half_too(tokenizer):
    batches = data.Batches(PAIRS, tokenizer, 7)
    models = [tiny(tokenizer) for _ in range(3)]
    for model in models[:2]:
        list(train.train(model, batches, 6))
    optimizer = train.make_optimizer(models[2])
    list(train.train(models[2], batches, 3, optimizer=optimizer))
    list(train.train(models[2], batches, 6, optimizer=optimizer, first=4))
    assert same_weights(models[0], models[1])
    assert same_weights(models[0], models[2])


def test_dropout_is_on_in_every_step_and_the_mode_is_kept_by_evaluation(tokenizer):
    model = tiny(tokenizer)
    batches = data.Batches(PAIRS, tokenizer, 7)
    for _ in train.train(model, batches, 2):
        assert model.training
        train.mean_loss(model, batches)
        train.exact_match(model, tokenizer, PAIRS[:2])
        assert model.training
        model.eval()
    assert model.eval().training is False
    train.mean_loss(model, batches)
    assert not model.training


def test_a_loss_that_is_not_finite_stops_with_the_step(tokenizer):
    model = tiny(tokenizer)
    with torch.no_grad():
        model.embedding.weight[5] = torch.nan
    with pytest.raises(FloatingPointError, match="loss of step 1 is nan"):
        list(train.train(model, data.Batches(PAIRS, tokenizer, 7), 3))
    assert all(p.isfinite().all() for p in model.encoder.parameters())  # nothing was moved


def test_a_gradient_that_is_not_finite_stops_with_the_step_and_moves_nothing(tokenizer):
    """A loss may be finite and its gradient not: a checkpoint after it would be worthless."""
    model, untouched = tiny(tokenizer), tiny(tokenizer)
    model.decoder[0].feed_forward[0].weight.register_hook(lambda gradient: gradient * torch.inf)
    with pytest.raises(FloatingPointError, match="gradient's length in step 1 is nan"):
        list(train.train(model, data.Batches(PAIRS, tokenizer, 7), 3))
    assert same_weights(model, untouched)


def test_with_a_seed_the_random_numbers_follow_from_the_step_alone(tokenizer):
    """Whatever is drawn in between, and wherever the run begins again, the masks are the same."""
    batches = data.Batches(PAIRS, tokenizer, 7)
    models = [tiny(tokenizer, dropout=0.3) for _ in range(2)]
    list(train.train(models[0], batches, 6, seed=11))
    optimizer = train.make_optimizer(models[1])
    torch.manual_seed(999)
    for steps, first in ((2, 1), (6, 3)):
        for _ in train.train(models[1], batches, steps, optimizer=optimizer, first=first, seed=11):
            torch.rand(13)
    assert same_weights(*models)


def test_another_seed_another_step_and_another_process_draw_other_numbers(tokenizer):
    drawn = []

    class Drawing(data.Batches):
        """The first random number after each seeding: a step takes its batch right then."""

        def __getitem__(self, step):
            drawn.append(torch.rand(1).item())
            return super().__getitem__(step)

    class Quiet(World):
        total = staticmethod(lambda value: value)

    model, batches = tiny(tokenizer), Drawing(PAIRS, tokenizer, 7)
    for seed, rank in ((11, 0), (11, 1), (12, 0), (1, 11)):
        list(train.train(model, batches, 5, seed=seed, world=Quiet(rank, size=13)))
    assert len(set(drawn)) == len(drawn) == 20
    list(train.train(model, batches, 5, seed=11))
    assert drawn[20:] == drawn[:5]


def test_without_a_seed_torchs_own_generator_is_left_alone(tokenizer):
    batches = data.Batches(PAIRS, tokenizer, 7)
    torch.manual_seed(5)
    wanted = torch.rand(3).tolist()
    model = tiny(tokenizer)  # no dropout: nothing is drawn
    torch.manual_seed(5)
    list(train.train(model, batches, 2))
    assert torch.rand(3).tolist() == wanted


def test_the_forward_pass_may_be_another_callable_than_the_model(tokenizer):
    model, plain = tiny(tokenizer), tiny(tokenizer)
    calls = []

    def forward(src, inputs):
        calls.append(src.shape)
        return model(src, inputs)

    batches = data.Batches(PAIRS, tokenizer, 7)
    list(train.train(model, batches, 3, forward=forward))
    list(train.train(plain, batches, 3))
    assert calls == [batches[step][0].shape for step in range(3)]
    assert same_weights(model, plain)


def test_half_precision_is_for_the_products_and_the_weights_stay_whole(tokenizer):
    models = [tiny(tokenizer) for _ in range(2)]
    seen = []
    models[1].decoder[0].feed_forward.register_forward_hook(lambda *a: seen.append(a[-1].dtype))
    batches = data.Batches(PAIRS, tokenizer, 7)
    (whole,), (half,) = (
        list(train.train(model, batches, 1, precision=precision))
        for model, precision in zip(models, (None, torch.bfloat16), strict=True)
    )
    assert seen == [torch.bfloat16]
    assert half.loss == pytest.approx(whole.loss, rel=0.02)
    assert half.loss != whole.loss
    assert torch.tensor(half.loss).bfloat16().item() != half.loss  # the loss is whole, too
    assert {p.dtype for p in models[1].parameters()} == {torch.float32}


# --- how good is it? ----------------------------------------------------------------------------


def test_the_mean_loss_weighs_every_token_alike(tokenizer):
    model = tiny(tokenizer).eval()
    small, large = (data.Batches(PAIRS, tokenizer, size) for size in (3, len(PAIRS)))
    assert train.mean_loss(model, small) == pytest.approx(train.mean_loss(model, large), abs=1e-5)


def test_translations_come_in_the_order_of_the_texts(tokenizer):
    model = tiny(tokenizer)
    texts = [source for source, _ in PAIRS]
    together = train.translate(model, tokenizer, texts, batch_size=5)
    alone = [train.translate(model, tokenizer, [text])[0] for text in texts]
    assert together == alone
    assert len(set(together)) > 1


def test_exact_match_counts_whole_sentences(tokenizer, monkeypatch):
    written = ["sieben", "zwölf", "sieben zehn", "zwei und zwanzig"]
    pairs = [("a", "Sieben!"), ("b", "elf"), ("c", "sieben"), ("d", "zwei und zwanzig")]
    monkeypatch.setattr(train, "translate", lambda *_: written)
    assert train.exact_match(None, tokenizer, pairs) == 0.5


def test_long_texts_are_translated_a_few_at_once_and_short_ones_many(tokenizer, monkeypatch):
    model, shapes = tiny(tokenizer), []

    def end_at_once(model, src, longest):
        shapes.append(tuple(src.shape))
        return torch.full((len(src), 1), tokenizer.end_id)

    monkeypatch.setattr(generate, "greedy", end_at_once)
    monkeypatch.setattr(generate, "TOKENS_AT_ONCE", 22)
    texts = ["seven " * words for words in (40, 1, 6, 1, 1, 10, 1, 1, 10)]
    assert train.translate(model, tokenizer, texts, batch_size=3) == [""] * 9
    assert shapes == [(3, 2), (3, 7), (2, 11), (1, 41)]


def test_the_examples_in_the_docstrings_are_true():
    result = doctest.testmod(train)
    assert result.attempted > 3
    assert result.failed == 0
