"""The folder of an export: whole in its place, or an earlier one as it was."""

import errno
from functools import partial

import pytest
from faults import fail_at_call

from nmt.errors import DataError, SettingsError
from nmt.export.output import check_output, new_folder


def nothing():
    """Check nothing."""


def files_of(folder):
    return {str(path.relative_to(folder)): path.read_text() for path in folder.rglob("*") if path.is_file()}


def test_two_that_export_to_one_place_have_folders_of_their_own(tmp_path):
    with new_folder(tmp_path / "out", nothing) as one:
        with pytest.raises(KeyboardInterrupt), new_folder(tmp_path / "out", nothing):
            raise KeyboardInterrupt
        (one / "model").write_text("whole")
    assert files_of(tmp_path) == {"out/model": "whole"}


def test_a_new_folder_takes_the_place_of_an_earlier_one(tmp_path):
    for text in ("first", "second"):
        with new_folder(tmp_path / "out", nothing) as folder:
            (folder / "model").write_text(text)
        assert files_of(tmp_path) == {"out/model": text}


@pytest.mark.parametrize("failing", [1, 2])
def test_an_earlier_export_stays_where_the_new_one_does_not_come_into_its_place(
    tmp_path, monkeypatch, failing
):
    with new_folder(tmp_path / "out", nothing) as folder:
        (folder / "model").write_text("first")
    fail_at_call(monkeypatch, "replace", failing)
    with pytest.raises(OSError, match="No space left"), new_folder(tmp_path / "out", nothing) as folder:
        (folder / "model").write_text("second")
    assert files_of(tmp_path) == {"out/model": "first"}


def test_a_write_that_fails_names_the_folder(tmp_path):
    with pytest.raises(OSError, match="No space left") as caught, new_folder(tmp_path / "out", nothing):
        raise OSError(errno.ENOSPC, "No space left on device")
    assert caught.value.filename == str(tmp_path / "out")


def test_a_path_that_the_libraries_cannot_open_is_refused(tmp_path):
    with pytest.raises(SettingsError, match=r"^output: a path in UTF-8 is needed; got '.*\\udcff'$"):
        check_output(tmp_path / "\udcff", False, tmp_path / "run")


@pytest.mark.parametrize("overwrite", [False, True])
def test_a_folder_that_came_meanwhile_stays(tmp_path, overwrite):
    output = tmp_path / "out"

    def export():
        with new_folder(output, partial(check_output, output, overwrite, tmp_path / "run")) as folder:
            (folder / "model").write_text("first")
            output.mkdir()
            (output / "precious").write_text("a day of work")

    with pytest.raises(DataError, match=r"^output: "):
        export()
    assert files_of(tmp_path) == {"out/precious": "a day of work"}
