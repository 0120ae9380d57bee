"""What transformers' BertModel makes of a hundred sentences: `python -m tests.minilm_reference`.

The result is stored in tests/data, so that the comparison holds on machines without transformers.
"""

from pathlib import Path

import numpy as np

FILE = Path(__file__).resolve().parent / "data" / "minilm_reference.npz"
LONGEST = 256  # tokens, with [CLS] and [SEP]
COMPONENTS = 8  # of each token's vector that are stored; two tokens a sentence are stored whole

WRITTEN = [
    "",
    " ",
    "\t\n",
    "a",
    "I",
    "!",
    "7",
    "...",
    "I went to bank to withdraw money",
    "I went to river bank to get fresh air",
    "I have interest in biking",
    "The interest in the loan is increasing",
    "Show me the money",
    "Help me! Not on your life.",
    "Don't stop: the well-known e-mail address is me@example.org.",
    "3.14159 is less than 22/7, by 0.00126 (roughly).",
    "UPPER, lower, MiXeD and Title Case",
    "antidisestablishmentarianism floccinaucinihilipilification",
    "x" * 100,
    "y" * 101,
    "z" * 300,
    "tokenizer tokenizers tokenizing tokenization untokenizable",
    "tabs\tand\nnew lines\r\nand   many    spaces",
    "no\u00a0break, thin\u2009space, ideographic\u3000space",
    "zero\u200bwidth and soft\u00adhyphen",
    "control\x00char\x07acters\x1f and \ufffd",
    "[CLS", "SEP]", "##ing ## #",
    "$100 + 5 = €105, or £90 ≈ ¥15,000",
    "x² + y² = z², so ∑ᵢ xᵢ ≥ 0 ∀ i ∈ ℕ",
    "Äpfel, Öl und Übermut: die Straße ist weiß.",
    "ÄPFEL, ÖL UND ÜBERMUT",
    "L'été, où es-tu allé, garçon naïf ?",
    "El niño comió jalapeños en la mañana. ¿Sí? ¡Sí!",
    "Kuğu İstanbul'da ılık suda yüzüyor",
    "Zażółć gęślą jaźń",
    "Příliš žluťoučký kůň úpěl ďábelské ódy",
    "Árvíztűrő tükörfúrógép",
    "Съешь ещё этих мягких французских булок",
    "ΟΔΟΣ ΣΟΦΙΑΣ και ο Οδυσσεύς",
    "שלום עולם",
    "مرحبا بالعالم",
    "नमस्ते दुनिया",
    "สวัสดีชาวโลก",
    "你好,世界!我去银行取钱。",
    "私は銀行に行きました。カタカナとひらがな",
    "안녕하세요 세계",
    "xin chào thế giới, tiếng Việt",
    "cafe\u0301 and caf\u00e9 are the same word",
    "ﬁne ﬂowers, ½ cup, ① ② ③, ＦＵＬＬ width",
    "smile 😀 thumbs 👍🏽 flag 🇩🇪 family 👨‍👩‍👧",
    "“curly” ‘quotes’ — dashes – and … dots",
    "a-b_c/d\\e|f~g`h^i*j(k)l{m}n<o>p",
    "http://example.org/path?query=1&other=two#part",
    "def attention(q, k, v): return softmax(q @ k.T / sqrt(d_k)) @ v",
    "{\"json\": [1, 2.5, null, true]}",
    "<b>bold</b> &amp; <i>italic</i>",
    "the the the the the the the the",
    "Queen Elizabeth II opened the parliament in 1953.",
]  # fmt: skip
WORDS = (  # noqa: SIM905
    "attention bank river money interest loan transformer layer vector the of and to a in is that "
    "encoder decoder position learning quietly mountain 1984 unbelievable photosynthesis, it's "
    "Zürich naïve walking; they're beautiful? seventy-two élan queue rhythm zebra quickly never"
).split()
LENGTHS = (1, 2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53, 59, 61, 67, 71, 73, 79,
           83, 89, 97, 101, 103, 107, 109, 113, 120, 127, 131, 139, 151, 167, 181, 197)  # fmt: skip


def sentences() -> list[str]:
    """One hundred: the written ones, random words of many lengths, and one that is too long."""
    rng = np.random.default_rng(10)
    drawn = [" ".join(rng.choice(WORDS, size=length)) for length in LENGTHS]
    return [*WRITTEN, *drawn, " ".join(WORDS * 10)]


def sample(row: int, tokens: int, width: int) -> tuple[np.ndarray, np.ndarray]:
    """Which two tokens of a sentence are stored whole, and which components of every token."""
    rng = np.random.default_rng(row)
    return rng.integers(tokens, size=2), rng.integers(width, size=(tokens, COMPONENTS))


def main() -> None:
    """Run the published tokenizer and model, in padded batches of ten."""
    import torch
    from transformers import AutoTokenizer, BertModel

    from tfmlib.pretrained import find_weights

    tokenizer = AutoTokenizer.from_pretrained(find_weights())
    model = BertModel.from_pretrained(find_weights(), add_pooling_layer=False).eval()
    texts, ids, whole, parts = sentences(), [], [], []
    for first in range(0, len(texts), 10):
        batch = tokenizer(texts[first : first + 10], padding=True, truncation=True,
                          max_length=LONGEST, return_tensors="pt")  # fmt: skip
        with torch.inference_mode():
            vectors = model(**batch).last_hidden_state.numpy()  # (B, S, D)
        for i, length in enumerate(batch["attention_mask"].sum(dim=1).tolist()):
            ids.append(batch["input_ids"][i, :length].numpy().astype(np.int32))
            tokens, components = sample(first + i, length, vectors.shape[-1])
            whole.append(vectors[i, tokens])
            parts.append(np.take_along_axis(vectors[i, :length], components, axis=1))
    FILE.parent.mkdir(exist_ok=True)
    np.savez_compressed(
        FILE,
        ids=np.concatenate(ids),
        lengths=np.array([len(row) for row in ids], dtype=np.int32),
        whole=np.stack(whole),
        parts=np.concatenate(parts),
    )
    print(f"{len(ids)} sentences of {min(map(len, ids))} to {max(map(len, ids))} tokens, "
          f"{FILE.stat().st_size // 1000} kB")  # fmt: skip


if __name__ == "__main__":
    main()
