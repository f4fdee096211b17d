"""Record the screens of the real agents: ``make record-screens``.

Each tour of the tables runs at each size in a pane of its own, several at once.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.agents.homes import INSTALLED
from tests.agents.recording.actor import Actor, UnseenError, acting, remove
from tests.agents.recording.shot import neutral, shot
from tests.agents.recording.table import AGENTS, SIZES, Scene, Tour, tours

SCREENS = Path(__file__).parents[2] / "screens"
# Homes are short and all equally long, see neutral().
_HOMES = Path(tempfile.gettempdir()) / "cs"
_PROBE_SECONDS = 8.0
_PACKAGES = {
    "claude": "@anthropic-ai/claude-code",
    "codex": "@openai/codex",
    "opencode": "opencode-ai",
}


@dataclass(frozen=True)
class Take:
    """One tour at one size, and those of its scenes that are wanted.

    ``others`` are sizes that each scene is recorded at as well, by resizing the pane.
    """

    tour: Tour
    size: str
    wanted: frozenset[str]
    others: tuple[str, ...] = ()
    missing: bool = False
    probe: bool = False


def main() -> int:
    options = _options()
    sizes = options.size or SIZES
    takes = [
        take
        for size in sizes[: 1 if options.resize else None]
        for name in options.tour or [None]
        for agent in options.agent
        for take in _takes(agent, name, size, options)
    ]
    if options.list:
        print(*(f"{take.tour.agent} {take.tour.name} {take.size}" for take in takes), sep="\n")
        return 0
    with ThreadPoolExecutor(options.jobs) as pool:
        missing = sum(pool.map(lambda take: _record(take, options.into), takes))
    print(f"{missing} screens were not seen" if missing else "all screens were recorded")
    return 1 if missing else 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="make record-screens", description=__doc__)
    parser.add_argument("--agent", action="append", choices=AGENTS, help="this agent only")
    parser.add_argument("--tour", action="append", help="tours of this name only")
    parser.add_argument("--scene", action="append", help="scenes of this name only")
    parser.add_argument("--size", action="append", help="panes of this size only")
    parser.add_argument(
        "--resize",
        action="store_true",
        help="start each agent at the first size only, and resize its pane for the others: quicker",
    )
    parser.add_argument("--missing", action="store_true", help="only what is not there yet")
    parser.add_argument("--jobs", type=int, default=4, help="how many agents at once (4)")
    parser.add_argument("--into", type=Path, default=SCREENS, help="the folder of the screens")
    parser.add_argument(
        "--probe",
        action="store_true",
        help="record nothing: paste a text and Enter at each scene and say whether it arrived",
    )
    parser.add_argument("--list", action="store_true", help="say what would run")
    options = parser.parse_args()
    options.agent = options.agent or list(AGENTS)
    return options


def _takes(agent: str, name: str | None, size: str, options: argparse.Namespace) -> list[Take]:
    """What is to be done with an agent at one size, of one tour or of all."""
    sizes = options.size or SIZES
    others = tuple(each for each in sizes if options.resize and each != size)
    found = []
    for tour in tours(agent):
        at = [each for each in (size, *others) if options.resize or each in tour.sizes]
        wanted = frozenset(
            scene.name
            for scene in tour.scenes
            if size in scene.sizes
            and (not options.scene or scene.name in options.scene)
            and not (
                options.missing
                and all(_file(options.into, agent, scene, each).exists() for each in at)
            )
        )
        if wanted and at and name in {None, tour.name}:
            found.append(Take(tour, size, wanted, others, options.missing, options.probe))
    return found


def _record(take: Take, into: Path) -> int:
    """Play a tour and write its wanted screens; how many were not seen."""
    tour = take.tour
    columns, rows = map(int, take.size.split("x"))
    home = _new_home()
    missing = 0
    try:
        with acting(tour, home, columns, rows) as actor:
            for scene in tour.scenes:
                if take.size not in scene.sizes:
                    continue
                try:
                    fields = _play(actor, tour, scene)
                    if scene.name in take.wanted and take.probe:
                        _probe(actor, take, scene)
                    elif scene.name in take.wanted:
                        _write(into, tour, scene, neutral(fields, str(home)))
                        for other in _others(take, scene, into):
                            resized = neutral(_resized(actor, other), str(home))
                            _write(into, tour, scene, resized, take.size)
                        actor.resize(columns, rows)
                    _back(actor, scene)
                except UnseenError as reason:
                    missing += scene.name in take.wanted
                    _tell(take, scene.name, reason, actor.screen())
                    _back(actor, scene)
    except (UnseenError, subprocess.SubprocessError) as reason:
        missing += 1
        _tell(take, "ended early", reason, "")
    finally:
        remove(home)
    return missing


def _play(actor: Actor, tour: Tour, scene: Scene) -> dict[str, Any]:
    for step in scene.do:
        actor.perform(step)
    if scene.sees:
        actor.see(scene.sees)
    if "working" not in scene.expected and tour.ready:
        actor.still()
    taken = shot(actor)
    if taken["dead"]:
        raise UnseenError("the agent has ended")
    return taken


def _others(take: Take, scene: Scene, into: Path) -> list[str]:
    """The other sizes at which a scene is wanted."""
    return [
        size
        for size in take.others
        if not (take.missing and _file(into, take.tour.agent, scene, size).exists())
    ]


def _resized(actor: Actor, size: str) -> dict[str, Any]:
    actor.resize(*map(int, size.split("x")))
    return shot(actor)


def _probe(actor: Actor, take: Take, scene: Scene) -> None:
    """Say whether a text that is submitted now reaches the model as a turn at once."""
    text = f"PROBE of {scene.name}"
    before = len(actor.model.exchanges())
    actor.do_say(text)
    deadline = time.monotonic() + _PROBE_SECONDS
    turns: list[str] = []
    while text not in turns and time.monotonic() < deadline:
        asked = [each.asked for each in actor.model.exchanges()[before:]]
        turns = [turn.strip() for each in asked for turn in each.turns[-1:]]
        time.sleep(0.2)
    told = "arrived" if text in turns else f"did not arrive: {turns}"
    print(f"{take.tour.agent} {take.size} {scene.name}: {told}", flush=True)
    actor.still()


def _back(actor: Actor, scene: Scene) -> None:
    for step in scene.undo:
        try:
            actor.perform(step)
        except UnseenError as reason:
            print(f"{scene.name}: on the way back: {reason}", file=sys.stderr)
    if scene.undo:
        actor.still()


def _write(
    into: Path, tour: Tour, scene: Scene, taken: dict[str, Any], resized_from: str | None = None
) -> None:
    into.mkdir(parents=True, exist_ok=True)
    file = _file(into, tour.agent, scene, f"{taken['columns']}x{taken['rows']}")
    made: dict[str, Any] = {"tour": tour.name, "options": tour.options, "steps": scene.do}
    if resized_from:
        made["resized_from"] = resized_from
    if tour.launch:
        made["launch"] = tour.launch
    if tour.environment:
        made["environment"] = dict(tour.environment)
    fields = {
        "agent": tour.agent,
        "version": version(tour.agent),
        "state": scene.name,
        "expected": scene.expected,
        "made": made,
        "term": tour.term,
        **taken,
    }
    file.write_text(json.dumps(fields) + "\n", encoding="utf-8")
    print(file.name, flush=True)


def _file(into: Path, agent: str, scene: Scene, size: str) -> Path:
    return into / f"{agent}-{scene.name}-{size}.json"


def version(agent: str) -> str:
    """The version of the installed agent."""
    package = INSTALLED.parent / _PACKAGES[agent] / "package.json"
    found: str = json.loads(package.read_text(encoding="utf-8"))["version"]
    return found


_making = threading.Lock()


def _new_home() -> Path:
    with _making:
        while True:
            for number in range(10, 100):
                home = _HOMES / str(number)
                try:
                    home.mkdir(parents=True)
                    return home
                except FileExistsError:
                    continue
            time.sleep(1)


def _tell(take: Take, name: str, reason: Exception, screen: str) -> None:
    print(
        f"--- {take.tour.agent} {take.tour.name} {take.size} {name}: {reason}\n{screen}\n---",
        flush=True,
    )


if __name__ == "__main__":
    sys.exit(main())
