"""The forecaster learns what can be forecast, nothing of what cannot, and never sees the future."""

import json

import numpy as np
import pytest
from command_line import run_script

NAIVE = ("of no change", "of the mean of training")


def run(folder, *arguments, code=0, **environment):
    done = run_script("forecast", arguments, folder, {"OMP_NUM_THREADS": "1", **environment})
    assert done.returncode == code, done.stderr
    return done


def prices(returns):
    return 100 * np.exp(np.cumsum(returns))


def walk(count=1200):
    return np.random.default_rng(1).normal(size=count) * 0.01


def autoregression(count=1200):
    """Make returns whose two predecessors explain about four fifths of their variance."""
    returns = walk(count)
    for t in range(2, count):
        returns[t] += 1.2 * returns[t - 1] - 0.8 * returns[t - 2]
    return returns


def write(path, values):
    path.write_text("day,price\n" + "".join(f"{day},{value}\n" for day, value in enumerate(values)))


def forecast(folder, values, *options):
    write(folder / "in.csv", values)
    options = ("--column", "price", "--window", "16", "--json", "out.json", *options)
    done = run(folder, "in.csv", *options)
    return json.loads((folder / "out.json").read_text()), done.stdout


def test_what_follows_a_rule_is_forecast(tmp_path):
    returns = autoregression()
    figures, output = forecast(tmp_path, prices(returns), "--epochs", "6", "--plot", "out.png")
    assert all(figures["mean squared error"] < 0.4 * figures[naive] for naive in NAIVE)
    assert figures["correlation"] > 0.8
    assert figures["sign accuracy"] > 0.7
    np.testing.assert_allclose(figures["actual"], returns[-len(figures["actual"]) :])
    assert len(figures["forecasts"]) == len(figures["actual"]) == 120
    assert "1,079 returns to learn from, 120 to forecast" in output
    assert (tmp_path / "out.png").read_bytes().startswith(b"\x89PNG\r\n\x1a\n")


def test_a_random_walk_is_not_forecast(tmp_path):
    figures, _ = forecast(tmp_path, prices(walk()), "--epochs", "3")
    assert all(0.9 < figures["mean squared error"] / figures[naive] < 1.2 for naive in NAIVE)
    assert abs(figures["correlation"]) < 0.3


def test_no_forecast_knows_the_future(tmp_path):
    values = prices(autoregression(600))
    changed = values.copy()
    changed[570:] *= np.linspace(2, 9, 30)
    before, after = (
        np.array(forecast(tmp_path, each, "--epochs", "1")[0]["forecasts"]) for each in (values, changed)
    )
    first = len(before) - 30  # the first changed return, which is forecast from unchanged ones
    np.testing.assert_allclose(before[: first + 1], after[: first + 1], atol=1e-8)
    assert (before[first + 1 :] != after[first + 1 :]).all()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("in.csv", "--column", "close"), "nmt: --column: one of day, price is needed; got close"),
        (("in.csv", "--column", "day"), "nmt: in.csv, line 2: a positive number is needed; got 0"),
        (
            ("gaps.csv", "--column", "price"),
            "nmt: gaps.csv, line 4: a positive number is needed; got nothing",
        ),
        (("words.csv", "--column", "price"), "nmt: words.csv, line 3: a positive number is needed; got nan"),
        (("none.csv", "--column", "price"), "nmt: FILE: none.csv: No such file or directory"),
        (("bytes.csv", "--column", "price"), "nmt: FILE: a CSV file in UTF-8 is needed; got bytes.csv: "),
        (("in.csv", "--column", "price"), "nmt: FILE: 74 rows are needed with --window 64; got 40"),
        (("level.csv", "--column", "price"), "nmt: --column: a column that changes is needed; got price"),
    ],
)
def test_what_is_lacking_is_said_in_one_line(arguments, message, tmp_path):
    write(tmp_path / "in.csv", prices(walk(40)))
    write(tmp_path / "level.csv", [7] * 100)
    (tmp_path / "gaps.csv").write_text("day,price\n1,2\n2,3\n3,\n")
    (tmp_path / "words.csv").write_text("day,price\n1,2\n2,nan\n")
    (tmp_path / "bytes.csv").write_bytes(b"day,price\n1,\xff\n")
    error = run(tmp_path, *arguments, code=2).stderr
    assert error.startswith(message)
    assert error.count("\n") == 1


def test_the_fewest_rows_that_it_takes_are_enough(tmp_path):
    write(tmp_path / "in.csv", prices(walk(74)))
    assert "65 returns to learn from, 8 to forecast" in run(tmp_path, "in.csv", "--column", "price").stdout


def test_a_plot_needs_matplotlib_and_nothing_else_does(tmp_path):
    (tmp_path / "matplotlib.py").write_text("raise ImportError")
    write(tmp_path / "in.csv", prices(walk(60)))
    options = ("in.csv", "--column", "price", "--window", "8", "--epochs", "1")
    run(tmp_path, *options, PYTHONPATH=str(tmp_path))
    error = run(tmp_path, *options, "--plot", "out.png", code=2, PYTHONPATH=str(tmp_path)).stderr
    assert error == "nmt: --plot: matplotlib is needed; got none; pip install '.[plots]'\n"
