"""Which folder a sweep goes on in."""

import pytest

from nmt.errors import RunError
from nmt.sweeps.sweep_folder import choose_folder, held


def test_a_damaged_sweep_does_not_hide_the_one_that_goes_on(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("other", "mine", "damaged"):
        (tmp_path / "outputs" / "sweeps" / name).mkdir(parents=True)
    for name, content in (("other", '["seed=2"]'), ("mine", '["seed=1"]')):
        path = tmp_path / "outputs" / "sweeps" / name / "sweep.json"
        path.write_text('{"overrides": ' + content + "}")
    (tmp_path / "outputs" / "sweeps" / "damaged" / "sweep.json").write_text("{")
    assert choose_folder(None, "fresh", ["seed=1"], resume=True).name == "mine"


def test_no_sweep_runs_where_another_one_does(tmp_path):
    folder = tmp_path / "sweep"
    with held(folder, ["seed=1,2"], "1-hash"):
        for overrides in (["seed=1,2"], ["seed=3"]):
            with (
                pytest.raises(RunError, match="a sweep that no other process runs is needed"),
                held(folder, overrides, "1-hash"),
            ):
                pass
    with (
        pytest.raises(RunError, match="where another sweep began just now"),
        held(folder, ["seed=3"], "1-hash"),
    ):
        pass
    with held(folder, ["seed=1,2"], "1-hash"):  # goes on
        pass
    with pytest.raises(RunError, match="needed to go on; got others"), held(folder, ["seed=1,2"], "1-other"):
        pass
    with held(folder, ["seed=1,2"], "2-other"):  # of another version, whose settings have other keys
        pass


@pytest.mark.parametrize("resume", [False, True])
def test_last_names_no_sweep(resume):
    with pytest.raises(
        RunError, match=r"^run: the folder of a sweep is needed, or none with resume=true .*; got last$"
    ):
        choose_folder("last", "fresh", ["seed=1"], resume)
