"""
Take each guard out in turn, and fail if no test notices.

A guard is the line below a comment `-- guard: name` or `# guard: name`: a line is left out, a condition becomes false.
The suite runs on a copy. `--only NAME` for some of them; `--quick` for a part that the day chooses, so that all have
their turn.
"""

from __future__ import annotations

import argparse
import datetime
import os
import re
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SOURCE = ROOT / "src"
#: Where a guard's absence is looked for: the cheapest first.
TESTS = [
    "tests/values",
    "tests/verbs",
    "tests/hosts",
    "tests/races",
    "tests/life",
    "tests/service/test_a_purchase.py",
    "tests/service/test_giving_back.py",
    "tests/service/test_portal.py",
    "tests/service/test_portal_people.py",
    "tests/service/test_admin_codes.py",
    "tests/service/test_coming_back.py",
    "tests/service/test_accounts.py",
    "tests/service/test_oidc.py",
    "tests/service/test_forgetting.py",
]


@dataclass(frozen=True)
class Guard:
    """A guard: its name, its file, and the number of the line that guards."""

    name: str
    file: Path
    line: int


def guards() -> list[Guard]:
    """All of them."""
    found = []
    for file in sorted(SOURCE.rglob("*")):
        if file.suffix in (".sql", ".py"):
            for number, line in enumerate(file.read_text("utf-8").splitlines()):
                mark = re.match(r"\s*(?:--|#) guard: ([a-z-]+)$", line)
                if mark:
                    found.append(Guard(mark[1], file.relative_to(SOURCE), number + 1))
    return found


def without(text: str, number: int, *, python: bool) -> str:
    """The text without the guard of a line."""
    lines = text.splitlines(keepends=True)
    line = lines[number]
    indent = line[: len(line) - len(line.lstrip())]
    if re.match(r"\s*(ELS)?IF .* THEN$", line):
        lines[number] = re.sub(r"IF .* THEN", "IF false THEN", line)
    elif re.match(r"\s*if .*:$", line):
        lines[number] = f"{indent}if False:\n"
    elif re.match(r"\s*if .* and \($", line):
        lines[number] = f"{indent}if False and (\n"
    elif re.match(r"\s*async with .*:$", line):
        lines[number] = f"{indent}if True:\n"
    else:
        kept = ";" if line.rstrip().endswith(";") and line.lstrip().startswith("AND") else ""
        lines[number] = f"{indent}{'pass' if python else kept}\n"
    return "".join(lines)


def noticed(guard: Guard) -> str | None:
    """The test that fails without it."""
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "src"
        shutil.copytree(SOURCE, copy, ignore=shutil.ignore_patterns("__pycache__"))
        file = copy / guard.file
        file.write_text(without(file.read_text("utf-8"), guard.line, python=file.suffix == ".py"), "utf-8")
        run = _tests(copy, *TESTS)
    if run.returncode not in (0, 1):
        print(run.stdout[-2000:], run.stderr[-2000:])
        raise SystemExit(f"the suite could not run without {guard.name}")
    failed = re.search(r"^(?:FAILED|ERROR) (\S+)", run.stdout, re.MULTILINE)
    if failed and _tests(SOURCE, failed[1]).returncode:
        # What fails in any case notices nothing.
        raise SystemExit(f"{failed[1]} fails with {guard.name} in its place too: mend that first")
    return failed[1] if failed else "the suite" if run.returncode else None


def _tests(source: Path, *which: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-x", "-q", "-m", "not deep", "-p", "no:cacheprovider", *which],
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": str(source)},
        capture_output=True,
        text=True,
        check=False,
    )


def main() -> int:
    """Exit 1 if a guard was not missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="*", default=[])
    parser.add_argument("--quick", action="store_true")
    options = parser.parse_args()
    chosen = [guard for guard in guards() if not options.only or guard.name in options.only]
    if options.quick:
        chosen = chosen[datetime.datetime.now(datetime.UTC).timetuple().tm_yday % 24 :: 24]
    unnoticed = []
    for index, guard in enumerate(chosen, 1):
        seen = noticed(guard)
        print(f"{index:3}/{len(chosen)}  {guard.name}  ({guard.file}): {seen or 'NOT NOTICED'}", flush=True)
        if not seen:
            unnoticed.append(guard.name)
    if unnoticed:
        print(f"taken out, and no test noticed: {', '.join(unnoticed)}")
    return 1 if unnoticed else 0


if __name__ == "__main__":
    sys.exit(main())
