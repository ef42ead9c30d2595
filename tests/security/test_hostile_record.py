"""What a stranger's run says of itself is shown, compared and drawn, and does nothing else."""

import json

import pytest
from markup import Page

ESCAPE = "\x1b[31m\u202e<script>alert(1)</script>"


def edit(run, name, change):
    path = run.path / name
    values = json.loads(path.read_text())
    change(values)
    path.write_text(json.dumps(values))


def add_metrics(content):
    def spoil(run):
        with open(run.path / "metrics.jsonl", "ab") as file:
            file.write(content)

    return spoil


REFUSED = {
    "a record that is none": lambda run: (run.path / "run.json").write_text("[]"),
    "a record that nests": lambda run: (run.path / "run.json").write_text("[" * 10_000),
    "a record with other keys": lambda run: (run.path / "run.json").write_text('{"format": 1}'),
    "a checkpoint elsewhere": lambda run: edit(
        run, "run.json", lambda record: record["test"].update(checkpoint="../../etc")
    ),
    "figures with names of their own": lambda run: edit(
        run, "run.json", lambda record: record["test"]["scores"].update({ESCAPE: 1.0})
    ),
    "a file that is no tokenizer": lambda run: edit(
        run, "run.json", lambda record: record["tokenizer"].update({"/etc/passwd": "0" * 64})
    ),
    "no sessions": lambda run: edit(run, "run.json", lambda record: record.update(sessions=[])),
}


@pytest.mark.parametrize("spoil", REFUSED.values(), ids=REFUSED)
@pytest.mark.parametrize("name", ["verify", "compare"])
def test_a_spoiled_record_is_refused_in_one_line(victim, command, tmp_path, monkeypatch, spoil, name):
    monkeypatch.chdir(tmp_path)
    run = victim()
    spoil(run)
    arguments = (str(run.path),) if name == "compare" else (f"run={run.path}",)
    code, out, message = command(name, *arguments)
    assert (code, out) == (2, b""), message
    assert message.count("\n") == 1
    assert message[:-1].isprintable()


@pytest.mark.parametrize(
    "content",
    [
        b"{}\n" * 3,
        b"[1]\n",
        b"\xff\n",
        b'{"update": 1e999}\n',
        b"[" * 9999 + b"\n",
        b" " * (1 << 20) + b"{}\n",
    ],
)
def test_spoiled_metrics_are_refused_or_left_out(victim, command, tmp_path, monkeypatch, content):
    monkeypatch.chdir(tmp_path)
    run = victim()
    add_metrics(content)(run)
    code, _out, message = command("compare", str(run.path), "html=x.html")
    assert code == (0 if content.startswith(b"{}") else 2), message
    assert message.count("\n") <= 1


def test_figures_beyond_reason_are_drawn_all_the_same(victim, command, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run = victim()
    for loss in (1e308, -1e308, 5e-324, 0, 999999999999999999, True, "x", None, [1]):
        row = {"kind": "validation", "update": 3, "loss": loss, "bleu": loss, "seconds": 1}
        add_metrics(json.dumps(row).encode() + b"\n")(run)
    code, _out, message = command("compare", str(run.path), "html=x.html")
    assert (code, message) == (0, "")


def test_what_a_run_says_cannot_steer_a_terminal_or_a_page(victim, command, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run = victim()
    run.edit_config("data.source_note", ESCAPE)
    edit(run, "run.json", lambda record: record["sessions"][0]["command"].append(ESCAPE))
    edit(run, "run.json", lambda record: record["test"]["machine"].update(name=ESCAPE))
    edit(run, "run.json", lambda record: record["sessions"][0]["machine"].update(name=ESCAPE))
    other = tmp_path / "other"
    other.mkdir()
    for path in run.path.rglob("*"):
        target = other / path.relative_to(run.path)
        target.mkdir(exist_ok=True) if path.is_dir() else target.write_bytes(path.read_bytes())
    config = json.loads((other / "config.json").read_text())
    config["data"]["source_note"] = ESCAPE * 2
    (other / "config.json").write_text(json.dumps(config))
    code, out, message = command("compare", str(run.path), str(other), "html=x.html")
    assert code == 0, message
    assert b"source_note" in out
    assert all(line.isprintable() for line in out.decode().split("\n"))
    page = (tmp_path / "x.html").read_text(encoding="utf-8")
    assert "<script" not in page
    assert "\u202e" not in page


def test_a_report_of_a_strangers_run(victim, command, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run = victim()
    edit(run, "run.json", lambda record: record["sessions"][0]["command"].append(ESCAPE))
    edit(run, "run.json", lambda record: record["sessions"][0]["versions"].update({ESCAPE: ESCAPE}))
    (tmp_path / "elsewhere.html").write_text("mine")
    code, out, message = command(
        "report", f"run={run.path}", "num_resamples=40", "device=cpu", "output=new.html"
    )
    assert (code, out) == (0, b"new.html\n"), message
    page = Page((tmp_path / "new.html").read_text(encoding="utf-8"))
    page.assert_closed()
    assert "alert(1)" in page.text
    (run.path / "report.html").symlink_to(tmp_path / "elsewhere.html")
    code, _out, message = command("report", f"run={run.path}", "overwrite=true", "device=cpu")
    assert code == 2
    assert (tmp_path / "elsewhere.html").read_text() == "mine"
