"""The picture of attention: a heat map for each run, with the tokens that were read and written."""

from xml.etree import ElementTree

import pytest
from command_line import run_command, run_script

SENTENCE = "Der Hund schläft."
MARKS = str.maketrans("", "", "·␣▁")  # these mark where words begin and go on


@pytest.fixture(scope="module")
def draw(trained_run, tmp_path_factory, tiny_training):
    """Return a function that draws the attention of runs, of which `rnn` has none."""
    folder = tmp_path_factory.mktemp("picture")
    (folder / "transformer").symlink_to(trained_run)
    for kind in ("attention", "rnn"):
        done = run_command(["train", f"run={kind}", *tiny_training(kind)], folder)
        assert done.returncode == 0, done.stderr.decode()

    def run(*runs):
        done = run_script("attention_picture", ["--sentence", SENTENCE, "--svg", "out.svg", *runs], folder)
        return done, folder / "out.svg"

    return run


def test_runs_stand_side_by_side(draw):
    done, path = draw("./attention", "transformer")
    assert done.returncode == 0, done.stderr
    drawing = ElementTree.parse(path).getroot()
    names = {"svg": "http://www.w3.org/2000/svg"}
    titles = [text.text for text in drawing.findall("svg:text", names)]
    assert titles == ["attention", "transformer"]
    assert [said.partition(":")[0] for said in drawing.get("aria-label").split("; ")] == titles
    maps = drawing.findall("svg:svg", names)
    assert float(maps[0].get("x")) + float(maps[0].get("width")) <= float(maps[1].get("x"))
    for one in maps:
        (leaning,) = (group for group in one.findall("svg:g", names) if "rotate" in group.get("transform"))
        columns = [text.text for text in leaning]
        assert columns[-1] == "END"
        assert "".join(columns[:-1]).translate(MARKS) == SENTENCE.replace(" ", "")


def test_runs_of_one_name_are_all_drawn_and_a_folder_is_no_file(draw):
    done, path = draw("transformer", "./transformer")
    assert done.returncode == 0, done.stderr
    assert len(ElementTree.parse(path).getroot().findall("{http://www.w3.org/2000/svg}svg")) == 2
    done, _ = draw("transformer", "--svg", ".")
    assert done.returncode == 2
    assert "--svg: a file is needed; got ., which is a folder" in done.stderr


def test_a_run_without_attention_is_refused(draw):
    done, _ = draw("rnn")
    assert (done.returncode, done.stderr) == (
        2,
        "nmt: RUN: a model with attention is needed; got rnn, which has none\n",
    )
