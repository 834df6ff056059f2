"""Archives are unpacked into their folder and nowhere else, whatever the version of Python."""

import io
import tarfile
from pathlib import Path

import pytest

from recombine.data.unpacking import unpack


def packed(path: Path, *members: tuple[str, bytes | None]) -> Path:
    """An archive of files, or of symbolic links to /etc where there is no content."""
    with tarfile.open(path, "w:gz") as archive:
        for name, content in members:
            info = tarfile.TarInfo(name)
            if content is None:
                info.type, info.linkname = tarfile.SYMTYPE, "/etc"
                archive.addfile(info)
            else:
                info.size = len(content)
                archive.addfile(info, io.BytesIO(content))
    return path


def test_files_come_out_as_they_went_in(tmp_path: Path) -> None:
    archive = packed(tmp_path / "a.tgz", ("package/data/x", b"one"), ("y", b""), ("link", None))
    unpack(archive, tmp_path / "out")
    found = {p.relative_to(tmp_path / "out").as_posix() for p in (tmp_path / "out").rglob("*")}
    assert found == {"package", "package/data", "package/data/x", "y"}
    assert (tmp_path / "out/package/data/x").read_bytes() == b"one"


@pytest.mark.parametrize("name", ["../out2", "/tmp/recombine-escaped", "a/../../out2"])
def test_nothing_is_written_outside(name: str, tmp_path: Path) -> None:
    archive = packed(tmp_path / "a.tgz", (name, b"x"))
    with pytest.raises(tarfile.TarError, match="outside"):
        unpack(archive, tmp_path / "out")
    assert not (tmp_path / "out2").exists() and not Path("/tmp/recombine-escaped").exists()


def test_a_link_leads_nowhere(tmp_path: Path) -> None:
    """A file below a link of the archive lands in the folder: the link was never made."""
    unpack(packed(tmp_path / "a.tgz", ("link", None), ("link/x", b"x")), tmp_path / "out")
    assert (tmp_path / "out/link/x").read_bytes() == b"x" and not (
        tmp_path / "out/link"
    ).is_symlink()
