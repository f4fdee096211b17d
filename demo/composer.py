"""The line that is being written: typed text and pastes, some of them shown collapsed."""

from __future__ import annotations


class Composer:
    """``text`` is what a submit would send, ``shown`` what the screen has in its place."""

    def __init__(self, agent: str) -> None:
        self._agent = agent
        self._parts: list[tuple[str, str]] = []
        self._pastes = 0

    @property
    def text(self) -> str:
        return "".join(text for text, _ in self._parts)

    @property
    def shown(self) -> str:
        return "".join(shown for _, shown in self._parts)

    def type(self, text: str) -> None:
        self._parts.append((text, text))

    def paste(self, text: str, *, collapse: bool) -> None:
        self._pastes += 1
        self._parts.append((text, self._placeholder(text) if collapse else text))

    def erase(self) -> None:
        """Take back one character, or one collapsed paste."""
        while self._parts:
            text, shown = self._parts.pop()
            if text == shown and text:
                self.type(text[:-1])
            if text:
                return

    def take(self) -> str:
        """Empty the composer and return what it held."""
        text = self.text
        self._parts.clear()
        return text

    def _placeholder(self, text: str) -> str:
        lines = text.count("\n")
        match self._agent:
            case "claude":
                return f"[Pasted text #{self._pastes} +{lines} lines]"
            case "codex":
                return f"[Pasted Content {len(text)} chars]"
            case _:
                return f"[Pasted ~{lines + 1} lines]"
