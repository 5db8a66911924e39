"""What the sample products open. A shop of one's own puts its own things behind an entitlement."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Content:
    """Something that a purchase opens."""

    key: str
    title: str
    kind: str
    intro: str
    exercises: tuple[str, ...] = ()


_SAMPLES = {
    "numerical-hub": Content(
        "numerical-hub",
        "Numerical reasoning",
        "Practice hub",
        "Tables, charts and percentages, at the pace of a real assessment. Start with the short sets.",
        (
            "A shop's sales rose from 480 to 612 in a year. By how many percent, to the nearest whole one?",
            "Three graders mark 270 papers in 6 hours. How long do five graders need for 300 papers?",
            "A budget of £48,000 is split 5 : 3 : 4. How much is the smallest share?",
        ),
    ),
    "situational-hub": Content(
        "situational-hub",
        "Situational judgement",
        "Practice hub",
        "Short scenes from a first week at work. Rank the four answers, then read why recruiters rank them as they do.",
        (
            "A customer is waiting, and your manager asks for a report due at noon. What do you do first?",
            "You notice a colleague's figures are wrong, an hour before they go out. What do you say, and to whom?",
        ),
    ),
    "in-tray": Content(
        "in-tray",
        "The in-tray exercise",
        "Assessment-centre exercise",
        "Eighteen messages, forty minutes, one desk. Decide what is done now, what later, and what never.",
        (
            "Sort the messages into three piles, and write one sentence for each of the first.",
            "Draft the answer to the regional manager. She reads on her phone.",
        ),
    ),
    "group-task": Content(
        "group-task",
        "The group task",
        "Assessment-centre exercise",
        "Five candidates, one budget, twenty minutes. What the observers write down, and how to be seen being useful.",
        ("Read the brief, then list what you would ask the group in the first two minutes.",),
    ),
}


def content_of(key: str) -> Content:
    """What is behind a key: one of the samples, or a page that only says it is open."""
    return _SAMPLES.get(key, Content(key, key.replace("-", " ").capitalize(), "Unlocked", "This is open to you now."))
