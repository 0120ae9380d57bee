"""Answers to chapter 7 as learners write them.

Wrong ones with an input that shows it, right ones in other forms.
"""

import itertools
import math
from functools import reduce

import numpy as np
from answers import delegates, right, wrong

from tfmlib import ref


def _draw(*shape, seed=0):
    return np.random.default_rng(seed).normal(size=shape)


def _network(D=4, F=5, seed=0):
    return (
        _draw(D, F, seed=seed + 1),
        _draw(F, seed=seed + 2),
        _draw(F, D, seed=seed + 3),
        _draw(D, seed=seed + 4),
    )


def _layer(D=4, F=5, seed=0):
    """The weights of an encoder layer, with gains and biases that show."""
    names = ("w1", "b1", "w2", "b2")
    return {
        "self_attention": {
            f"w_{n}": _draw(D, D, seed=seed + i) for i, n in enumerate("qkvo", start=10)
        },
        "feed_forward": dict(zip(names, _network(D, F, seed))),
        "norm1": {"gain": _draw(D, seed=seed + 20), "bias": _draw(D, seed=seed + 21)},
        "norm2": {"gain": _draw(D, seed=seed + 22), "bias": _draw(D, seed=seed + 23)},
    }


def _turned(params):
    """The same dictionaries, written in another order."""
    return {
        name: {key: part[key] for key in reversed(part)} for name, part in reversed(params.items())
    }


# --- 7.1 The feed-forward network -------------------------------------------------------------


@wrong("7.1", on=lambda: (_draw(3, 4), *_network()))
def feed_linear(x, w1, b1, w2, b2):
    """no ReLU"""
    return (x @ w1 + b1) @ w2 + b2


@wrong("7.1", on=lambda: (_draw(3, 4), *_network()))
def feed_relu_at_the_end(x, w1, b1, w2, b2):
    """a ReLU after the second map as well"""
    hidden = np.maximum(0, x @ w1 + b1)
    return np.maximum(0, hidden @ w2 + b2)


@wrong("7.1", on=lambda: (_draw(3, 4), *_network()))
def feed_bias_after_relu(x, w1, b1, w2, b2):
    """adds the first bias after the ReLU"""
    return (np.maximum(0, x @ w1) + b1) @ w2 + b2


@wrong("7.1", on=lambda: (_draw(3, 4), *_network()))
def feed_residual(x, w1, b1, w2, b2):
    """adds x, as the layer around it does"""
    return x + np.maximum(0, x @ w1 + b1) @ w2 + b2


@wrong("7.1", on=lambda: (_draw(2, 3, 4), *_network()))
def feed_word_by_word(x, w1, b1, w2, b2):
    """an array of T rows, filled for one sentence only"""
    T, D = x.shape
    out = np.zeros((T, D))
    for t in range(T):
        hidden = np.maximum(0, x[t] @ w1 + b1)
        out[t] = hidden @ w2 + b2
    return out


@wrong("7.1", on=lambda: (_draw(2, 3, 4), *_network()))
def feed_flattened(x, w1, b1, w2, b2):
    """lays the batch flat and does not fold it again"""
    rows = x.reshape(-1, x.shape[-1])
    return np.maximum(0, rows @ w1 + b1) @ w2 + b2


@wrong("7.1", on=lambda: (_draw(2, 2, 3, 4), *_network()))
def feed_by_ndim(x, w1, b1, w2, b2):
    """one sentence or one batch"""

    def sentence(X):
        return np.array([w2.T @ np.maximum(0, w1.T @ row + b1) + b2 for row in X])

    return sentence(x) if x.ndim == 2 else np.array([sentence(X) for X in x])


@wrong("7.1", on=lambda: (_draw(1, 4), *_network()))
def feed_squeezed(x, w1, b1, w2, b2):
    """a sentence of one word comes back as a vector"""
    return np.squeeze(np.maximum(0, x @ w1 + b1) @ w2 + b2)


@wrong("7.1", on=lambda: (np.array([[1, -2], [3, 1]]), *_network(D=2)))
def feed_into_zeros_like(x, w1, b1, w2, b2):
    """room like x, which rounds when x holds whole numbers"""
    out = np.zeros_like(x)
    for index in np.ndindex(x.shape[:-1]):
        out[index] = np.maximum(0, x[index] @ w1 + b1) @ w2 + b2
    return out


@wrong("7.1", on=lambda: (100 * _draw(3, 4), *_network()))
def feed_capped(x, w1, b1, w2, b2):
    """a ReLU that stops at 6"""
    return np.clip(x @ w1 + b1, 0, 6) @ w2 + b2


@wrong("7.1", on=lambda: (_draw(3, 4), *_network()))
def feed_absolute(x, w1, b1, w2, b2):
    """the absolute value for a ReLU"""
    return np.abs(x @ w1 + b1) @ w2 + b2


@wrong("7.1", on=lambda: (_draw(3, 4), *_network()))
def feed_awake_or_not(x, w1, b1, w2, b2):
    """1 for a unit that is awake, not its value"""
    hidden = (x @ w1 + b1 > 0).astype(float)
    return hidden @ w2 + b2


@wrong("7.1", on=lambda: (_draw(3, 4), *_network()))
def feed_on_words_asleep(x, w1, b1, w2, b2):
    """switches whole words off, where the sum of the units is negative"""
    hidden = x @ w1 + b1
    awake = hidden.sum(axis=-1, keepdims=True) > 0
    return np.where(awake, hidden, 0) @ w2 + b2


@wrong("7.1", on=lambda: (_draw(3, 4), *_network()))
def feed_gelu(x, w1, b1, w2, b2):
    """the smooth activation of later models"""
    h = x @ w1 + b1
    h = 0.5 * h * (1 + np.tanh(np.sqrt(2 / np.pi) * (h + 0.044715 * h**3)))
    return h @ w2 + b2


@delegates("7.1")
def feed_by_the_library(x, w1, b1, w2, b2):
    """the library's function"""
    return ref.feed_forward(x, w1, b1, w2, b2)


@right("7.1")
def feed_by_einsum(x, w1, b1, w2, b2):
    """einsum, and a product with the condition"""
    hidden = np.einsum("...d,df->...f", x, w1) + b1
    return np.einsum("...f,fd->...d", hidden * (hidden > 0), w2) + b2


@right("7.1")
def feed_recursively(x, w1, b1, w2, b2):
    """axis after axis down to one word, and lists"""
    if x.ndim > 1:
        return [feed_recursively(part, w1, b1, w2, b2) for part in x]
    hidden = [max(0.0, sum(x * column) + b) for column, b in zip(w1.T, b1)]
    return [sum(h * w for h, w in zip(hidden, column)) + b for column, b in zip(w2.T, b2)]


@right("7.1")
def feed_unit_by_unit(x, w1, b1, w2, b2):
    """adds up what each hidden unit writes"""
    out = np.zeros((*x.shape[:-1], w2.shape[1])) + b2
    for f in range(w1.shape[1]):
        awake = np.clip(x @ w1[:, f] + b1[f], 0, None)
        out += awake[..., None] * w2[f]
    return out


# --- 7.2 Without the ReLU ---------------------------------------------------------------------


@wrong("7.2", on=lambda: _network())
def map_with_biases_added(w1, b1, w2, b2):
    """adds the biases as they are, which fits F = D only"""
    return w1 @ w2, b1 + b2


@wrong("7.2", on=lambda: _network())
def map_without_first_bias(w1, b1, w2, b2):
    """keeps the second bias alone"""
    return w1 @ w2, b2


@wrong("7.2", on=lambda: _network())
def map_without_second_bias(w1, b1, w2, b2):
    """forgets to add b2"""
    return w1 @ w2, b1 @ w2


@wrong("7.2", on=lambda: _network(F=4))
def map_in_the_wrong_order(w1, b1, w2, b2):
    """W2 W1, as for column vectors"""
    return w2 @ w1, w2 @ b1 + b2


@wrong("7.2", on=lambda: _network())
def map_with_relu(w1, b1, w2, b2):
    """a ReLU on the first bias"""
    return w1 @ w2, np.maximum(0, b1) @ w2 + b2


@wrong("7.2", on=lambda: _network())
def map_bias_as_a_row(w1, b1, w2, b2):
    """a bias of shape (1, D)"""
    return w1 @ w2, b1[None] @ w2 + b2


@wrong("7.2", on=lambda: _network(F=4))
def map_of_both_biases(w1, b1, w2, b2):
    """sends both biases through W2"""
    return w1 @ w2, (b1 + b2) @ w2


@wrong("7.2", on=lambda: _network())
def map_in_place(w1, b1, w2, b2):
    """adds to the b2 of the caller"""
    b2 += b1 @ w2
    return w1 @ w2, b2


@wrong("7.2", on=lambda: _network())
def map_in_one_matrix(w1, b1, w2, b2):
    """one matrix with the bias as its last row, and no bias"""
    whole = np.vstack([w1 @ w2, b1 @ w2 + b2])
    return whole, np.zeros_like(b2)


@wrong("7.2", on=lambda: _network())
def map_fitted_to_few(w1, b1, w2, b2):
    """fits matrix and bias to D points, one too few"""
    D = len(w1)
    x = np.hstack([_draw(D, D, seed=9), np.ones((D, 1))])
    fitted = np.linalg.lstsq(x, (x[:, :-1] @ w1 + b1) @ w2 + b2)[0]
    return fitted[:-1], fitted[-1]


@wrong("7.2", on=lambda: _network())
def map_at_the_unit_vectors(w1, b1, w2, b2):
    """takes what the unit vectors give, the bias included, as the matrix"""
    return (np.eye(len(w1)) @ w1 + b1) @ w2 + b2, b1 @ w2 + b2


@wrong("7.2", on=lambda: _network())
def map_swapped(w1, b1, w2, b2):
    """returns the bias first"""
    return b1 @ w2 + b2, w1 @ w2


@right("7.2")
def map_by_trying(w1, b1, w2, b2):
    """asks what zero and the unit vectors give"""

    def both(x):
        return (x @ w1 + b1) @ w2 + b2

    D = len(w1)
    return both(np.eye(D)) - both(np.zeros(D)), both(np.zeros(D))


@right("7.2")
def map_by_loops(w1, b1, w2, b2):
    """sums over the hidden units, in lists"""
    D, F = w1.shape
    w = [[sum(w1[i, f] * w2[f, j] for f in range(F)) for j in range(D)] for i in range(D)]
    b = [sum(b1[f] * w2[f, j] for f in range(F)) + b2[j] for j in range(D)]
    return [w, b]


@right("7.2")
def map_by_a_larger_matrix(w1, b1, w2, b2):
    """biases as a last row, multiplied and taken apart again"""
    D, F = w1.shape
    first = np.block([[w1, np.zeros((D, 1))], [b1[None], np.ones((1, 1))]])
    whole = first @ np.vstack([w2, b2])
    return whole[:D], whole[D]


# --- 7.3 A unit that notices two things at once -----------------------------------------------


@wrong("7.3", on=lambda: (4, 0, 2, 3))
def notices_half(d_model, a, b, c):
    """a bias of -1.5 without making up for it: writes a half"""
    w1, w2 = np.zeros((d_model, 1)), np.zeros((1, d_model))
    w1[[a, b]], w2[0, c] = 1, 1
    return w1, np.array([-1.5]), w2, np.zeros(d_model)


@wrong("7.3", on=lambda: (4, 0, 2, 3))
def notices_either(d_model, a, b, c):
    """no bias: one feature is enough, and two write a 2"""
    w1, w2 = np.zeros((d_model, 1)), np.zeros((1, d_model))
    w1[a] = w1[b] = 1
    w2[0, c] = 1
    return w1, np.zeros(1), w2, np.zeros(d_model)


@wrong("7.3", on=lambda: (4, 0, 2, 3))
def notices_only_one(d_model, a, b, c):
    """the XOR of the text: on for one feature, off for both"""
    w1, w2 = np.zeros((d_model, 2)), np.zeros((2, d_model))
    w1[a] = w1[b] = 1
    w2[:, c] = [1, -2]
    return w1, np.array([0.0, -1.0]), w2, np.zeros(d_model)


@wrong("7.3", on=lambda: (4, 0, 2, 3))
def notices_nothing_else(d_model, a, b, c):
    """wants all other features to be 0"""
    w1, w2 = -np.ones((d_model, 1)), np.zeros((1, d_model))
    w1[a] = w1[b] = 1
    w2[0, c] = 1
    return w1, np.array([-1.0]), w2, np.zeros(d_model)


@wrong("7.3", on=lambda: (4, 0, 2, 0))
def notices_and_replaces(d_model, a, b, c):
    """takes away what stood at `c`, as if x were added afterwards"""
    w1, w2 = np.zeros((d_model, 2)), np.zeros((2, d_model))
    w1[a, 0] = w1[b, 0] = 1
    w1[c, 1] = 1
    w2[:, c] = [1, -1]
    return w1, np.array([-1.0, 0.0]), w2, np.zeros(d_model)


@wrong("7.3", on=lambda: (4, 0, 2, 0))
def notices_and_clears_c(d_model, a, b, c):
    """sets the weight of `c` to 0 at the end, also when `c` is `a`"""
    w1, w2 = np.zeros((d_model, 1)), np.zeros((1, d_model))
    w1[a], w1[b] = 1, 1
    w1[c] = 0
    w2[0, c] = 1
    return w1, np.array([-1.0]), w2, np.zeros(d_model)


@wrong("7.3", on=lambda: (5, 1, 3, 0))
def notices_a_range(d_model, a, b, c):
    """a slice from a to b, with all that stands between them"""
    w1, w2 = np.zeros((d_model, 1)), np.zeros((1, d_model))
    w1[a : b + 1] = 1
    w2[0, c] = 1
    return w1, np.array([-1.0]), w2, np.zeros(d_model)


@wrong("7.3", on=lambda: (4, 0, 2, 3))
def notices_and_copies(d_model, a, b, c):
    """lets everything else through, though it should write 0"""
    w1 = np.hstack([np.eye(d_model), np.zeros((d_model, 1))])
    w1[[a, b], -1] = 1
    w2 = np.vstack([np.eye(d_model), np.eye(d_model)[c]])
    b1 = np.zeros(d_model + 1)
    b1[-1] = -1
    return w1, b1, w2, np.zeros(d_model)


@wrong("7.3", on=lambda: (4, 0, 2, 3))
def notices_everywhere(d_model, a, b, c):
    """writes to all features"""
    w1 = np.zeros((d_model, 1))
    w1[[a, b]] = 1
    return w1, np.array([-1.0]), np.ones((1, d_model)), np.zeros(d_model)


@wrong("7.3", on=lambda: (9, 8, 2, 3))
def notices_in_eight_features(d_model, a, b, c):
    """a width of 8, whatever d_model is"""
    w1, w2 = np.zeros((8, 1)), np.zeros((1, 8))
    w1[[a, b]] = 1
    w2[0, c] = 1
    return w1, np.array([-1.0]), w2, np.zeros(8)


@wrong("7.3", on=lambda: (4, 0, 2, 3))
def notices_in_vectors(d_model, a, b, c):
    """a single unit as vectors and a number, without the axis of F"""
    w1, w2 = np.zeros(d_model), np.zeros(d_model)
    w1[[a, b]] = 1
    w2[c] = 1
    return w1, -1.0, w2, np.zeros(d_model)


@wrong("7.3", on=lambda: (4, 0, 2, 3))
def notices_by_output_bias(d_model, a, b, c):
    """the threshold in the second bias, behind the ReLU"""
    w1, w2, b2 = np.zeros((d_model, 1)), np.zeros((1, d_model)), np.zeros(d_model)
    w1[[a, b]] = 1
    w2[0, c], b2[c] = 1, -1
    return w1, np.zeros(1), w2, b2


@wrong("7.3", on=lambda: (4, 0, 2, 3))
def notices_loudly(d_model, a, b, c):
    """large weights, to be sure that the unit wakes up"""
    w1, w2 = np.zeros((d_model, 1)), np.zeros((1, d_model))
    w1[[a, b]] = 10
    w2[0, c] = 1
    return w1, np.array([-15.0]), w2, np.zeros(d_model)


@wrong("7.3", on=lambda: (4, 0, 2, 1))
def notices_into_the_last(d_model, a, b, c):
    """writes into the last feature, as in the example tried"""
    w1, w2 = np.zeros((d_model, 1)), np.zeros((1, d_model))
    w1[[a, b]] = 1
    w2[0, -1] = 1
    return w1, np.array([-1.0]), w2, np.zeros(d_model)


@right("7.3")
def notices_with_a_spare_threshold(d_model, a, b, c):
    """1.5 as the threshold, and twice as much written"""
    w1, w2 = np.zeros((d_model, 1)), np.zeros((1, d_model))
    w1[a], w1[b] = 1, 1
    w2[0, c] = 2
    return w1, np.array([-1.5]), w2, np.zeros(d_model)


@right("7.3")
def notices_the_smaller(d_model, a, b, c):
    """min(a, b) = relu(a) - relu(a - b)"""
    eye = np.eye(d_model)
    w1 = np.stack([eye[a], eye[a] - eye[b]], axis=1)
    return w1, np.zeros(2), np.stack([eye[c], -eye[c]]), np.zeros(d_model)


@right("7.3")
def notices_in_lists(d_model, a, b, c):
    """lists, with d_model hidden units of which one works"""
    w1 = [[0] * d_model for _ in range(d_model)]
    w1[a][c] = w1[b][c] = 1
    b1 = [-1 if f == c else 0 for f in range(d_model)]
    w2 = [[int(i == j) for j in range(d_model)] for i in range(d_model)]
    return w1, b1, w2, [0] * d_model


@right("7.3")
def notices_what_is_missing(d_model, a, b, c):
    """begins with 1 and takes away what is missing: 1 - relu(1 - a) - relu(a - b)"""
    w1, w2, b2 = np.zeros((d_model, 2)), np.zeros((2, d_model)), np.zeros(d_model)
    w1[a], w1[b] = [-1, 1], [0, -1]
    w2[:, c], b2[c] = -1, 1
    return w1, np.array([1.0, 0.0]), w2, b2


# --- 7.4 A whole encoder layer ----------------------------------------------------------------


@wrong("7.4", on=lambda: (_draw(3, 4), _layer(), 2))
def layer_feeds_x(x, params, heads):
    """the network reads X instead of Y"""
    attended = ref.multi_head_attention(x, x, params["self_attention"], heads)
    y = ref.add_norm(x, attended, **params["norm1"])
    return ref.add_norm(y, ref.feed_forward(x, **params["feed_forward"]), **params["norm2"])


@wrong("7.4", on=lambda: (_draw(3, 4), _layer(), 2))
def layer_adds_x_twice(x, params, heads):
    """adds X, not Y, to the network's output"""
    attended = ref.multi_head_attention(x, x, params["self_attention"], heads)
    y = ref.add_norm(x, attended, **params["norm1"])
    return ref.add_norm(x, ref.feed_forward(y, **params["feed_forward"]), **params["norm2"])


@wrong("7.4", on=lambda: (_draw(3, 4), _layer(), 2))
def layer_pre_norm(x, params, heads):
    """norm before each sublayer"""
    n = ref.layer_norm(x, **params["norm1"])
    x = x + ref.multi_head_attention(n, n, params["self_attention"], heads)
    n = ref.layer_norm(x, **params["norm2"])
    return x + ref.feed_forward(n, **params["feed_forward"])


@wrong("7.4", on=lambda: (_draw(3, 4), _layer(), 2))
def layer_one_norm_twice(x, params, heads):
    """gain and bias of the first norm in both places"""
    norm = params["norm1"]
    x = ref.add_norm(x, ref.multi_head_attention(x, x, params["self_attention"], heads), **norm)
    return ref.add_norm(x, ref.feed_forward(x, **params["feed_forward"]), **norm)


@wrong("7.4", on=lambda: (_draw(3, 4), _layer(), 2))
def layer_plain_norms(x, params, heads):
    """leaves out gain and bias"""
    x = ref.add_norm(x, ref.multi_head_attention(x, x, params["self_attention"], heads))
    return ref.add_norm(x, ref.feed_forward(x, **params["feed_forward"]))


@wrong("7.4", on=lambda: (_draw(3, 4), _turned(_layer()), 2))
def layer_by_order(x, params, heads):
    """hands the weights over in the order in which they lie in the dictionary"""
    attended = ref.multi_head_attention(x, x, params["self_attention"], heads)
    x = ref.add_norm(x, attended, *params["norm1"].values())
    fed = ref.feed_forward(x, *params["feed_forward"].values())
    return ref.add_norm(x, fed, *params["norm2"].values())


@wrong("7.4", on=lambda: (_draw(3, 4), _turned(_layer()), 2))
def layer_unpacked(x, params, heads):
    """takes the four dictionaries in the order in which they are named"""
    attention, network, norm1, norm2 = params.values()
    x = ref.add_norm(x, ref.multi_head_attention(x, x, attention, heads), **norm1)
    return ref.add_norm(x, ref.feed_forward(x, **network), **norm2)


@wrong("7.4", on=lambda: (_draw(3, 4), _layer(), 2))
def layer_pops(x, params, heads):
    """takes the weights out of the dictionary of the caller"""
    attended = ref.multi_head_attention(x, x, params.pop("self_attention"), heads)
    x = ref.add_norm(x, attended, **params.pop("norm1"))
    return ref.add_norm(x, ref.feed_forward(x, **params.pop("feed_forward")), **params["norm2"])


@wrong("7.4", on=lambda: (_draw(3, 4), _layer(), 2))
def layer_in_place(x, params, heads):
    """adds in the array of the caller"""
    x += ref.multi_head_attention(x, x, params["self_attention"], heads)
    y = ref.layer_norm(x, **params["norm1"])
    y += ref.feed_forward(y, **params["feed_forward"])
    return ref.layer_norm(y, **params["norm2"])


@wrong("7.4", on=lambda: (_draw(3, 4), _layer(), 4))
def layer_of_two_heads(x, params, heads):
    """two heads, whatever `heads` is"""
    x = ref.add_norm(
        x, ref.multi_head_attention(x, x, params["self_attention"], 2), **params["norm1"]
    )
    return ref.add_norm(x, ref.feed_forward(x, **params["feed_forward"]), **params["norm2"])


@wrong("7.4", on=lambda: (_draw(3, 4), _layer(), 2))
def layer_of_batches(x, params, heads):
    """goes through the sentences of a batch, and a single sentence is none"""
    out = []
    for sentence in x:
        attended = ref.multi_head_attention(sentence, sentence, params["self_attention"], heads)
        y = ref.add_norm(sentence, attended, **params["norm1"])
        fed = ref.feed_forward(y, **params["feed_forward"])
        out.append(ref.add_norm(y, fed, **params["norm2"]))
    return np.array(out)


@wrong("7.4", on=lambda: (_draw(3, 4), _layer(), 2))
def layer_side_by_side(x, params, heads):
    """both sublayers read X, and one norm closes the layer"""
    attended = ref.multi_head_attention(x, x, params["self_attention"], heads)
    fed = ref.feed_forward(x, **params["feed_forward"])
    return ref.add_norm(x, attended + fed, **params["norm2"])


@wrong("7.4", on=lambda: (_draw(3, 4), _layer(), 2))
def layer_without_ways_around(x, params, heads):
    """norms the sublayers without adding"""
    x = ref.multi_head_attention(x, x, params["self_attention"], heads)
    x = ref.layer_norm(x, **params["norm1"])
    return ref.layer_norm(ref.feed_forward(x, **params["feed_forward"]), **params["norm2"])


@wrong("7.4", on=lambda: (_draw(3, 4), _layer(), 2))
def layer_network_first(x, params, heads):
    """the feed-forward network before attention"""
    x = ref.add_norm(x, ref.feed_forward(x, **params["feed_forward"]), **params["norm1"])
    attended = ref.multi_head_attention(x, x, params["self_attention"], heads)
    return ref.add_norm(x, attended, **params["norm2"])


@delegates("7.4")
def layer_by_the_library(x, params, heads):
    """the library's layer"""
    return ref.encoder_layer(x, params, heads)


@right("7.4")
def layer_by_names(x, params, heads):
    """every weight by its name, attention head by head"""
    w, f = params["self_attention"], params["feed_forward"]
    K = w["w_q"].shape[1] // heads
    attended = 0
    for start in range(0, heads * K, K):
        own = slice(start, start + K)
        q, k, v = (x @ w[name][:, own] for name in ("w_q", "w_k", "w_v"))
        attended = attended + ref.attention(q, k, v) @ w["w_o"][own]
    y = ref.layer_norm(x + attended, params["norm1"]["gain"], params["norm1"]["bias"])
    fed = np.maximum(0, y @ f["w1"] + f["b1"]) @ f["w2"] + f["b2"]
    return ref.layer_norm(y + fed, params["norm2"]["gain"], params["norm2"]["bias"])


@right("7.4")
def layer_recursively(x, params, heads):
    """sentence by sentence, word by word behind the attention"""
    if x.ndim > 2:
        return np.array([layer_recursively(part, params, heads) for part in x])
    attended = ref.multi_head_attention(x, x, params["self_attention"], heads)
    rows = []
    for word, found in zip(x, attended):
        y = ref.add_norm(word, found, **params["norm1"])
        fed = ref.feed_forward(y, **params["feed_forward"])
        rows.append(ref.add_norm(y, fed, **params["norm2"]))
    return np.array(rows)


# --- 7.5 Find the bug: a stack of layers ------------------------------------------------------


@wrong("7.5", on=lambda: (_draw(3, 4), [_layer(), _layer(seed=50)], 2))
def encoder_last_layer_only(x, layers, heads):
    """renames the result and keeps the bug"""
    z = x
    for params in layers:
        z = ref.encoder_layer(x, params, heads)
    return z


@wrong("7.5", on=lambda: (_draw(3, 4), [], 2))
def encoder_of_at_least_one(x, layers, heads):
    """begins with the first layer, and there may be none"""
    output = ref.encoder_layer(x, layers[0], heads)
    for params in layers[1:]:
        output = ref.encoder_layer(output, params, heads)
    return output


@wrong("7.5", on=lambda: (_draw(3, 4), [_layer(), _layer(seed=50)], 2))
def encoder_from_the_top(x, layers, heads):
    """the last layer first"""
    for params in reversed(layers):
        x = ref.encoder_layer(x, params, heads)
    return x


@wrong("7.5", on=lambda: (_draw(3, 4), [_layer(), _layer(seed=50)], 2))
def encoder_added_up(x, layers, heads):
    """adds up what each layer makes of the input"""
    return sum(ref.encoder_layer(x, params, heads) for params in layers)


@wrong("7.5", on=lambda: (_draw(3, 4), [_layer(), _layer(seed=50)], 2))
def encoder_empties_the_list(x, layers, heads):
    """takes the layers out of the list of the caller"""
    while layers:
        x = ref.encoder_layer(x, layers.pop(0), heads)
    return x


@wrong("7.5", on=lambda: (_draw(3, 4), [_layer(), _layer(seed=50)], 2))
def encoder_with_a_way_around(x, layers, heads):
    """adds the input of each layer once more"""
    for params in layers:
        x = x + ref.encoder_layer(x, params, heads)
    return x


@wrong("7.5", on=lambda: (_draw(3, 4), [_layer(), _layer(seed=50)], 2))
def encoder_returns_early(x, layers, heads):
    """the return stands inside the loop"""
    for params in layers:
        x = ref.encoder_layer(x, params, heads)
        return x
    return x


@wrong("7.5", on=lambda: (_draw(3, 4), [_layer(), _layer(seed=50)], 2))
def encoder_of_one_set_of_weights(x, layers, heads):
    """the weights of the first layer in all of them"""
    for _ in layers:
        x = ref.encoder_layer(x, layers[0], heads)
    return x


@wrong("7.5", on=lambda: (_draw(3, 4), [_layer(seed=7 * i) for i in range(7)], 2))
def encoder_of_six(x, layers, heads):
    """the six layers of the paper"""
    for i in range(min(6, len(layers))):
        x = ref.encoder_layer(x, layers[i], heads)
    return x


@wrong("7.5", on=lambda: (_draw(3, 4), [_layer(), _layer(seed=50)], 2))
def encoder_all_outputs(x, layers, heads):
    """returns what every layer gives"""
    outputs = []
    for params in layers:
        x = ref.encoder_layer(x, params, heads)
        outputs.append(x)
    return outputs


@wrong("7.5", on=lambda: (_draw(3, 4), [_layer(), _layer(seed=50), _layer(seed=70)], 2))
def encoder_of_two_steps(x, layers, heads):
    """passes the first output on, and then always the same"""
    output = first = ref.encoder_layer(x, layers[0], heads) if layers else x
    for params in layers[1:]:
        output = ref.encoder_layer(first, params, heads)
    return output


@wrong("7.5", on=lambda: (_draw(3, 4), [_layer()] * 2, 2))
def encoder_without_repetition(x, layers, heads):
    """leaves out a layer that it has already seen, though layers may share weights"""
    different = {p["self_attention"]["w_q"].tobytes(): p for p in layers}
    for params in different.values():
        x = ref.encoder_layer(x, params, heads)
    return x


@right("7.5")
def encoder_recursively(x, layers, heads):
    """the first layer, then the rest"""
    if not layers:
        return x
    first, *rest = layers
    return encoder_recursively(ref.encoder_layer(x, first, heads), rest, heads)


@right("7.5")
def encoder_by_reduce(x, layers, heads):
    """functools.reduce"""
    return reduce(lambda stream, params: ref.encoder_layer(stream, params, heads), layers, x)


@right("7.5")
def encoder_with_its_own_layers(x, layers, heads):
    """the sublayers written out, on a list of streams"""
    stream = [x]
    for p in layers:
        x = stream[-1]
        attended = ref.multi_head_attention(x, x, p["self_attention"], heads)
        y = ref.add_norm(x, attended, **p["norm1"])
        stream.append(ref.add_norm(y, ref.feed_forward(y, **p["feed_forward"]), **p["norm2"]))
    return stream[-1]


# --- 7.6 One layer, counted -------------------------------------------------------------------


@wrong("7.6", on=lambda: (6, 10))
def counted_without_biases(d_model, d_ff):
    """the matrices and the norms"""
    return 4 * d_model**2 + 2 * d_model * d_ff + 4 * d_model


@wrong("7.6", on=lambda: (6, 10))
def counted_one_norm(d_model, d_ff):
    """one norm instead of two"""
    return 4 * (d_model**2 + d_model) + 2 * d_model * d_ff + d_ff + d_model + 2 * d_model


@wrong("7.6", on=lambda: (6, 10))
def counted_without_norms(d_model, d_ff):
    """attention and network, as the chapter counts them first"""
    return 4 * (d_model * d_model + d_model) + (d_model * d_ff + d_ff) + (d_ff * d_model + d_model)


@wrong("7.6", on=lambda: (6, 10))
def counted_three_projections(d_model, d_ff):
    """queries, keys and values, without the output matrix"""
    attention = 3 * (d_model + 1) * d_model
    network = (d_model + 1) * d_ff + (d_ff + 1) * d_model
    return attention + network + 4 * d_model


@wrong("7.6", on=lambda: (6, 10))
def counted_four_times_as_wide(d_model, d_ff):
    """takes d_ff to be 4 d_model"""
    return 12 * d_model**2 + 13 * d_model


@wrong("7.6", on=lambda: (6, 10))
def counted_equal_biases(d_model, d_ff):
    """two biases of length d_ff in the network"""
    network = 2 * (d_model * d_ff + d_ff)
    return 4 * (d_model**2 + d_model) + network + 2 * 2 * d_model


@wrong("7.6", on=lambda: (6, 10))
def counted_norm_of_the_hidden(d_model, d_ff):
    """the second norm as wide as the hidden layer"""
    attention = 4 * (d_model**2 + d_model)
    network = (d_model + 1) * d_ff + (d_ff + 1) * d_model
    return attention + network + 2 * d_model + 2 * d_ff


@wrong("7.6", on=lambda: (6, 10))
def counted_decoder(d_model, d_ff):
    """a decoder layer: two attentions and three norms"""
    attention = 4 * (d_model**2 + d_model)
    network = (d_model + 1) * d_ff + (d_ff + 1) * d_model
    return 2 * attention + network + 6 * d_model


@wrong("7.6", on=lambda: (6, 10))
def counted_numbers_of_norms(d_model, d_ff):
    """one gain and one bias for a whole norm"""
    attention = 4 * (d_model**2 + d_model)
    network = (d_model + 1) * d_ff + (d_ff + 1) * d_model
    return attention + network + 4


@wrong("7.6", on=lambda: (6, 10))
def counted_bias_of_the_rows(d_model, d_ff):
    """a bias for each row of the network's matrices"""
    attention = 4 * (d_model**2 + d_model)
    network = (d_model * d_ff + d_model) + (d_ff * d_model + d_ff) + d_model
    return attention + network + 4 * d_model


@wrong("7.6", on=lambda: (2**16, 2**18))
def counted_in_32_bits(d_model, d_ff):
    """small whole numbers, which overflow for a wide layer"""
    D, F = np.array([d_model, d_ff], dtype=np.int32)
    return int(4 * (D * D + D) + (D * F + F) + (F * D + D) + 4 * D)


@wrong("7.6", on=lambda: (6, 10))
def counted_in_millions(d_model, d_ff):
    """the count in millions, as the text prints it"""
    count = 4 * (d_model**2 + d_model) + 2 * d_model * d_ff + d_ff + 5 * d_model
    return count / 1e6


@right("7.6")
def counted_by_shapes(d_model, d_ff):
    """a list of all shapes"""
    D, F = d_model, d_ff
    shapes = [(D, D), (D,)] * 4 + [(D, F), (F,), (F, D), (D,)] + [(D,), (D,)] * 2
    return sum(math.prod(shape) for shape in shapes)


@right("7.6")
def counted_by_arrays(d_model, d_ff):
    """the sizes of real arrays, as a NumPy number"""
    D, F = d_model, d_ff
    arrays = [np.empty((D + 1, D), bool)] * 4
    arrays += [np.empty((D + 1, F), bool), np.empty((F + 1, D), bool), np.empty((4, D), bool)]
    return np.sum([array.size for array in arrays])


@right("7.6")
def counted_as_float(d_model, d_ff):
    """the formula in powers of d_model, as a whole float"""
    return 4.0 * d_model**2 + 9.0 * d_model + d_ff * (2.0 * d_model + 1.0)


# --- 7.7 Which vocabulary would print this number? --------------------------------------------


@wrong("7.7", on=lambda: (44_000_000, 512, 65))
def vocabularies_rounded_down(rest, d_model, millions):
    """// in both places: the lowest is one too low"""
    low, high = millions * 10**6 - 500_000 - rest, millions * 10**6 + 500_000 - rest
    return [low // d_model, high // d_model]


@wrong("7.7", on=lambda: (44_140_544, 512, 65))
def vocabularies_rounded(rest, d_model, millions):
    """rounds to the nearest size"""
    low, high = (millions - 0.5) * 1e6 - rest, (millions + 0.5) * 1e6 - rest
    return [round(low / d_model), round(high / d_model)]


@wrong("7.7", on=lambda: (0, 500_000, 1))
def vocabularies_one_more(rest, d_model, millions):
    """always one more than the quotient, also when it divides evenly"""
    low, high = millions * 10**6 - 500_000 - rest, millions * 10**6 + 500_000 - rest
    return [low // d_model + 1, high // d_model]


@wrong("7.7", on=lambda: (0, 500_000, 1))
def vocabularies_less_than_half(rest, d_model, millions):
    """less than half a million away, where exactly half is allowed"""
    low, high = millions * 10**6 - 500_000 - rest, millions * 10**6 + 500_000 - rest
    return [low // d_model + 1, -(-high // d_model) - 1]


@wrong("7.7", on=lambda: (0, 1000, 1))
def vocabularies_printed(rest, d_model, millions):
    """asks which sizes round to the number, and Python rounds a half to the even one"""
    V = max(0, (millions * 10**6 - 10**6 - rest) // d_model)
    fits = []
    while rest + V * d_model <= millions * 10**6 + 10**6:
        if round((rest + V * d_model) / 10**6) == millions:
            fits.append(V)
        V += 1
    return [fits[0], fits[-1]]


@wrong("7.7", on=lambda: (1_000_000, 8, 2))
def vocabularies_from_the_text(rest, d_model, millions):
    """looks among 30,000 to 50,000 tokens, as the text does"""
    V = np.arange(30_000, 50_001)
    fits = V[np.abs(rest + V * d_model - millions * 1e6) <= 5e5]
    return [int(fits[0]), int(fits[-1])]


@wrong("7.7", on=lambda: (44_000_000, 512, 65))
def vocabularies_a_million_away(rest, d_model, millions):
    """a whole million on each side"""
    V = (millions - 1) * 10**6 - rest, (millions + 1) * 10**6 - rest
    return [math.ceil(V[0] / d_model), math.floor(V[1] / d_model)]


@wrong("7.7", on=lambda: (44_000_000, 512, 65))
def vocabularies_without_rest(rest, d_model, millions):
    """forgets the rest of the model"""
    low, high = millions * 10**6 - 500_000, millions * 10**6 + 500_000
    return [-(-low // d_model), high // d_model]


@wrong("7.7", on=lambda: (44_000_000, 512, 65))
def vocabularies_up_in_both(rest, d_model, millions):
    """ceil in both places: the highest is one too high"""
    low, high = (millions - 0.5) * 1e6 - rest, (millions + 0.5) * 1e6 - rest
    return [math.ceil(low / d_model), math.ceil(high / d_model)]


@wrong("7.7", on=lambda: (44_000_000, 512, 65))
def vocabularies_as_a_range(rest, d_model, millions):
    """a range, whose end does not belong to it"""
    low, high = millions * 10**6 - 500_000 - rest, millions * 10**6 + 500_000 - rest
    fits = range(-(-low // d_model), high // d_model + 1)
    return [fits.start, fits.stop]


@wrong("7.7", on=lambda: (44_000_000, 512, 65))
def vocabularies_in_millions(rest, d_model, millions):
    """adds half a million to the number of rows"""
    middle = (millions * 10**6 - rest) // d_model
    return [middle - 500_000 // d_model, middle + 500_000 // d_model]


@wrong("7.7", on=lambda: (44_000_000, 512, 65))
def vocabularies_highest_first(rest, d_model, millions):
    """the highest before the lowest"""
    low, high = millions * 10**6 - 500_000 - rest, millions * 10**6 + 500_000 - rest
    return [high // d_model, -(-low // d_model)]


@wrong("7.7", on=lambda: (44_000_000, 512, 65))
def vocabularies_a_million_wide(rest, d_model, millions):
    """adds the rows of a whole million to the lowest, which was rounded up"""
    lowest = math.ceil(((millions - 0.5) * 1e6 - rest) / d_model)
    return [lowest, lowest + 1_000_000 // d_model]


@right("7.7")
def vocabularies_by_search(rest, d_model, millions):
    """counts up until it fits, and on until it does not"""
    V = 0
    while rest + V * d_model < millions * 1_000_000 - 500_000:
        V += 1
    lowest = V
    while rest + (V + 1) * d_model <= millions * 1_000_000 + 500_000:
        V += 1
    return [lowest, V]


@right("7.7")
def vocabularies_by_division(rest, d_model, millions):
    """divmod, and whole floats in a list"""
    low, left = divmod(2 * millions * 500_000 - 500_000 - rest, d_model)
    return [float(low + (left > 0)), float((millions * 10**6 + 500_000 - rest) // d_model)]


@right("7.7")
def vocabularies_by_array(rest, d_model, millions):
    """an array around the middle"""
    middle = (millions * 10**6 - rest) // d_model
    V = middle + np.arange(-500_000 // d_model - 2, 500_000 // d_model + 3)
    fits = V[np.abs(rest + V * d_model - millions * 10**6) <= 500_000]
    return [fits.min(), fits.max()]


@right("7.7")
def vocabularies_one_by_one(rest, d_model, millions):
    """the first that fits from below, and the last by itertools"""
    target = millions * 10**6
    start = -(-(target - 500_000 - rest) // d_model)
    fits = itertools.takewhile(
        lambda V: rest + V * d_model - target <= 500_000, itertools.count(start)
    )
    return [start, max(fits)]
