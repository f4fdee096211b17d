"""What a measurement is held to."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Result:
    """One line of the table. ``limit`` is in the unit of ``value``, empty for a ratio.

    ``at_least`` turns the limit round. ``detail`` gives the figures that the value comes from.
    """

    what: str
    value: float
    limit: float
    unit: str = ""
    detail: str = ""
    at_least: bool = False

    @property
    def is_met(self) -> bool:
        return self.value >= self.limit if self.at_least else self.value <= self.limit

    @property
    def shown(self) -> str:
        return self._amount(self.value)

    @property
    def budget(self) -> str:
        return f"{'≥' if self.at_least else '≤'} {self._amount(self.limit)}"

    def _amount(self, value: float) -> str:
        return f"{value:.3g} {self.unit}" if self.unit else f"{value:.2f} ×"
