"""One-step forecasts of a column of a CSV file, by an encoder of nmt that sees only the past.

usage: python scripts/forecast.py FILE --column NAME [--window N] [--epochs N] [--plot FILE.png] ...

The values p, prices for instance, become log returns r_t = log(p_t / p_(t-1)). The first 0.9 of them are for training.
Each of the others is forecast from the `--window` returns before it, those of the test part included. The errors are
compared with those of two forecasts without a model: no change, and the mean of the training part. Market prices are
seldom forecast better than by these; with more epochs the model learns the noise of the past, and forecasts worse.
"""

import argparse
import csv
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from arguments import file_to_write, in_one_line, positive, seed
from torch import Tensor, nn
from torch.nn import functional
from tqdm import tqdm

from nmt.device import prepare_device
from nmt.errors import DataError, UserError
from nmt.models.layers import LayerOptions
from nmt.models.transformer import TransformerEncoder

Array = npt.NDArray[np.float64]
TRAINING_SHARE = 0.9
LEARNING_RATE = 1e-3  # the highest, reached after 30 % of training
WINDOWS_AT_ONCE = 64


class Forecaster(nn.Module):
    """A causal encoder between two linear layers; it forecasts the next number of a series at every position."""

    def __init__(self, max_positions: int, width: int = 32) -> None:
        super().__init__()
        self.input = nn.Linear(1, width)
        options = LayerOptions(d_model=width, d_ff=4 * width, num_heads=4, positions="rotary", dropout=0.0)
        self.encoder = TransformerEncoder(2, options, max_positions)
        self.output = nn.Linear(width, 1)
        # So the first forecast is the mean of training, which is hard to beat.
        nn.init.zeros_(self.output.weight)
        nn.init.zeros_(self.output.bias)

    def forward(self, series: Tensor) -> Tensor:
        """Return forecasts (B, L) of the number after each position of series (B, L), from the numbers up to it."""
        lengths = torch.full((len(series),), series.shape[1])
        return self.output(self.encoder.read(self.input(series.unsqueeze(2)), lengths, causal=True)).squeeze(
            2
        )


def read_log_returns(path: str, column: str) -> Array:
    """Read the log returns of a column. Raises DataError, naming the line, for what is no positive number."""
    try:
        with open(path, encoding="utf-8-sig", newline="") as file:
            rows = csv.DictReader(file)
            if column not in (rows.fieldnames or []):
                there = ", ".join(rows.fieldnames or ["nothing"])
                raise DataError(f"--column: one of {there} is needed; got {column}")
            values = [positive_number(row[column], f"{path}, line {rows.line_num}") for row in rows]
    except OSError as error:
        raise DataError(f"FILE: {path}: {error.strerror}") from None
    except (UnicodeDecodeError, csv.Error) as error:
        raise DataError(f"FILE: a CSV file in UTF-8 is needed; got {path}: {error}") from None
    return np.diff(np.log(np.array(values)))


def positive_number(text: str | None, place: str) -> float:
    """Read a number that has a logarithm. Raises DataError, which names `place`, for any other text."""
    try:
        number = float(text or "")
    except ValueError:
        number = math.nan
    if not 0 < number < math.inf:
        raise DataError(f"{place}: a positive number is needed; got {text or 'nothing'}")
    return number


def train(model: Forecaster, series: Tensor, arguments: argparse.Namespace) -> None:
    """Fit the model to all windows of the series (L), in random order, to forecast the number after each position."""
    windows = series.unfold(0, arguments.window + 1, 1)  # (windows, window + 1)
    optimizer = torch.optim.AdamW(model.parameters())
    num_updates = arguments.epochs * -(-len(windows) // WINDOWS_AT_ONCE)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, LEARNING_RATE, num_updates)
    for epoch in range(1, arguments.epochs + 1):
        rows = torch.randperm(len(windows)).to(series.device).split(WINDOWS_AT_ONCE)
        for chosen in tqdm(rows, f"epoch {epoch}", leave=False, disable=None):
            window = windows[chosen]
            loss = functional.mse_loss(model(window[:, :-1]), window[:, 1:])
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            schedule.step()


@torch.no_grad()
def forecast(model: Forecaster, series: Tensor, first: int, window: int) -> Array:
    """Return a forecast of each number of the series (L) from `first` on, from the `window` numbers before it."""
    histories = series[first - window : -1].unfold(0, window, 1)  # (forecasts, window)
    last = [model(some)[:, -1] for some in histories.split(WINDOWS_AT_ONCE)]
    return torch.cat(last).cpu().numpy().astype(np.float64)


def compare(actual: Array, forecasts: Array, training_mean: float) -> dict[str, float | None]:
    """Return the errors of the forecasts and of two without a model; None where a figure is undefined."""
    vary = actual.std() > 0 and forecasts.std() > 0
    moves = actual != 0
    return {
        "mean squared error": float(np.mean((actual - forecasts) ** 2)),
        "of no change": float(np.mean(actual**2)),
        "of the mean of training": float(np.mean((actual - training_mean) ** 2)),
        "correlation": float(np.corrcoef(actual, forecasts)[0, 1]) if vary else None,
        "sign accuracy": float(np.mean(np.sign(actual) == np.sign(forecasts), where=moves))
        if moves.any()
        else None,
    }


def load_pyplot() -> Any:
    """Import matplotlib, set to plot into files. Raises UserError where it is not installed."""
    try:
        import matplotlib
    except ImportError:
        raise UserError("--plot: matplotlib is needed; got none; pip install '.[plots]'") from None
    matplotlib.use("Agg")
    import matplotlib.pyplot

    return matplotlib.pyplot


def plot(pyplot: Any, path: Path, actual: Array, forecasts: Array, column: str) -> None:
    """Draw actual returns against forecasts: over time, and one on each axis."""
    figure, (over_time, scatter) = pyplot.subplots(
        1, 2, figsize=(12, 4), width_ratios=(2, 1), layout="constrained"
    )
    over_time.plot(actual, label="actual", linewidth=0.8)
    over_time.plot(forecasts, label="forecast", linewidth=0.8)
    over_time.set(title=f"log returns of {column}", xlabel="position in the test part")
    over_time.legend()
    scatter.scatter(forecasts, actual, s=4)
    scatter.axline((0, 0), slope=1, color="grey", linewidth=0.8)
    scatter.set(xlabel="forecast", ylabel="actual")
    figure.savefig(path, format="png", dpi=120)


def run(arguments: argparse.Namespace) -> dict[str, Any]:
    """Train on the first part of the series, forecast the rest, print how well, and return the figures."""
    pyplot = load_pyplot() if arguments.plot else None
    returns = read_log_returns(arguments.file, arguments.column)
    num_training = int(TRAINING_SHARE * len(returns))
    if num_training <= arguments.window or num_training == len(returns):
        least = math.ceil((arguments.window + 1) / TRAINING_SHARE) + 1
        raise DataError(
            f"FILE: {least} rows are needed with --window {arguments.window}; got {len(returns) + 1}"
        )
    # Mean and spread are those of the training part: a forecast cannot know those of the future.
    mean, spread = float(returns[:num_training].mean()), float(returns[:num_training].std())
    if spread == 0:
        raise DataError(f"--column: a column that changes is needed; got {arguments.column}")
    torch.manual_seed(arguments.seed)
    device = prepare_device("auto")
    series = torch.tensor((returns - mean) / spread, dtype=torch.float32, device=device)
    model = Forecaster(arguments.window).to(device)
    train(model, series[:num_training], arguments)
    forecasts = forecast(model.eval(), series, num_training, arguments.window) * spread + mean
    actual = returns[num_training:]
    figures = compare(actual, forecasts, mean)
    print(f"{num_training:,} returns to learn from, {len(actual):,} to forecast")
    for name, figure in figures.items():
        print(f"{name:24} {'-' if figure is None else format(figure, '.4g')}")
    if pyplot:
        plot(pyplot, arguments.plot, actual, forecasts, arguments.column)
    return {**figures, "actual": actual.tolist(), "forecasts": forecasts.tolist()}


def main() -> None:
    """Read the options, train and forecast, write the plot and JSON."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("file", metavar="FILE")
    parser.add_argument("--column", required=True)
    parser.add_argument("--window", type=positive, default=64, help="returns that are seen at once")
    parser.add_argument("--epochs", type=positive, default=5)
    parser.add_argument("--seed", type=seed, default=1)
    parser.add_argument("--plot", type=file_to_write, metavar="FILE.png")
    parser.add_argument("--json", type=file_to_write)
    arguments = parser.parse_args()
    with in_one_line():
        figures = run(arguments)
    if arguments.json:
        arguments.json.write_text(json.dumps(figures, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
