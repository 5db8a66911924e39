"""Codes as people type them, and the form in which each is compared. Two hundred, and those that are another code."""

from __future__ import annotations

#: What is printed on a school's sheet, by how it is compared.
PRINTED = {"n0rthf01d26": "NORTHFOLD-26", "s0uth1100": "SOUTH-1L00", "ec01ec1e1": "École-Ciel", "strasse7": "STRASSE 7"}

_DASHES = "‐‑‒–—―⁃−﹘﹣－⸺⸻〜～_~·•‧/\\|:"
_SPACES = " \t\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f\u205f\u3000"
_UNSEEN = "\u200b\u200c\u200d\u2060\ufeff\u00ad\u200e\u200f\u202a\u202c\u2066\u2069\u180e\ufe0f\u034f\u061c"
_QUOTES = [
    ("“", "”"), ("‘", "’"), ('"', '"'), ("'", "'"), ("«", "»"), ("„", "“"), ("`", "`"), ("(", ")"), ("[", "]"),
    ("<", ">"), ("*", "*"), ("**", "**"), ("【", "】"), ("「", "」"),
]  # fmt: skip

#: (as it was typed, as it is compared)
TYPED: list[tuple[str, str]] = [
    # Case, and none of what stands between.
    *((text, "n0rthf01d26") for text in (
        "NORTHFOLD-26", "northfold-26", "Northfold-26", "nORTHFOLD-26", "NorthFold26", "NORTHFOLD26", "northfold26",
        "NORTH FOLD 26", "N O R T H F O L D - 2 6", "NORTHFOLD--26", "NORTHFOLD - 26", "-NORTHFOLD-26-",
        "NORTH-FOLD-26",
    )),
    *((f"NORTHFOLD{dash}26", "n0rthf01d26") for dash in _DASHES),
    *((f"NORTHFOLD{space}26", "n0rthf01d26") for space in _SPACES),
    *((f"{space}northfold-26{space}", "n0rthf01d26") for space in _SPACES[:4]),
    *((f"NORTH{unseen}FOLD-26{unseen}", "n0rthf01d26") for unseen in _UNSEEN),
    *((f"{begin}NORTHFOLD-26{end}", "n0rthf01d26") for begin, end in _QUOTES),
    # As it comes out of a mail, a chat, a table or a page.
    *((text, "n0rthf01d26") for text in (
        "NORTHFOLD-26.", "NORTHFOLD-26,", "NORTHFOLD-26!", "NORTHFOLD-26?", "NORTHFOLD-26;", "NORTHFOLD-26…",
        "#NORTHFOLD-26",
        ": NORTHFOLD-26", "> NORTHFOLD-26", "» NORTHFOLD-26", "- NORTHFOLD-26", "• NORTHFOLD-26", "→ NORTHFOLD-26",
        "NORTHFOLD-26\n", "NORTHFOLD-\n26", "NORTHFOLD-\r\n26", "NORTHFOLD-=\n26", "NORTHFOLD\u2028-26",
        "NORTHFOLD\v26",
        "=NORTHFOLD-26", "'NORTHFOLD-26", "\"'NORTHFOLD-26'\"", "NORTHFOLD-26\t", "NORTHFOLD\x0026",
        "\ufeffNORTHFOLD-26",
        "👉 NORTHFOLD-26 👈", "NORTHFOLD-26 ✅", "NORTHFOLD-26®", "__NORTHFOLD-26__", "~~NORTHFOLD-26~~",
    )),
    # As a telephone, or somebody who reads it aloud, makes of it.
    *(
        (text, "n0rthf01d26")
        for text in (
            "Northfold -26", "Northfold- 26", "Northfold 26. ", "North fold 26", "North-Fold 26", "NORTH.FOLD.26",
            "N.O.R.T.H.F.O.L.D.26", "NORTH_FOLD_26", "north/fold/26", "NORTHFOLD(26)", "NORTHFOLD [26]", "NORTHFOLD,26",
            "NORTHFOLD'26", "NORTHFOLD’26", "NORTHFOLD&26", "NORTHFOLD+26", "NORTHFOLD#26", "NORTHFOLD 2 6",
        )
    ),
    # Letters and digits that look alike, and those of other keyboards.
    *((text, "n0rthf01d26") for text in (
        "N0RTHFOLD-26", "N0RTHF0LD-26", "NORTHF0LD-26", "NORTHFO1D-26", "NORTHFOID-26", "n0rthfoid-26", "NORTHFOlD-26",
        "NORTHF01D26", "NoRTHFoiD26",
        "ＮＯＲＴＨＦＯＬＤ－２６", "ｎｏｒｔｈｆｏｌｄ－２６", "ＮＯＲＴＨＦＯＬＤ　２６", "NORTHFOLD-２６",
        "𝐍𝐎𝐑𝐓𝐇𝐅𝐎𝐋𝐃-𝟐𝟔", "𝘕𝘖𝘙𝘛𝘏𝘍𝘖𝘓𝘋-𝟤𝟨", "𝙽𝙾𝚁𝚃𝙷𝙵𝙾𝙻𝙳-𝟸𝟼", "𝔑𝔒ℜ𝔗ℌ𝔉𝔒𝔏𝔇-𝟚𝟞", "ⓝⓞⓡⓣⓗⓕⓞⓛⓓ-②⑥", "NORTHFOLD-²⁶", "NORTHFOLD-₂₆",
        "ℕORTHFOLD-26", "NORTHFOⅬD-26", "NORTHFOⅼD-26", "NORTHFOⅠD-26",
    )),
    *((text, "s0uth1100") for text in (
        "SOUTH-1L00", "SOUTH-IL00", "SOUTH-LIOO", "south-l1o0", "S0UTH-iloo", "SOUTH 11 00", "sOuTh_IiOo", "SOUTH-ⅡOO",
    )),
    # Accents, however a keyboard writes them: each is part of its letter.
    *((text, "éc01ec1e1") for text in (
        "École-Ciel", "ÉCOLE-CIEL", "école ciel", "E\u0301cole-Ciel", "e\u0301cole-ciel", "É-C-O-L-E ciel", "écoleciel",
        "E\u0301COLE–CIEL", "“École-Ciel”", "École\u00adCiel",
    )),
    # One letter that is written as two, and two that are written as one.
    *((text, "strasse7") for text in (
        "STRASSE 7", "straße 7", "STRAẞE 7", "Straße-7", "STRA\u017f\u017fE 7", "strasse-7.",
        "strasse７", "ﬆraße 7",
    )),
    *((text, "0ff1ce") for text in ("OFFICE", "oﬃce", "oﬀice", "OﬀＩce", "ofﬁce", "0ff1ce", "OFFLCE", "office,")),
    *((text, "f1at5") for text in ("FLAT5", "ﬂat5", "flat-5", "ﬁat5", "FIAT 5")),
]  # fmt: skip

#: Pairs that are not the same code, however alike they look.
OTHERS: list[tuple[str, str]] = [
    ("NORTHFOLD-26", "NORTHFOLD-27"), ("NORTHFOLD-26", "NORTHFOLD-2G"), ("NORTHFOLD-26", "NORTHFOLD-226"),
    ("NORTHFOLD-26", "NORTFOLD-26"), ("NORTHFOLD-26", "NORHTFOLD-26"), ("NORTHFOLD-26", "NORTHFQLD-26"),
    ("S5", "55"), ("Z2", "22"), ("B8", "88"), ("G6", "66"), ("UV", "VV"), ("RN", "M"), ("CL", "D"), ("VV", "W"),
    ("École", "Ecole"), ("Ü1", "U1"), ("ñ1", "n1"), ("Å1", "A1"), ("ł1", "l1"), ("đ1", "d1"), ("ø1", "01"),
    # Letters of other alphabets that look the same are others: who types them means to be taken for someone else.
    ("НORTH", "NORTH"), ("АBC", "ABC"), ("СODE", "CODE"), ("ΟNE", "ONE"), ("ZІP", "ZIP"), ("Νorth", "North"),
    ("NORTHFOLD-26™", "NORTHFOLD-26"), ("code: NORTHFOLD-26", "NORTHFOLD-26"),
    ("A½", "A"), ("A+", "AB"), ("7", "T"), ("9", "g"), ("1", "7"), ("0", "D"), ("ſ1", "f1"), ("½", "1"),
]  # fmt: skip
