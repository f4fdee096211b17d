"""The same queries under every locale, and from a checkout, an installed wheel and a zip."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from cafleet.store.contracts import read_contracts
from cafleet.store.migration_files import migrations

ROOT = Path(__file__).parents[2]

LOAD = """
import json, sys, tempfile, locale
from datetime import UTC, datetime
import cafleet
from cafleet.store.contracts import read_contracts
from cafleet.store.files import page, schema_path
from cafleet.store.migrate import migrate
from cafleet.store.migration_files import migrations
from cafleet.store.repository import query
contracts = read_contracts()
with tempfile.TemporaryDirectory() as folder:
    report = migrate(folder + "/fleet.db", now=datetime.now(UTC))
print(json.dumps({
    "from": cafleet.__file__,
    "encoding": locale.getpreferredencoding(False),
    "queries": [[c.source, c.name, c.sql, query(c.namespace, c.name).sql] for c in contracts],
    "migrations": [m.checksum for m in migrations()],
    "version": report.to_version,
    "pages": [page("database.md"), page("recovery.md"), schema_path()],
}))
"""


def load(folder: Path, *, python_path: Path | None = None, **locale: str) -> dict[str, Any]:
    """What a process finds that starts in ``folder`` with nothing but these variables set."""
    environment = {"PATH": os.environ["PATH"], **locale}
    if python_path is not None:
        environment["PYTHONPATH"] = str(python_path)
    done = subprocess.run(
        [sys.executable, "-c", LOAD],
        env=environment,
        cwd=folder,
        capture_output=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr.decode()
    loaded: dict[str, Any] = json.loads(done.stdout)
    return loaded


def assert_same(loaded: dict[str, Any]) -> None:
    here = read_contracts()
    assert [entry[:3] for entry in loaded["queries"]] == [[c.source, c.name, c.sql] for c in here]
    assert all(sql == called for _, _, sql, called in loaded["queries"])
    assert loaded["migrations"] == [migration.checksum for migration in migrations()]
    assert loaded["version"] == len(migrations())


@pytest.mark.parametrize(
    ("locale", "encoding"),
    [
        ({"LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"}, "ANSI_X3.4-1968"),
        ({"LC_ALL": "C"}, None),
        ({"LC_ALL": "en_US.ISO-8859-1"}, None),
        ({"LC_ALL": "en_US.ISO-8859-1", "PYTHONUTF8": "0"}, None),
    ],
)
def test_locale_has_no_say(tmp_path: Path, locale: dict[str, str], encoding: str | None) -> None:
    loaded = load(tmp_path, python_path=ROOT, **locale)
    assert_same(loaded)
    if encoding is not None and sys.platform == "linux":
        assert loaded["encoding"] == encoding


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    done = subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", folder],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    [wheel] = folder.glob("*.whl")
    return wheel


def test_installed_wheel(tmp_path: Path, wheel: Path) -> None:
    site = tmp_path / "a site"
    done = subprocess.run(
        [sys.executable, "-m", "pip", "install", "--quiet", "--no-index", "--no-deps"]
        + ["--disable-pip-version-check", "--target", site, wheel],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    loaded = load(tmp_path, python_path=site, LC_ALL="C", PYTHONUTF8="0")
    assert Path(loaded["from"]).is_relative_to(site)
    for page in map(Path, loaded["pages"]):
        assert page.is_relative_to(site)
        (original,) = ROOT.glob(f"*/{page.name}")
        assert page.read_bytes() == original.read_bytes()
    assert_same(loaded)


def test_zip_on_the_path(tmp_path: Path, wheel: Path) -> None:
    # A wheel is a zip file.
    loaded = load(tmp_path, python_path=wheel)
    assert Path(loaded["from"]).is_relative_to(wheel)
    assert_same(loaded)
