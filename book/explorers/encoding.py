"""The data of the encoding explorer: where each example begins, and what the documents print."""

import numpy as np

from book.explorers import question
from tfmlib import ledger, ref
from tfmlib.ledger import Entry
from tfmlib.ledger.printed import agreeing, digits, tolerance

# What a reader sees first of an example, unless it says otherwise.
START = {"position": 5, "d": 16, "pair": 1, "unit": "radians", "shift": 3, "show": "numbers"}

# name -> title, the claim of the documents that it shows ("" where there is none), settings
GENERAL = {
    "clock": ("Clocks with many hands", "", {}),
    "frequency": ("Which hand is fast?", "notes.pe-frequency", {"d": 8, "position": 20}),
    "range": ("The largest and the smallest", "notes.pe-range", {"d": 64, "position": 60}),
    "rotation": ("A step is a rotation", "notes.pe-shift", {"show": "rotation"}),
    "offset": (
        "The offset, read from the slowest hand",
        "notes.pe-offset",
        {"show": "rotation", "d": 4, "position": 40, "shift": 20},
    ),
    "distance": ("How far apart?", "", {"show": "distance", "d": 32, "position": 40}),
}

# The encodings that the documents print, all with d = 4: ledger id -> position
PRINTED = {
    "notes.pe0": 0,
    "notes.pe1": 1,
    "notes.pe2": 2,
    "notes.pe3": 3,
    "hand.pe0": 0,
    "hand.pe1": 1,
}


def told(entry: Entry) -> dict:
    """What the ledger says about a claim of the documents."""
    return {
        "id": entry.id,
        "document": entry.document.capitalize(),
        "claim": entry.claim,
        "verdict": entry.verdict,
        "grave": entry.is_grave,
        "because": entry.explanation or f"{entry.finding[0].upper()}{entry.finding[1:]}.",
    }


# --- questions ----------------------------------------------------------------------------------


def turns(d: int, steps: float = 1) -> np.ndarray:
    """By how much each hand turns in so many positions, in radians."""
    sine, cosine = ref.sinusoidal_encoding(2, d)[1].reshape(-1, 2).T
    return np.arctan2(sine, cosine) * steps


def fastest(settings: dict) -> dict:
    angles = turns(settings["d"])
    hands = {f"hand {j}": angles[j] for j in (0, len(angles) // 2, len(angles) - 1)}
    alike = "All turn alike"
    right = max(hands, key=hands.get) if np.ptp(angles) > 1e-9 else alike
    first, last = np.rad2deg(angles[[0, -1]])
    position = settings["position"]
    return question(
        f"The clock has {len(angles)} hands. From position {position} to {position + 1}, which "
        "hand turns most?",
        [*hands, alike],
        right,
        f"Hand 0 turns by {first:.1f} degrees, hand {len(angles) - 1} by {last:.2f}, too "
        "little to see. Each hand is slower than the one before it.",
        position=position + 1,
        pair=0,
    )


def where_it_is_fast(settings: dict) -> dict:
    d, hand = settings["d"], settings["pair"]
    pairs = ref.sinusoidal_encoding(60, d).reshape(60, -1, 2)[:, hand]
    angles = np.unwrap(np.arctan2(*pairs.T))
    early, late = angles[2] - angles[1], angles[51] - angles[50]
    choices = ["More at position 1", "More at position 50", "Just as much"]
    right = choices[2 if abs(early - late) < 1e-9 else int(late > early)]
    return question(
        f"Does hand {hand} turn more from position 1 to 2, or from position 50 to 51?",
        choices,
        right,
        f"It turns by {early:.3f} radians at the one and {late:.3f} at the other. How fast a hand "
        "is depends on which hand it is, not on the position.",
        position=51,
    )


def largest(settings: dict) -> dict:
    top = np.abs(ref.sinusoidal_encoding(5000, settings["d"])).max()
    choices = ["It grows with the position", "It never exceeds 1", f"It reaches √{settings['d']}"]
    right = choices[1] if top <= 1 else choices[0]
    return question(
        "How large does an entry of an encoding get, however far you go?",
        choices,
        right,
        f"Over 5,000 positions the largest is {top:.4f}: every entry is a sine or a cosine.",
    )


def what_moves_the_rotation(settings: dict) -> dict:
    d, shift, start = settings["d"], settings["shift"], settings["position"]
    P, M = ref.sinusoidal_encoding(61, d), ref.shift_matrix(shift, d)
    fits = all(np.allclose(M @ P[i], P[i + shift]) for i in range(start, 61 - shift))
    choices = ["All four", "Only the two sines", "None of them"]
    return question(
        f"A rotation turns each hand from position {start} to {start + shift}. Its matrix has four "
        f"numbers for a hand. Which of them change if you start from position {start + 15}?",
        choices,
        choices[2] if fits else choices[0],
        f"One matrix turns every position i into i + {shift}; only another shift needs another.",
        position=start + 15,
    )


def what_is_left_of_the_offset(settings: dict) -> dict:
    d, shift, position = settings["d"], settings["shift"], settings["position"]
    full = int(shift * turns(d)[0] // (2 * np.pi))
    angle = shift * turns(d)[-1]
    hands = {"Hand 0, the fastest": full == 0, f"Hand {d // 2 - 1}, the slowest": angle < np.pi}
    [right] = [name for name, is_clear in hands.items() if is_clear]
    return question(
        f"You see a clock at position {position} and again {shift} positions later, and nothing in "
        "between. Which hand tells you how many positions have passed?",
        [*hands],
        right,
        f"Hand 0 has been round {full} times, and you cannot see how often. The slowest hand has "
        f"turned by {angle:.2f} radians, less than half a round, so its angle gives the offset.",
    )


def how_the_product_moves(settings: dict) -> dict:
    d, shift, position = settings["d"], settings["shift"], settings["position"]
    P = ref.sinusoidal_encoding(61, d)
    here, there = (P[i] @ P[i + shift] for i in (position, 10))
    choices = ["It becomes larger", "It becomes smaller", "It stays the same"]
    right = choices[2 if abs(here - there) < 1e-9 else int(there < here)]
    return question(
        f"The encodings at {position} and {position + shift} have the dot product {here:.2f}. What "
        f"becomes of it if you move both to 10 and {10 + shift}?",
        choices,
        right,
        f"It is {there:.2f} there, too. The dot product depends on the distance alone.",
        position=10,
    )


def which_unit(position: int, text: str) -> dict:
    """Ask in which unit the printed figures come out."""
    units = {"Radians": 1.0, "Degrees": np.pi / 180}
    figures = digits(text)
    d = len(figures)
    zero = ref.sinusoidal_encoding(1, d)[0]
    come_out = {
        unit: int(agreeing(text, ref.shift_matrix(position * factor, d) @ zero).sum())
        for unit, factor in units.items()
    }
    fitting = [unit for unit, count in come_out.items() if count == d]
    right = fitting[0] if len(fitting) == 1 else "Either" if fitting else "Neither"
    return question(
        f"For position {position} the document prints {', '.join(figures)}. With angles in which "
        "unit do all four figures come out?",
        [*units, "Either", "Neither"],
        right,
        f"With radians {come_out['Radians']} of the {d} figures come out, with degrees "
        f"{come_out['Degrees']}.",
        unit="degrees" if right == "Degrees" else "radians",
    )


QUESTIONS = {
    "clock": fastest,
    "frequency": where_it_is_fast,
    "range": largest,
    "rotation": what_moves_the_rotation,
    "offset": what_is_left_of_the_offset,
    "distance": how_the_product_moves,
}


# --- examples -----------------------------------------------------------------------------------


def general_presets() -> dict:
    return {
        name: {
            "title": title,
            "settings": START | settings,
            "question": QUESTIONS[name](START | settings),
            **({"entry": told(ledger.find(claim))} if claim else {}),
        }
        for name, (title, claim, settings) in GENERAL.items()
    }


def printed_presets() -> dict:
    presets = {}
    for id, position in PRINTED.items():
        entry = ledger.find(id)
        [text] = entry.printed.values()
        figures = digits(text)
        presets[id.replace(".", "-")] = {
            "title": f"Position {position} in {entry.document}: {entry.verdict}",
            "settings": START | {"position": position, "d": len(figures), "pair": 0},
            "question": which_unit(position, text),
            "entry": told(entry),
            "printed": figures,
            "tolerance": tolerance(text).tolist(),
        }
    return presets


def data() -> dict:
    """Every example: its title, its settings, and what the ledger knows about it."""
    return {"presets": general_presets() | printed_presets()}
