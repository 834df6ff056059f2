"""Makes what matplotlib writes small, the same every time, themed, and safe to put in a page."""

from __future__ import annotations

import re
from copy import deepcopy
from xml.etree import ElementTree as ET

from recombine.report.palette import role_of

SVG = "http://www.w3.org/2000/svg"
_XLINK = "{http://www.w3.org/1999/xlink}href"
_NUMBER = re.compile(r"-?\d*\.\d+(?:e-?\d+)?")
_LINE_TO = re.compile(r"(?<=\d) ?L ?")
_FORBIDDEN = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff\ud800-\udfff]")
"""What XML cannot hold, and a label read from somebody's data might."""
_REFERENCE = re.compile(r"#([\w-]+)")
_CLASSES = {"on-light", "on-dark", "halo"}
"""Names given to artists as ids, which matplotlib would let stand more than once."""
_INHERITED = {
    "class", "clip-path", "fill", "fill-opacity", "stroke", "stroke-linecap", "stroke-linejoin",
    "stroke-opacity", "stroke-width",
}  # fmt: skip
"""What a group may say for its members and mean the same."""


def element(tag: str, attributes: dict[str, str] | None = None, text: str = "") -> ET.Element:
    """An SVG element; namespaces are left to whoever writes it out."""
    made = ET.Element(tag, attributes or {})
    made.text = text or None
    return made


def refine(raw: bytes, prefix: str) -> ET.Element:
    """Matplotlib's SVG with classes for colours, short numbers, and ids that start with prefix."""
    root = ET.fromstring(_FORBIDDEN.sub("", raw.decode()))
    for parent in root.iter():
        for child in list(parent):
            if child.tag in (f"{{{SVG}}}metadata", f"{{{SVG}}}style"):
                parent.remove(child)
    for node in root.iter():
        node.tag = node.tag.removeprefix(f"{{{SVG}}}")
        node.text = node.text if node.tag in ("text", "title") else None
        node.tail = None
        _unfold_style(node)
        _shorten(node)
    _rename(root, prefix)
    _flatten(root)
    return root


def scoped(root: ET.Element, scope: str) -> ET.Element:
    """A copy whose ids start with the scope, for a page where others may have the same."""
    copy = deepcopy(root)
    for node in copy.iter():
        if "id" in node.attrib:
            node.set("id", f"{scope}-{node.attrib['id']}")
        for key in ("href", "clip-path"):
            value = node.get(key, "")
            if value and not value.startswith("data:"):
                node.set(key, value.replace("#", f"#{scope}-"))
    return copy


def text(root: ET.Element) -> str:
    """The element as text, one line for each child so that a change can be read."""
    written = ET.tostring(root, encoding="unicode").replace("><", ">\n<")
    return _FORBIDDEN.sub("", written)


def _unfold_style(node: ET.Element) -> None:
    """Style becomes attributes, which a style sheet may override, and classes for colours."""
    style = node.attrib.pop("style", "")
    declared = [part.partition(":") for part in style.split(";") if ":" in part]
    for name, _, value in declared:
        if name.strip() not in ("font-family", "image-rendering"):
            node.set(name.strip(), value.strip().replace("px", ""))
    if node.tag == "image":
        # Interpolated already, so let the renderer smooth what it scales.
        node.attrib.pop("image-rendering", None)
    roles = [(kind, role_of(node.get(kind, ""))) for kind in ("fill", "stroke")]
    classes = [f"{kind[0]}-{role}" for kind, role in roles if role]
    if node.get("id") in _CLASSES:
        classes.append(node.attrib.pop("id"))
        if "on-dark" in classes:
            node.set("display", "none")
    if classes:
        node.set("class", " ".join(classes))


def _shorten(node: ET.Element) -> None:
    """Two decimals are a hundredth of a pixel; a run of lines needs no letter for each."""
    for name in ("d", "x", "y", "width", "height", "transform"):
        if name in node.attrib:
            exact = 6 if name == "transform" and "matrix" in node.attrib[name] else 2
            node.set(name, " ".join(_rounded(node.attrib[name], exact).split()))
    if "d" in node.attrib:
        node.set("d", _LINE_TO.sub(" ", node.attrib["d"]).replace("M ", "M").replace(" M", "M"))
    if _XLINK in node.attrib:
        node.set("href", node.attrib.pop(_XLINK).replace("\n", ""))


def _rounded(numbers: str, decimals: int) -> str:
    def short(match: re.Match[str]) -> str:
        return f"{round(float(match[0]), decimals) + 0.0:.{decimals}f}".rstrip("0").rstrip(".")

    return _NUMBER.sub(short, numbers)


def _rename(root: ET.Element, prefix: str) -> None:
    """Ids that nothing refers to go; the others are numbered in the order they are met."""
    used: dict[str, str] = {}
    for node in root.iter():
        for value in (node.get("href", ""), node.get("clip-path", "")):
            for name in _REFERENCE.findall(value) if not value.startswith("data:") else ():
                used.setdefault(name, f"{prefix}-{len(used)}")
    for node in root.iter():
        name = node.attrib.pop("id", None)
        if name in used:
            node.set("id", used[name])
        for key in ("href", "clip-path"):
            value = node.get(key, "")
            if value and not value.startswith("data:"):
                node.set(key, _REFERENCE.sub(lambda m: f"#{used[m[1]]}", value))


def _flatten(node: ET.Element) -> None:
    """Groups that say nothing dissolve, and what all members of a group say the group says."""
    members: list[ET.Element] = []
    for child in list(node):
        _flatten(child)
        if child.tag == "g" and not child.attrib:
            members.extend(child)
        elif child.tag not in ("g", "defs") or len(child):
            members.append(child)
    node[:] = members
    if node.tag == "g" and len(node) > 1:
        for name in sorted(_INHERITED):
            values = {child.get(name) for child in node}
            if len(values) == 1 and None not in values and name not in node.attrib:
                node.set(name, values.pop() or "")
                for child in node:
                    del child.attrib[name]
