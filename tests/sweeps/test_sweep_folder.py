"""Which folder a sweep goes on in."""

from nmt.sweeps.sweep_folder import choose_folder


def test_a_damaged_sweep_does_not_hide_the_one_that_goes_on(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("other", "mine", "damaged"):
        (tmp_path / "outputs" / "sweeps" / name).mkdir(parents=True)
    for name, content in (("other", '["seed=2"]'), ("mine", '["seed=1"]')):
        path = tmp_path / "outputs" / "sweeps" / name / "sweep.json"
        path.write_text('{"overrides": ' + content + "}")
    (tmp_path / "outputs" / "sweeps" / "damaged" / "sweep.json").write_text("{")
    assert choose_folder(None, "fresh", ["seed=1"], resume=True).name == "mine"
