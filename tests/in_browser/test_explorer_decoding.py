"""The decoding explorer of chapter 9, in a real browser, against NumPy and tfmlib.generate."""

import math
import re
from types import SimpleNamespace

import nbformat
import numpy as np
import pytest
from explorer_reader import ROOT, Reader, assert_written, visiting

from book import explorers
from book.explorers import decoding
from browser import NEXT_FRAMES

pytestmark = pytest.mark.browser

PAGE = "notebooks/09-the-decoder.html"
DATA = explorers.data("decoding")
PRESETS = DATA["presets"]
SEARCHED = [name for name in PRESETS if name != "sampling"]
STARTS = [(name, model) for name in SEARCHED for model in PRESETS[name]["distributions"]]
each_start = pytest.mark.parametrize(("preset", "model"), STARTS)
END, EXACT, SHOWN = "<end>", 1e-12, 6

SEARCH = """([preset, model, width, alpha]) => {
    const data = JSON.parse(document.getElementById('explorer-data-decoding').textContent);
    const { most, distributions } = data.presets[preset];
    const plain = ({ words, logP, kept, ended, score }) => ({ words, logP, kept, ended, score });
    return tfm.decoding.beamSearch(distributions[model], { width, alpha, most }).steps.map(
        step => ({ candidates: step.candidates.map(plain), best: step.best && plain(step.best) }));
}"""
NUMBERS = """box => [...box.querySelectorAll('[data-value]')].map(
    shown => [shown.dataset.name, Number(shown.dataset.value), shown.textContent])"""
NODES = """box => [...box.querySelectorAll('.tfm-tree .tfm-node')].map(
    node => [node.dataset.words, node.dataset.fate])"""
NAMES = """box => [...box.querySelectorAll('.tfm-tree .tfm-node')].map(
    node => node.textContent.replace(/\\s+/g, ' '))"""


# --- the same search, with arrays -----------------------------------------------------------------


def search(preset: str, model: str, width: int, alpha: float) -> list[list[dict]]:
    """For each step its best candidates, and which of them are kept and have ended."""
    follow, most = PRESETS[preset]["distributions"][model], PRESETS[preset]["most"]
    words = list(dict.fromkeys(word for row in follow.values() for word in row))
    if preset == "table":
        words = decoding.TOKENS  # of two that are as likely, the first is taken
    beginnings, log_p = [()], np.zeros(1)
    penalty = ((5 + np.arange(most + 1)) / 6) ** alpha
    steps, best = [], -np.inf
    for length in range(1, most + 1):
        totals = np.full((len(beginnings), len(words)), -np.inf)
        for row, beginning in enumerate(beginnings):
            for word, more in follow[" ".join(beginning)].items():
                totals[row, words.index(word)] = log_p[row] + more
        order = np.argsort(-totals, axis=None, kind="stable")
        order = order[: min(np.isfinite(totals).sum(), width + 2, SHOWN)]
        rows, columns = np.divmod(order, len(words))
        step = []
        for rank, (row, column) in enumerate(zip(rows, columns, strict=True)):
            kept = rank < width
            ended = kept and (words[column] == END or length == most)
            total = totals[row, column]
            path = (*beginnings[row], words[column])
            score = total / penalty[length] if ended else None
            step.append(
                {"words": path, "logP": total, "kept": kept, "ended": ended, "score": score}
            )
        steps.append(step)
        best = max([best, *(one["score"] for one in step if one["ended"])])
        alive = [one for one in step if one["kept"] and not one["ended"]]
        beginnings, log_p = (
            [one["words"] for one in alive],
            np.array([one["logP"] for one in alive]),
        )
        if not alive or log_p.max() / penalty[most] <= best:
            break
    return steps


def winner(steps: list[list[dict]]) -> dict | None:
    """The best of what has ended; of two that score the same, the earlier."""
    ended = [one for step in steps for one in step if one["ended"]]
    return max(ended, key=lambda one: one["score"], default=None)


def random_settings(seed: int) -> tuple[str, str, int, float]:
    rng = np.random.default_rng(seed)
    preset, model = STARTS[rng.integers(len(STARTS))]
    return preset, model, int(rng.integers(1, 6)), float(rng.choice([rng.uniform(0, 2), 0.0, 2.0]))


# --- the same search, by the library --------------------------------------------------------------


class StoredDecoder:
    """Stands in for tfmlib.generate.CachedDecoder: stored distributions instead of a model's."""

    def __init__(self, model, src, max_length, beams=1):
        import torch

        self.model, self.beginnings = model, [()] * beams
        self.positions = torch.zeros(1, dtype=torch.float64)

    def step(self, ids):
        import torch

        new = [self.model.words[i] for i in ids.tolist()]
        pairs = zip(self.beginnings, new, strict=True)
        self.beginnings = [(*path, word) if word != "<start>" else path for path, word in pairs]
        return torch.from_numpy(np.stack([self.model.logits(path) for path in self.beginnings]))

    def reorder(self, rows):
        self.beginnings = [self.beginnings[row] for row in rows.tolist()]


class StoredModel:
    """As much of a Transformer as a search looks at; tokens that are not stored share the rest."""

    training = False

    def __init__(self, follow: dict):
        own = dict.fromkeys(word for row in follow.values() for word in row if word != END)
        self.words = ["<pad>", "<start>", END, *own, *(f"other {i}" for i in range(60))]
        self.follow = follow
        self.config = SimpleNamespace(pad_id=0, start_id=1, end_id=2, vocab_size=len(self.words))

    def logits(self, beginning: tuple) -> np.ndarray:
        row = self.follow.get(" ".join(beginning), {})  # a beam that has ended asks in vain
        rest = max(0.0, 1 - sum(math.exp(value) for value in row.values()))
        with np.errstate(divide="ignore"):
            logits = np.full(len(self.words), np.log(rest / (len(self.words) - len(row))))
        for word, value in row.items():
            logits[self.words.index(word)] = value
        return logits if row else np.zeros(len(self.words))

    def eval(self):
        return self

    def train(self, mode):
        return self


@each_start
def test_the_library_finds_the_same_sentences(preset, model, monkeypatch):
    import torch

    from tfmlib import generate

    monkeypatch.setattr(generate, "CachedDecoder", StoredDecoder)
    stored, most = StoredModel(PRESETS[preset]["distributions"][model]), PRESETS[preset]["most"]
    src = torch.zeros(1, 3, dtype=torch.long)
    for width in range(1, 6):
        for alpha in (0.0, 0.4, 0.6, 1.3, 2.0):
            [ids] = generate.beam_search(stored, src, most, width, alpha).tolist()
            found = winner(search(preset, model, width, alpha))["words"]
            assert tuple(stored.words[i] for i in ids) == found, (width, alpha)
    [ids] = generate.greedy(stored, src, most).tolist()
    assert tuple(stored.words[i] for i in ids) == winner(search(preset, model, 1, 0.0))["words"]


# --- a reader -------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def first_visit(chromium, address):
    """One page for all tests that only move the controls."""
    with visiting(chromium) as visit:
        yield visit(address, PAGE, "table").open()


@pytest.fixture
def reader(first_visit):
    """A reader who has moved nothing yet."""
    first_visit.start_over()
    yield first_visit
    assert first_visit.troubles == []


@pytest.fixture
def visit(chromium, address):
    """Open another page, with what a context takes: `visit(color_scheme="dark")`."""
    with visiting(chromium) as visit:
        yield lambda **options: visit(address, PAGE, "table", **options)


def choose(reader: Reader, preset="table", model="table", width=2, alpha=0.0) -> None:
    """Make these settings as a reader does, and begin anew."""
    reader.control("reset").click()
    reader.control("preset").select_option(preset)
    if model != "table":
        reader.control(f"model-{model}").check()
    reader.control("width").fill(str(width))
    reader.control("alpha").fill(str(alpha))


def node(reader: Reader, words: str):
    return reader.box.locator(f'.tfm-node[data-words="{words}"]')


def to_the_end(reader: Reader) -> None:
    if reader.control("end").get_attribute("aria-disabled") == "false":
        reader.control("end").click()


def outcome(reader: Reader) -> str:
    to_the_end(reader)
    return reader.box.locator(".tfm-outcome").inner_text()


def chosen(reader: Reader) -> str:
    return reader.box.locator('.tfm-node[aria-pressed="true"]').get_attribute("data-words")


def fates(steps: list[list[dict]], is_over: bool) -> list[list[str]]:
    """What has become of each beginning that these steps have looked at."""
    best = winner(steps)
    alive = [one for one in steps[-1] if one["kept"] and not one["ended"]]
    ended = [one for step in steps for one in step if one["ended"]]
    ends = [one["words"] for one in [*alive, *ended]]

    def fate(one: dict) -> str:
        if not one["kept"]:
            return "dropped"
        if one["ended"]:
            return "best" if one is best else "ended"
        if is_over and one in alive:
            return "open"
        is_followed = any(end[: len(one["words"])] == one["words"] for end in ends)
        return "live" if is_followed else "lost"

    return [[" ".join(one["words"]), fate(one)] for step in steps for one in step]


def expected_numbers(preset, model, steps, is_over, width) -> list[tuple[str, float]]:
    """Every number that must be shown, with its name, in order: the leading beginning is chosen."""
    best, follow = winner(steps), PRESETS[preset]["distributions"][model]
    numbers = [("p", math.exp(one["logP"])) for step in steps for one in step]
    alive = [one for one in steps[-1] if one["kept"] and not one["ended"]]
    leader = best if is_over else alive[0]
    numbers += [("joint", math.exp(leader["logP"])), ("log-p", leader["logP"])]
    if not is_over:
        chances = [math.exp(value) for value in follow[" ".join(leader["words"])].values()]
        numbers += [("next", p) for p in chances]
        numbers += [("rest", 1 - sum(chances))] if 1 - sum(chances) > 0.0005 else []
    ended = [one for step in steps for one in step if one["ended"]]
    for one in sorted(ended, key=lambda one: -one["score"])[:3]:
        numbers += [("length", len(one["words"])), ("ended-log-p", one["logP"])]
        numbers.append(("score", one["score"]))
    if is_over:
        numbers.append(("best-p", math.exp(best["logP"])))
        greedy = winner(search(preset, model, 1, 0.0))
        if width > 1 and greedy["words"] != best["words"]:
            ratio = math.exp(abs(best["logP"] - greedy["logP"]))
            numbers += [("greedy-p", math.exp(greedy["logP"])), ("ratio", ratio)]
    return numbers


# --- what is computed -----------------------------------------------------------------------------


def test_the_browser_searches_as_numpy_does(reader):
    for seed in range(80):
        settings = random_settings(seed)
        steps, theirs = search(*settings), reader.page.evaluate(SEARCH, list(settings))
        assert len(theirs) == len(steps)
        for number, (mine, their) in enumerate(zip(steps, theirs, strict=True), start=1):
            for one, other in zip(mine, their["candidates"], strict=True):
                assert tuple(other["words"]) == one["words"], settings
                assert other["logP"] == pytest.approx(one["logP"], abs=EXACT)
                assert (other["kept"], other["ended"]) == (one["kept"], one["ended"])
                assert other["score"] == pytest.approx(one["score"], abs=EXACT)
            best = winner(steps[:number])
            assert (their["best"] and tuple(their["best"]["words"])) == (best and best["words"])


def test_of_two_that_score_the_same_the_first_stays(reader):
    follow = {"": {"a": -1.0, "b": -1.0}, "a": {END: -0.5}, "b": {END: -0.5}}
    best = "follow => tfm.decoding.beamSearch(follow, {width: 2, alpha: 1, most: 3}).steps[1].best"
    assert reader.page.evaluate(best, follow)["words"] == ["a", END]


@each_start
def test_every_search_finds_its_distributions_stored(preset, model):
    follow = PRESETS[preset]["distributions"][model]
    for beginning, row in follow.items():
        chances = [math.exp(value) for value in row.values()]
        assert chances == sorted(chances, reverse=True), beginning
        assert sum(chances) < 1 + 1e-4
    for width in range(1, 6):
        for alpha in (0.0, 0.123, 0.777, 1.5, 1.999, 2.0):  # the slider's, and those in between
            search(preset, model, width, alpha)  # a KeyError otherwise


def test_the_numbers_are_of_the_test_set():
    from tfmlib import data

    counts = {"train": 29_000, "validation": 500, "test": 1000}  # those of the task
    _, _, unseen = data.split_numbers(data.LARGEST, **counts)
    for name, number in decoding.NUMBERS.items():
        assert number in unseen
        assert [(PRESETS[name]["source"], PRESETS[name]["target"])] == data.number_pairs([number])


def test_the_table_gives_what_the_chapter_prints():
    cells = nbformat.read(ROOT / "notebooks/09-the-decoder.ipynb", 4).cells
    [cell] = [cell for cell in cells if "def beam_search(width" in cell.source]
    printed = re.findall(r"width (\d): (\S+) +(.*?) +\d+ hypotheses", cell.outputs[0].text)
    assert [width for width, _, _ in printed] == ["1", "2", "4"]
    for width, p, sentence in printed:
        found = winner(search("table", "table", int(width), 0.0))
        assert (f"{math.exp(found['logP']):.3f}", " ".join(found["words"])) == (p, sentence)


# --- sampling -------------------------------------------------------------------------------------

FOLLOW, MOST = PRESETS["sampling"]["distributions"]["table"], PRESETS["sampling"]["most"]
SHARES = """([settings, most]) => {
    const data = JSON.parse(document.getElementById('explorer-data-decoding').textContent);
    const follow = data.presets.sampling.distributions.table;
    const all = tfm.decoding.sentences(follow, settings, most);
    const shares = row => Object.fromEntries(
        tfm.decoding.toDrawFrom(row, settings).map(({ word, share }) => [word, share]));
    return [
        Object.fromEntries(Object.entries(follow).map(([words, row]) => [words, shares(row)])),
        all.map(({ words, share }) => [words.join(' '), share]),
    ];
}"""
LISTED = """box => Object.fromEntries([...box.querySelectorAll('.tfm-panels tbody tr')].map(row => [
    row.querySelector('th').textContent.replace('★ ', ''),
    Number(row.querySelector('[data-name=share]').dataset.value)]))"""
DRAWS = """([settings, most, seeds]) => {
    const data = JSON.parse(document.getElementById('explorer-data-decoding').textContent);
    const follow = data.presets.sampling.distributions.table;
    return seeds.map(seed => tfm.decoding.sample(follow, { ...settings, seed }, most).steps
        .at(-1).best.words.join(' '));
}"""


def random_cuts(seed: int) -> dict:
    """A temperature, a k and a p that lies on no edge."""
    rng = np.random.default_rng(seed)
    return {
        "temperature": float(rng.uniform(0.1, 3)),
        "k": int(rng.integers(1, 4)),
        "p": float(rng.uniform(0.05, 1)),
    }


def by_the_library(row: dict, cut: dict) -> dict[str, float]:
    """What tfmlib.generate draws from, in double precision."""
    import torch

    from tfmlib.generate import next_token_probabilities

    logits = torch.full((len(decoding.TOKENS),), -math.inf, dtype=torch.float64)
    for word, value in row.items():
        logits[decoding.TOKENS.index(word)] = value
    shares = next_token_probabilities(logits, cut["temperature"], cut["k"], cut["p"]).tolist()
    return {word: shares[decoding.TOKENS.index(word)] for word in row}


def test_what_is_drawn_from_is_what_the_library_draws_from(reader):
    for seed in range(40):
        cut = random_cuts(seed)
        rows, _ = reader.page.evaluate(SHARES, [cut, MOST])
        assert rows.keys() == FOLLOW.keys()
        for beginning, row in FOLLOW.items():
            wanted = by_the_library(row, cut)
            assert rows[beginning] == pytest.approx(wanted, abs=EXACT), (beginning, cut)
            assert decoding.to_draw_from(row, **cut) == pytest.approx(wanted, abs=EXACT)


def test_a_nucleus_ends_where_the_sum_reaches_p(reader):
    for p, kept in ((0.35, 1), (0.4, 1), (0.45, 2), (0.7, 2), (0.75, 3), (1.0, 3)):
        rows, _ = reader.page.evaluate(SHARES, [{"temperature": 1, "k": 3, "p": p}, MOST])
        assert sum(share > 0 for share in rows["not"].values()) == kept, p  # 0.4, 0.3, 0.3


def test_the_sentences_that_can_be_drawn_have_all_of_the_probability(reader):
    for seed in range(20):
        cut = random_cuts(seed)
        _, shares = reader.page.evaluate(SHARES, [cut, MOST])
        assert dict(shares) == pytest.approx(decoding.sentences(FOLLOW, MOST, **cut), abs=EXACT)
        values = [share for _, share in shares]
        assert values == sorted(values, reverse=True)
        assert sum(values) == pytest.approx(1, abs=EXACT)


def test_sentences_are_drawn_as_often_as_they_should_be(reader):
    cut, count = {"temperature": 1.3, "k": 3, "p": 0.95}, 4000
    drawn = reader.page.evaluate(DRAWS, [cut, MOST, [*range(1, count + 1)]])
    for sentence, share in decoding.sentences(FOLLOW, MOST, **cut).items():
        off = abs(drawn.count(sentence) / count - share)
        assert off < 5 * math.sqrt(share * (1 - share) / count) + 1e-9, sentence


def test_the_library_draws_the_same_sentences_as_often(monkeypatch):
    import torch

    from tfmlib import generate

    monkeypatch.setattr(generate, "CachedDecoder", StoredDecoder)
    cut, count = {"temperature": 0.8, "k": 2, "p": 0.9}, 400
    stored, src = StoredModel(FOLLOW), torch.zeros(1, 3, dtype=torch.long)
    generator, drawn = torch.Generator().manual_seed(0), []
    for _ in range(count):
        [ids] = generate.sample(stored, src, MOST, 0.8, 2, 0.9, generator).tolist()
        drawn.append(" ".join(stored.words[i] for i in ids))
    shares = decoding.sentences(FOLLOW, MOST, **cut)
    assert set(drawn) <= set(shares)
    for sentence, share in shares.items():
        off = abs(drawn.count(sentence) / count - share)
        assert off < 5 * math.sqrt(share * (1 - share) / count) + 1e-9, sentence


def test_cold_top_1_and_a_small_nucleus_are_greedy(reader):
    greedy = " ".join(winner(search("table", "table", 1, 0.0))["words"])
    for cut in ({"k": 1}, {"p": 0.05}, {"temperature": 0.01}):
        settings = {"temperature": 1, "k": 3, "p": 1} | cut
        assert set(reader.page.evaluate(DRAWS, [settings, MOST, [*range(1, 40)]])) == {greedy}


def test_every_number_of_a_sample_is_shown_as_it_is_computed(reader):
    for seed in (1, 2, 5, 9):
        reader.control("reset").click()
        reader.control("preset").select_option("sampling")
        reader.control("temperature").fill("1.5")
        reader.control("k").fill("2")
        reader.control("p").fill("0.95")
        reader.control("seed").fill(str(seed))
        to_the_end(reader)
        cut = {"temperature": 1.5, "k": 2, "p": 0.95}
        source, words, wanted = explorers.uniforms(seed), [], []
        while not words or (words[-1] != END and len(words) < MOST):
            shares = decoding.to_draw_from(FOLLOW[" ".join(words)], **cut)
            wanted += [("p", share) for share in shares.values()]
            edges = np.cumsum([*shares.values()])
            words.append([*shares][int(np.searchsorted(edges, next(source), side="right"))])
        shown = reader.box.evaluate(NUMBERS)
        nodes = [(name, value) for name, value, _ in shown if name == "p"]
        assert [value for _, value in nodes] == pytest.approx([v for _, v in wanted], abs=EXACT)
        for _, value, text in shown:
            assert text == "0.000" if value == 0 else assert_written(text, value) is None
        assert chosen(reader) == " ".join(words)
        share = decoding.sentences(FOLLOW, MOST, **cut)[" ".join(words)]
        [told] = [value for name, value, _ in shown if name == "best-p"]
        assert told == pytest.approx(share, abs=EXACT)
        assert f"“{' '.join(words)}” is drawn with probability" in outcome(reader)


def test_sampling_is_offered_where_what_follows_every_beginning_is_known(reader):
    for preset in PRESETS:
        reader.control("preset").select_option(preset)
        is_table = "table" in PRESETS[preset]["distributions"]
        assert reader.control("how-sample").is_visible() == is_table
        assert reader.control("temperature").is_visible() == (preset == "sampling")
        assert reader.control("width").is_visible() == (preset != "sampling")


def test_a_sample_is_moved_by_keyboard_and_linked_to(visit):
    reader = visit().open(preset="sampling", temperature=2, k=2, p=0.8, seed=7, step=1)
    assert reader.said.startswith("Step 1: the draw ")
    for key in ("temperature", "k", "p", "seed"):
        before = reader.settings[key]
        reader.control(key).focus()
        reader.page.keyboard.press("ArrowLeft")
        assert reader.settings[key] < before
    reader.control("forward").press("Enter")
    settings, said = reader.settings, reader.said
    reader.go(reader.address_when_settled())
    assert (reader.settings, reader.said) == (settings, said)


# --- what is shown --------------------------------------------------------------------------------


def test_every_number_and_every_fate_is_shown_as_numpy_has_it(reader):
    for seed in range(24):
        rng = np.random.default_rng(seed)
        preset, model, width, _ = random_settings(seed)
        alpha = round(0.1 * int(rng.integers(0, 21)), 1)
        choose(reader, preset, model, width, alpha)
        steps = search(preset, model, width, alpha)
        taken = int(rng.integers(1, len(steps) + 1))
        for _ in range(taken):
            reader.control("forward").click()
        is_over = taken == len(steps)
        shown = reader.box.evaluate(NUMBERS)
        wanted = expected_numbers(preset, model, steps[:taken], is_over, width)
        assert [name for name, _, _ in shown] == [name for name, _ in wanted], (
            preset,
            width,
            alpha,
        )
        for (_, value, text), (name, own) in zip(shown, wanted, strict=True):
            assert value == pytest.approx(own, abs=EXACT), name
            assert_written(text, value)
        drawn = reader.box.evaluate(NODES)
        assert drawn == [["<start>", "live"], *fates(steps[:taken], is_over)]
        assert reader.box.locator(".tfm-tree path").count() == len(drawn) - 1


def test_the_address_leads_to_the_same_step_and_the_same_beginning(visit):
    reader = visit().open(preset="greedy-errs", model="trained", width=4, alpha=1.3, step=2, node=3)
    steps = search("greedy-errs", "trained", 4, 1.3)
    assert chosen(reader) == " ".join(steps[0][1]["words"])  # after the start and the first
    assert reader.box.evaluate(NODES)[1:] == fates(steps[:2], is_over=False)
    reader.control("forward").click()
    link = reader.address_when_settled()
    assert reader.go(link).settings["step"] == 3
    assert reader.settings["node"] == 0
    assert reader.open(step=500, node=999).said.startswith("Step 3")  # as far as there is


def test_a_beginning_tells_what_follows_when_it_is_chosen_or_pointed_at(reader):
    reader.control("forward").click()
    reader.control("forward").click()
    detail = reader.box.locator(".tfm-panels > div").first
    assert "After “never ever”" in detail.inner_text()
    node(reader, "not").click()
    assert "After “not”" in detail.inner_text()
    names = [name for name, _, _ in reader.box.evaluate(NUMBERS)]
    assert names.count("next") == 3  # on, <end>, ever
    node(reader, "not ever").hover()
    assert "It fell out of the beam" in detail.inner_text()
    reader.page.mouse.move(0, 0)
    assert "After “not”" in detail.inner_text()
    reader.control("forward").click()  # the next step leads on
    assert "nothing follows" in detail.inner_text()


def test_what_is_given_up_says_so_when_it_is_pointed_at_chosen_or_linked_to(reader):
    seen = 0
    detail = reader.box.locator(".tfm-panels > div").first
    for preset, model in STARTS:
        for width in range(1, 6):
            choose(reader, preset, model, width)
            reader.control("end").click()
            for open_node in reader.box.locator('.tfm-node[data-fate="open"]').all():
                open_node.hover()
                assert "The search ended before" in detail.inner_text()
                open_node.click()
                assert chosen(reader) == open_node.get_attribute("data-words")
                assert "The search ended before" in detail.inner_text()
                seen += 1
    assert seen > 10
    choose(reader, "greedy-errs", "trained")
    reader.control("end").click()
    reader.box.locator('.tfm-node[data-fate="open"]').first.click()
    reader.go(reader.address_when_settled())
    assert "The search ended before" in detail.inner_text()


def test_a_mouse_that_rests_on_a_beginning_leaves_the_detail_to_the_keyboard(reader):
    reader.control("forward").click()
    node(reader, "not").hover()
    node(reader, "never").focus()
    reader.page.keyboard.press("ArrowLeft")
    reader.page.evaluate(NEXT_FRAMES)  # the browser has seen what is under the mouse now
    assert "After “<start>”" in reader.box.locator(".tfm-panels > div").first.inner_text()


def test_another_width_chooses_no_other_beginning(reader):
    """The columns change, so a place in them would be another beginning's."""
    reader.control("forward").click()
    reader.control("forward").click()
    node(reader, "never").click()
    reader.control("width").fill("3")
    assert reader.settings["node"] == 0
    assert chosen(reader) == "never ever"  # the leading one


def test_what_leads_to_a_finished_sentence_is_not_crossed_out(reader):
    choose(reader, "model-errs", "early", 2)
    reader.control("end").click()
    finished = reader.box.locator(".tfm-panels tbody th").all_inner_texts()
    assert len(finished) > 1
    crossed = [words for words, fate in reader.box.evaluate(NODES) if fate in ("lost", "dropped")]
    for sentence in finished:
        words = sentence[2:].split()
        assert not {" ".join(words[:n]) for n in range(1, len(words) + 1)} & set(crossed), sentence


def test_a_sentence_that_is_cut_off_is_not_said_to_end(reader):
    assert reader.said.endswith("No sentence gets more than 5 tokens.")
    choose(reader, "table", "table", 2, 1.6)
    reader.control("end").click()
    assert "“not on your life not” is cut off at 5 tokens, too." in reader.said
    node(reader, "not on your life not").click()
    detail = reader.box.locator(".tfm-panels > div").first.inner_text()
    assert "The sentence is cut off at 5 tokens: nothing follows." in detail


def test_what_ends_beside_a_beginning_that_leads_does_not_end_too(reader):
    choose(reader, width=3)
    reader.control("forward").click()
    reader.control("forward").click()
    assert reader.said == "Step 2: “never ever” leads with 0.320. “not <end>” ends."


def test_a_screen_reader_hears_each_beginning_whole_with_its_fate(reader):
    reader.control("end").click()
    assert reader.box.get_by_role("list", name="The search, step by step").count() == 1
    for name in (
        "not 0.600 (kept)",
        "never 0.400 (kept)",
        "never ever 0.320 (kept)",
        "not <end> 0.180 (dropped)",
        "never ever <end> 0.288 (ended, the best so far)",
        "not on your 0.216 (given up)",
    ):
        assert reader.box.get_by_role("button", name=name, exact=True).count() == 1, name


def test_marks_differ_without_colour(reader):
    reader.control("end").click()
    names = reader.box.evaluate(NAMES)
    best = "never ever <end> ★ 0.288 (ended, the best so far)"
    assert [name for name in names if "★" in name] == [best]
    for name in names:
        assert ("✕" in name) == ("dropped" in name), name
        assert ("…" in name) == ("given up" in name), name


# --- what each example is to show -----------------------------------------------------------------


def test_with_the_table_greedy_misses_the_best_and_width_2_finds_it(reader):
    choose(reader, width=1)
    assert "“not on your life <end>” has probability 0.175." in outcome(reader)
    choose(reader, width=2)
    told = outcome(reader)
    assert "“never ever <end>” has probability 0.288." in told
    assert "Greedy decoding writes “not on your life <end>” with 0.175." in told
    assert "1.6 times as probable" in told


@pytest.mark.parametrize("clicks", [["end"], ["forward"] * 3])
def test_with_the_table_the_long_sentence_wins_above_one_and_a_half(reader, clicks):
    choose(reader, width=2)
    for name in clicks:  # however the end was reached, it stays there while the knob turns
        reader.control(name).click()
    for alpha, best in ((1.5, "never ever <end>"), (1.6, "not on your life <end>")):
        reader.control("alpha").fill(str(alpha))
        assert reader.box.locator(".tfm-outcome strong").inner_text() == f"“{best}”"


@pytest.mark.parametrize("width", [1, 2, 5])
def test_early_on_greedy_errs_where_a_beam_does_not(reader, width):
    choose(reader, "greedy-errs", "early", width)
    assert ("It is the right answer." in outcome(reader)) == (width > 1)
    choose(reader, "greedy-errs", "trained", width)
    assert "It is the right answer." in outcome(reader)


def test_early_on_the_penalty_errs(reader):
    for alpha, is_right in ((0.0, True), (0.4, True), (0.5, False), (2.0, False)):
        choose(reader, "penalty-errs", "early", 3, alpha)
        told = outcome(reader)
        assert ("It is the right answer." in told) == is_right, alpha
        assert ("the penalty favours the longer one" in told) == (not is_right)


def test_early_on_no_search_finds_what_the_model_does_not_believe(reader):
    for width in range(1, 6):
        for alpha in (0.0, 0.6, 2.0):
            choose(reader, "model-errs", "early", width, alpha)
            assert "The right answer is “ein hundert vier und sechzig tausend”." in outcome(reader)
    choose(reader, "model-errs", "trained", 1)
    assert "It is the right answer." in outcome(reader)


def test_the_right_choice_is_what_the_picture_shows(reader):
    right = reader.ask("table")
    best = winner(search("table", "table", 5, 0.0))["words"]
    drawn = dict(reader.box.evaluate(NODES))
    lost = [n for n in range(1, 6) if drawn.get(" ".join(best[:n])) == "dropped"]
    assert right == f"Step {lost[0]}"
    right = reader.ask("greedy-errs")
    told = outcome(reader)
    assert right == "The right sentence"
    assert "It is the right answer." in told
    assert "The beam’s sentence is 2.2 times as probable." in told
    right = reader.ask("penalty-errs")
    assert (right == "A longer sentence") == (
        "the penalty favours the longer one" in outcome(reader)
    )
    right = reader.ask("model-errs")
    assert (right == "No width up to 5") == ("The right answer is" in outcome(reader))
    assert reader.settings["width"] == 5
    right = reader.ask("sampling")
    shares = reader.box.evaluate(LISTED)
    before = decoding.sentences(FOLLOW, MOST)[" ".join(best)]
    assert (right == "Hardly ever") == (shares[" ".join(best)] < 0.2 * before)


# --- by keyboard, by touch, for all ---------------------------------------------------------------


def test_keys_alone_reach_and_move_everything(visit):
    reader = visit().open(preset="greedy-errs")
    press = reader.page.keyboard.press
    reader.control("link").focus()
    keys = ("preset", "model-early", "width", "alpha", "back", "forward", "end", "node-1")
    for key in keys:
        press("Tab")
        assert reader.focused() == key
    reader.control("width").focus()
    press("ArrowRight")
    reader.control("alpha").focus()
    press("ArrowRight")
    reader.control("model-early").focus()
    press("ArrowRight")
    settings = reader.settings
    assert (settings["width"], settings["alpha"], settings["model"]) == (3, 0.1, "trained")
    reader.control("forward").focus()
    for key, step in (("Enter", 1), ("ArrowRight", 2), ("ArrowLeft", 1), ("ArrowLeft", 0)):
        press(key)
        assert (reader.settings["step"], reader.focused()) == (step, "forward")
    press("ArrowLeft")  # nothing is before the start
    assert reader.settings["step"] == 0
    reader.control("end").focus()
    press(" ")
    assert "over" in reader.said
    assert reader.focused() == "end"  # a button that has nothing more to do keeps the focus
    press("Enter")
    press("ArrowRight")
    assert "over" in reader.said


def test_arrow_keys_walk_the_tree_and_lead_on_at_its_front(reader):
    press = reader.page.keyboard.press
    node(reader, "<start>").focus()
    for key, words in (
        ("ArrowRight", "not"),  # a step, to the beginning that leads
        ("ArrowDown", "never"),
        ("ArrowDown", "never"),  # the last one
        ("ArrowRight", "never ever"),  # a step again
        ("ArrowDown", "not on"),
        ("ArrowLeft", "not"),
        ("ArrowRight", "not on"),  # its likeliest continuation
        ("ArrowUp", "never ever"),
        ("ArrowRight", "never ever <end>"),
        ("ArrowRight", "never ever <end>"),  # the search is over
        ("ArrowUp", "never ever <end>"),
    ):
        press(key)
        assert chosen(reader) == words, key
        assert reader.page.evaluate("document.activeElement.dataset.words") == words
    assert reader.box.locator(".tfm-count").inner_text() == "step 3, the last"
    one = reader.box.locator('.tfm-node[tabindex="0"]')
    assert one.count() == 1  # one stop for Tab


def test_fingers_can_do_it(visit):
    reader = visit(has_touch=True, is_mobile=True, viewport={"width": 375, "height": 800}).open()
    for step in (1, 2):
        reader.control("forward").tap()
        reader.until(step=step)
    node(reader, "not").tap()
    reader.box.locator('.tfm-node[aria-pressed="true"][data-words="not"]').wait_for()
    reader.control("back").tap()
    reader.until(step=1)
    for button in reader.box.locator("button").all():
        size = button.bounding_box()
        assert min(size["width"], size["height"]) >= 24


def test_on_a_telephone_the_newest_step_is_in_sight(visit):
    reader = visit(viewport={"width": 375, "height": 800}).open(preset="model-errs", step=99)
    reader.page.wait_for_function(
        "document.querySelector('.tfm-tree').parentElement.scrollLeft > 0"
    )
    box = reader.box.locator('.tfm-node[aria-pressed="true"]').bounding_box()
    assert 0 < box["x"] < 375 - box["width"]
    assert reader.sticking_out() == []


@pytest.mark.parametrize("mode", ["light", "dark"])
def test_axe_finds_nothing_in_the_middle_and_at_the_end(visit, mode):
    reader = visit(color_scheme=mode)
    for settings in ({"step": 2, "node": 6}, {"preset": "model-errs", "width": 5, "step": 99}):
        assert reader.open(**settings).violations() == []
    assert reader.open(preset="sampling", k=2, step=99).violations() == []
