"""The translator: a run that knows some numbers by heart, asked by a person and by a pipe."""

import io
import os
import shutil
import subprocess
import sys
import threading
from dataclasses import asdict, replace
from pathlib import Path

import pytest
import torch
from PIL import Image

from tfmlib import checkpoint, data, generate, train
from tfmlib.__main__ import main
from tfmlib.model import Transformer, TransformerConfig
from tfmlib.runs import translator
from tfmlib.runs.folder import Run
from tfmlib.runs.settings import Settings

PAIRS = data.number_pairs([*range(7, 100, 5), 100, 21])
SECONDS = 120  # for a subprocess on a busy machine
pytestmark = pytest.mark.usefixtures("one_thread")


@pytest.fixture(scope="module")
def _learned(tmp_path_factory) -> Path:
    tokenizer = data.number_task(below=100, train=10, validation=1, test=1).tokenizer
    sizes = {"d_model": 32, "heads": 2, "d_ff": 64, "encoder_layers": 1, "decoder_layers": 2}
    torch.manual_seed(0)
    model = Transformer(TransformerConfig(tokenizer.vocab_size, **sizes, dropout=0.0))
    optimizer = train.make_optimizer(model)
    batches = data.Batches(PAIRS, tokenizer, batch_size=len(PAIRS))
    folder = Run(tmp_path_factory.mktemp("run"))
    folder.write_tokenizer(tokenizer)
    folder.write(Settings(), asdict(model.config), "")
    steps = train.train(model, batches, 120, warmup=20, peak=1e-2, optimizer=optimizer)
    next(steps)
    checkpoint.save(folder.checkpoint(1), checkpoint.take(1, model, optimizer))
    for _ in steps:
        pass
    checkpoint.save(folder.best, checkpoint.take(120, model))
    return folder.folder


@pytest.fixture
def learned(_learned, tmp_path) -> Path:
    """A copy of a run whose best weights know some numbers; its last checkpoint knows none."""
    return Path(shutil.copytree(_learned, tmp_path / "run"))


def translate(capsys, *arguments) -> tuple[int, list[str], list[str]]:
    """Exit code, lines of output, lines of errors."""
    code = main(["translate", *map(str, arguments)])
    told = capsys.readouterr()
    return code, told.out.splitlines(), told.err.splitlines()


# --- texts as arguments -------------------------------------------------------------------------


def test_texts_are_translated_one_a_line(learned, capsys):
    told = translate(capsys, learned, "twenty-one", "Eighty two!", "seven")
    assert told == (0, ["ein und zwanzig", "zwei und achtzig", "sieben"], [])


def test_a_folder_means_its_best_weights_and_a_file_means_itself(learned, capsys):
    best = translate(capsys, learned, "seven")
    assert best == translate(capsys, learned / "best.safetensors", "seven")
    assert best != translate(capsys, learned / "step-000001.safetensors", "seven")


def test_before_there_are_best_weights_the_last_checkpoint_serves(learned, capsys):
    (learned / "best.safetensors").unlink()
    last = translate(capsys, learned, "seven")
    assert last == translate(capsys, learned / "step-000001.safetensors", "seven")


def test_texts_may_stand_before_and_after_options(learned, capsys):
    told = translate(capsys, learned, "seven", "--beam=2", "twelve", "twenty-one")
    assert told == (0, ["sieben", "zwölf", "ein und zwanzig"], [])
    assert translate(capsys, learned, "--beam=2", "seven") == (0, ["sieben"], [])
    told = translate(capsys, learned, "seven", "--beam=2", "twelve", "--", "-twenty-one", "--two")
    assert told[1][:3] == ["sieben", "zwölf", "ein und zwanzig"]
    assert translate(capsys, learned, "--beam", 2, "--", "-seven") == (0, ["sieben"], [])
    assert translate(capsys, learned, "--", "-seven") == (0, ["sieben"], [])
    assert translate(capsys, "--", learned, "-seven") == (0, ["sieben"], [])
    with pytest.raises(SystemExit):
        translate(capsys, learned, "seven", "--beams", "2")
    assert "unrecognized arguments: --beams 2" in capsys.readouterr().err


def test_beams_are_followed(learned, capsys, monkeypatch):
    asked = []
    real = generate.beam_search
    monkeypatch.setattr(
        generate, "beam_search", lambda *a, **k: asked.append(k["beams"]) or real(*a, **k)
    )
    assert translate(capsys, learned, "twenty-one", "--beam=3") == (0, ["ein und zwanzig"], [])
    assert asked == [3]
    translate(capsys, learned, "twenty-one")
    assert asked == [3]


def test_texts_keep_their_places_beside_empty_ones(learned):
    found = translator.load(learned).translate(["", "seven", "  ", "twenty one\n"])
    assert found == ["", "sieben", "", "ein und zwanzig"]


# --- standard input -----------------------------------------------------------------------------


def feed(monkeypatch, content: bytes) -> None:
    """Let standard input be this."""
    stdin = io.TextIOWrapper(io.BytesIO(content), encoding="ascii")  # as Python may think
    monkeypatch.setattr(sys, "stdin", stdin)


def test_a_filter_gives_a_line_for_a_line(learned, capsys, monkeypatch):
    feed(monkeypatch, b"seven\n\ntwelve bananas\n !\ntwelve")
    code, out, err = translate(capsys, learned)
    assert out == ["sieben", "", "", "", "zwölf"]
    assert code == 1
    assert err[0].startswith("line 3: the run has not learned 'bananas'; ")
    assert err[1:] == ["line 4: expected words, got '!'."]


def test_a_filter_reads_what_other_systems_write(learned, capsys, monkeypatch):
    feed(monkeypatch, b"\xef\xbb\xbfseven\r\ntwelve\r\n")
    asked = []
    real = generate.translate
    monkeypatch.setattr(generate, "translate", lambda *a, **k: asked.append(*a[2]) or real(*a, **k))
    assert translate(capsys, learned) == (0, ["sieben", "zwölf"], [])
    assert asked == ["seven", "twelve"]  # without the mark, which byte pairs would spell
    feed(monkeypatch, b"")
    assert translate(capsys, learned) == (0, [], [])


def test_a_line_that_is_no_text_or_far_too_long_is_told_and_the_others_are_translated(
    learned, capsys, monkeypatch
):
    feed(monkeypatch, b"seven\nf\xfcnf\n" + b"seven " * 1000 + b"\ntwelve\n")
    code, out, err = translate(capsys, learned)
    assert (code, out) == (1, ["sieben", "", "", "zwölf"])
    assert err == [
        r"line 2: expected text in UTF-8, got other bytes in 'f\udcfcnf'.",
        "line 3: expected at most 5,000 characters, got 5,999.",
    ]


def test_without_a_standard_input_a_text_is_asked_for(learned, capsys, monkeypatch):
    monkeypatch.setattr(sys, "stdin", None)
    told = translate(capsys, learned)
    assert told == (1, [], ["there is no standard input to read; name a text."])


def test_who_types_is_told_that_it_waits(learned, capsys, monkeypatch):
    feed(monkeypatch, b"seven\n")
    monkeypatch.setattr(sys.stdin, "isatty", lambda: True)
    code, out, (line,) = translate(capsys, learned)
    assert (code, out) == (0, ["sieben"])
    assert line.startswith("Type a text")


def test_a_pipe_is_in_utf8_and_a_letter_that_another_encoding_lacks_is_told(
    learned, capsys, monkeypatch
):
    monkeypatch.delenv("PYTHONIOENCODING", raising=False)
    output = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(output, encoding="ascii"))
    assert main(["translate", str(learned), "twelve"]) == 0
    assert output.getvalue().split() == ["zwölf".encode()]
    monkeypatch.setenv("PYTHONIOENCODING", "ascii")
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(io.BytesIO(), encoding="ascii"))
    assert main(["translate", str(learned), "twelve"]) == 1
    assert capsys.readouterr().err == (
        "The output in ascii cannot have 'ö'; set PYTHONIOENCODING=utf-8.\n"
    )


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs Linux's device that is full")
def test_an_output_that_is_full_is_told_once(learned):
    command = [sys.executable, "-m", "tfmlib", "translate", str(learned), "seven"]
    with open("/dev/full", "wb") as full:
        done = subprocess.run(
            command, stdout=full, stderr=subprocess.PIPE, text=True, timeout=SECONDS, check=False
        )
    assert done.stderr == "Could not write the output: No space left on device.\n"
    assert done.returncode == 1


def filtering(folder: Path) -> subprocess.Popen:
    command = [sys.executable, "-m", "tfmlib", "translate", str(folder)]
    pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    environment = os.environ | {"OMP_NUM_THREADS": "1", "PYTHONIOENCODING": "utf-8"}
    environment.pop("PYTHONUNBUFFERED", None)  # would flush by itself
    return subprocess.Popen(command, **pipes, text=True, encoding="utf-8", env=environment)


def test_a_filter_answers_before_the_next_line_and_survives_a_reader_that_leaves(learned):
    with filtering(learned) as process:
        watchdog = threading.Timer(SECONDS, process.kill)
        watchdog.start()
        try:
            for question, answer in (("seven", "sieben"), ("twelve", "zwölf"), ("", "")):
                process.stdin.write(question + "\n")
                process.stdin.flush()
                assert process.stdout.readline() == answer + "\n"
            process.stdout.close()  # as head does
            out, err = process.communicate("seven\n" * 3, timeout=SECONDS)
        finally:
            watchdog.cancel()
            process.kill()  # if it has not ended by itself
    assert not out
    assert err == ""
    assert process.returncode == 0


# --- attention ----------------------------------------------------------------------------------


def test_the_picture_shows_what_each_written_token_looks_at(learned, tmp_path, capsys):
    path = tmp_path / "attention.png"
    code, out, err = translate(capsys, learned, "twenty-one", f"--show-attention={path}")
    assert (code, out) == (0, ["ein und zwanzig"])
    with Image.open(path) as image:
        assert image.format == "PNG"
    (line,) = err
    assert line.startswith(f"{path}: Cross-attention of the last layer. Attention of 2 heads")
    # ein, und, zwanzig, <end> look at twenty, one, <end>.
    assert "4 rows (target) by 3 columns (source)" in line


def test_the_picture_is_of_the_last_layers_cross_attention(learned, monkeypatch):
    loaded = translator.load(learned)
    drawn = []
    from tfmlib import plots

    monkeypatch.setattr(plots, "attention_heads", lambda w, **names: drawn.append((w, names)))
    loaded.show_attention("twenty one", "ein und zwanzig")
    ((weights, names),) = drawn
    layer = loaded.model.decoder[1]
    src = torch.tensor([loaded.tokenizer.encode("twenty one", end=True)])
    tgt = torch.tensor([loaded.tokenizer.encode("ein und zwanzig", start=True)])
    with torch.no_grad():
        memory = loaded.model.encode(src)
        x = loaded.model.decoder[0](loaded.model.embed(tgt), memory)
        x = layer.add_norm1(x, lambda x: layer.self_attention(x, causal=True))
        wanted = layer.cross_attention.weights(x, memory)[0]  # (H, T, S)
    assert torch.allclose(weights, wanted, atol=1e-6)
    assert names["rows"] == ["ein", "und", "zwanzig", "<end>"]
    assert names["columns"] == ["twenty", "one", "<end>"]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--show-attention=a.png"], "--show-attention draws one text, got 0; name one."),
        (["one", "two", "--show-attention=a.png"], "draws one text, got 2"),
        ([" ", "--show-attention=a.png"], "draws one text, got an empty one; name another."),
        (["one", "--show-attention=a.gif"], "expected a .png file in a folder that exists"),
        (["one", "--show-attention=no/where/a.png"], "expected a .png file in a folder that"),
        (["one", "--beam=0"], "expected at least 1 for --beam, got 0."),
    ],
)
def test_options_that_do_not_fit_are_refused(learned, capsys, arguments, sentence):
    code, out, (line,) = translate(capsys, learned, *arguments)
    assert (code, out) == (1, [])
    assert sentence in line


# --- what cannot be translated, in a sentence ---------------------------------------------------


def test_unknown_words_are_named(learned, capsys):
    code, out, err = translate(capsys, learned, "seven million", "two bananas, two")
    assert (code, out) == (1, ["", ""])
    assert "not learned 'million'; the words that it knows are in its tokenizer.json" in err[0]
    assert "not learned 'bananas';" in err[1]


def test_a_picture_of_unknown_words_is_refused(learned, tmp_path, capsys):
    path = tmp_path / "attention.png"
    code, _, (line,) = translate(capsys, learned, "bananas", f"--show-attention={path}")
    assert code == 1
    assert "not learned 'bananas'" in line
    assert not path.exists()


def test_no_run_no_checkpoint_and_a_damaged_one_are_told(learned, tmp_path, capsys):
    def told(path) -> str:
        code, out, (line,) = translate(capsys, path, "seven")
        assert (code, out) == (1, [])
        return line

    assert told(tmp_path / "nowhere").endswith(
        "expected the folder of a run, or a checkpoint in it."
    )
    assert "holds no run: there is no run.json in it; train one with: " in told(tmp_path)
    (tmp_path / "thesis.txt").touch()
    assert "thesis.txt is a file, and not in the folder of a run" in told(tmp_path / "thesis.txt")
    assert "run.json is no checkpoint: expected a safetensors" in told(learned / "run.json")
    best = learned / "best.safetensors"
    best.write_bytes(best.read_bytes()[:-1])
    last = learned / "step-000001.safetensors"
    assert told(learned).startswith(f"{best} is cut short")
    assert told(learned).endswith(f" {last} is intact: name it to translate with that.")
    assert translate(capsys, last, "seven")[0] == 0  # as it says
    (learned / "step-000002.safetensors").touch()
    assert told(learned).endswith(f" {last} is intact: name it to translate with that.")
    last.write_bytes(b"")
    assert told(learned).endswith(
        " No other weights of the run are intact: train it again, in another folder."
    )
    for path in learned.glob("*.safetensors"):
        path.unlink()
    assert told(learned).endswith("has no checkpoint yet; train it for longer.")


def test_best_weights_that_are_gone_are_not_silently_replaced_by_others(learned, capsys):
    """The last checkpoint tells that there were some."""
    best, last = learned / "best.safetensors", learned / "step-000001.safetensors"
    best.unlink()
    scores = {"step": 1, "exact_match": 0.5, "bleu": 50.0}
    checkpoint.save(last, replace(checkpoint.load(last), best=scores))
    code, out, (line,) = translate(capsys, learned, "seven")
    assert (code, out) == (1, [])
    assert line == (
        f"{best} is no file; expected a checkpoint there. "
        f"{last} is intact: name it to translate with that."
    )
    damaged = learned / "step-000002.safetensors"  # before there are best weights, the same
    damaged.write_bytes(b"")
    code, _, (line,) = translate(capsys, learned, "seven")
    assert line.startswith(f"{damaged} is no checkpoint")
    assert line.endswith(f" {last} is intact: name it to translate with that.")


def test_for_a_named_checkpoint_that_is_damaged_the_best_weights_are_offered(learned, capsys):
    named, best = (learned / name for name in ("step-000001.safetensors", "best.safetensors"))
    named.write_bytes(b"")
    code, _, (line,) = translate(capsys, named, "seven")
    assert code == 1
    assert line.startswith(f"{named} is no checkpoint")
    assert line.endswith(f" {best} is intact: name it to translate with that.")


@pytest.mark.parametrize("beams", [10**17, 10**30])  # what no system can promise
def test_more_beams_than_there_can_be_are_told(learned, capsys, beams):
    code, out, (line,) = translate(capsys, learned, "seven", f"--beam={beams}")
    assert (code, out) == (1, [])
    assert line == f"There is not enough memory for {beams:,} beams; lower --beam."


@pytest.mark.parametrize("error", [MemoryError(), RuntimeError("CPU allocator: not enough memory")])
def test_too_little_memory_is_told(learned, capsys, monkeypatch, error):
    def fail(*_, **__):
        raise error

    monkeypatch.setattr(generate, "translate", fail)
    code, out, (line,) = translate(capsys, learned, "seven", "--beam=4")
    assert (code, out) == (1, [])
    assert line == "There is not enough memory for 4 beams; lower --beam."
    _, _, (line,) = translate(capsys, learned, "seven")
    assert line == "There is not enough memory to translate; free some."


def test_a_fault_of_the_program_is_not_hidden(learned, capsys, monkeypatch):
    def fail(*_, **__):
        raise RuntimeError("a mistake of ours")

    monkeypatch.setattr(generate, "translate", fail)
    with pytest.raises(RuntimeError, match="a mistake of ours"):
        translate(capsys, learned, "seven")


def test_errors_that_nobody_can_read_do_not_come_among_the_translations(
    learned, capsys, monkeypatch
):
    monkeypatch.setattr(sys, "stderr", None)  # as it is where it was closed before
    assert main(["translate", str(learned), "bananas", "seven"]) == 1
    assert main(["translate", str(learned / "nowhere"), "seven"]) == 1
    assert capsys.readouterr().out == "\nsieben\n"


def test_a_picture_that_cannot_be_written_is_told(learned, tmp_path, capsys):
    (tmp_path / "folder.png").mkdir()
    path = tmp_path / "folder.png"
    code, out, (line,) = translate(capsys, learned, "seven", f"--show-attention={path}")
    assert (code, out) == (1, ["sieben"])
    assert line.startswith(f"{path}: ")


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs Linux's device that is full")
def test_a_picture_for_which_there_is_no_room_is_told(learned, tmp_path, capsys):
    path = tmp_path / "full.png"
    path.symlink_to("/dev/full")
    code, out, (line,) = translate(capsys, learned, "seven", f"--show-attention={path}")
    assert (code, out) == (1, ["sieben"])
    assert line == f"{path}: No space left on device."


def test_weights_and_vocabulary_of_different_runs_are_refused(learned, capsys):
    other = data.number_task("en-fr", below=100, train=10, validation=1, test=1).tokenizer
    path = learned / "tokenizer.json"
    other.save(path)
    code, _, (line,) = translate(capsys, learned, "seven")
    assert code == 1
    assert line.startswith(f"{path} is not the vocabulary that the run started with: its checksum")
    folder = Run(learned)  # now it is, but the weights are not this run's
    folder.write(Settings(), {}, "")
    code, _, (line,) = translate(capsys, learned, "seven")
    assert code == 1
    assert line.endswith("they belong to different runs.")
