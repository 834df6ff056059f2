"""The folder of pages: whole, deterministic, escaped, linked, and polite to other folders."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest
import specimen

from recombine.errors import UsageError
from recombine.report import folder as place
from recombine.report import write
from recombine.report.pages import paper
from recombine.studies.figure import Figure
from recombine.studies.results import Results

VOID = {"meta", "link", "br", "hr", "img", "input"}


class Page(HTMLParser):
    """Checks that tags are balanced, and collects ids, links and headings."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.ids: list[str] = []
        self.links: list[str] = []
        self.levels: list[int] = []
        self.tags: list[str] = []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_startendtag(tag, attrs)
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        found = dict(attrs)
        if "id" in found:
            self.ids.append(found["id"] or "")
        self.links += [found[k] or "" for k in ("href", "src") if k in found]
        if re.fullmatch("h[1-6]", tag):
            self.levels.append(int(tag[1]))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


class OneFigure(specimen.Corners):
    """As much as a test of files needs."""

    def figures(self, results: Results) -> tuple[Figure, ...]:
        return (specimen.bars(),)


def small(scale: str = "quick") -> specimen.Finding:
    return replace(specimen.finding(scale=scale), part=OneFigure())


def contents(folder: Path) -> dict[str, bytes]:
    files = (p for p in sorted(folder.rglob("*")) if p.is_file())
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


def test_pages_are_balanced_with_unique_ids_and_ordered_headings(written: Path) -> None:
    for path in written.glob("*.html"):
        page = Page(path.read_text())
        assert len(page.ids) == len(set(page.ids))
        assert page.levels[0] == 1 and page.levels.count(1) == 1
        assert all(b - a <= 1 for a, b in zip(page.levels, page.levels[1:], strict=False))


def test_every_link_leads_somewhere_in_the_folder(written: Path) -> None:
    pages = {path.name: Page(path.read_text()) for path in written.glob("*.html")}
    for name, page in pages.items():
        for link in page.links:
            if link.startswith("data:image/png"):
                continue
            file, _, anchor = link.partition("#")
            assert (written / (file or name)).is_file(), link
            if anchor:
                assert anchor in pages[file or name].ids, link


def test_nothing_is_fetched_from_elsewhere(written: Path) -> None:
    for path in [*written.glob("*.html"), *written.glob("*.css"), *written.rglob("*.svg")]:
        text = path.read_text().replace("http://www.w3.org/2000/svg", "")
        assert "http:" not in text and "https:" not in text and "@import" not in text
        assert "<script" not in text and "url(" not in text.replace("url(#", "")


def test_labels_are_escaped(written: Path) -> None:
    text = (written / "gradient.html").read_text()
    assert "&lt;script&gt;alert(" in text and "script" not in Page(text).tags


def test_every_figure_has_a_caption_and_its_numbers(written: Path) -> None:
    text = (written / "gradient.html").read_text()
    figures = re.findall(r"<figure.*?</figure>", text, flags=re.DOTALL)
    assert len(figures) == 12
    for figure in figures:
        assert "<figcaption>" in figure and 'role="img" aria-label="' in figure
        assert re.search(r'href="figures/[\w-]+\.svg"', figure)
        assert re.search(r'href="figures/[\w-]+\.csv"', figure)


def test_the_study_page_says_everything_about_a_claim(written: Path) -> None:
    text = (written / "gradient.html").read_text()
    claim, verdict = specimen.claims()[0]
    for said in (claim.statement, claim.where, claim.published, claim.rule, verdict.reason):
        assert said in text
    for outcome, symbol in (("reproduced", "✓"), ("contradicted", "✗"), ("inconclusive", "?")):
        assert f'badge {outcome}"><span aria-hidden="true">{symbol}</span>' in text
    assert "On this page" in text and "2.13.0" in text
    assert "recombine reproduce gradient/corners --scale paper --profile as-run" in text
    assert '<td class="number">—</td>' in text and "nan" not in text.lower().split()


def test_the_whole_finding_is_there_as_json(written: Path) -> None:
    data = json.loads((written / "data/gradient-corners-quick-as-printed.json").read_text())
    finding = specimen.finding()
    assert data["study"] == "gradient/corners" and data["paper"] == paper(finding)
    assert data["tables"] == json.loads(json.dumps(finding.plain()["tables"]))


def test_the_same_findings_give_the_same_bytes(tmp_path: Path) -> None:
    first, second = tmp_path / "one", tmp_path / "deep" / "er" / "two"
    assert write(first, [small()]) == first / "index.html"
    write(second, [small()])
    assert contents(first) == contents(second)


def test_an_earlier_report_is_replaced_as_a_whole(tmp_path: Path) -> None:
    folder = tmp_path / "report"
    write(folder, [small()])
    write(folder, [], title="Empty <b>")
    assert set(contents(folder)) == {".recombine-report", "index.html", "style.css"}
    assert [path.name for path in tmp_path.iterdir()] == ["report"]
    assert "Empty &lt;b&gt;" in (folder / "index.html").read_text()


def test_without_findings_the_index_says_what_to_run(tmp_path: Path) -> None:
    text = write(tmp_path, []).read_text()
    assert "recombine reproduce" in text
    Page(text)


@pytest.mark.parametrize("name", ["notes.txt", "index.html"])
def test_a_folder_that_is_not_a_report_is_refused(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("mine")
    with pytest.raises(UsageError, match="not a recombine report") as caught:
        write(tmp_path, [])
    assert "\n" not in str(caught.value)
    assert contents(tmp_path) == {name: b"mine"}
    with pytest.raises(UsageError, match="is a file"):
        write(tmp_path / name, [])


def test_a_write_that_fails_leaves_the_old_report(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "report"
    write(folder, [])
    before = contents(folder)
    plain, calls = place.os.rename, []

    def fail_on_the_second(a: Path, b: Path) -> None:
        calls.append(a)
        if len(calls) == 2:
            raise OSError("disk full")
        plain(a, b)

    monkeypatch.setattr(place.os, "rename", fail_on_the_second)
    with pytest.raises(OSError, match="disk full"):
        write(folder, [small()])
    assert contents(folder) == before
    assert [path.name for path in tmp_path.iterdir()] == ["report"]


def test_two_findings_of_one_name_do_not_overwrite_each_other(tmp_path: Path) -> None:
    write(tmp_path / "r", [small(), small()])
    names = sorted(path.name for path in (tmp_path / "r" / "data").iterdir())
    assert names == [
        "gradient-corners-quick-as-printed-2.json",
        "gradient-corners-quick-as-printed.json",
    ]
    page = Page((tmp_path / "r" / "gradient.html").read_text())
    assert len(page.ids) == len(set(page.ids))


def test_a_link_to_a_report_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    write(tmp_path / "link", [])
    assert (tmp_path / "link").is_symlink() and (tmp_path / "real" / "index.html").is_file()
