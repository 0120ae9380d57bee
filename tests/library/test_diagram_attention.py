"""The diagrams of chapter 4 draw its numbers, and those of the two banks are right."""

import math
import re
from pathlib import Path

import nbformat
import numpy as np
import pytest
from matplotlib.patches import Rectangle

from tfmlib import ref
from tfmlib.plots import diagrams

NOTEBOOK = Path(__file__).parents[2] / "notebooks/04-queries-keys-values.ipynb"
FEATURES = ["finance", "nature", "open", "none"]
NONE = [0, 0, 0, 1]
TABLE = {"bank": [1, 1, 1, 0], "money": [2, 0, 0, 0], "withdraw": [1, 0, 0, 0]}
TABLE |= {"river": [0, 2, 0, 0], "fresh": [0, 1, 0, 0], "air": [0, 1, 0, 0]}
TABLE |= {"interest": [1, 0, 1, 0], "loan": [2, 0, 0, 0], "biking": [0, 1, 0, 0]}
QUERY = [4, 4, -8, 0]  # of a word whose meaning is open
MONEY = ["I", "went", "to", "bank", "to", "withdraw", "money"]
RIVER = ["I", "went", "to", "river", "bank", "to", "get", "fresh", "air"]
AIR = ["I", "went", "to", "bank", "to", "get", "fresh", "air"]
LOAN = ["The", "interest", "in", "the", "loan", "is", "increasing"]
BIKING = ["I", "have", "interest", "in", "biking"]


def by_hand(words):
    """{word: weight} of the word that asks, and its mixture, with the standard library alone."""
    features = [TABLE.get(word, NONE) for word in words]
    scores = [sum(q * f for q, f in zip(QUERY, row, strict=True)) for row in features]
    powers = [math.exp(score / 2) for score in scores]
    weights = [power / sum(powers) for power in powers]
    mixture = [sum(w * row[j] for w, row in zip(weights, features, strict=True)) for j in (0, 1)]
    return scores, powers, weights, mixture


X = np.array([TABLE.get(word, NONE) for word in MONEY], dtype=float)
W_Q = np.zeros((4, 4))
W_Q[2] = QUERY
MATRICES = {"W_q": W_Q, "W_k": np.eye(4), "W_v": np.eye(4)[:, :2]}
Q, K, V = (X @ w for w in MATRICES.values())
BANK = MONEY.index("bank")
SCORES, POWERS, WEIGHTS, MIXTURE = by_hand(MONEY)
STEPS = {"score": SCORES, "÷ √4": [s / 2 for s in SCORES], "exp": POWERS, "weight": WEIGHTS}
AFTER = {"money": MIXTURE, "river": by_hand(RIVER)[3], "fresh air": by_hand(AIR)[3]}
ORDERS = [f"order_{n}" for n in range(102, 108)]
ASKED = {"order_104": [0, 0, 1, 0, 0, 0], "half of each": [0, 0, 0.5, 0.5, 0, 0]}
NORMAL = np.random.default_rng(7).normal(size=(500, 8))
SPREAD = {"d_k = 4": 2 * NORMAL, "d_k = 1024": 32 * NORMAL}
SHARES = {name: ref.softmax(scores)[3] for name, scores in SPREAD.items()}
MEANINGS = ["what it looks for", "what it can be found by", "what it gives"]

LOOK_UP = diagrams.look_up_and_mixture(ORDERS, range(3, 9), ASKED)
BY_ROLE = dict(zip(("query", "key", "value"), MATRICES.values(), strict=True))
ROLES = diagrams.three_roles("bank", X[BANK], FEATURES, BY_ROLE, MEANINGS)
MEETS = diagrams.query_meets_keys("bank", QUERY, FEATURES, MONEY, K, SCORES)
SOFTMAX = diagrams.scores_to_weights(MONEY, STEPS, {"exp": sum(POWERS), "weight": sum(WEIGHTS)})
MIX = diagrams.weights_to_mixture(MONEY, WEIGHTS, V, FEATURES[:2])
GRID = diagrams.score_grid(MONEY, Q, K, BANK, 6)
WHOLE = diagrams.attention_whole(
    MONEY, FEATURES, X, MATRICES, Q @ K.T / 2, ref.attention_weights(Q, K), BANK
)
PART = diagrams.meanings_part("bank", [1, 1], AFTER, FEATURES[:2])
SPREADING = diagrams.scores_spread(SPREAD, SHARES)
PICTURES = {
    "look-up and mixture": LOOK_UP,
    "three roles": ROLES,
    "query meets keys": MEETS,
    "scores to weights": SOFTMAX,
    "weights to mixture": MIX,
    "score grid": GRID,
    "whole": WHOLE,
    "meanings part": PART,
    "scores spread": SPREADING,
}


def texts(picture):
    return [text.get_text() for axes in picture.axes for text in axes.texts]


def numbers(picture):
    """The numbers of a diagram by place: {(left, top): text}, as a reader sees them."""
    places = [(t.get_position(), t.get_text()) for t in picture.axes[0].texts]
    return {place: text for place, text in places if re.fullmatch("−?[0-9.]+", text)}


def column(picture, at):
    """The numbers below each other at one x, from top to bottom."""
    here = [(y, text) for (x, y), text in numbers(picture).items() if abs(x - at) < 0.02]
    return [text for _, text in sorted(here)]


def columns(picture):
    """All columns of numbers, from left to right."""
    xs = sorted({round(x, 2) for x, _ in numbers(picture)})
    return [column(picture, x) for x in xs]


# --- the numbers of the chapter, computed a second time ------------------------------------------


@pytest.fixture(scope="module")
def printed():
    """What the cells of the chapter print."""
    cells = nbformat.read(NOTEBOOK, 4).cells
    outputs = [output for cell in cells for output in cell.get("outputs", [])]
    return "\n".join(output.get("text", "") for output in outputs)


def test_bank_gives_money_082_and_withdraw_011_of_its_weight():
    weights = dict(zip(MONEY, WEIGHTS, strict=True))
    assert round(weights["money"], 2) == 0.82
    assert round(weights["withdraw"], 2) == 0.11
    assert [round(m, 2) for m in MIXTURE] == [1.76, 0.01]
    weights = dict(zip(RIVER, by_hand(RIVER)[2], strict=True))
    assert round(weights["river"], 2) == 0.72
    assert round(weights["fresh"], 2) == round(weights["air"], 2) == 0.1
    assert [round(m, 2) for m in by_hand(RIVER)[3]] == [0.01, 1.66]


@pytest.mark.parametrize("words", [MONEY, RIVER], ids=["money", "river"])
def test_the_chapter_prints_every_number_of_both_banks(printed, words):
    scores, _, weights, mixture = by_hand(words)
    lines = [
        f"{word:9} {re.escape(str(TABLE.get(word, NONE)).replace(',', ''))} +"
        f"{score} +{score / 2:.1f} +{weight:.3f}\n"
        for word, score, weight in zip(words, scores, weights, strict=True)
    ]
    table = "".join(lines) + f"mixture: finance {mixture[0]:.3f}, nature {mixture[1]:.3f}\n"
    assert re.search(table, printed)


def test_the_chapter_prints_the_way_from_scores_to_weights(printed):
    for word, *row in zip(MONEY, SCORES, POWERS, WEIGHTS, strict=True):
        score, power, weight = row
        line = f"{word:9} {score:5} {score / 2:6.0f} {power:6.2f} {weight:6.3f}\n"
        assert line in printed, line
    assert f"sum {sum(POWERS):25.2f}  1.000\n" in printed
    assert f"the new bank: finance {MIXTURE[0]:.3f}, nature {MIXTURE[1]:.3f}\n" in printed


@pytest.mark.parametrize(("name", "words"), [("money", MONEY), ("river", RIVER)])
def test_the_question_of_the_chapter_is_answered_with_a_number(printed, name, words):
    chosen = [word not in ("bank",) and word in TABLE for word in words]
    share = sum(w for w, is_chosen in zip(by_hand(words)[2], chosen, strict=True) if is_chosen)
    equal = sum(chosen) / len(words)
    assert share > 2.5 * equal
    line = rf"{name} +{sum(chosen)} +{equal:.2f} +{share:.2f}\n"
    assert re.search(line, printed)


def test_the_banks_part_and_the_third_goes_the_way_of_the_river(printed):
    money, river, air = AFTER.values()
    for name, pair in {
        "money and river": (money, river),
        "third and money": (air, money),
        "third and river": (air, river),
    }.items():
        assert f"{name}: 0.00 before, {math.dist(*pair):.2f} after\n" in printed
    assert math.dist(air, river) < math.dist(air, money)


@pytest.mark.parametrize(("words", "best"), [(LOAN, "loan"), (BIKING, "biking")])
def test_the_same_matrices_part_the_two_interests(printed, words, best):
    _, _, weights, mixture = by_hand(words)
    assert words[weights.index(max(weights))] == best
    line = f"looks at {best} ({max(weights):.2f}): "
    line += f"finance {mixture[0]:.2f}, nature {mixture[1]:.2f}\n"
    assert line in printed


def test_what_the_captions_say_of_the_banks_is_so():
    captions = [cell.source for cell in nbformat.read(NOTEBOOK, 4).cells]
    captions = {c[5 : c.index(")")]: c for c in captions if c.startswith("(fig-")}
    river = dict(zip(RIVER, by_hand(RIVER)[2], strict=True))
    for name, numbers in {
        "scores-to-weights": [f"{WEIGHTS[6]:.3f}", f"{WEIGHTS[5]:.3f}"],
        "weights-to-mixture": [f"{m:.3f}" for m in MIXTURE],
        "filter-bank-money": [f"{WEIGHTS[6]:.2f}", f"{WEIGHTS[5]:.2f}"],
        "filter-bank-river": [f"{river['river']:.2f}"],
    }.items():
        for number in numbers:
            assert number in captions[name], (name, number)
    assert len(captions) >= 10


def test_the_alt_texts_of_the_filters_tell_the_weights_of_bank():
    cells = nbformat.read(NOTEBOOK, 4).cells
    outputs = [output for cell in cells for output in cell.get("outputs", [])]
    alts = [output.get("data", {}).get("text/plain", "") for output in outputs]
    for words in (MONEY, RIVER):
        alt = next(
            a for a in alts if a.startswith(f"<Picture: Attention weights of “{' '.join(words)}")
        )
        weights = dict(zip(words, by_hand(words)[2], strict=True))
        best = max(weights, key=weights.get)
        assert f"{weights[best]:.2f} at “{best}”" in alt
        assert f"with {1 / len(words):.2f} in each cell" in alt


# --- what is drawn is what was computed -----------------------------------------------------------


def test_a_look_up_is_one_row_and_a_mixture_lies_between_two():
    drawn = columns(LOOK_UP)
    assert drawn[0] == ["0", "0", "1", "0", "0", "0"]
    assert drawn[1] == ["3", "4", "5", "6", "7", "8"]
    assert drawn[2] == ["0", "0", "5", "0", "0", "0", "5"]
    assert drawn[5] == ["0.0", "0.0", "2.5", "3.0", "0.0", "0.0", "5.5"]
    assert "add up to 5." in LOOK_UP.alt
    assert "add up to 5.5." in LOOK_UP.alt


def test_three_roles_are_three_products_of_one_vector():
    assert "is 4, 4, −8 and 0; its key" in ROLES.alt
    results = columns(ROLES)[-4:]  # below each other: query, key, value
    assert results == [["4", "1", "1"], ["4", "1", "1"], ["−8", "1"], ["0", "0"]]


def test_the_products_of_a_query_with_a_key_add_up_to_its_score():
    *products, scores = columns(MEETS)[4:]
    assert scores == [str(score) for score in SCORES]
    for i, score in enumerate(SCORES):
        assert sum(int(column[i].replace("−", "-")) for column in products) == score


def test_each_step_from_score_to_weight_has_its_column_and_sums_stand_below():
    scores, scaled, powers, weights = columns(SOFTMAX)
    assert scores == ["0", "0", "0", "0", "0", "4", "8"]
    assert scaled == ["0", "0", "0", "0", "0", "2", "4"]
    assert powers[-3:] == ["7.389", "54.598", f"{sum(POWERS):.2f}"]
    assert weights[-3:] == ["0.110", "0.815", "1"]


def test_bars_are_as_long_as_the_weights():
    plain = [p for p in SOFTMAX.axes[0].patches if type(p) is Rectangle]
    bars = np.array([p.get_width() for p in plain if p.get_linewidth() == 0])
    np.testing.assert_allclose(bars / bars.sum(), WEIGHTS, atol=1e-12)


def test_weighted_values_add_up_to_the_mixture():
    finance, nature = columns(MIX)[-2:]
    assert finance == ["0", "0", "0", "0.015", "0", "0.110", "1.630", "1.755"]
    assert nature == ["0", "0", "0", "0.015", "0", "0.000", "0.000", "0.015"]
    assert MIX.alt.endswith("the mixture is finance 1.755, nature 0.015.")


def test_the_worked_out_cell_of_the_grid_is_right_and_later_cells_are_empty():
    sum_text, result = next(text for text in texts(GRID) if "=" in text).split(" = ")
    terms = sum_text.replace("−", "-").replace("·", "*")
    assert eval(terms) == int(result) == SCORES[6]  # the text of the diagram, as arithmetic
    left = max(x for x, _ in numbers(GRID))
    below = [text for (x, y), text in sorted(numbers(GRID).items()) if x == left]
    assert below == ["2", "0", "0", "0", "0", "0", "0", "8"]  # key of money, then its column


def test_a_negative_key_is_written_in_brackets():
    picture = diagrams.score_grid(["a", "b"], [[1, -2], [0, 1]], [[-3, 4], [5, -6]], 0, 1)
    assert picture.alt.endswith("1·5 − 2·(−6) = 17.")


def test_the_whole_shows_the_row_of_bank_at_every_stage():
    rows = {}
    for (x, y), text in numbers(WHOLE).items():
        rows.setdefault(round(y, 3), []).append((x, text))
    lines = [[text for _, text in sorted(row)] for _, row in sorted(rows.items())]
    bank = [lines[7 * tier + BANK] for tier in range(4)]
    assert bank[0] == ["1", "1", "1", "0"]
    assert bank[1] == ["4", "4", "−8", "0", "1", "1", "1", "0", "1", "1"]
    assert bank[2] == [*"0000048", *"0000024"]
    assert bank[3] == [*[f"{w:.2f}" for w in WEIGHTS], "1", "1", *[f"{m:.2f}" for m in MIXTURE]]


def test_in_the_whole_only_rows_of_bank_are_framed_and_never_those_of_all_keys_and_values():
    frames = [p for p in WHOLE.axes[0].patches if p.get_linewidth() == 2]
    assert len(frames) == 6  # X, Q, scores, scaled, weights, mixture


def test_points_lie_where_the_mixtures_are():
    drawn = [tuple(line.get_xydata()[0]) for line in PART.axes[0].lines]
    assert drawn == [*[tuple(m) for m in AFTER.values()], (1, 1)]
    for mixture in AFTER.values():
        assert f"({mixture[0]:.2f}, {mixture[1]:.2f})" in PART.alt


def test_every_score_is_in_the_histogram_and_bars_are_weights():
    for row, name in enumerate(SPREAD):
        left, right = SPREADING.axes[2 * row : 2 * row + 2]
        assert sum(patch.get_height() for patch in left.patches) == NORMAL.size
        heights = [patch.get_height() for patch in right.patches]
        np.testing.assert_allclose(heights, SHARES[name])
    size = math.sqrt(sum(v**2 for v in NORMAL.flat) / NORMAL.size - NORMAL.mean() ** 2)
    assert f"d_k = 1024: typical score {32 * size:.1f}," in SPREADING.alt


# --- what is refused ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: diagrams.look_up_and_mixture(["a"], [1], {"a": [1]}), "two questions, but has 1"),
        (
            lambda: diagrams.look_up_and_mixture(["a"], [1], {"a": [1], "b": [1, 0]}),
            "weights of 'b' must have 1 numbers, but has 2",
        ),
        (
            lambda: diagrams.three_roles("a", [1, 2], ["p", "q"], {"query": [[1]]}, ["asks"]),
            "matrix of the query must have 2 rows",
        ),
        (
            lambda: diagrams.query_meets_keys("a", [1], ["p"], ["a", "b"], [[1], [2]], [1]),
            "scores must have 2 numbers, but has 1",
        ),
        (
            lambda: diagrams.score_grid(["a"], [[1, 2]], [[1]], 0, 0),
            "keys must have the shape of the queries",
        ),
        (
            lambda: diagrams.attention_whole(MONEY, FEATURES, X, MATRICES, [[0]], [[1]], 0),
            "one row and one column per word, 7",
        ),
        (
            lambda: diagrams.meanings_part("a", [1, 1], {"b": [1, 2, 3]}, ["p", "q"]),
            "vector with 'b' must have 2 numbers, but has 3",
        ),
    ],
)
def test_bad_input_gets_its_sentence(call, sentence):
    with pytest.raises(ValueError, match=sentence):
        call()
