"""What the notes say of trained models: measured a second time, and able to fail."""

import math
import os
from dataclasses import replace

import numpy as np
import pytest

from tfmlib import ledger
from tfmlib.ledger import Grade, norm_training, notes_practice, published
from tfmlib.ledger.norm_training import AFTER, BEFORE, NONE, Run
from tfmlib.ledger.published import Attention

# --- a published encoder, run by this test alone --------------------------------------------------


@pytest.fixture(scope="module")
def weights():
    """The published folder; where there is none, CI fails and a person is told how to get it."""
    pretrained = pytest.importorskip("tfmlib.pretrained")
    folder = pretrained.find_weights()
    if folder is None:
        stop = pytest.fail if os.environ.get("CI") == "true" else pytest.skip
        stop(pretrained.HOW_TO_GET_WEIGHTS)
    return folder


def erf(x):
    return np.array([math.erf(value) for value in x.ravel()]).reshape(x.shape)


class Bert:
    """The encoder in NumPy, from the names of the published tensors."""

    def __init__(self, folder):
        from safetensors.numpy import load_file

        tensors = load_file(folder / "model.safetensors")
        self.tensors = {name: tensor.astype(float) for name, tensor in tensors.items()}
        words = (folder / "vocab.txt").read_text("utf-8").split("\n")
        self.ids = {word: number for number, word in enumerate(words)}

    def linear(self, x, name):
        return x @ self.tensors[f"{name}.weight"].T + self.tensors[f"{name}.bias"]

    def norm(self, x, name):
        x = x - x.mean(axis=-1, keepdims=True)
        x = x / np.sqrt((x**2).mean(axis=-1, keepdims=True) + 1e-12)
        return x * self.tensors[f"{name}.weight"] + self.tensors[f"{name}.bias"]

    def pieces(self, sentence):
        for word in sentence.lower().split():
            start = 0
            while start < len(word):
                mark = "##" if start else ""
                ends = range(len(word), start, -1)
                end = next(e for e in ends if mark + word[start:e] in self.ids)
                yield mark + word[start:end]
                start = end

    def attention(self, sentence):
        """The weights of each layer and head, as nested lists of matrices."""
        names = ["[CLS]", *self.pieces(sentence), "[SEP]"]
        table = "embeddings.{}_embeddings.weight"
        x = self.tensors[table.format("word")][[self.ids[name] for name in names]]
        x = x + self.tensors[table.format("position")][: len(names)]
        x = self.norm(x + self.tensors[table.format("token_type")][0], "embeddings.LayerNorm")
        maps = []
        for number in range(6):
            layer = f"encoder.layer.{number}"
            roles = ("query", "key", "value")
            q, k, v = (self.linear(x, f"{layer}.attention.self.{role}") for role in roles)
            heads, outputs = [], []
            for h in range(12):
                own = slice(32 * h, 32 * h + 32)
                powers = np.exp(q[:, own] @ k[:, own].T / math.sqrt(32))
                heads.append(powers / powers.sum(axis=1, keepdims=True))
                outputs.append(heads[-1] @ v[:, own])
            maps.append(heads)
            attended = self.linear(np.hstack(outputs), f"{layer}.attention.output.dense")
            x = self.norm(x + attended, f"{layer}.attention.output.LayerNorm")
            hidden = self.linear(x, f"{layer}.intermediate.dense")
            hidden = hidden * (1 + erf(hidden / math.sqrt(2))) / 2
            x = self.norm(
                x + self.linear(hidden, f"{layer}.output.dense"), f"{layer}.output.LayerNorm"
            )
        return maps


@pytest.fixture(scope="module")
def rows(weights):
    """Reading -> (layer, head) -> the rows of all words as (place of the word, weights)."""
    bert = Bert(weights)
    found = {"with [CLS] and [SEP]": {}, "words alone": {}}
    for sentence in published.SENTENCES:
        for layer, heads in enumerate(bert.attention(sentence)):
            for head, weights_of_head in enumerate(heads):
                for place, row in enumerate(weights_of_head.tolist()):
                    if 0 < place < len(row) - 1:
                        inner = row[1:-1]
                        alone = [weight / sum(inner) for weight in inner]
                        found["with [CLS] and [SEP]"].setdefault((layer, head), []).append(
                            (place, row)
                        )
                        found["words alone"].setdefault((layer, head), []).append(
                            (place - 1, alone)
                        )
    return found


def likeness(first, second):
    shared = chance = 0
    for (_, a), (_, b) in zip(first, second, strict=True):
        shared += sum(map(min, a, b))
        chance += sum(min(x, y) for x in a for y in b) / len(a)
    return (shared - chance) / (len(first) - chance)


@pytest.mark.parametrize("reading", published.RECORDED)
def test_a_second_computation_finds_the_recorded_attention(rows, reading):
    heads = rows[reading]
    every = [row for head in heads.values() for row in head]
    alike = {
        (one, other): likeness(heads[one], heads[other])
        for one in heads
        for other in heads
        if one[0] == other[0] and one[1] < other[1]
    }
    twins = {head for pair, value in alike.items() if value > 0.5 for head in pair}
    second = Attention(
        own_largest=sum(max(row) == row[place] for place, row in every) / len(every),
        own_weight=sum(row[place] for place, row in every) / len(every),
        even_weight=sum(1 / len(row) for _, row in every) / len(every),
        likeness=sum(alike.values()) / len(alike),
        apart=len(heads) - len(twins),
    )
    assert len(heads) == published.HEADS
    np.testing.assert_allclose(second, published.RECORDED[reading], rtol=0, atol=1e-4)
    np.testing.assert_allclose(second, published.measured()[reading], rtol=0, atol=1e-4)


def test_without_weights_the_recorded_figures_stand_in_and_say_so(monkeypatch):
    monkeypatch.setattr(published, "attention_maps", lambda: None)
    assert published.measured() is published.RECORDED
    for id in ("notes.own-word", "notes.head-features"):
        entry = replace(ledger.find(id))
        assert entry.sentence == ledger.find(id).sentence
        assert "recorded" in entry.findings["figures of all-MiniLM-L6-v2"]


def measuring(monkeypatch, **changes):
    """Let the published encoder attend otherwise, with special tokens and among words."""
    both = {
        reading: found._replace(**{name: values[i] for name, values in changes.items()})
        for i, (reading, found) in enumerate(published.RECORDED.items())
    }
    monkeypatch.setattr(published, "measured", lambda: both)


@pytest.mark.parametrize(
    ("shares", "verdict", "grade"),
    [
        ((0.6, 0.7), "property", None),
        ((0.4, 0.7), "erratum", Grade.IN_PART),
        ((0.4, 0.4), "erratum", Grade.WRONG),
    ],
)
def test_the_own_word_would_be_the_highest_if_it_were_in_most_rows(
    monkeypatch, shares, verdict, grade
):
    measuring(monkeypatch, own_largest=shares)
    entry = replace(ledger.find("notes.own-word"))
    assert (entry.verdict, entry.grade) == (verdict, grade)


@pytest.mark.parametrize(
    ("apart", "verdict", "grade"),
    [
        ((72, 72), "property", None),
        ((16, 72), "erratum", Grade.IN_PART),
        ((16, 30), "erratum", Grade.WRONG),
    ],
)
def test_each_head_would_have_its_own_feature_if_none_were_like_another(
    monkeypatch, apart, verdict, grade
):
    measuring(monkeypatch, apart=apart)
    entry = replace(ledger.find("notes.head-features"))
    assert (entry.verdict, entry.grade) == (verdict, grade)


def test_likeness_is_one_for_equal_heads_and_zero_for_unrelated_ones():
    rng = np.random.default_rng(0)
    one, other = rng.dirichlet(np.ones(5), size=(2, 7001))
    equal = published.likeness([np.stack([one, one])[None]])
    apart = published.likeness([np.stack([one, other])[None]])
    np.testing.assert_allclose(equal, np.ones((1, 2, 2)), atol=1e-12)
    assert abs(apart[0, 0, 1]) < 0.02


# --- longer sequences -----------------------------------------------------------------------------


def offsets_alone(length):
    """The score of rotary positions: a sum of waves in the offset, without ref."""
    places = np.arange(length)
    speeds = 10000.0 ** (-np.arange(0, 16, 2) / 16)
    angles = (places[:, None] - places[None])[..., None] * speeds
    return np.concatenate([np.cos(angles), np.sin(angles)], axis=-1)


def test_a_head_of_offsets_alone_looks_back_beyond_what_it_has_seen():
    def attended(features, w):
        n = len(features)
        scores = np.where(np.tri(n, dtype=bool), features @ w, -np.inf)
        powers = np.exp(scores - scores.max(axis=1, keepdims=True))
        return powers / powers.sum(axis=1, keepdims=True)

    seen, w = offsets_alone(16), np.zeros(16)
    target = np.eye(16)[np.arange(3, 16) - 3]
    for _ in range(2000):
        w -= 0.1 * np.einsum("ij,ijf->f", attended(seen, w)[3:] - target, seen[3:]) / 13
    found = attended(offsets_alone(64), w)[3:].argmax(axis=1)
    right = found == np.arange(3, 64) - 3
    assert right.all()
    assert notes_practice.looking_back("rotary positions").tolist() == right.tolist()


def test_rotary_features_are_waves_in_the_offset():
    features = notes_practice.pair_features("rotary positions", 7).reshape(7, 7, 16, 16)
    waves = offsets_alone(7)
    pairs = np.arange(0, 16, 2)
    np.testing.assert_allclose(features[..., pairs, pairs], waves[..., :8], atol=1e-12)
    np.testing.assert_allclose(np.abs(features[..., pairs, pairs + 1]), np.abs(waves[..., 8:]))
    assert not features[..., 0, 2:].any()


def test_added_positions_learn_what_was_seen_and_little_more():
    for kind in notes_practice.KINDS:
        assert notes_practice.looking_back(kind)[:13].all()
    beyond = [notes_practice.looking_back(kind)[13:].mean() for kind in notes_practice.KINDS]
    assert beyond[0] == 1
    assert 0 < beyond[1] < 0.5
    assert beyond[2] < 0.05
    words = ledger.find("notes.longer").sentence
    assert all(f"at {100 * share:.0f} %" in words for share in beyond)


# --- residual connections -------------------------------------------------------------------------


def normed(x):
    centred = x - x.mean(axis=-1, keepdims=True)
    return centred / np.sqrt((centred**2).mean(axis=-1, keepdims=True) + 1e-5)


def through_a_layer(x, w, way):
    """Two heads and a network for one batch of sentences, without ref."""
    q, k, v = (x @ w[name] for name in ("w_q", "w_k", "w_v"))
    heads = []
    for own in (slice(0, 8), slice(8, 16)):
        scores = np.einsum("bid,bjd->bij", q[..., own], k[..., own]) / math.sqrt(8)
        powers = np.exp(scores)
        heads.append(powers / powers.sum(axis=-1, keepdims=True) @ v[..., own])
    x = normed(way * x + np.concatenate(heads, axis=-1) @ w["w_o"])
    return normed(way * x + np.maximum(0, x @ w["w1"]) @ w["w2"])


@pytest.mark.parametrize("way", [0, 1])
def test_a_second_computation_recovers_as_much_of_the_input(way):
    rng = np.random.default_rng(83)
    inputs = rng.normal(size=(211, 7, 16))
    x, shares = inputs, []
    for _ in range(6):
        x = through_a_layer(x, notes_practice.random_layer(rng), way)
        (a, b), (c, d) = (
            ((part - part.mean(axis=(0, 1))).reshape(-1, 16) for part in (x[half], inputs[half]))
            for half in (slice(0, 105), slice(105, None))
        )
        w = np.linalg.solve(a.T @ a, a.T @ b)  # the normal equations
        shares.append(max(0, 1 - np.sum((c @ w - d) ** 2) / np.sum(d**2)))
    np.testing.assert_allclose(notes_practice.kept(bool(way)), shares, atol=1e-6)


def test_all_of_an_input_is_recovered_from_a_rotated_copy_and_nothing_from_noise():
    rng = np.random.default_rng(1)
    inputs = rng.normal(size=(200, 5, 7))
    rotation = np.linalg.qr(rng.normal(size=(7, 7)))[0]
    assert notes_practice.recovered(inputs @ rotation, inputs) == pytest.approx(1)
    assert notes_practice.recovered(rng.normal(size=inputs.shape), inputs) < 0.02


# --- layer norm -----------------------------------------------------------------------------------


def torch_loss(torch, stack, output, norm, start):
    def layer_norm(x):
        return torch.nn.functional.layer_norm(x, (16,))

    x = torch.from_numpy(np.random.default_rng(5).normal(size=(32, 16)))
    for w1, w2 in stack:
        read = layer_norm(x) if norm == BEFORE else x
        x = x + torch.relu(read @ w1[start]) @ w2[start]
        x = layer_norm(x) if norm == AFTER else x
    x = layer_norm(x) if norm == BEFORE else x
    return torch.nn.functional.cross_entropy(x @ output[start], torch.arange(32) % 4)


def in_torch(torch, depth):
    stack, output = norm_training.new_stack(depth)
    matrices = [[torch.tensor(w, requires_grad=True) for w in layer] for layer in stack]
    return matrices, torch.tensor(output, requires_grad=True)


@pytest.mark.parametrize("norm", [AFTER, BEFORE, NONE])
def test_the_gradients_are_those_of_torch(norm):
    torch = pytest.importorskip("torch")
    stack, output = in_torch(torch, 3)
    losses = [torch_loss(torch, stack, output, norm, start) for start in range(3)]
    sum(losses).backward()
    ours, gradients, to_output = norm_training.loss_and_gradients(*norm_training.new_stack(3), norm)
    np.testing.assert_allclose(ours, [loss.item() for loss in losses], atol=1e-12)
    np.testing.assert_allclose(to_output, output.grad, atol=1e-12)
    for found, layer in zip(gradients, stack, strict=True):
        for gradient, matrix in zip(found, layer, strict=True):
            np.testing.assert_allclose(gradient, matrix.grad, atol=1e-12)


@pytest.mark.parametrize("norm", [AFTER, BEFORE, NONE])
def test_torch_learns_in_as_many_steps(norm):
    torch = pytest.importorskip("torch")
    run = norm_training.fastest(6, norm)
    steps = []
    for start in range(3):
        stack, output = in_torch(torch, 6)
        matrices = [w for layer in stack for w in layer] + [output]
        for step in range(50):
            loss = torch_loss(torch, stack, output, norm, start)
            if loss.item() < 0.2:
                steps.append(step)
                break
            gradients = torch.autograd.grad(loss, matrices)
            with torch.no_grad():
                for w, g in zip(matrices, gradients, strict=True):
                    w -= run.rate * g
    assert np.median(steps) == run.steps


@pytest.mark.parametrize(
    ("factor", "steps", "verdict", "grade"),
    [
        (1.1, 5, "property", None),
        (1.1, 20, "erratum", Grade.IN_PART),
        (50, 5, "erratum", Grade.IN_PART),
        (50, 20, "erratum", Grade.WRONG),
    ],
)
def test_the_claim_about_norms_has_two_halves(monkeypatch, factor, steps, verdict, grade):
    monkeypatch.setattr(norm_training, "growth", lambda depth, n: factor if n == AFTER else 500)
    monkeypatch.setattr(
        norm_training, "fastest", lambda depth, n: Run(steps if n == AFTER else 9, 0.1)
    )
    entry = replace(ledger.find("notes.norm-training"))
    assert (entry.verdict, entry.grade) == (verdict, grade)


def test_a_network_that_never_learns_needs_endless_steps(monkeypatch):
    monkeypatch.setattr(norm_training, "STEPS", 3)
    assert norm_training.fastest.__wrapped__(6, AFTER).steps == math.inf


# --- the whiteboard's uses ------------------------------------------------------------------------


def test_a_picture_and_a_sound_are_tokens_of_one_layer():
    rows = ledger.find("board.modalities").findings
    assert rows["a picture of 12 × 15 pixels"].startswith("20 tokens of 9 numbers")
    assert rows["a sound of 77 samples"].startswith("11 tokens of 7 numbers")
    arrows = {"image → image", "text → image", "image → text", "voice → text", "text → voice"}
    assert arrows | {"diffusion"} < set(rows)
