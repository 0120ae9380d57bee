"""The equations in NumPy: worked examples of the documents, properties, and clear refusals."""

import doctest
import inspect
import re
import subprocess
import sys
import tracemalloc

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tfmlib import ref
from tfmlib.support import tiles, validate

PUBLIC = {
    name: function
    for name, function in inspect.getmembers(ref, inspect.isfunction)
    if function.__module__ == ref.__name__ and not name.startswith("_")
}

# The same examples on every run: a proof that fails today must fail tomorrow.
proved = settings(deadline=None, max_examples=40, derandomize=True, database=None)
seeds = st.integers(0, 2**32 - 1)
lengths = st.integers(1, 13)


def normal(seed, *shape):
    return np.random.default_rng(seed).standard_normal(shape)


def printed(figure, digits):
    """What a document prints: right to half a unit of its last digit."""
    return pytest.approx(np.asarray(figure, float), abs=0.5 * 10.0**-digits, rel=0)


def head_params(seed, D, names="qkvo", bias=True):
    rng = np.random.default_rng(seed)
    weights = {f"w_{name}": rng.standard_normal((D, D)) for name in names}
    return weights | ({f"b_{name}": rng.standard_normal(D) for name in names} if bias else {})


def layer_params(seed, D, F):
    rng = np.random.default_rng(seed)
    return {
        "self_attention": head_params(seed + 1, D),
        "cross_attention": head_params(seed + 2, D),
        "feed_forward": {
            "w1": rng.standard_normal((D, F)),
            "b1": rng.standard_normal(F),
            "w2": rng.standard_normal((F, D)),
            "b2": rng.standard_normal(D),
        },
        **{f"norm{i}": {"gain": rng.standard_normal(D), "bias": rng.standard_normal(D)}
           for i in (1, 2, 3)},
    }  # fmt: skip


# --- the documents' worked examples -----------------------------------------------------------

SHOW_ME_THE_MONEY = [
    [0.12, 0.63, 0.29, 0.41],
    [0.83, 0.34, 0.04, 0.53],
    [0.39, 0.77, 0.64, 0.09],
    [0.41, 0.08, 0.51, 0.87],
]
NOT_ON_YOUR_LIFE = np.array(
    [
        [16.2, 7.7, 2.0, 4.6, 3.1, 8.9],
        [3.2, 21.5, 6.1, 8.4, 8.1, 5.2],
        [1.9, 4.3, 18.7, 6.5, 7.2, 3.3],
        [2.7, 4.1, 7.6, 22.3, 9.0, 3.8],
        [4.4, 5.8, 6.9, 5.6, 24.5, 4.7],
        [4.0, 3.9, 6.7, 7.3, 6.1, 16.8],
    ]
)


def test_position_zero_is_encoded_as_the_notes_print_it():
    assert ref.sinusoidal_encoding(1, 4)[0] == printed([0, 1, 0, 1], digits=2)


def test_position_one_is_encoded_in_radians_as_the_handwritten_notes_print_it():
    assert ref.sinusoidal_encoding(2, 4)[1, :3] == printed([0.84, 0.54, 0.01], digits=2)
    assert ref.sinusoidal_encoding(2, 4)[1, 3] == pytest.approx(0.9999, abs=1e-4)


def test_the_notes_encodings_of_positions_one_to_three_are_sines_of_degrees():
    assert np.sin(np.radians([1, 3])) == printed([0.02, 0.05], digits=2)
    assert ref.sinusoidal_encoding(4, 4)[2:] == printed(
        [[0.91, -0.42, 0.02, 1.00], [0.14, -0.99, 0.03, 1.00]], digits=2
    )


def test_money_at_position_three_is_embedding_plus_encoding():
    x = ref.embed([0, 1, 2, 3], SHOW_ME_THE_MONEY) + ref.sinusoidal_encoding(4, 4)
    assert x[3] == printed([0.55, -0.91, 0.54, 1.87], digits=2)


def test_cat_at_position_one_is_embedding_plus_encoding():
    cat = ref.embed([1], [[0.1, 0.2, 0.3, 0.4], [0.5, 0.6, 0.7, 0.8]])
    assert cat[0] + ref.sinusoidal_encoding(2, 4)[1] == printed([1.34, 1.14, 0.71, 1.80], digits=2)


def test_help_me_gets_the_printed_weights():
    q, k = np.zeros((2, 16)), np.zeros((2, 16))
    q[:, :2] = np.eye(2)
    k[:, :2] = [[6, 3], [4, 8]]  # scores 6, 4 for "help" and 3, 8 for "me"
    assert ref.attention_weights(q, k) == printed([[0.62, 0.38], [0.22, 0.78]], digits=2)


def test_the_attention_filter_is_the_softmax_of_its_logarithm():
    S = np.array(
        [
            [0.61, 0.18, 0.04, 0.17],
            [0.16, 0.57, 0.08, 0.19],
            [0.03, 0.07, 0.74, 0.16],
            [0.17, 0.23, 0.12, 0.48],
        ]
    )
    np.testing.assert_allclose(ref.softmax(np.log(S)), S, atol=1e-12)


def test_look_ahead_mask_is_added_to_the_scores_as_the_notes_print_it():
    masked = NOT_ON_YOUR_LIFE + ref.additive(ref.look_ahead_mask(6))
    np.testing.assert_array_equal(masked[np.tril_indices(6)], NOT_ON_YOUR_LIFE[np.tril_indices(6)])
    assert (masked[np.triu_indices(6, 1)] == -np.inf).all()


def test_start_attends_to_itself_alone():
    masked = NOT_ON_YOUR_LIFE + ref.additive(ref.look_ahead_mask(6))
    np.testing.assert_array_equal(ref.softmax(masked / 8)[0], [1, 0, 0, 0, 0, 0])


@pytest.mark.parametrize("d_k", [1, 16, 64, 512])
def test_a_larger_score_never_gets_the_smaller_weight(d_k):
    """The notes print 0.02 for <end>'s score 4.0 and 0.04 for its 3.9."""
    weights = ref.softmax(NOT_ON_YOUR_LIFE[5] / np.sqrt(d_k))
    assert weights[0] > weights[1]


def test_layer_norm_of_two_four_six_eight():
    assert ref.layer_norm([2, 4, 6, 8]) == printed([-1.34, -0.45, 0.45, 1.34], digits=2)
    np.testing.assert_allclose(
        ref.layer_norm([2, 4, 6, 8]), (np.array([2, 4, 6, 8]) - 5) / np.sqrt(5 + 1e-5), atol=1e-15
    )


def test_layer_norm_epsilon_stands_inside_the_root():
    assert ref.layer_norm([2.0, 4.0], eps=3.0)[1] == pytest.approx(0.5, abs=1e-15)


def test_x1_dot_x2_is_ten_and_scaled_five_point_seven_seven():
    weights = ref.attention_weights([[1, 0, 2]], [[0, 1, 5], [0, 0, 0]])
    scaled = np.log(weights[0, 0] / weights[0, 1])  # the score of the zero key is 0
    assert scaled == printed(5.77, digits=2)
    assert scaled * np.sqrt(3) == pytest.approx(10, abs=1e-12)


def test_the_whiteboards_weights_give_new_embeddings():
    weights, values = np.array([[0.3, 0.7], [0.7, 0.3]]), [[1, 3], [3, 9]]
    pooled = ref.attention_pool(weights, np.eye(2), values, similarity=np.dot)
    assert pooled == printed([[2.4, 7.2], [1.6, 4.8]], digits=1)


def test_softmax_of_the_whiteboards_scores_is_all_but_one():
    assert ref.softmax([0.5, 0.6, 10, 20]) == printed([0, 0, 0.00005, 0.99995], digits=5)
    assert ref.softmax([1, 6.8]) == printed([0.003, 0.997], digits=3)


def test_attention_with_one_hot_keys_is_a_dictionary_look_up():
    events = normal(3, 11, 2)
    query = ref.one_hot(4, 11)  # order_104 of order_100 … order_110
    found = ref.attention_pool(query, np.eye(11), events, similarity=np.dot)
    np.testing.assert_array_equal(found, events[4])


def test_embedding_is_one_hot_times_the_table():
    ids, table = [[3, 0, 6], [1, 6, 2]], normal(5, 7, 5)
    np.testing.assert_allclose(ref.one_hot(ids, 7) @ table, ref.embed(ids, table), atol=1e-15)


def test_learning_rate_of_the_base_model_peaks_at_warmup():
    rates = ref.learning_rate(np.arange(1, 20001), d_model=512, warmup=4000)
    assert rates.argmax() + 1 == 4000
    assert rates.max() * 1e4 == printed(6.99, digits=2)
    assert rates[15999] == pytest.approx(rates[3999] / 2, rel=1e-12)


def test_uniform_logits_cost_the_logarithm_of_the_vocabulary():
    assert ref.cross_entropy(np.zeros((2, 3, 7)), np.ones((2, 3), int)) == pytest.approx(np.log(7))


# --- properties -------------------------------------------------------------------------------


@proved
@given(seeds, lengths, st.floats(0.01, 1000))
def test_softmax_rows_are_positive_and_sum_to_one(seed, n, size):
    weights = ref.softmax(size * normal(seed, 3, n))
    assert (weights >= 0).all()
    np.testing.assert_allclose(weights.sum(axis=-1), 1, atol=1e-12)


@proved
@given(seeds, st.floats(-1e4, 1e4))
def test_softmax_does_not_move_with_a_constant(seed, constant):
    x = normal(seed, 3, 5)
    np.testing.assert_allclose(ref.softmax(x + constant), ref.softmax(x), atol=1e-10)
    np.testing.assert_allclose(ref.softmax(x), np.exp(x) / np.exp(x).sum(-1, keepdims=True))


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_log_softmax_is_the_logarithm_of_softmax_on_any_axis(axis):
    x = normal(2, 3, 5, 7)
    np.testing.assert_allclose(ref.log_softmax(x, axis), np.log(ref.softmax(x, axis)), atol=1e-12)
    np.testing.assert_allclose(ref.softmax(x, axis).sum(axis), 1, atol=1e-12)


def test_log_softmax_survives_scores_that_softmax_rounds_to_zero():
    np.testing.assert_allclose(ref.log_softmax([0, 1000]), [-1000, 0])


@proved
@given(seeds, lengths, lengths)
def test_attention_weights_are_rows_that_sum_to_one(seed, T, S):
    weights = ref.attention_weights(normal(seed, 2, T, 5), normal(seed + 1, 2, S, 5))
    assert weights.shape == (2, T, S)
    np.testing.assert_allclose(weights.sum(axis=-1), 1, atol=1e-12)


@proved
@given(seeds, st.permutations(range(7)))
def test_permuted_words_get_permuted_attention(seed, order):
    x, params = normal(seed, 7, 6), head_params(seed, 6)
    out = ref.multi_head_attention(x, x, params, heads=3)
    permuted = ref.multi_head_attention(x[order], x[order], params, heads=3)
    np.testing.assert_allclose(permuted, out[order], atol=1e-10)


@proved
@given(seeds, st.permutations(range(5)))
def test_encodings_break_the_symmetry_between_positions(seed, order):
    assume(order != sorted(order))
    x, params, P = normal(seed, 5, 6), head_params(seed, 6), ref.sinusoidal_encoding(5, 6)
    out = ref.multi_head_attention(x + P, x + P, params, heads=3)
    permuted = ref.multi_head_attention(x[order] + P, x[order] + P, params, heads=3)
    assert np.abs(permuted - out[order]).max() > 1e-3


@proved
@given(seeds, st.integers(1, 6))
def test_future_tokens_do_not_move_the_past(seed, now):
    x, later = normal(seed, 2, 7, 6), normal(seed + 1, 2, 7, 6)
    changed = np.concatenate([x[:, :now], 100 * later[:, now:]], axis=1)
    params, memory, mask = layer_params(seed, 6, 11), normal(seed + 2, 2, 5, 6), np.tri(7) > 0
    past, other = (
        ref.decoder_layer(a, memory, params, heads=2, self_mask=mask) for a in (x, changed)
    )
    np.testing.assert_allclose(other[:, :now], past[:, :now], atol=1e-12)
    assert np.abs(other[:, now:] - past[:, now:]).max() > 1e-3


@proved
@given(seeds, st.integers(1, 6))
def test_padding_does_not_matter(seed, length):
    x, other = normal(seed, 2, 7, 6), 100 * normal(seed + 1, 2, 7, 6)
    ids = np.where(np.arange(7) < length, 5, 0) * np.ones((2, 1), int)
    mask, params = ref.padding_mask(ids, pad_id=0), layer_params(seed, 6, 11)
    padded = np.where(ids[..., None] == 0, other, x)
    short = ref.encoder_layer(x[:, :length], params, heads=3)
    for source in (x, padded):
        long = ref.encoder_layer(source, params, heads=3, mask=mask)
        np.testing.assert_allclose(long[:, :length], short, atol=1e-10)


@proved
@given(seeds, st.integers(1, 6))
def test_padding_of_the_source_does_not_matter_to_the_decoder(seed, length):
    memory, params = normal(seed, 2, 7, 6), layer_params(seed, 6, 11)
    mask = ref.padding_mask([[5] * length + [0] * (7 - length)] * 2, pad_id=0)
    x = normal(seed + 1, 2, 3, 6)
    padded = ref.decoder_layer(x, memory, params, heads=2, cross_mask=mask)
    short = ref.decoder_layer(x, memory[:, :length], params, heads=2)
    np.testing.assert_allclose(padded, short, atol=1e-10)


def test_padding_differs_from_row_to_row_of_a_batch():
    """As many heads as rows, so that a mask laid along the heads would be taken silently."""
    mask = ref.padding_mask([[7, 5, 0], [7, 0, 0]], pad_id=0)
    x, params = normal(1, 2, 3, 4), head_params(1, 4)
    out = ref.multi_head_attention(x, x, params, heads=2, mask=mask)
    for row, length in ((0, 2), (1, 1)):
        alone = ref.multi_head_attention(x[row], x[row, :length], params, heads=2)
        np.testing.assert_allclose(out[row], alone, atol=1e-12)


def test_padding_mask_is_true_where_attention_is_allowed():
    mask = ref.padding_mask([[7, 5, 0], [0, 2, 2]], pad_id=0)
    np.testing.assert_array_equal(mask, [[[True, True, False]], [[False, True, True]]])


@proved
@given(st.integers(0, 500), st.integers(-500, 500), st.integers(1, 7))
def test_shifting_a_position_is_a_rotation(i, offset, pairs):
    assume(i + offset >= 0)
    P = ref.sinusoidal_encoding(max(i, i + offset) + 1, 2 * pairs)
    M = ref.shift_matrix(offset, 2 * pairs)
    np.testing.assert_allclose(M @ P[i], P[i + offset], atol=1e-11)
    np.testing.assert_allclose(M @ M.T, np.eye(2 * pairs), atol=1e-12)
    assert np.linalg.det(M) == pytest.approx(1, abs=1e-12)


def test_the_first_pair_turns_fastest():
    """One radian a position for the first pair, 10000^(-2j/d) of it for pair j."""
    P = ref.sinusoidal_encoding(2, 6)[1]
    np.testing.assert_allclose(
        np.arctan2(P[0::2], P[1::2]), [1, 10000 ** (-1 / 3), 10000 ** (-2 / 3)], rtol=1e-12
    )


def test_encodings_lie_between_minus_one_and_one_and_are_unique():
    P = ref.sinusoidal_encoding(1000, 8)
    assert np.abs(P).max() <= 1
    assert len(np.unique(P.round(9), axis=0)) == 1000


@proved
@given(seeds, st.integers(-50, 50), st.integers(-50, 50), st.integers(-50, 50))
def test_rope_scores_depend_on_the_offset_alone(seed, m, n, step):
    q, k = normal(seed, 1, 10), normal(seed + 1, 1, 10)
    here = ref.rope(q, [m]) @ ref.rope(k, [n]).T
    there = ref.rope(q, [m + step]) @ ref.rope(k, [n + step]).T
    np.testing.assert_allclose(there, here, atol=1e-10)


def test_rope_scores_differ_between_offsets():
    q, k = normal(0, 1, 10), normal(1, 1, 10)
    scores = [float((ref.rope(q, [m]) @ ref.rope(k, [0]).T)[0, 0]) for m in range(7)]
    assert np.abs(np.diff(scores)).min() > 1e-3


@proved
@given(seeds, st.integers(-50, 50))
def test_rope_keeps_lengths_and_turns_forwards(seed, m):
    x = normal(seed, 2, 3, 10)
    np.testing.assert_allclose(
        np.linalg.norm(ref.rope(x, [m, 0, -m]), axis=-1), np.linalg.norm(x, axis=-1), atol=1e-12
    )
    np.testing.assert_allclose(ref.rope(x, [m, 0, -m])[:, 1], x[:, 1], atol=1e-15)
    quarter = ref.rope([[1.0, 0.0]], [np.pi / 2])
    np.testing.assert_allclose(quarter, [[0, 1]], atol=1e-15)


@proved
@given(seeds, st.sampled_from([(), (2,), (2, 3)]), st.sampled_from([1, 2, 3]))
def test_heads_are_split_and_merged_without_loss(seed, batch, heads):
    x = normal(seed, *batch, 5, 6)
    split = ref.split_heads(x, heads)
    for h in range(heads):
        width = 6 // heads
        np.testing.assert_array_equal(split[..., h, :, :], x[..., h * width : (h + 1) * width])
    np.testing.assert_array_equal(ref.merge_heads(split), x)


@proved
@given(seeds, st.permutations(range(7)))
def test_feed_forward_treats_every_position_alike(seed, order):
    x, params = normal(seed, 7, 3), layer_params(seed, 3, 5)["feed_forward"]
    np.testing.assert_allclose(
        ref.feed_forward(x[order], **params), ref.feed_forward(x, **params)[order], atol=1e-12
    )


@proved
@given(seeds, st.sampled_from([(5,), (2, 5), (2, 3, 5)]))
def test_layer_norm_gives_rows_of_mean_zero_and_variance_one(seed, shape):
    out = ref.layer_norm(3 + 10 * normal(seed, *shape), eps=0)
    np.testing.assert_allclose(out.mean(axis=-1), 0, atol=1e-12)
    np.testing.assert_allclose((out**2).mean(axis=-1), 1, atol=1e-12)


def test_batch_norm_standardises_features_and_layer_norm_rows():
    houses = np.array([[50.0, 2, 190], [80, 3, 310], [120, 4, 455], [200, 7, 800]])
    by_column, by_row = ref.batch_norm(houses, eps=0), ref.layer_norm(houses, eps=0)
    np.testing.assert_allclose(by_column.mean(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(by_column.std(axis=0), 1, atol=1e-12)
    np.testing.assert_allclose(by_row.mean(axis=1), 0, atol=1e-12)
    np.testing.assert_allclose(ref.standard_scale(houses), by_column, atol=1e-12)
    scaled = ref.min_max_scale(houses)
    np.testing.assert_array_equal(scaled[[0, 3]], [[0, 0, 0], [1, 1, 1]])
    assert scaled[1, 0] == pytest.approx(30 / 150)


def test_batch_norm_of_a_batch_of_sequences_uses_all_its_rows():
    x = normal(7, 2, 3, 5)
    np.testing.assert_allclose(
        ref.batch_norm(x).reshape(6, 5), ref.batch_norm(x.reshape(6, 5)), atol=1e-14
    )


def test_a_constant_column_scales_to_zero():
    np.testing.assert_array_equal(ref.standard_scale([[5, 1], [5, 3]])[:, 0], [0, 0])
    np.testing.assert_array_equal(ref.min_max_scale([[5, 1], [5, 3]])[:, 0], [0, 0])


@pytest.mark.parametrize("value", [0.1, 1e-300, 1e300])
def test_a_column_is_constant_even_if_its_mean_is_rounded(value):
    np.testing.assert_array_equal(ref.standard_scale([[value]] * 3), np.zeros((3, 1)))


def test_cosine_similarity_sees_direction_alone():
    a, b = normal(1, 3, 5), normal(2, 3, 5)
    np.testing.assert_allclose(ref.cosine_similarity(a, 7 * a), 1)
    np.testing.assert_allclose(ref.cosine_similarity(a, -b), -ref.cosine_similarity(3 * a, b))
    assert ref.cosine_similarity([1, 0], [0, 3]) == 0
    assert ref.cosine_similarity([0, 0], [0, 3]) == 0


@pytest.mark.parametrize("size", [5e-324, 1e-200, 1e200, 1e308])
def test_cosine_similarity_holds_to_the_ends_of_the_range(size):
    assert ref.cosine_similarity([size, size], [size, size]) == pytest.approx(1)
    assert ref.cosine_similarity([size, 0], [size, -size]) == pytest.approx(0.5**0.5)


def test_add_norm_is_post_norm():
    x, sublayer = normal(1, 2, 3, 5), normal(2, 2, 3, 5)
    gain, bias = normal(3, 5), normal(4, 5)
    np.testing.assert_array_equal(
        ref.add_norm(x, sublayer, gain, bias, 0.5), ref.layer_norm(x + sublayer, gain, bias, 0.5)
    )


def test_smoothing_mixes_the_right_token_with_all_of_them():
    logits, target = normal(1, 7), np.array(3)
    sharp, flat = (ref.cross_entropy(logits, target, smoothing) for smoothing in (0, 1))
    assert flat == pytest.approx(-ref.log_softmax(logits).mean())
    assert ref.cross_entropy(logits, target, 0.1) == pytest.approx(0.9 * sharp + 0.1 * flat)


def test_what_is_impossible_costs_only_where_it_is_wanted():
    impossible = [[-np.inf, 2.0]]
    assert ref.cross_entropy(impossible, [1]) == 0
    assert ref.cross_entropy(impossible, [0]) == np.inf
    assert ref.cross_entropy(impossible, [1], smoothing=0.1) == np.inf
    assert ref.cross_entropy(impossible, [0], smoothing=1.0) == np.inf


def test_ignored_targets_do_not_enter_the_mean():
    logits = normal(1, 2, 3, 7)
    loss = ref.cross_entropy(logits, [[1, 2, -100], [4, -100, -100]], ignore_id=-100)
    assert loss == pytest.approx(ref.cross_entropy(logits[[0, 0, 1], [0, 1, 0]], [1, 2, 4]))


# --- masks that leave nothing -------------------------------------------------------------------


def test_a_row_with_nothing_allowed_gives_zeros():
    q, k, v = normal(1, 2, 3, 5), normal(2, 2, 7, 5), normal(3, 2, 7, 11)
    mask = np.ones((2, 3, 7), bool)
    mask[1, 2] = False
    weights, out = ref.attention_weights(q, k, mask), ref.attention(q, k, v, mask)
    assert (weights[1, 2] == 0).all()
    assert (out[1, 2] == 0).all()
    np.testing.assert_allclose(out[0], ref.attention(q, k, v)[0], atol=1e-14)


def test_softmax_of_minus_infinity_is_zero_and_its_logarithm_minus_infinity():
    x = np.array([[0.0, -np.inf], [-np.inf, -np.inf]])
    np.testing.assert_array_equal(ref.softmax(x), [[1, 0], [0, 0]])
    np.testing.assert_array_equal(ref.log_softmax(x), [[0, -np.inf], [-np.inf, -np.inf]])


# --- attention in blocks ------------------------------------------------------------------------


@proved
@given(
    seeds,
    st.integers(1, 29),
    st.integers(1, 29),
    st.integers(1, 31),
    st.booleans(),
    st.sampled_from([0.1, 1, 1000]),
    st.sampled_from([(), (2,), (2, 3)]),
)
def test_attention_in_blocks_equals_attention(seed, T, S, block, causal, size, batch):
    """Scores in the hundreds need the moving peak, and their own rounding grows with them."""
    q, k = size * normal(seed, *batch, T, 5), normal(seed + 1, *batch, S, 5)
    v = normal(seed + 2, *batch, S, 7)
    mask = np.tri(T, S, dtype=bool) if causal else None
    out = ref.blocked_attention(q, k, v, causal=causal, block=block)
    np.testing.assert_allclose(out, ref.attention(q, k, v, mask), atol=1e-12 * max(1, size), rtol=0)


@pytest.mark.parametrize("rising", [True, False])
def test_a_peak_that_rises_from_block_to_block_is_followed(rising):
    q, v = np.ones((2, 1)), normal(1, 13, 3)
    k = np.linspace(-2000, 2000, 13)[:, None] * (1 if rising else -1)
    out = ref.blocked_attention(q, k, v, block=2)
    np.testing.assert_allclose(out, np.tile(v[-1 if rising else 0], (2, 1)), atol=1e-12)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("part", [0.3, 0.6, 0.99, 1.1, 1.9, 3])
@pytest.mark.parametrize("sign", [1, -1])
def test_scores_near_the_end_of_the_range_of_exp_do_not_overflow(dtype, part, sign):
    top = sign * part * np.log(np.finfo(dtype).max)
    q, k, v = np.array([[1.0]]), top - np.array([[0.0], [1.0], [2.0]]), normal(1, 3, 5)
    out = ref.blocked_attention(q.astype(dtype), k.astype(dtype), v.astype(dtype), block=2)
    expected = ref.softmax([2, 1, 0]) @ v
    np.testing.assert_allclose(out, expected[None], atol=2000 * np.finfo(dtype).eps)


def test_a_block_larger_than_the_sequence_costs_nothing():
    q, k, v = normal(1, 3, 5), normal(2, 7, 5), normal(3, 7, 2)
    out = ref.blocked_attention(q, k, v, causal=True, block=10**9)
    np.testing.assert_allclose(out, ref.attention(q, k, v, np.tri(3, 7) > 0), atol=1e-12)


def test_attention_in_blocks_broadcasts_keys_over_heads():
    q, k, v = normal(1, 2, 3, 7, 5), normal(2, 2, 1, 11, 5), normal(3, 11, 13)
    out = ref.blocked_attention(q, k, v, block=3)
    np.testing.assert_allclose(out, ref.attention(q, k, v), atol=1e-12)


def test_attention_in_blocks_keeps_float32_and_leaves_its_input_alone():
    arrays = [normal(i, 2, 7, 5).astype(np.float32) for i in range(3)]
    copies = [a.copy() for a in arrays]
    out = ref.blocked_attention(*arrays, causal=True, block=3)
    assert out.dtype == np.float32
    np.testing.assert_allclose(out, ref.attention(*arrays, np.tri(7) > 0), atol=1e-6)
    for array, copy in zip(arrays, copies, strict=True):
        np.testing.assert_array_equal(array, copy)
    assert ref.blocked_attention(arrays[0], arrays[1], copies[2].astype(float)).dtype == np.float64


@pytest.mark.parametrize("size", [40, 1000])
def test_scores_far_below_the_peak_do_not_spoil_float32(size):
    q, k, v = (normal(i, 1, 257, 64).astype(np.float32) for i in range(3))
    out = ref.blocked_attention(size * q, k, v, causal=True, block=64)
    expected = ref.attention(size * q, k, v, np.tri(257) > 0)
    np.testing.assert_allclose(out, expected, atol=2e-3 * size / 40)


def peak_memory(n):
    q, k, v = (normal(i, n, 8) for i in range(3))
    tracemalloc.start()
    try:
        ref.blocked_attention(q, k, v, causal=True, block=32)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_memory_of_attention_in_blocks_is_linear():
    small, large = peak_memory(512), peak_memory(2048)
    assert large < 4.5 * small
    assert large < 2048 * 2048  # bytes: an eighth of one score matrix


def test_causal_attention_in_blocks_never_looks_at_later_blocks():
    """Later keys may be anything, even not a number, and the earlier rows are the same."""
    q, k, v = normal(1, 12, 5), normal(2, 12, 5), normal(3, 12, 7)
    k[8:], v[8:] = np.nan, np.nan
    out = ref.blocked_attention(q, k, v, causal=True, block=4)
    expected = ref.attention(q[:8], k[:8], v[:8], np.tri(8) > 0)
    np.testing.assert_allclose(out[:8], expected, atol=1e-12)


# --- dtypes -------------------------------------------------------------------------------------


def test_integers_and_float32_are_computed_in_float64():
    x = np.arange(12).reshape(3, 4)
    for out in (
        ref.softmax(x),
        ref.layer_norm(x.astype(np.float32)),
        ref.attention(x, x, x),
        ref.embed([1], x),
        ref.blocked_attention(x, x, x),
        ref.rope(x, [0, 1, 2]),
        ref.one_hot([1], 3),
    ):
        assert out.dtype == np.float64


@pytest.mark.parametrize("name", ["softmax", "layer_norm", "rope", "attention"])
def test_inputs_are_left_as_they_were(name):
    x = normal(1, 3, 4)
    kept = x.copy()
    arguments = {"rope": (x, [0, 1, 2]), "attention": (x, x, x)}.get(name, (x,))
    PUBLIC[name](*arguments)
    np.testing.assert_array_equal(x, kept)


# --- refusals -----------------------------------------------------------------------------------

x34, eye4 = np.ones((3, 4)), np.eye(4)
four = {f"w_{name}": eye4 for name in "qkvo"}
ffn = {"w1": np.ones((4, 7)), "b1": np.ones(7), "w2": np.ones((7, 4)), "b2": np.ones(4)}

REFUSED = {
    "id too large": (lambda: ref.one_hot([0, 5], 5), ValueError, "between 0 and 4.*got 5"),
    "negative id": (lambda: ref.embed([-1], x34), ValueError, "between 0 and 2.*got -1"),
    "float id": (lambda: ref.embed([1.0], x34), TypeError, "ids must be integers.*float64"),
    "boolean id": (lambda: ref.one_hot([True], 5), TypeError, "integers, got dtype bool"),
    "no ids": (lambda: ref.embed([], x34), ValueError, "ids must not be empty.*(0,)"),
    "ragged ids": (lambda: ref.one_hot([[1], [1, 2]], 5), ValueError, "rectangular"),
    "words for ids": (lambda: ref.one_hot(["a"], 5), TypeError, "real numbers"),
    "table of one axis": (lambda: ref.embed([0], [1, 2]), ValueError, r"table.*two axes.*\(2,\)"),
    "vocabulary of none": (lambda: ref.one_hot([0], 0), ValueError, "vocab_size.*at least 1.*0"),
    "vocabulary not an integer": (lambda: ref.one_hot([0], 2.0), TypeError, "vocab_size.*2.0"),
    "odd d_model": (lambda: ref.sinusoidal_encoding(3, 5), ValueError, "d_model must be even.*5"),
    "no length": (lambda: ref.sinusoidal_encoding(0, 4), ValueError, "length.*at least 1, got 0"),
    "length is true": (lambda: ref.sinusoidal_encoding(True, 4), TypeError, "length.*bool"),
    "odd shift": (lambda: ref.shift_matrix(1, 3), ValueError, "d_model must be even.*3"),
    "many offsets": (lambda: ref.shift_matrix([1, 2], 4), ValueError, r"offset.*\(\).*\(2,\)"),
    "odd rope": (lambda: ref.rope(np.ones((2, 5)), [0, 1]), ValueError, "last axis.*even.*5"),
    "too few positions": (lambda: ref.rope(x34, [0, 1]), ValueError, r"positions.*\(3,\).*\(2,\)"),
    "too many positions": (lambda: ref.rope(x34, np.ones((2, 3))), ValueError, r"\(3,\).*\(2, 3\)"),
    "one id for a mask": (lambda: ref.padding_mask(3, 0), ValueError, "ids must have at least 1"),
    "float ids for a mask": (lambda: ref.padding_mask([3.5], 0), TypeError, "ids.*integers"),
    "no padding": (lambda: ref.padding_mask([3], None), TypeError, "pad_id must be an integer"),
    "padding of a half": (lambda: ref.padding_mask([3], 0.5), TypeError, "pad_id.*integer.*0.5"),
    "mask of size none": (lambda: ref.look_ahead_mask(0), ValueError, "n must be at least 1"),
    "mask of numbers": (lambda: ref.additive([0, 1]), TypeError, "boolean, True where.*int64"),
    "scores of none": (lambda: ref.softmax([]), ValueError, "x must not be empty"),
    "a lone score": (lambda: ref.softmax(3.0), ValueError, r"at least 1 axis.*\(\)"),
    "complex scores": (lambda: ref.log_softmax([1j]), TypeError, "real numbers.*complex"),
    "a missing axis": (lambda: ref.softmax([1, 2], axis=1), ValueError, "axis 1 is out of bounds"),
    "d_q is not d_k": (
        lambda: ref.attention_weights(x34, np.ones((3, 5))),
        ValueError,
        r"axis -1 of q.*axis -1 of k.*\(3, 4\).*\(3, 5\)",
    ),
    "keys without values": (
        lambda: ref.attention(x34, x34, np.ones((2, 4))),
        ValueError,
        r"axis -2 of k.*axis -2 of v.*\(3, 4\).*\(2, 4\)",
    ),
    "query without rows": (
        lambda: ref.attention(np.ones((0, 4)), x34, x34),
        ValueError,
        r"q must not be empty.*\(0, 4\)",
    ),
    "query of one axis": (
        lambda: ref.attention_weights(np.ones(4), x34),
        ValueError,
        r"q must have at least 2 axes.*\(4,\)",
    ),
    "batches that disagree": (
        lambda: ref.attention_weights(np.ones((2, 3, 4)), np.ones((5, 3, 4))),
        ValueError,
        r"leading axes of q and k.*\(2, 3, 4\).*\(5, 3, 4\)",
    ),
    "value batches that disagree": (
        lambda: ref.attention(np.ones((2, 3, 4)), x34, np.ones((5, 3, 4))),
        ValueError,
        "leading axes of q and k and v",
    ),
    "float mask": (lambda: ref.attention(x34, x34, x34, np.tri(3)), TypeError, "mask.*float64"),
    "mask of wrong shape": (
        lambda: ref.attention(x34, x34, x34, np.ones((3, 2), bool)),
        ValueError,
        r"mask must broadcast to shape \(3, 3\), got shape \(3, 2\)",
    ),
    "mask with a batch": (
        lambda: ref.attention(x34, x34, x34, np.ones((2, 3, 3), bool)),
        ValueError,
        r"mask must broadcast to shape \(3, 3\), got shape \(2, 3, 3\)",
    ),
    "mask per head": (
        lambda: ref.multi_head_attention(x34, x34, four, 2, np.ones((2, 3, 3), bool)),
        ValueError,
        r"mask must broadcast to shape \(3, 3\), got shape \(2, 3, 3\)",
    ),
    "empty block": (lambda: ref.blocked_attention(x34, x34, x34, block=0), ValueError, "block"),
    "blocked d_q is not d_k": (
        lambda: ref.blocked_attention(x34, np.ones((3, 5)), x34),
        ValueError,
        r"axis -1 of q.*\(3, 4\).*\(3, 5\)",
    ),
    "blocked shapes": (
        lambda: ref.blocked_attention(x34, x34, np.ones((2, 4))),
        ValueError,
        r"axis -2 of v.*\(2, 4\)",
    ),
    "heads that do not divide": (
        lambda: ref.split_heads(np.ones((3, 10)), 4),
        ValueError,
        "divisible by heads, got d_model = 10, heads = 4",
    ),
    "no heads": (lambda: ref.split_heads(x34, 0), ValueError, "heads must be at least 1, got 0"),
    "heads of two axes": (lambda: ref.merge_heads(x34), ValueError, "at least 3 axes"),
    "missing projection": (
        lambda: ref.multi_head_attention(x34, x34, {"w_q": eye4}, 2),
        ValueError,
        "w_k is missing: got w_q",
    ),
    "projection too short": (
        lambda: ref.multi_head_attention(x34, x34, four | {"w_v": np.ones((5, 4))}, 2),
        ValueError,
        r"input of w_v.*axis 0 of w_v.*\(3, 4\).*\(5, 4\)",
    ),
    "bias too short": (
        lambda: ref.multi_head_attention(x34, x34, four | {"b_o": [1, 2]}, 2),
        ValueError,
        r"b_o must have shape \(4,\), got shape \(2,\)",
    ),
    "gain too short": (lambda: ref.layer_norm(x34, gain=[1, 2]), ValueError, r"gain.*\(4,\).*\(2,"),
    "bias too long": (lambda: ref.batch_norm(x34, bias=np.ones((3, 4))), ValueError, r"bias.*\(4,"),
    "batch norm of a row": (lambda: ref.batch_norm([1, 2]), ValueError, "at least 2 axes"),
    "columns of a row": (lambda: ref.standard_scale([1, 2]), ValueError, "at least 2 axes"),
    "range of a row": (lambda: ref.min_max_scale([1, 2]), ValueError, "at least 2 axes"),
    "residual of other shape": (
        lambda: ref.add_norm(x34, np.ones((1, 4))),
        ValueError,
        r"sublayer_output must have shape \(3, 4\), got shape \(1, 4\)",
    ),
    "narrow w2": (
        lambda: ref.feed_forward(x34, **(ffn | {"w2": np.ones((5, 4))})),
        ValueError,
        r"input of w2.*\(3, 7\).*\(5, 4\)",
    ),
    "encoder without network": (
        lambda: ref.encoder_layer(x34, {"self_attention": four}, 2),
        ValueError,
        "feed_forward is missing",
    ),
    "decoder without cross-attention": (
        lambda: ref.decoder_layer(x34, x34, {"self_attention": four, "feed_forward": ffn}, 2),
        ValueError,
        "cross_attention is missing",
    ),
    "values of other number": (
        lambda: ref.attention_pool([1, 0], np.eye(2), x34, np.dot),
        ValueError,
        r"keys.*values.*\(2, 2\).*\(3, 4\)",
    ),
    "vectors of other length": (
        lambda: ref.cosine_similarity([1, 2], [1, 2, 3]),
        ValueError,
        r"axis -1 of a.*\(2,\).*\(3,\)",
    ),
    "targets of other shape": (
        lambda: ref.cross_entropy(x34, [0, 1]),
        ValueError,
        r"targets must have shape \(3,\).*\(2,\)",
    ),
    "target too large": (lambda: ref.cross_entropy(x34, [0, 1, 4]), ValueError, "targets.*got 4"),
    "all ignored": (
        lambda: ref.cross_entropy(x34, [9, 9, 9], ignore_id=9),
        ValueError,
        "every one is ignore_id = 9",
    ),
    "smoothing above one": (
        lambda: ref.cross_entropy(x34, [0, 1, 2], smoothing=1.5),
        ValueError,
        "smoothing must lie between 0 and 1, got 1.5",
    ),
    "step zero": (lambda: ref.learning_rate(0, 512, 4000), ValueError, "step.*at least 1, got 0"),
    "no warm-up": (lambda: ref.learning_rate(1, 512, 0), ValueError, "warmup.*at least 1"),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_bad_input_is_refused_in_one_clear_sentence(case):
    call, error, pattern = REFUSED[case]
    with pytest.raises(error, match=pattern) as caught:
        call()
    assert "\n" not in str(caught.value)


# --- the file itself ----------------------------------------------------------------------------

CITATION = re.compile(
    r"(Eq\. \((\d+)\)(-\((\d+)\))?, )?"
    r"(notes|2017 paper|handwritten notes|slides|whiteboard)( §(\d+(\.\d+)*))?"
)


def citations(function):
    last = inspect.getdoc(function).rsplit("\n\n", 1)[-1]
    assert last.endswith("."), f"{function.__name__}: no citation at the end"
    found = [CITATION.fullmatch(part) for part in last[:-1].replace("\n", " ").split("; ")]
    assert all(found), f"{function.__name__}: {last!r} is not a citation"
    return found


@pytest.mark.parametrize("module", [ref, tiles, validate])
def test_docstring_examples_hold(module):
    result = doctest.testmod(module)
    assert result.failed == 0
    public = [name for name, f in inspect.getmembers(module, inspect.isfunction) if name[0] != "_"]
    own = [name for name in public if getattr(module, name).__module__ == module.__name__]
    assert result.attempted >= len(own) > 0


@pytest.mark.parametrize("name", PUBLIC)
def test_each_function_has_an_example_with_a_number_and_says_where_its_equation_stands(name):
    assert citations(PUBLIC[name])
    (example, *_) = reversed(doctest.DocTestParser().get_examples(PUBLIC[name].__doc__))
    assert re.search(r"\d|True", example.want)


def test_every_equation_of_the_notes_and_of_the_paper_has_a_function():
    numbered, sections = {"notes": set(), "2017 paper": set()}, set()
    for function in PUBLIC.values():
        for match in citations(function):
            first, last, source, section = match[2], match[4] or match[2], match[5], match[7]
            sections.add((source, section))
            if first:
                numbered[source].update(range(int(first), int(last) + 1))
    assert numbered["notes"] == set(range(1, 19))
    assert numbered["2017 paper"] == {1, 2, 3}
    assert {("2017 paper", "3.2.2"), ("2017 paper", "3.5")} <= sections  # formulas without number


def test_the_equations_need_numpy_alone():
    code = "import sys, tfmlib.ref; assert 'torch' not in sys.modules; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not {"torch", "matplotlib", "scipy", "pandas"} & set(done.stdout.split())


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_large_scores_do_not_let_the_future_into_blocked_attention(dtype):
    """Scores beyond exp's range take the path with a moving peak; masked keys must stay at zero."""
    q = k = np.full((2, 2), 150 if dtype is np.float32 else 5000, dtype)
    v = np.array([[0], [1e38]], dtype)
    assert ref.blocked_attention(q, k, v, causal=True)[0] == 0
