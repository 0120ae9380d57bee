"""`tfmlib.generate` against the plain model, brute force, and a beam search written with lists."""

import copy
import dataclasses
import doctest
import functools

import pytest
import torch
from torch.nn import functional

from tfmlib import generate as tg
from tfmlib import model as tm
from tfmlib.generate import CachedDecoder, beam_search, greedy, sample

CONFIG = tm.TransformerConfig(
    vocab_size=5, d_model=22, heads=2, d_ff=29, encoder_layers=1, decoder_layers=2, dropout=0.5
)
B, S, T, V = 13, 7, 11, CONFIG.vocab_size
PAD, START, END = CONFIG.pad_id, CONFIG.start_id, CONFIG.end_id


@functools.cache
@torch.enable_grad()
def trained(norm_first=False, seed=0):
    """A model that has half learnt random targets, so that it writes sequences of all lengths."""
    torch.manual_seed(seed)
    model = tm.Transformer(dataclasses.replace(CONFIG, norm_first=norm_first)).double().eval()
    with torch.no_grad():  # biases and gains, too, must have a value that shows
        for parameter in model.parameters():
            parameter += 0.2 * torch.randn(parameter.shape)
    src, tgt = sources(), torch.randint(3, V, (B, T))
    for b in range(B):
        tgt[b, b % (T - 1) :] = END
    start = torch.full((B, 1), START)
    optimiser = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(60):
        logits = model(src, torch.cat([start, tgt[:, :-1]], dim=1))
        optimiser.zero_grad()
        functional.cross_entropy(logits.flatten(0, 1), tgt.flatten()).backward()
        optimiser.step()
    return model


def make(norm_first=False, seed=0):
    """A copy to do with as you like."""
    return copy.deepcopy(trained(norm_first, seed))


def sources(batch=B):
    """Sources of several lengths."""
    src = torch.randint(1, V, (batch, S), generator=seeded(1))
    for b in range(batch):
        src[b, 1 + b % S :] = PAD
    return src


@pytest.fixture(scope="module")
def model():
    return make()


@pytest.fixture(scope="module")
def src():
    return sources()


def seeded(seed):
    return torch.Generator("cpu").manual_seed(seed)


def log_probabilities(model, src, prefix):
    """Of the token after `prefix`, a list, by running the whole model: no cache."""
    with torch.no_grad():
        return model(src, torch.tensor([[START, *prefix]]))[0, -1].log_softmax(-1).tolist()


def until_end(row):
    row = row.tolist()
    return row[: row.index(END) + 1] if END in row else row


# --- the cache ------------------------------------------------------------------------------


def check_cache(model, src, tgt, tolerance):
    wanted = model(src, tgt)
    decoder = CachedDecoder(model, src, max_length=tgt.shape[1])
    for t in range(tgt.shape[1]):
        got = decoder.step(tgt[:, t])
        torch.testing.assert_close(got, wanted[:, t], rtol=0, atol=tolerance)


@pytest.mark.parametrize("norm_first", [False, True], ids=["post-norm", "pre-norm"])
@torch.no_grad()
def test_cached_and_uncached_logits_agree(norm_first):
    tgt = torch.randint(0, V, (B, T), generator=seeded(3))
    check_cache(make(norm_first), sources(), tgt, 1e-10)


@pytest.mark.parametrize("norm_first", [False, True], ids=["post-norm", "pre-norm"])
@torch.no_grad()
def test_cached_and_uncached_logits_agree_in_single_precision(norm_first):
    torch.manual_seed(0)
    model = tm.Transformer(tm.TransformerConfig.preset("tiny", norm_first=norm_first)).eval()
    check_cache(model, sources(), torch.randint(3, 256, (B, 37)), 1e-5)


@pytest.mark.parametrize("batch", [1, 3])
@torch.no_grad()
def test_a_source_without_padding_needs_no_mask(model, batch):
    src = sources()[S - 1 : S].repeat(batch, 1)
    assert PAD not in src
    decoder = CachedDecoder(model, src, max_length=1)
    assert decoder.layers[0].memory_mask is None
    start = torch.full((batch, 1), START)
    torch.testing.assert_close(decoder.step(start[:, 0]), model(src, start)[:, 0])


@torch.no_grad()
def test_reordered_beams_go_on_from_the_past_they_were_given(model, src):
    beams, rows = 3, torch.tensor([2, 0, 0, 5, 4, 3])
    src, tgt = src[:2], torch.randint(0, V, (6, 4), generator=seeded(5))
    decoder = CachedDecoder(model, src, max_length=4, beams=beams)
    for t in range(3):
        decoder.step(tgt[:, t])
    decoder.reorder(rows)
    got = decoder.step(tgt[:, 3])
    history = torch.cat([tgt[rows, :3], tgt[:, 3:]], dim=1)
    wanted = model(src.repeat_interleave(beams, 0), history)[:, -1]
    torch.testing.assert_close(got, wanted)


def test_memory_is_projected_once_and_the_cache_never_moves(model, src, monkeypatch):
    projected, places = [], set()
    project, step = tm.MultiHeadAttention.project, CachedDecoder.step

    def counting_project(self, x, context=None):
        projected.append(context is not None)
        return project(self, x, context)

    def watching_step(self, ids):
        places.add(tuple(layer.past.data_ptr() for layer in self.layers))
        return step(self, ids)

    monkeypatch.setattr(tm.MultiHeadAttention, "project", counting_project)
    monkeypatch.setattr(CachedDecoder, "step", watching_step)
    assert greedy(model, src, T).shape[1] > 1
    assert projected == [False] * CONFIG.encoder_layers + [True] * CONFIG.decoder_layers
    assert len(places) == 1


# --- greedy ---------------------------------------------------------------------------------


@pytest.mark.parametrize("norm_first", [False, True], ids=["post-norm", "pre-norm"])
def test_greedy_writes_what_the_uncached_model_finds_likeliest(norm_first):
    model, src = make(norm_first), sources()
    got = greedy(model, src, T)
    lengths = set()
    for b in range(B):
        prefix = []
        while len(prefix) < T and END not in prefix:
            log_p = log_probabilities(model, src[b : b + 1], prefix)
            prefix.append(max(range(V), key=log_p.__getitem__))
        assert until_end(got[b]) == prefix
        assert not (got[b, len(prefix) :] != PAD).any()
        lengths.add(len(prefix))
    assert len(lengths) > 2  # the sequences of this batch do stop at different times
    assert got.shape == (B, max(lengths))


def test_decoding_stops_when_the_last_sequence_has_ended(model, src, monkeypatch):
    rows = [b for b in range(B) if END in greedy(model, src[b : b + 1], T)]
    assert len(rows) > 2
    steps = []
    step = CachedDecoder.step
    monkeypatch.setattr(CachedDecoder, "step", lambda self, ids: steps.append(0) or step(self, ids))
    longest = greedy(model, src[rows], 100).shape[1]
    assert len(steps) == longest < 100


def test_a_sequence_that_never_ends_has_the_longest_length(src):
    endless = make()
    table = endless.embedding.weight.data
    table[END] = (table[3] + table[4]) / 2  # one of the two always has a larger logit
    written = greedy(endless, src, T)
    assert written.shape == (B, T)
    assert END not in written
    assert beam_search(endless, src, T, beams=1).shape == (B, T)


# --- sampling -------------------------------------------------------------------------------


def test_sampling_repeats_with_its_generator_and_leaves_the_global_one_alone(model, src):
    state = torch.get_rng_state()
    first = sample(model, src, T, generator=seeded(7))
    assert torch.equal(first, sample(model, src, T, generator=seeded(7)))
    assert torch.equal(torch.get_rng_state(), state)
    assert not torch.equal(first[:, :3], sample(model, src, T, generator=seeded(11))[:, :3])


@pytest.mark.parametrize("cut", [{"top_k": 1}, {"top_p": 1e-6}, {"temperature": 1e-4}], ids=str)
def test_sampling_cut_to_the_likeliest_token_is_greedy(model, src, cut):
    assert torch.equal(sample(model, src, T, generator=seeded(0), **cut), greedy(model, src, T))


def test_first_tokens_are_drawn_with_the_models_probabilities(model, src):
    draws, row = 20_000, src[3:4]
    drawn = sample(model, row.repeat(draws, 1), 1, temperature=1.5, generator=seeded(0))
    logits = torch.tensor(log_probabilities(model, row, [])) / 1.5
    wanted = logits.softmax(-1)
    shares = torch.bincount(drawn[:, 0], minlength=V) / draws
    error = (wanted * (1 - wanted) / draws).sqrt()
    assert ((shares - wanted).abs() < 5 * error).all()
    assert (wanted > 0.01).sum() > 2  # so that there is something to draw


def test_cuts_keep_the_tokens_and_shares_worked_out_by_hand():
    logits = torch.tensor([[0.1, 0.4, 0.2, 0.3], [0.7, 0.1, 0.1, 0.1]]).double().log()

    def kept(**cuts):
        return tg.next_token_probabilities(logits, **cuts)[0].mul(63).round().long().tolist()

    assert kept() == [6, 25, 13, 19]  # of 63
    assert kept(top_k=3) == [0, 28, 14, 21]
    assert kept(top_p=0.7) == [0, 36, 0, 27]  # 0.4 + 0.3 reach 0.7
    assert kept(top_p=0.71) == [0, 28, 14, 21]
    assert kept(top_k=3, top_p=0.5) == [0, 36, 0, 27]
    assert kept(temperature=0.5) == [2, 34, 8, 19]  # squares: 1, 16, 4, 9 of 30
    assert kept(top_p=1.0) == kept(top_k=99) == kept()
    second = tg.next_token_probabilities(logits, top_p=0.6)[1]
    assert second.tolist() == [1, 0, 0, 0]
    halves = tg.next_token_probabilities(torch.zeros(2), top_p=0.5)
    assert sorted(halves.tolist()) == [0, 1]  # the first half reaches 0.5, none is missing


# --- beam search ----------------------------------------------------------------------------


def score(log_p, tokens, length_penalty):
    return log_p / ((5 + len(tokens)) / 6) ** length_penalty


def all_scores(model, src, max_length, length_penalty):
    """Every sequence that can be written, ended or cut at max_length, with its score."""
    scores, live = {}, {(): 0.0}
    for _ in range(max_length):
        longer = {}
        for prefix, log_p in live.items():
            for token, more in enumerate(log_probabilities(model, src, prefix)):
                longer[(*prefix, token)] = log_p + more
        live = {}
        for tokens, log_p in longer.items():
            if tokens[-1] == END or len(tokens) == max_length:
                scores[tokens] = score(log_p, tokens, length_penalty)
            else:
                live[tokens] = log_p
    return scores


@pytest.mark.parametrize("length_penalty", [0.0, 0.6, 2.0])
def test_a_wide_beam_finds_the_best_of_all_sequences(length_penalty):
    longest, found = 4, set()
    model = make(seed=2)
    src = sources()[:5]
    got = beam_search(model, src, longest, beams=V**3, length_penalty=length_penalty)
    for b in range(len(src)):
        scores = all_scores(model, src[b : b + 1], longest, length_penalty)
        assert len(scores) == 1 + 4 + 16 + 64 * 5
        best = max(scores, key=scores.get)
        assert tuple(until_end(got[b])) == best
        found.add(best)
    assert len(found) > 1


def beam_with_lists(model, src, max_length, beams, length_penalty):
    """The same search for one source, with lists and without a cache."""
    live, finished = [((), 0.0)], {}
    for _ in range(max_length):
        grown = [
            ((*tokens, token), log_p + more)
            for tokens, log_p in live
            for token, more in enumerate(log_probabilities(model, src, tokens))
        ]
        grown = sorted(grown, key=lambda pair: -pair[1])[:beams]
        live = []
        for tokens, log_p in grown:
            if tokens[-1] == END or len(tokens) == max_length:
                finished[tokens] = score(log_p, tokens, length_penalty)
            else:
                live.append((tokens, log_p))
    return list(max(finished, key=finished.get))


@pytest.mark.parametrize("length_penalty", [0.0, 0.6, 1.0])
@pytest.mark.parametrize("beams", [2, 3])
def test_a_narrow_beam_equals_the_search_written_with_lists(model, src, beams, length_penalty):
    got = beam_search(model, src, 7, beams, length_penalty)
    lists = [
        beam_with_lists(model, src[b : b + 1], 7, beams, length_penalty) for b in range(len(src))
    ]
    assert [until_end(row) for row in got] == lists
    assert got.shape[1] == max(map(len, lists))
    assert all(not row[len(wanted) :].any() for row, wanted in zip(got, lists, strict=True))


@pytest.mark.parametrize("length_penalty", [0.0, 0.6, 2.0])
@pytest.mark.parametrize("seed", range(3))
def test_a_beam_of_one_is_greedy(seed, length_penalty):
    model, src = make(seed=seed), sources()
    got = beam_search(model, src, T, beams=1, length_penalty=length_penalty)
    assert torch.equal(got, greedy(model, src, T))


def one_fork(end_now, length):
    """A decoder that ends at once with probability `end_now`, or else after `length` tokens."""

    class Fork:
        positions = torch.zeros(0).double()
        t = 0

        def __init__(self, model, src, max_length, beams):
            pass

        def step(self, ids):
            self.t += 1
            probabilities = torch.zeros(V).double()
            probabilities[END] = end_now if self.t == 1 else float(self.t == length)
            probabilities[3] = 1 - probabilities[END]
            return probabilities.log().expand(len(ids), V)

        def reorder(self, rows):
            pass

    return Fork


@pytest.mark.parametrize(
    ("length_penalty", "length", "even"),
    [
        (0.0, 2, 0.5),  # p = 1 - p
        (1.0, 2, 0.526689),  # log p = log(1 - p) · 6 / 7
        (2.0, 5, 0.670526),  # log p = log(1 - p) · (6 / 10)²
    ],
)
def test_length_penalty_weighs_short_against_long_as_worked_out_by_hand(
    length_penalty, length, even, model, src, monkeypatch
):
    for end_now, wanted in ((even + 1e-4, 1), (even - 1e-4, length)):
        monkeypatch.setattr(tg, "CachedDecoder", one_fork(end_now, length))
        got = beam_search(model, src[:1], length, beams=2, length_penalty=length_penalty)
        assert got.tolist() == [[3] * (wanted - 1) + [END]]


def test_sequences_of_a_batch_do_not_change_each_others_result(model, src):
    together = beam_search(model, src, T, beams=3)
    for b in range(B):
        alone = beam_search(model, src[b : b + 1], T, beams=3)
        assert until_end(together[b]) == until_end(alone[0])


def test_beam_search_stops_when_no_beginning_can_win_any_more(monkeypatch):
    steps = []
    step = CachedDecoder.step
    monkeypatch.setattr(CachedDecoder, "step", lambda self, ids: steps.append(0) or step(self, ids))
    for seed in range(3):
        beam_search(make(seed=seed), sources()[:1], 97, beams=3, length_penalty=0.0)
    assert len(steps) < 3 * 97 / 2


# --- all three ------------------------------------------------------------------------------

WAYS = [greedy, beam_search, lambda *args: sample(*args, generator=seeded(0))]


@pytest.mark.parametrize("write", WAYS, ids=["greedy", "beam_search", "sample"])
def test_dropout_is_off_and_the_models_mode_returns(write, src):
    model = make()
    wanted = write(model, src, T)
    model.train()
    assert torch.equal(write(model, src, T), wanted)
    assert all(module.training for module in model.modules())
    with pytest.raises(ValueError, match="src must lie between"):
        write(model, src + V, T)
    assert model.training


@pytest.mark.parametrize("write", WAYS, ids=["greedy", "beam_search", "sample"])
def test_what_was_written_can_be_trained_on(write, model, src):
    written = write(model, src, T)
    model(src, written).mean().backward()
    assert written.dtype == src.dtype
    model.zero_grad()


@pytest.mark.parametrize("write", WAYS, ids=["greedy", "beam_search", "sample"])
def test_nothing_is_created_on_the_default_device_behind_the_users_back(write, model, src):
    wanted = write(model, src, T)
    with torch.device("meta"):  # a tensor made without a device would now hold no number
        got = write(model, src, T)
    assert torch.equal(got, wanted)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_half_precision_models_choose_in_single_precision(dtype, src):
    model = make().to(dtype)
    logits = CachedDecoder(model, src, 1).step(src[:, 0])
    assert logits.dtype == torch.float32
    wanted = CachedDecoder(make(), src, 1).step(src[:, 0])
    torch.testing.assert_close(logits.double(), wanted, rtol=0, atol=0.3)
    for write in WAYS:
        assert torch.isin(write(model, src, T), torch.arange(V)).all()


@pytest.mark.parametrize("write", WAYS, ids=["greedy", "beam_search", "sample"])
def test_a_source_of_padding_alone_does_no_harm(write, model, src):
    src = src.clone()
    src[0] = PAD
    written = write(model, src, T)
    assert ((written >= 0) & (written < V)).all()


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda m, s: greedy(m, s, 0), "max_length must be at least 1, got 0."),
        (lambda m, s: sample(m, s, 3, temperature=0), "temperature must be positive, got 0; .*"),
        (lambda m, s: sample(m, s, 3, top_k=0), "top_k must be at least 1, got 0."),
        (lambda m, s: sample(m, s, 3, top_p=1.5), "top_p must be above 0 .* got 1.5."),
        (lambda m, s: sample(m, s, 3, top_p=0.0), "top_p must be above 0 .* got 0.0."),
        (lambda m, s: beam_search(m, s, 3, beams=0), "beams must be at least 1, got 0."),
        (
            lambda m, s: beam_search(m, s, 3, length_penalty=-1.0),
            "length_penalty must not be negative, got -1.0.",
        ),
        (lambda m, s: greedy(m, s[:, :0], 3), r"src must not be empty, got shape \(13, 0\)."),
    ],
)
def test_bad_requests_are_told_in_one_sentence(call, sentence, model, src):
    with pytest.raises(ValueError, match=f"^{sentence}$"):
        call(model, src)


def test_a_list_for_a_source_is_told_in_one_sentence(model):
    for write in (greedy, sample, beam_search):
        with pytest.raises(TypeError, match=r"^src must be a tensor, got .*make one with"):
            write(model, [[3, 4]], 2)


def test_docstring_examples_hold():
    result = doctest.testmod(tg)
    assert result.failed == 0
    assert result.attempted >= 7
