"""Installing for an agent: where the files go, what a kill leaves, what is said when it fails."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from functools import partial
from pathlib import Path
from zipfile import ZipFile

import pytest

import cafleet
from cafleet.agents import assets
from cafleet.agents.installer import find_damage, install
from cafleet.agents.paths import locate
from cafleet.agents.replacing import MANIFEST, replace_file, replace_folder
from cafleet.errors import AgentError, SettingError
from cafleet.records import CodingAgent
from tests.harness.dying import kill_at_each_step

SKILL = assets.folder("skill")
VARIABLES = ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "OPENCODE_CONFIG_DIR")
PRESETS = {"codex": "codex/cafleet.rules", "opencode": "opencode/cafleet.md"}


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for variable in VARIABLES:
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    return tmp_path / "home"


def content(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.name != MANIFEST}


@pytest.mark.parametrize(
    ("agent", "skills", "preset"),
    [
        ("claude", ".claude/skills", None),
        ("codex", ".codex/skills", ".codex/rules/cafleet.rules"),
        ("opencode", ".config/opencode/skills", ".opencode/agents/cafleet.md"),
    ],
)
def test_skill_and_preset_are_where_the_agent_looks(
    home: Path, agent: str, skills: str, preset: str | None
) -> None:
    name = CodingAgent(agent)
    done = install(name)
    assert (done.is_changed, done.notes) == (True, [])
    assert content(home / skills / "cafleet") == SKILL
    if preset is not None:
        assert (home / preset).read_bytes() == assets.content(PRESETS[agent])
    assert find_damage(locate(name), name) is None
    assert install(name).is_changed is False


@pytest.mark.parametrize("agent", list(CodingAgent))
def test_damage_is_found_and_mended(home: Path, agent: CodingAgent) -> None:
    install(agent)
    paths = locate(agent)
    page = Path(paths.skills, "cafleet", "member.md")
    page.write_bytes(b"half")
    assert find_damage(paths, agent) == str(page)
    page.unlink()
    assert find_damage(paths, agent) == str(page)
    install(agent)
    if paths.preset is not None:
        Path(paths.preset).unlink()
        assert find_damage(paths, agent) == paths.preset
        install(agent)
    assert find_damage(paths, agent) is None


@pytest.mark.parametrize(
    ("agent", "earlier"),
    [
        (CodingAgent.CODEX, "nothing"),
        (CodingAgent.OPENCODE, "older"),
        (CodingAgent.CODEX, "mine"),
    ],
)
def test_a_kill_at_any_step_leaves_nothing_in_halves(
    home: Path, tmp_path: Path, agent: CodingAgent, earlier: str
) -> None:
    install(agent)
    paths = locate(agent)
    assert paths.preset is not None
    skill, preset = Path(paths.skills, "cafleet"), Path(paths.preset)
    old_skill, old_preset = {"SKILL.md": b"old\n"}, b"old\n"
    shutil.rmtree(home)
    if earlier != "nothing":
        replace_folder(str(skill), old_skill, keep_in=str(tmp_path))
        replace_file(str(preset), old_preset)
    if earlier == "mine":
        (skill / MANIFEST).unlink()
        Path(f"{preset}.installed").unlink()
    if home.exists():
        shutil.copytree(home, tmp_path / "template")

    def before() -> None:
        shutil.rmtree(home, ignore_errors=True)
        if earlier == "nothing":
            home.mkdir()
        else:
            shutil.copytree(tmp_path / "template", home)

    def after() -> None:
        assert not skill.exists() or content(skill) in (SKILL, old_skill)
        if preset.exists():
            assert preset.read_bytes() in (assets.content(PRESETS[agent]), old_preset)
        install(agent)
        assert content(skill) == SKILL
        assert preset.read_bytes() == assets.content(PRESETS[agent])
        left = {path.name for path in home.rglob("*") if path.name.startswith(".cafleet")}
        assert left == {MANIFEST}
        texts = [path.read_bytes() for path in home.rglob("*") if path.is_file()]
        assert texts.count(b"old\n") == (2 if earlier == "mine" else 0)

    steps = kill_at_each_step(
        partial(install, agent),
        home,
        environment={"HOME": str(home)},
        before=before,
        after=after,
    )
    assert steps > 2 * len(SKILL)


@pytest.mark.parametrize("value", ["", "relative", "~/codex", "./x"])
def test_a_variable_that_names_no_folder(
    home: Path, monkeypatch: pytest.MonkeyPatch, value: str
) -> None:
    monkeypatch.setenv("CODEX_HOME", value)
    with pytest.raises(SettingError, match=f"CODEX_HOME is '{value}', which is not an absolute"):
        install(CodingAgent.CODEX)
    install(CodingAgent.CLAUDE)


def test_a_variable_that_is_not_utf_8(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CODEX_HOME", "/x\udcff")
    with pytest.raises(SettingError, match=r"CODEX_HOME is '/x\\udcff', which is not valid UTF-8"):
        locate(CodingAgent.CODEX)


@pytest.mark.parametrize("value", ["", "relative"])
def test_without_a_home(monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    monkeypatch.delenv("CLAUDE_CONFIG_DIR", raising=False)
    monkeypatch.setenv("HOME", value)
    with pytest.raises(
        SettingError, match=f"is {value!r}, which is not an absolute path; set HOME"
    ):
        install(CodingAgent.CLAUDE)


def a_file(base: Path) -> str:
    base.write_text("mine")
    return str(base / "skills")


def skills_a_file(base: Path) -> str:
    base.mkdir()
    (base / "skills").write_text("mine")
    return str(base / "skills")


def skills_a_link_to_nothing(base: Path) -> str:
    base.mkdir()
    (base / "skills").symlink_to("nowhere")
    return str(base / "skills")


@pytest.mark.parametrize("spoil", [a_file, skills_a_file, skills_a_link_to_nothing])
def test_a_folder_that_cannot_be_made_is_named(
    home: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, spoil: object
) -> None:
    assert callable(spoil)
    where = spoil(tmp_path / "base")
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "base"))
    with pytest.raises(AgentError) as failure:
        install(CodingAgent.CLAUDE)
    assert str(failure.value).startswith(f"{where} cannot be written (")
    assert str(failure.value).endswith("run `cafleet setup` again")


def test_a_place_that_takes_no_files(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", "/proc/self")
    with pytest.raises(AgentError, match="/proc/self/skills cannot be written"):
        install(CodingAgent.CLAUDE)


def test_a_full_disk_leaves_what_was_there(home: Path) -> None:
    install(CodingAgent.CODEX)
    page = home / ".codex/skills/cafleet/SKILL.md"
    page.write_bytes(b"mine\n")
    script = (
        "import resource, signal; from cafleet.agents.installer import install\n"
        "from cafleet.records import CodingAgent\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))\n"
        "install(CodingAgent.CODEX)\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert "AgentError" in done.stderr
    assert "cannot be written (File too large)" in done.stderr
    assert page.read_bytes() == b"mine\n"
    install(CodingAgent.CODEX)
    assert content(home / ".codex/skills/cafleet") == SKILL


def test_an_installation_that_is_read_only(home: Path, tmp_path: Path) -> None:
    """From a zip, which nobody can write to: setup needs nothing of its own installation but to read it."""
    root = Path(cafleet.__file__).parent
    archive = tmp_path / "cafleet.zip"
    with ZipFile(archive, "w") as packed:
        for path in root.rglob("*"):
            if path.is_file() and "__pycache__" not in path.parts:
                packed.write(path, path.relative_to(root.parent))
        sql = root.parent / "sql"
        for path in sql.rglob("*.sql"):
            packed.write(path, Path("cafleet/sql") / path.relative_to(sql))
    archive.chmod(0o444)
    before = archive.read_bytes()
    environment = {**os.environ, "PYTHONPATH": str(archive), "XDG_RUNTIME_DIR": ""}
    environment["CAFLEET_DATABASE_URL"] = f"sqlite:///{tmp_path}/fleet.db"
    done = subprocess.run(
        [sys.executable, "-m", "cafleet", "setup"],
        env=environment,
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert done.stderr == ""
    assert "created and migrated" in done.stdout
    assert content(home / ".claude/skills/cafleet") == SKILL
    assert archive.read_bytes() == before


def test_an_installation_that_lacks_a_file_says_so() -> None:
    with pytest.raises(AgentError, match="this installation lacks its file no/such; install"):
        assets.content("no/such")
    with pytest.raises(AgentError, match="this installation lacks its folder none; install"):
        assets.folder("none")
