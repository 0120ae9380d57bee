"""The data of the encoding explorer: where each example begins, and what the documents print."""

from tfmlib import ledger
from tfmlib.ledger import Entry
from tfmlib.ledger.printed import digits, tolerance

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


def general_presets() -> dict:
    return {
        name: {
            "title": title,
            "settings": START | settings,
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
            "entry": told(entry),
            "printed": figures,
            "tolerance": tolerance(text).tolist(),
        }
    return presets


def data() -> dict:
    """Every example: its title, its settings, and what the ledger knows about it."""
    return {"presets": general_presets() | printed_presets()}
