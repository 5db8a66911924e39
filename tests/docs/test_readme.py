"""What the README shows is true."""

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import psycopg
from tests.support.serving import Service

from counterfoil.hosts.psycopg import Psycopg
from counterfoil.simulator import Running

README = (Path(__file__).parent.parent.parent / "README.md").read_text("utf-8")


def test_the_library_example_runs(service: Service, simulator: Running, database: str, host: Psycopg) -> None:
    """Word for word, but for the database, the product and where Stripe is."""
    service.code("HARROW-HILL")
    example = re.search(r"```python\n(.*?)```", README, re.DOTALL)
    assert example
    text = example[1].replace("postgresql://…", database).replace('"numerical-hub"', '"hub"')
    text = text.replace(
        'SyncStripe("sk_test_…", shop.clocks)', f'SyncStripe("sk_test_x", shop.clocks, "{simulator.base_url}")'
    )
    found: dict[str, Any] = {}
    exec(compile(text, "README.md", "exec"), found)
    assert found["opened"].checkout.amount == 1000
    assert found["opened"].checkout.session_url.startswith(simulator.base_url)
    assert len(text.strip().splitlines()) <= 12
    connection: psycopg.Connection[Any] = found["database"]._source
    connection.close()


def test_importing_the_library_imports_no_driver_and_no_framework() -> None:
    heavy = ("stripe", "psycopg", "fastapi", "pydantic", "httpx", "click")
    code = f"import counterfoil, sys; print([one for one in {heavy!r} if one in sys.modules])"
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert said.strip() == "[]"


def test_every_public_name_is_there() -> None:
    import counterfoil

    assert [name for name in counterfoil.__all__ if not hasattr(counterfoil, name)] == []
    assert sorted(counterfoil.__all__) == counterfoil.__all__


def test_the_files_it_names_exist() -> None:
    root = Path(__file__).parent.parent.parent
    named = re.findall(r"\]\(([^)#:]+)\)", README)
    assert [name for name in named if not (root / name).exists() and not name.startswith("docs/pictures")] == []
