"""Every colour of the report, once: roles with a light and a dark value, and the CSS from them.

Figures are drawn in the light values. Each is then also given a class, so that a style sheet can
change it, and the light value stays where there is none (an editor, a printer). Simulated
protanopia, deuteranopia and tritanopia keep any two of the five roles at least 16 ΔE apart, and
each stands at 3.5 : 1 or more against the paper, in both schemes.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

Rgb: TypeAlias = tuple[float, float, float]

COLOURS: Mapping[str, tuple[str, str]] = {
    "ink": ("#1c2024", "#e7e9ec"),
    "soft": ("#565c63", "#a9b0b8"),
    "line": ("#c9ced4", "#3d444c"),
    "shade": ("#f3f5f7", "#1d2126"),
    "paper": ("#ffffff", "#14171b"),
    "first": ("#0069b4", "#4c9df2"),
    "second": ("#cf5300", "#f0843c"),
    "third": ("#008f5d", "#7ad9b8"),
    "fourth": ("#6b1f7c", "#e9aef2"),
    "muted": ("#84898f", "#7d848c"),
}
"""Role: (light, dark). No two light values are equal, for they are told apart by them."""

WORDS: Mapping[str, tuple[str, str]] = {
    "reproduced": ("#00663f", "#7ad9b8"),
    "contradicted": ("#a83e00", "#ff9c5c"),
    "inconclusive": ("#565c63", "#b6bdc5"),
    "link": ("#005a9c", "#7db8f7"),
}
"""Colours of words, which need 4.5 : 1: verdicts and links."""

MAP_ENDS: Mapping[str, tuple[str, str, str]] = {
    "light": ("#74aedd", "#fcfcfc", "#f2ab76"),
    "dark": ("#2a6ca8", "#15181c", "#a8561c"),
}
"""A map at 0, one half and 1, by scheme: pale enough that points and lines stand out on it. Class
0 is drawn in `first` and class 1 in `second`, so the ends are tints of those."""

HEAT_ENDS: Mapping[str, tuple[str, str, str]] = {
    "light": ("#0b4f8a", "#fcfcfc", "#b34700"),
    "dark": ("#6cb2f7", "#15181c", "#f5955a"),
}
"""A heat map, on which nothing is drawn: as strong as it can be."""

_ROLE = {light: role for role, (light, _) in COLOURS.items()}


def light(role: str) -> str:
    """The value a role is drawn in."""
    return COLOURS[role][0]


def role_of(value: str) -> str | None:
    """The role drawn in this value, if there is one."""
    return _ROLE.get(value.lower())


def tint(
    values: npt.NDArray[np.float64],
    scheme: str,
    scale: Mapping[str, tuple[str, str, str]] = MAP_ENDS,
) -> npt.NDArray[np.uint8]:
    """A map's colours: numbers from 0 to 1 become RGBA; NaN is transparent."""
    ends = np.array([_rgb(colour) for colour in scale[scheme]])
    known = np.isfinite(values)
    at = np.clip(np.where(known, values, 0.0), 0.0, 1.0)
    channels = [np.interp(at, (0.0, 0.5, 1.0), ends[:, c]) for c in range(3)]
    rgba = np.stack([*channels, known.astype(float)], axis=-1)
    return np.round(rgba * 255).astype(np.uint8)


def css(*, root: str = ":root") -> str:
    """Variables for both schemes and the classes that figures wear; paper is always light."""
    named = {**COLOURS, **WORDS}
    day = "".join(f"--{name}:{a};" for name, (a, _) in named.items())
    night = "".join(f"--{name}:{b};" for name, (_, b) in named.items())
    return "\n".join(
        [
            f"{root}{{color-scheme:light dark;{day}}}",
            *(f".f-{r}{{fill:var(--{r})}}.s-{r}{{stroke:var(--{r})}}" for r in COLOURS),
            ".on-dark{display:none}",
            "@media screen and (prefers-color-scheme:dark){",
            f"{root}{{{night}}}",
            ".on-light{display:none}.on-dark{display:inline}",
            "}",
            "",
        ]
    )


def _rgb(value: str) -> Rgb:
    red, green, blue = (int(value[i : i + 2], 16) / 255 for i in (1, 3, 5))
    return red, green, blue
