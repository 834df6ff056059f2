"""The pages in a real browser: no sideways scrolling on a phone, and both schemes are drawn."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from PIL import Image

from recombine.diagnosis import diagnose

CHROMIUM = shutil.which("chromium")
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="chromium is not installed")
QUIET = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
    "--allow-file-access-from-files", "--hide-scrollbars",
)  # fmt: skip

# A window cannot be made as narrow as a phone, a frame can; it measures what it holds.
PHONE = """<!doctype html><title>phone</title><p id="said">nothing</p>
<iframe id="frame" style="width:390px;height:800px;border:0"></iframe><script>
const frame = document.getElementById("frame");
frame.onload = () => {
  const page = frame.contentDocument.documentElement;
  const small = [...frame.contentDocument.querySelectorAll(".panel > svg")].map(
    (svg) => svg.getBoundingClientRect().width / svg.viewBox.baseVal.width);
  document.getElementById("said").textContent =
    `width=${page.scrollWidth} least=${Math.min(1, ...small)}`;
};
frame.src = "PAGE";
</script>"""


def run(tmp_path: Path, *arguments: str) -> str:
    assert CHROMIUM is not None
    command = [CHROMIUM, *QUIET, f"--user-data-dir={tmp_path / 'profile'}", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    return done.stdout


@pytest.mark.parametrize("page", ["index.html", "gradient.html"])
def test_a_phone_shows_the_page_without_sideways_scrolling(
    written: Path, tmp_path: Path, page: str
) -> None:
    fits_a_phone(written / page, tmp_path)


def test_a_phone_shows_a_report_card(tmp_path: Path) -> None:
    """One with everything: pictures, theory, and the long sentences of an audit."""
    said = diagnose(
        "mlp", "context-dependence", seeds=2, settings=["recipe.steps=20"], store=tmp_path / "store"
    )
    assert {table.id for table in said.finding.tables} >= {"theory", "additivity", "split-audit"}
    fits_a_phone(said.write(tmp_path / "card"), tmp_path)


def fits_a_phone(page: Path, tmp_path: Path) -> None:
    around = tmp_path / "phone.html"
    around.write_text(PHONE.replace("PAGE", page.resolve().as_uri()))
    dom = run(tmp_path, "--virtual-time-budget=5000", "--dump-dom", around.as_uri())
    said = re.search(r"width=(\d+) least=([\d.]+)", dom)
    assert said is not None, dom[:500]
    assert int(said[1]) <= 390
    # Words of eleven pixels stay above nine.
    assert float(said[2]) >= 0.82


@pytest.mark.parametrize(("scheme", "setting", "bright"), [("light", 1, True), ("dark", 0, False)])
def test_both_schemes_are_drawn(
    written: Path, tmp_path: Path, scheme: str, setting: int, bright: bool
) -> None:
    figure = written / "figures" / "gradient-corners-quick-as-printed-curves.svg"
    for number, page in enumerate((written / "gradient.html", figure)):
        shot = tmp_path / f"{scheme}-{number}.png"
        run(
            tmp_path,
            f"--blink-settings=preferredColorScheme={setting}",
            "--window-size=1280,1000",
            f"--screenshot={shot}",
            page.as_uri(),
        )
        with Image.open(shot) as image:
            grey = image.convert("L")
        assert (grey.getpixel((3, 3)) > 200) is bright
        low, high = grey.getextrema()
        assert high - low > 150
