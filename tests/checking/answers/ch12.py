"""Answers to chapter 12 as learners write them.

Wrong ones come with an input that shows it, right ones in other forms.
"""

import math

import numpy as np
from answers import right, wrong

from tfmlib import ref


def _numbers(*shape, seed=0):
    return np.random.default_rng(seed).normal(size=shape)


# --- 12.1 -----------------------------------------------------------------------------------


@wrong("12.1", on=lambda: ("unhappy", ["u", "un", "##happy", "##n", "##h"]))
def pieces_shortest_first(word, vocabulary):
    """takes the shortest beginning"""
    pieces, rest = [], word
    while rest:
        mark = "##" if pieces else ""
        for n in range(1, len(rest) + 1):
            if mark + rest[:n] in vocabulary:
                break
        else:
            return ["[UNK]"]
        pieces.append(mark + rest[:n])
        rest = rest[n:]
    return pieces


@wrong("12.1", on=lambda: ("unhappy", ["un", "happy"]))
def pieces_marked_afterwards(word, vocabulary):
    """looks the later pieces up without ##"""
    pieces, start = [], 0
    while start < len(word):
        end = len(word)
        while end > start and word[start:end] not in vocabulary:
            end -= 1
        if end == start:
            return ["[UNK]"]
        pieces.append(("##" if start else "") + word[start:end])
        start = end
    return pieces


@wrong("12.1", on=lambda: ("unhappy", ["un", "##happy", "##ha"]))
def pieces_without_marks(word, vocabulary):
    """returns the later pieces without ##"""
    pieces, rest = [], word
    while rest:
        mark = "##" if pieces else ""
        n = next((n for n in range(len(rest), 0, -1) if mark + rest[:n] in vocabulary), 0)
        if n == 0:
            return ["[UNK]"]
        pieces.append(rest[:n])
        rest = rest[n:]
    return pieces


@wrong("12.1", on=lambda: ("unhappy", ["un", "##ha"]))
def pieces_unknown_rest(word, vocabulary):
    """only the rest becomes unknown"""
    pieces, rest = [], word
    while rest:
        mark = "##" if pieces else ""
        n = next((n for n in range(len(rest), 0, -1) if mark + rest[:n] in vocabulary), 0)
        if n == 0:
            return [*pieces, "[UNK]"]
        pieces.append(mark + rest[:n])
        rest = rest[n:]
    return pieces


@wrong("12.1", on=lambda: ("unhappy", ["un", "##appy"]))
def pieces_skip_a_letter(word, vocabulary):
    """skips a letter that does not fit"""
    pieces, start = [], 0
    while start < len(word):
        mark = "##" if start else ""
        for end in range(len(word), start, -1):
            if mark + word[start:end] in vocabulary:
                pieces.append(mark + word[start:end])
                start = end
                break
        else:
            start += 1
    return pieces or ["[UNK]"]


@wrong("12.1", on=lambda: ("unhappily", ["un", "##happi", "##ly"]))
def pieces_two(word, vocabulary):
    """at most two pieces"""
    if word in vocabulary:
        return [word]
    for n in range(len(word) - 1, 0, -1):
        if word[:n] in vocabulary:
            rest = "##" + word[n:]
            return [word[:n], rest] if rest in vocabulary else ["[UNK]"]
    return ["[UNK]"]


@wrong("12.1", on=lambda: ("Bank", ["Bank", "bank"]))
def pieces_lower_case(word, vocabulary):
    """changes the word"""
    pieces, rest = [], word.lower()
    while rest:
        mark = "##" if pieces else ""
        n = next((n for n in range(len(rest), 0, -1) if mark + rest[:n] in vocabulary), 0)
        if n == 0:
            return ["[UNK]"]
        pieces.append(mark + rest[:n])
        rest = rest[n:]
    return pieces


@wrong("12.1", on=lambda: ("abc", ["ab", "a", "##bc"]))
def pieces_backtrack(word, vocabulary):
    """tries a shorter piece when the longest leads nowhere"""

    def fit(rest, mark):
        if not rest:
            return []
        for n in range(len(rest), 0, -1):
            if mark + rest[:n] in vocabulary:
                tail = fit(rest[n:], "##")
                if tail is not None:
                    return [mark + rest[:n], *tail]
        return None

    found = fit(word, "")
    return ["[UNK]"] if found is None else found


@wrong("12.1", on=lambda: ("abcd", ["abc", "##d", "ab", "##cd"]))
def pieces_from_the_end(word, vocabulary):
    """the longest ending first"""
    pieces, rest = [], word
    while rest:
        for start in range(len(rest)):
            piece = ("##" if start else "") + rest[start:]
            if piece in vocabulary:
                pieces.insert(0, piece)
                rest = rest[:start]
                break
        else:
            return ["[UNK]"]
    return pieces


@wrong("12.1", on=lambda: ("aab", ["a", "##a", "##b"]))
def pieces_lstrip(word, vocabulary):
    """lstrip takes off letters, not a beginning"""
    pieces, rest = [], word
    while rest:
        mark = "##" if pieces else ""
        fits = [rest[:n] for n in range(1, len(rest) + 1) if mark + rest[:n] in vocabulary]
        if not fits:
            return ["[UNK]"]
        pieces.append(mark + fits[-1])
        rest = rest.lstrip(fits[-1])
    return pieces


@wrong("12.1", on=lambda: ("cat", ["catalogue", "##s"]))
def pieces_substring(word, vocabulary):
    """looks for the piece in the text of the vocabulary"""
    text, pieces, rest = " ".join(vocabulary), [], word
    while rest:
        mark = "##" if pieces else ""
        n = next((n for n in range(len(rest), 0, -1) if mark + rest[:n] in text), 0)
        if n == 0:
            return ["[UNK]"]
        pieces.append(mark + rest[:n])
        rest = rest[n:]
    return pieces


@wrong("12.1", on=lambda: ("internationalisation", ["internationalisation", "inter", "##national"]))
def pieces_up_to_twelve_letters(word, vocabulary):
    """pieces of at most twelve letters"""
    pieces, rest = [], word
    while rest:
        mark = "##" if pieces else ""
        n = next((n for n in range(min(12, len(rest)), 0, -1) if mark + rest[:n] in vocabulary), 0)
        if n == 0:
            return ["[UNK]"]
        pieces.append(mark + rest[:n])
        rest = rest[n:]
    return pieces


@wrong("12.1", on=lambda: ("ab", ["b", "a", "ab"]))
def pieces_sort_the_vocabulary(word, vocabulary):
    """sorts the caller's vocabulary"""
    vocabulary.sort(key=len, reverse=True)
    pieces, rest = [], word
    while rest:
        mark = "##" if pieces else ""
        found = next(
            (p for p in vocabulary if (mark + rest).startswith(p) and len(p) > len(mark)), None
        )
        if found is None:
            return ["[UNK]"]
        pieces.append(found)
        rest = rest[len(found) - len(mark) :]
    return pieces


@wrong("12.1", on=lambda: ("bank", ["bank", "ban", "##k"]))
def pieces_never_whole(word, vocabulary):
    """the range ends before the whole word"""
    pieces, rest = [], word
    while rest:
        mark = "##" if pieces else ""
        for n in range(len(rest) - 1 if len(rest) > 1 else 1, 0, -1):
            if mark + rest[:n] in vocabulary:
                pieces.append(mark + rest[:n])
                rest = rest[n:]
                break
        else:
            return ["[UNK]"]
    return pieces


@wrong("12.1", on=lambda: ("cat", ["ca", "cat", "##t"]))
def pieces_order_of_the_list(word, vocabulary):
    """takes the first of the vocabulary that fits, not the longest"""
    pieces, rest = [], word
    while rest:
        mark = "##" if pieces else ""
        for piece in vocabulary:
            if len(piece) > len(mark) and (mark + rest).startswith(piece):
                pieces.append(piece)
                rest = (mark + rest)[len(piece) :]
                break
        else:
            return ["[UNK]"]
    return pieces


@wrong("12.1", on=lambda: ("qi", ["bank"]))
def pieces_unk_of_the_book(word, vocabulary):
    """<unk>, as in the other chapters"""
    pieces = pieces_recursive(word, vocabulary)
    return ["<unk>"] if pieces == ["[UNK]"] else pieces


@right("12.1")
def pieces_recursive(word, vocabulary, mark=""):
    """the first piece, then the rest"""
    if not word:
        return []
    for n in range(len(word), 0, -1):
        if mark + word[:n] in vocabulary:
            rest = pieces_recursive(word[n:], vocabulary, "##")
            return rest if rest == ["[UNK]"] else [mark + word[:n], *rest]
    return ["[UNK]"]


@right("12.1")
def pieces_by_vocabulary(word, vocabulary):
    """the longest of those in the vocabulary that fit, as np.str_"""
    rest, pieces = word, []
    while rest:
        mark = "##" * bool(pieces)
        fits = {p for p in vocabulary if len(p) > len(mark) and (mark + rest).startswith(p)}
        if not fits:
            return ["[UNK]"]
        piece = max(fits, key=len)
        pieces.append(np.str_(piece))
        rest = (mark + rest)[len(piece) :]
    return pieces


@right("12.1")
def pieces_two_pointers(word, vocabulary):
    """two pointers and a set"""
    known, pieces, start, end = set(vocabulary), [], 0, len(word)
    while start < len(word):
        if end == start:
            return ["[UNK]"]
        piece = word[start:end] if start == 0 else "##" + word[start:end]
        if piece in known:
            pieces.append(piece)
            start, end = end, len(word)
        else:
            end -= 1
    return pieces


# --- 12.2 -----------------------------------------------------------------------------------


def _states():
    return _numbers(4, 3, 5), 2, _numbers(4, 6, 5, seed=1), 4


@wrong("12.2", on=_states)
def layers_dot(first, i, second, j):
    """the dot product, not the cosine"""
    return (first[:, i] * second[:, j]).sum(axis=1)


@wrong("12.2", on=lambda: (_numbers(3, 3, 3), 1, _numbers(3, 3, 3, seed=1), 2))
def layers_for_words(first, i, second, j):
    """takes layers for words"""
    a, b = first[i], second[j]
    return (a * b).sum(axis=1) / (np.linalg.norm(a, axis=1) * np.linalg.norm(b, axis=1))


@wrong("12.2", on=_states)
def layers_top_only(first, i, second, j):
    """only the last layer"""
    a, b = first[-1, i], second[-1, j]
    return a @ b / (np.linalg.norm(a) * np.linalg.norm(b))


@wrong("12.2", on=_states)
def layers_one_length(first, i, second, j):
    """divides by the length of all layers together"""
    a, b = first[:, i], second[:, j]
    return (a * b).sum(axis=1) / (np.linalg.norm(a) * np.linalg.norm(b))


@wrong("12.2", on=lambda: (_numbers(3, 2, 3), 1, _numbers(3, 2, 3, seed=1), 0))
def layers_sum_over_layers(first, i, second, j):
    """sums over the layers"""
    a, b = first[:, i], second[:, j]
    return (a * b).sum(axis=0) / np.sqrt((a**2).sum(axis=0) * (b**2).sum(axis=0))


@wrong("12.2", on=_states)
def layers_distance(first, i, second, j):
    """the distance"""
    return np.linalg.norm(first[:, i] - second[:, j], axis=1)


@wrong("12.2", on=lambda: (_numbers(2, 3, 4), 0, _numbers(2, 3, 4, seed=1), 2))
def layers_same_place(first, i, second, j):
    """the same place in both sentences"""
    return ref.cosine_similarity(first[:, i], second[:, i])


@wrong("12.2", on=lambda: (1e-6 * _numbers(2, 3, 4), 0, 1e-6 * _numbers(2, 3, 4, seed=1), 2))
def layers_small_number_added(first, i, second, j):
    """a small number added against division by 0"""
    a, b = first[:, i], second[:, j]
    return (a * b).sum(axis=1) / (np.linalg.norm(a, axis=1) * np.linalg.norm(b, axis=1) + 1e-8)


@wrong("12.2", on=lambda: (_numbers(1, 3, 4), 0, _numbers(1, 2, 4, seed=1), 1))
def layers_squeezed(first, i, second, j):
    """one layer: a number instead of an array"""
    a, b = np.squeeze(first[:, i]), np.squeeze(second[:, j])
    return (a * b).sum(axis=-1) / (np.linalg.norm(a, axis=-1) * np.linalg.norm(b, axis=-1))


@wrong("12.2", on=_states)
def layers_in_place(first, i, second, j):
    """a slice is a view: the caller's states are normalised"""
    a, b = first[:, i], second[:, j]
    a /= np.linalg.norm(a, axis=1, keepdims=True)
    b /= np.linalg.norm(b, axis=1, keepdims=True)
    return (a * b).sum(axis=1)


@wrong("12.2", on=_states)
def layers_seven(first, i, second, j):
    """seven layers, as in the chapter's model"""
    return np.array(
        [ref.cosine_similarity(first[layer, i], second[layer, j]) for layer in range(7)]
    )


@wrong("12.2", on=lambda: (np.array([[[1.0, 2.0]]]), 0, np.array([[[-2.0, 0.5]]]), 0))
def layers_without_sign(first, i, second, j):
    """no cosine below 0"""
    return np.clip(ref.cosine_similarity(first[:, i], second[:, j]), 0, 1)


@wrong("12.2", on=_states)
def layers_correlation(first, i, second, j):
    """the correlation: takes the mean of each vector off"""
    return np.array(
        [np.corrcoef(a, b)[0, 1] for a, b in zip(first[:, i], second[:, j], strict=True)]
    )


@wrong("12.2", on=_states)
def layers_rounded(first, i, second, j):
    """rounded, as the chapter prints it"""
    return ref.cosine_similarity(first[:, i], second[:, j]).round(2)


@wrong("12.2", on=lambda: (np.array([[[1, 2]], [[3, 1]]]), 0, np.array([[[2, 1]], [[1, 1]]]), 0))
def layers_into_whole_numbers(first, i, second, j):
    """whole numbers in, whole numbers out"""
    out = np.zeros(len(first), dtype=first.dtype)
    for layer in range(len(first)):
        out[layer] = ref.cosine_similarity(first[layer, i], second[layer, j])
    return out


@right("12.2")
def layers_loop(first, i, second, j):
    """layer by layer, a list"""
    found = []
    for a, b in zip(first, second, strict=True):
        dot = sum(x * y for x, y in zip(a[i], b[j], strict=True))
        found.append(dot / math.hypot(*a[i]) / math.hypot(*b[j]))
    return found


@right("12.2")
def layers_unit_vectors(first, i, second, j):
    """vectors of length one first"""
    a = first[:, i] / np.linalg.norm(first[:, i], axis=-1, keepdims=True)
    b = second[:, j] / np.linalg.norm(second[:, j], axis=-1, keepdims=True)
    return np.einsum("ld,ld->l", a, b)


@right("12.2")
def layers_of_the_library(first, i, second, j):
    """the library's cosine"""
    return ref.cosine_similarity(np.take(first, i, axis=1), np.take(second, j, axis=1))


# --- 12.3 -----------------------------------------------------------------------------------


@wrong("12.3", on=lambda: (_numbers(6, 6), 1, 3))
def head_columns(w_o, head, heads):
    """columns for rows"""
    K = len(w_o) // heads
    w = w_o.copy()
    w[:, head * K : (head + 1) * K] = 0
    return w


@wrong("12.3", on=lambda: (_numbers(6, 6), 1, 3))
def head_in_place(w_o, head, heads):
    """changes the model itself"""
    K = len(w_o) // heads
    w_o[head * K : (head + 1) * K] = 0
    return w_o


@wrong("12.3", on=lambda: (_numbers(6, 6), 1, 3))
def head_view(w_o, head, heads):
    """a reshaped array is a view, not a copy"""
    w = w_o.reshape(heads, -1, w_o.shape[1])
    w[head] = 0
    return w.reshape(w_o.shape)


@wrong("12.3", on=lambda: (_numbers(6, 6), 1, 3))
def head_from_one(w_o, head, heads):
    """counts heads from 1"""
    K = len(w_o) // heads
    w = w_o.copy()
    w[(head - 1) * K : head * K] = 0
    return w


@wrong("12.3", on=lambda: (_numbers(6, 6), 1, 3))
def head_interleaved(w_o, head, heads):
    """every so many rows"""
    w = w_o.copy()
    w[head::heads] = 0
    return w


@wrong("12.3", on=lambda: (_numbers(6, 6), 1, 3))
def head_one_row(w_o, head, heads):
    """one row for each head"""
    w = w_o.copy()
    w[head] = 0
    return w


@wrong("12.3", on=lambda: (_numbers(6, 6), 1, 3))
def head_of_the_chapter(w_o, head, heads):
    """32 rows, as in the chapter's model"""
    w = w_o.copy()
    w[32 * head : 32 * (head + 1)] = 0
    return w


@wrong("12.3", on=lambda: (_numbers(6, 6), 1, 3))
def head_alone(w_o, head, heads):
    """switches the other heads off"""
    K = len(w_o) // heads
    w = np.zeros_like(w_o)
    w[head * K : (head + 1) * K] = w_o[head * K : (head + 1) * K]
    return w


@wrong("12.3", on=lambda: (_numbers(6, 6), 1, 3))
def head_deleted(w_o, head, heads):
    """takes the rows out"""
    K = len(w_o) // heads
    return np.delete(w_o, range(head * K, (head + 1) * K), axis=0)


@wrong("12.3", on=lambda: (_numbers(6, 6), 1, 2))
def head_confused_sizes(w_o, head, heads):
    """takes the number of heads for their size"""
    w = w_o.copy()
    w[head * heads : (head + 1) * heads] = 0
    return w


@wrong("12.3", on=lambda: (_numbers(6, 6), 1, 3))
def head_block(w_o, head, heads):
    """only the block on the diagonal"""
    K = len(w_o) // heads
    own = slice(head * K, (head + 1) * K)
    w = w_o.copy()
    w[own, own] = 0
    return w


@wrong("12.3", on=lambda: (_numbers(6, 6), 1, 3))
def head_and_the_later_ones(w_o, head, heads):
    """all rows from there on"""
    w = w_o.copy()
    w[head * len(w_o) // heads :] = 0
    return w


@wrong("12.3", on=lambda: (_numbers(6, 6), 0, 3))
def head_zero_is_none(w_o, head, heads):
    """head 0 counts as no head"""
    w = w_o.copy()
    if head:
        K = len(w_o) // heads
        w[head * K : (head + 1) * K] = 0
    return w


@wrong("12.3", on=lambda: (_numbers(6, 6), 2, 3))
def head_last_by_minus(w_o, head, heads):
    """counts from the end: an empty slice for the last head"""
    K = len(w_o) // heads
    w = w_o.copy()
    w[(head - heads) * K : (head - heads + 1) * K] = 0
    return w


@right("12.3")
def head_mask(w_o, head, heads):
    """multiplies by 0 and 1"""
    keep = np.repeat(np.arange(heads) != head, len(w_o) // heads)
    return np.where(keep[:, None], w_o, 0)


@right("12.3")
def head_rows(w_o, head, heads):
    """row by row, a list"""
    K = len(w_o) // heads
    return [[0.0] * len(row) if r // K == head else list(row) for r, row in enumerate(w_o)]


@right("12.3")
def head_concatenated(w_o, head, heads):
    """what is above, zeros, what is below"""
    parts = np.split(w_o, heads)
    parts[head] = np.zeros(parts[head].shape)
    return np.concatenate(parts)


# --- 12.4 -----------------------------------------------------------------------------------


def _pool():
    mask = np.array([[True, True, True], [True, True, False], [True, False, False]])
    return _numbers(3, 3, 4), mask


@wrong("12.4", on=_pool)
def pool_divided_by_all(vectors, mask):
    """divides by the length with padding"""
    return (vectors * mask[..., None]).mean(axis=1)


@wrong("12.4", on=_pool)
def pool_everything(vectors, mask):
    """the mean of all, padding included"""
    return vectors.mean(axis=1)


@wrong("12.4", on=_pool)
def pool_divided_by_the_batch(vectors, mask):
    """divides by the real tokens of the whole batch"""
    return (vectors * mask[..., None]).sum(axis=1) / mask.sum()


@wrong("12.4", on=_pool)
def pool_one_vector(vectors, mask):
    """one vector for the whole batch"""
    return vectors[mask].mean(axis=0)


@wrong("12.4", on=lambda: (_numbers(2, 3, 2), np.array([[False, True, True], [True, False, True]])))
def pool_prefix(vectors, mask):
    """takes as many from the beginning as are real"""
    return np.stack([v[: m.sum()].mean(axis=0) for v, m in zip(vectors, mask, strict=True)])


@wrong("12.4", on=_pool)
def pool_length_of_the_first(vectors, mask):
    """all sentences as long as the first"""
    return vectors[:, mask[0]].mean(axis=1)


@wrong("12.4", on=_pool)
def pool_in_place(vectors, mask):
    """sets the caller's padding to 0"""
    vectors[~mask] = 0
    return vectors.sum(axis=1) / mask.sum(axis=1, keepdims=True)


@wrong("12.4", on=lambda: (np.array([[[1, 2], [2, 5]]]), np.array([[True, True]])))
def pool_into_whole_numbers(vectors, mask):
    """whole numbers in, whole numbers out"""
    out = np.zeros_like(vectors[:, 0])
    for b in range(len(vectors)):
        out[b] = vectors[b][mask[b]].mean(axis=0)
    return out


@wrong("12.4", on=lambda: (np.array([[[0.0, 2.0], [4.0, 0.0]]]), np.array([[True, True]])))
def pool_zeros_left_out(vectors, mask):
    """takes every 0 for padding"""
    real = vectors * mask[..., None]
    return real.sum(axis=1) / np.maximum((real != 0).sum(axis=1), 1)


@wrong("12.4", on=lambda: (_numbers(2, 3, 2), np.array([[True, True, True], [True, False, False]])))
def pool_counts_along_the_wrong_axis(vectors, mask):
    """divides the columns by the lengths, if it fits"""
    total = (vectors * mask[..., None]).sum(axis=1)
    counts = mask.sum(axis=1)
    return total / counts if total.shape[1] == len(counts) else total / counts[:, None]


@wrong("12.4", on=_pool)
def pool_without_cls(vectors, mask):
    """leaves out the first token, [CLS]"""
    rows = []
    for v, m in zip(vectors, mask, strict=True):
        real = v[m]
        rows.append(real[1:].mean(axis=0) if len(real) > 1 else real[0])
    return np.array(rows)


@wrong("12.4", on=_pool)
def pool_cls_only(vectors, mask):
    """the vector of the first token"""
    return vectors[:, 0]


@wrong("12.4", on=lambda: (_numbers(1, 3, 4), np.array([[True, True, False]])))
def pool_squeezed(vectors, mask):
    """a batch of one loses its axis"""
    return np.squeeze((vectors * mask[..., None]).sum(axis=1) / mask.sum(axis=1)[:, None])


@wrong("12.4", on=_pool)
def pool_maximum(vectors, mask):
    """the largest, not the mean"""
    return np.where(mask[..., None], vectors, -np.inf).max(axis=1)


@wrong("12.4", on=lambda: (_numbers(2, 3, 4), np.array([[True, True, False], [True, False, True]])))
def pool_up_to_the_last_real(vectors, mask):
    """everything up to the last real token"""
    rows = []
    for v, m in zip(vectors, mask, strict=True):
        rows.append(v[: np.flatnonzero(m)[-1] + 1].mean(axis=0))
    return np.array(rows)


@wrong("12.4", on=_pool)
def pool_padding(vectors, mask):
    """the mask the wrong way round: averages where it is False, or everything"""
    rows = [
        v[~m].mean(axis=0) if (~m).any() else v.mean(axis=0)
        for v, m in zip(vectors, mask, strict=True)
    ]
    return np.array(rows)


@right("12.4")
def pool_loop(vectors, mask):
    """sentence by sentence, lists"""
    rows = []
    for sentence, flags in zip(vectors, mask, strict=True):
        real = [vector for vector, flag in zip(sentence, flags, strict=True) if flag]
        rows.append([sum(entries) / len(real) for entries in zip(*real, strict=True)])
    return rows


@right("12.4")
def pool_weights(vectors, mask):
    """weights that sum to one, and einsum"""
    weights = mask / mask.sum(axis=1, keepdims=True)
    return np.einsum("bt,btd->bd", weights, vectors)


@right("12.4")
def pool_nanmean(vectors, mask):
    """padding as not a number"""
    return np.nanmean(np.where(mask[:, :, None], vectors, np.nan), axis=1)


# --- 12.5 -----------------------------------------------------------------------------------


def _library():
    """Of different lengths, so that the dot product finds others."""
    return (
        np.array([1.0, 2.0]),
        np.array([[9.0, 1.0], [0.1, 0.2], [-3.0, 1.0], [1.0, 1.0], [-1.0, -2.0]]),
        3,
    )


@wrong("12.5", on=_library)
def search_as_found(query, paragraphs, k):
    """both bugs"""
    scores = paragraphs @ query
    return np.argsort(scores)[:k].tolist()


@wrong("12.5", on=_library)
def search_by_dot(query, paragraphs, k):
    """the best first, but long paragraphs win"""
    return np.argsort(-(paragraphs @ query))[:k].tolist()


@wrong("12.5", on=_library)
def search_worst_first(query, paragraphs, k):
    """cosines, but the smallest"""
    scores = paragraphs @ query / np.linalg.norm(paragraphs, axis=1)
    return np.argsort(scores)[:k].tolist()


@wrong("12.5", on=_library)
def search_best_last(query, paragraphs, k):
    """the right ones, the best at the end"""
    scores = ref.cosine_similarity(paragraphs, query)
    return np.argsort(scores)[-k:].tolist()


@wrong("12.5", on=lambda: (np.array([1.0, 2.0]), np.array([[9.0, 1.0], [0.1, 0.2]]), 1))
def search_length_of_the_columns(query, paragraphs, k):
    """the length of columns"""
    scores = (paragraphs / np.linalg.norm(paragraphs, axis=0)) @ query
    return np.argsort(-scores)[:k].tolist()


@wrong("12.5", on=_library)
def search_one_length(query, paragraphs, k):
    """one length for all paragraphs"""
    scores = paragraphs @ query / (np.linalg.norm(paragraphs) * np.linalg.norm(query))
    return np.argsort(-scores)[:k].tolist()


@wrong(
    "12.5",
    on=lambda: (
        np.array([1.0, 0.0]),
        np.array([[1.0, x] for x in (5.0, 4.0, 3.0, 2.0, 1.0, 0.0)]),
        4,
    ),
)
def search_partition(query, paragraphs, k):
    """argpartition finds the best, but does not order them"""
    scores = paragraphs @ query / np.linalg.norm(paragraphs, axis=1)
    if k >= len(scores):
        return np.argsort(-scores).tolist()
    return sorted(np.argpartition(-scores, k)[:k].tolist())


@wrong("12.5", on=_library)
def search_without_sign(query, paragraphs, k):
    """the opposite counts as near"""
    scores = np.abs(paragraphs @ query) / np.linalg.norm(paragraphs, axis=1)
    return np.argsort(-scores, kind="stable")[:k].tolist()


@wrong("12.5", on=_library)
def search_nearest(query, paragraphs, k):
    """the smallest distance"""
    return np.argsort(np.linalg.norm(paragraphs - query, axis=1))[:k].tolist()


@wrong("12.5", on=_library)
def search_in_place(query, paragraphs, k):
    """normalises the caller's paragraphs"""
    paragraphs /= np.linalg.norm(paragraphs, axis=1, keepdims=True)
    return np.argsort(-(paragraphs @ query))[:k].tolist()


@wrong("12.5", on=lambda: (*_library()[:2], 4))
def search_only_similar(query, paragraphs, k):
    """leaves out cosines below 0"""
    scores = ref.cosine_similarity(paragraphs, query)
    return [i for i in np.argsort(-scores).tolist() if scores[i] > 0][:k]


@wrong(
    "12.5",
    on=lambda: (
        np.array([1.0, 0.0]),
        np.array([[1.0, 1.0], [1.0, 1.0], [1.0, 2.0], [0.0, 1.0]]),
        4,
    ),
)
def search_by_dictionary(query, paragraphs, k):
    """the cosine as a key: equal ones are lost"""
    found = {float(ref.cosine_similarity(p, query)): i for i, p in enumerate(paragraphs)}
    return [found[score] for score in sorted(found, reverse=True)][:k]


@wrong(
    "12.5",
    on=lambda: (
        np.array([1.0, 0.0]),
        np.array([[1.0, 1.0], [1.0, 1.0], [1.0, 2.0], [0.0, 1.0]]),
        4,
    ),
)
def search_by_index(query, paragraphs, k):
    """finds the place by the cosine: equal ones twice the same"""
    scores = ref.cosine_similarity(paragraphs, query).tolist()
    return [scores.index(score) for score in sorted(scores, reverse=True)[:k]]


@wrong("12.5", on=lambda: (np.array([1.0, 0.0]), np.array([[3.0, 1.0], [0.1, 0.1]]), 1))
def search_squared_length(query, paragraphs, k):
    """divides by the squared length: short ones win"""
    scores = paragraphs @ query / (paragraphs**2).sum(axis=1)
    return np.argsort(-scores)[:k].tolist()


@wrong("12.5", on=lambda: (np.array([1.0, 0.0]), np.array([[1.0, 1.0], [1e-12, 0.0]]), 1))
def search_small_number_added(query, paragraphs, k):
    """a small number added to the lengths: tiny paragraphs are lost"""
    scores = paragraphs @ query / (np.linalg.norm(paragraphs, axis=1) + 1e-9)
    return np.argsort(-scores)[:k].tolist()


@wrong(
    "12.5", on=lambda: (np.array([1.0, 0.0]), np.array([[1.0, 0.05], [1.0, 0.01], [0.0, 1.0]]), 2)
)
def search_rounded(query, paragraphs, k):
    """rounds the cosines: near ones become equal"""
    scores = ref.cosine_similarity(paragraphs, query).round(2)
    return np.argsort(-scores, kind="stable")[:k].tolist()


@wrong("12.5", on=_library)
def search_scores(query, paragraphs, k):
    """returns the cosines, not the numbers of the rows"""
    return sorted(ref.cosine_similarity(paragraphs, query).tolist(), reverse=True)[:k]


@right("12.5")
def search_sorted(query, paragraphs, k):
    """Python's sorted"""

    def cosine(i):
        return sum(a * b for a, b in zip(paragraphs[i], query, strict=True)) / math.hypot(
            *paragraphs[i]
        )

    return sorted(range(len(paragraphs)), key=cosine, reverse=True)[:k]


@right("12.5")
def search_one_by_one(query, paragraphs, k):
    """the best, then the best of the others, as an array"""
    scores = ref.cosine_similarity(paragraphs, query)
    rows = []
    for _ in range(k):
        left = np.setdiff1d(np.arange(len(scores)), rows)
        rows.append(left[scores[left].argmax()])
    return np.array(rows)


@right("12.5")
def search_by_angle(query, paragraphs, k):
    """the smallest distance of vectors of length one"""
    units = paragraphs / np.sqrt(np.einsum("nd,nd->n", paragraphs, paragraphs))[:, None]
    away = ((units - query / np.linalg.norm(query)) ** 2).sum(axis=1)
    return [float(i) for i in np.argsort(away, kind="stable")[:k]]


# --- 12.6 (several answers are right: what is wrong here breaks the statement) -----------------


@wrong("12.6", on=lambda: (np.array([3.0, 0.0]), np.array([0.0, 1.0])))
def halfway_mean(a, b):
    """the mean: nearer to the longer one"""
    return (a + b) / 2


@wrong("12.6", on=lambda: (np.array([3.0, 0.0]), np.array([0.0, 1.0])))
def halfway_mean_of_length_one(a, b):
    """brings the mean to length one, after it was taken"""
    return (a + b) / np.linalg.norm(a + b)


@wrong("12.6", on=lambda: (np.array([3.0, 1.0]), np.array([0.0, 1.0])))
def halfway_squared_length(a, b):
    """divides by the squared length: nearer to the shorter one"""
    return a / (a @ a) + b / (b @ b)


@wrong("12.6", on=lambda: (np.array([3.0, 1.0]), np.array([0.0, 1.0])))
def halfway_difference(a, b):
    """the difference: as far from both, but on opposite sides"""
    return a / np.linalg.norm(a) - b / np.linalg.norm(b)


@wrong("12.6", on=lambda: (np.array([3.0, 1.0, 0.0]), np.array([0.0, 1.0, 2.0])))
def halfway_perpendicular(a, b):
    """the same cosine with both: 0"""
    _, _, rows = np.linalg.svd(np.stack([a, b]))
    return rows[-1]


@wrong("12.6", on=lambda: (np.array([3.0, 1.0]), np.array([0.0, 1.0])))
def halfway_backwards(a, b):
    """the same cosine with both, as small as possible"""
    return -(a / np.linalg.norm(a) + b / np.linalg.norm(b))


@wrong("12.6", on=lambda: (np.array([3.0, 1.0]), np.array([0.0, 1.0])))
def halfway_one_length(a, b):
    """divides both by the length of the first"""
    return (a + b) / np.linalg.norm(a)


@wrong("12.6", on=lambda: (np.array([3.0, 1.0]), np.array([1.0, 1.0])))
def halfway_sum_for_length(a, b):
    """divides by the sum of the entries"""
    return a / np.abs(a).sum() + b / np.abs(b).sum()


@wrong("12.6", on=lambda: (np.array([3.0, 1.0]), np.array([1.0, 1.0])))
def halfway_largest_for_length(a, b):
    """divides by the largest entry"""
    return a / np.abs(a).max() + b / np.abs(b).max()


@wrong("12.6", on=lambda: (np.array([3.0, 1.0]), np.array([2.0, 1.0])))
def halfway_product(a, b):
    """the product of the entries: what both have"""
    return a * b


@wrong("12.6", on=lambda: (np.array([3.0, 1.0]), np.array([2.0, 1.0])))
def halfway_in_place(a, b):
    """changes the caller's vectors"""
    a /= np.linalg.norm(a)
    b /= np.linalg.norm(b)
    return a + b


@wrong("12.6", on=lambda: (np.array([-1.0, 0.1]), np.array([-1.0, -0.2])))
def halfway_mean_of_angles(a, b):
    """the mean of the angles, which jump behind the back"""
    angle = (np.arctan2(a[1], a[0]) + np.arctan2(b[1], b[0])) / 2
    return np.concatenate([[np.cos(angle), np.sin(angle)], np.zeros(len(a) - 2)])


@wrong("12.6", on=lambda: (1e-9 * np.array([3.0, 1.0]), np.array([-1.0, 1.0])))
def halfway_small_number_added(a, b):
    """a small number added to the lengths: a short vector is lost"""
    return a / (np.linalg.norm(a) + 1e-8) + b / (np.linalg.norm(b) + 1e-8)


@wrong("12.6", on=lambda: (np.array([3, 1]), np.array([2, 5])))
def halfway_into_whole_numbers(a, b):
    """whole numbers in, whole numbers out"""
    units = np.zeros_like(np.stack([a, b]))
    units[0], units[1] = a / np.linalg.norm(a), b / np.linalg.norm(b)
    return units.sum(axis=0)


@wrong("12.6", on=lambda: (np.array([3.0, 1.0]), np.array([0.0, 1.0])))
def halfway_larger_of_both(a, b):
    """entry by entry the larger of the two directions"""
    return np.maximum(a / np.linalg.norm(a), b / np.linalg.norm(b))


@right("12.6")
def halfway_crosswise(a, b):
    """each times the length of the other"""
    return np.multiply(a, math.hypot(*b)) + np.multiply(b, math.hypot(*a))


@right("12.6")
def halfway_of_length_one(a, b):
    """brought to length one, as a list"""
    units = [np.asarray(v) / math.sqrt(np.dot(v, v)) for v in (a, b)]
    middle = np.mean(units, axis=0)
    return (middle / np.linalg.norm(middle)).tolist()


@right("12.6")
def halfway_by_reflection(a, b):
    """the first direction turned by half of the angle"""
    u, v = a / np.linalg.norm(a), b / np.linalg.norm(b)
    across = v - (u @ v) * u
    if np.linalg.norm(across) < 1e-12:
        return u
    across = across / np.linalg.norm(across)
    half = math.atan2(across @ v, u @ v) / 2
    return 7 * (math.cos(half) * u + math.sin(half) * across)


# --- 12.7 -----------------------------------------------------------------------------------


@wrong("12.7", on=lambda: (_numbers(6, 6), 2))
def unscaled_by_the_width(w_q, heads):
    """the root of D"""
    return w_q * np.sqrt(w_q.shape[1])


@wrong("12.7", on=lambda: (_numbers(6, 6), 2))
def unscaled_divided(w_q, heads):
    """scales once more"""
    return w_q / np.sqrt(w_q.shape[1] // heads)


@wrong("12.7", on=lambda: (_numbers(6, 6), 2))
def unscaled_without_root(w_q, heads):
    """d_k, not its root"""
    return w_q * (w_q.shape[1] // heads)


@wrong("12.7", on=lambda: (_numbers(6, 6), 2))
def unscaled_by_the_heads(w_q, heads):
    """the root of the number of heads"""
    return w_q * np.sqrt(heads)


@wrong("12.7", on=lambda: (_numbers(6, 6), 2))
def unscaled_for_the_chapter(w_q, heads):
    """the root of 32, as in the chapter's model"""
    return w_q * 32**0.5


@wrong("12.7", on=lambda: (_numbers(6, 6), 2))
def unscaled_first_head(w_q, heads):
    """only the columns of the first head"""
    d_k = w_q.shape[1] // heads
    w = w_q.copy()
    w[:, :d_k] *= np.sqrt(d_k)
    return w


@wrong("12.7", on=lambda: (_numbers(6, 6), 2))
def unscaled_in_place(w_q, heads):
    """changes the caller's weights"""
    w_q *= np.sqrt(w_q.shape[1] // heads)
    return w_q


@wrong("12.7", on=lambda: (_numbers(6, 6), 2))
def unscaled_whole_root(w_q, heads):
    """cuts the root to a whole number"""
    return w_q * int(np.sqrt(w_q.shape[1] // heads))


@wrong("12.7", on=lambda: (np.arange(9).reshape(3, 3), 1))
def unscaled_into_whole_numbers(w_q, heads):
    """whole numbers in, whole numbers out"""
    out = np.empty_like(w_q)
    out[:] = w_q * np.sqrt(w_q.shape[1] // heads)
    return out


@wrong("12.7", on=lambda: (_numbers(6, 6), 2))
def unscaled_shared_with_the_keys(w_q, heads):
    """the fourth root, as if the keys took the other half"""
    return w_q * (w_q.shape[1] // heads) ** 0.25


@wrong("12.7", on=lambda: (_numbers(6, 6), 2))
def unscaled_head_by_head(w_q, heads):
    """heads in rows, only one of them"""
    d_k = len(w_q) // heads
    w = np.zeros(w_q.shape)
    for h in range(heads):
        own = slice(h * d_k, (h + 1) * d_k)
        w[own, own] = w_q[own, own] * np.sqrt(d_k)
    return w


@wrong("12.7", on=lambda: (_numbers(6, 6), 2))
def unscaled_divided_root(w_q, heads):
    """the root of D, divided by the heads"""
    return w_q * np.sqrt(w_q.shape[1]) / heads


@wrong("12.7", on=lambda: (_numbers(6, 6), 2))
def unscaled_more_for_each_head(w_q, heads):
    """multiplies everything once for each head"""
    w = w_q.copy()
    for _ in range(heads):
        w = w * np.sqrt(w_q.shape[1] // heads)
    return w


@right("12.7")
def unscaled_by_columns(w_q, heads):
    """head by head"""
    parts = np.split(w_q, heads, axis=1)
    return np.concatenate([part * part.shape[1] ** 0.5 for part in parts], axis=1)


@right("12.7")
def unscaled_by_a_diagonal(w_q, heads):
    """times a diagonal matrix"""
    D = w_q.shape[1]
    return w_q @ np.diag(np.full(D, math.sqrt(D / heads)))


@right("12.7")
def unscaled_lists(w_q, heads):
    """lists of rows"""
    factor = math.sqrt(len(w_q[0]) // heads)
    return [[factor * entry for entry in row] for row in w_q]
