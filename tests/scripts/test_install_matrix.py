"""The table of Pythons and versions of PyTorch: what is installed for each row, and that a failure is a row, not the end."""

import sys
from pathlib import Path

import pytest

SCRIPTS = Path(__file__).parent.parent.parent / "scripts"


@pytest.fixture
def table(monkeypatch, capsys, tmp_path):
    """Return a function that runs the script with its commands recorded, not run; those with `failing` fail."""
    monkeypatch.syspath_prepend(SCRIPTS)
    import install_matrix

    def make(*arguments, failing=None):
        commands = []

        def run(words, folder, stdin=""):
            words = [str(word) for word in words]
            commands.append(words)
            if failing in words:
                raise install_matrix.Failed("no such thing")
            if "wheel" in words:
                (Path(folder) / "nmt-1-py3-none-any.whl").touch()
            if "-c" in words:
                return (
                    '{"python": "3.99.1", "found": {"torch": ["2.98", 3000000], "numpy": ["1.97", 1000000]}}'
                )
            if "pytest" in words:
                return "......s\n==== 6 passed, 1 skipped in 3.10s ====\n"
            return {"translate": "a\n\nb\n", "evaluate": "BLEU 1\n"}.get(words[1], "")

        monkeypatch.setattr(install_matrix, "run", run)
        monkeypatch.setattr(sys, "argv", ["install_matrix.py", *arguments])
        monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
        code = install_matrix.main()
        rows = [line[2:-2].split(" | ") for line in capsys.readouterr().out.splitlines()[2:]]
        installs = [words[words.index("install") + 1 :] for words in commands if "install" in words]
        assert list(tmp_path.iterdir()) == [], "what was made is removed"
        return code, rows, [words for words in installs if any(word.endswith(".whl") for word in words)]

    return make


def test_each_pair_is_a_row_and_the_floors_are_those_of_the_package(table):
    code, rows, installs = table("--python", "a,b", "--torch", "oldest,newest,2.12.1,floors")
    assert code == 0
    assert rows == [["3.99.1", "2.98", "1.97", "", "", "", "2", "4", "yes", "yes", "6 passed, 1 skipped"]] * 8
    pins = [words[:-1] for words in installs]
    assert pins[:4] == pins[4:]
    assert pins[:3] == [["torch==2.11"], [], ["torch==2.12.1"]]
    assert {"torch==2.11", "numpy==1.26", "hydra-core==1.3.6", "pydantic==2.11"} <= set(pins[3])


@pytest.mark.parametrize(
    ("failing", "cells"),
    [
        ("evaluate", ["failed", "", ""]),
        ("--editable", ["yes", "failed", ""]),
        ("pytest", ["yes", "yes", "failed"]),
    ],
)
def test_what_failed_is_in_its_row_and_the_others_are_tried(table, failing, cells):
    code, rows, _ = table("--python", "a,b", "--torch", "newest", failing=failing)
    assert code == 1
    assert [row[-3:] for row in rows] == [cells, cells]


def test_a_python_that_is_none_is_a_row_and_a_wheel_that_cannot_be_built_the_end(table):
    code, rows, _ = table("--python", "a,b", "--torch", "newest", failing="b")
    assert code == 1
    assert [row[-3:] for row in rows] == [["yes", "yes", "6 passed, 1 skipped"], ["failed", "", ""]]
    assert rows[1][0] == "b"
    assert table(failing="wheel")[:2] == (1, [])
