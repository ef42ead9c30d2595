"""Work in bulk on a real Ray of this machine: in order, each item once, whoever is lost on the way."""

import os
import signal
import time
from pathlib import Path

import pytest

from nmt.errors import UserError
from nmt.ray_map import MAX_RETRIES, RayMap

pytestmark = [pytest.mark.slow, pytest.mark.timeout(240)]


@pytest.fixture(autouse=True)
def no_cluster(monkeypatch):
    monkeypatch.delenv("RAY_ADDRESS", raising=False)


def test_results_are_in_order_and_no_more_is_read_than_is_needed(tmp_path):
    def load(folder):
        (Path(folder) / str(os.getpid())).touch()

        def compute(item):
            time.sleep(0.4 if item == 0 else 0.01)  # the first is the last to be done
            return item, os.getpid(), os.environ["OMP_NUM_THREADS"]

        return compute

    asked = []

    def items():
        for item in range(60):
            asked.append(item)
            yield item

    with RayMap(load, str(tmp_path), 2, may_have_gpus=False, key="workers") as ray:
        found = []
        for result in ray.map(items()):
            assert len(asked) - len(found) <= 9
            found.append(result)
        assert list(ray.map([])) == []
        assert [result[0] for result in ray.map([7])] == [7]
    assert [result[0] for result in found] == list(range(60))
    assert {result[2] for result in found} == {"1"}
    processes = {result[1] for result in found}
    assert len(processes) == 2
    assert {path.name for path in tmp_path.iterdir()} == set(map(str, processes)), "each loads once"
    assert os.getpid() not in processes


def test_the_items_of_actors_that_are_killed_are_computed_again(tmp_path):
    def load(folder):
        def compute(item):
            marker = Path(folder) / f"killed-{item}"
            if item in (3, 11) and not marker.exists():
                marker.touch()
                os.kill(os.getpid(), signal.SIGKILL)
            return 2 * item

        return compute

    with RayMap(load, str(tmp_path), 2, may_have_gpus=False, key="workers") as ray:
        assert list(ray.map(range(30))) == [2 * item for item in range(30)]
    assert len(list(tmp_path.iterdir())) == 2


def test_an_item_that_kills_whoever_computes_it_ends_all(tmp_path):
    def load(folder):
        def compute(item):
            if item == 2:
                with open(Path(folder) / "tries", "a") as file:
                    file.write("x")
                os.kill(os.getpid(), signal.SIGKILL)
            return item

        return compute

    with (
        pytest.raises(
            UserError, match=r"^workers: processes that stay are needed; one was lost more than 3 times"
        ),
        RayMap(load, str(tmp_path), 1, may_have_gpus=False, key="workers") as ray,
    ):
        list(ray.map(range(5)))
    # A retry that reaches an actor before it has restarted leaves no mark.
    assert 2 <= len((tmp_path / "tries").read_text()) <= 1 + MAX_RETRIES


def test_each_item_ends_for_itself_however_slow_or_deadly_another_is(tmp_path):
    def load(folder):
        def compute(item):
            if item == 0:
                while len(list(Path(folder).iterdir())) < 17:  # all others but those that fail
                    time.sleep(0.01)
            elif item == 5:
                os.kill(os.getpid(), signal.SIGKILL)
            elif item == 6:
                raise OSError("no room")
            (Path(folder) / str(item)).touch()

        return compute

    with RayMap(load, str(tmp_path), 2, may_have_gpus=False, key="sweep.at_once") as ray:
        errors = {item: str(error) for item, error in ray.run_each(range(20)) if error is not None}
    assert errors.keys() == {5, 6}
    assert errors[5].startswith(
        "sweep.at_once: processes that stay are needed; one was lost more than 3 times"
    )
    assert "no room" in errors[6]
    assert {path.name for path in tmp_path.iterdir()} == set(map(str, range(20))) - {"5", "6"}


@pytest.mark.parametrize("fails_to_load", [False, True])
def test_what_is_wrong_is_said_as_by_one_process(fails_to_load):
    def load(message):
        def compute(item):
            raise UserError(message)

        return compute(0) if fails_to_load else compute

    with (
        pytest.raises(UserError, match="run: a run is needed; got none"),
        RayMap(load, "run: a run is needed; got none", 1, may_have_gpus=False, key="workers") as ray,
    ):
        list(ray.map([1]))


def test_more_processes_than_there_are_cores_are_refused():
    with pytest.raises(
        UserError, match=r"^workers: at most the [0-9]+ CPUs of the cluster are needed; got 9999"
    ):
        RayMap(print, None, 9999, may_have_gpus=True, key="workers")


def test_a_cluster_that_is_not_there_is_said_in_one_line(monkeypatch):
    monkeypatch.setenv("RAY_ADDRESS", "127.0.0.1:1")
    with pytest.raises(
        UserError, match=r"^RAY_ADDRESS: a Ray cluster that answers is needed; got 127.0.0.1:1: "
    ):
        RayMap(print, None, 1, may_have_gpus=False, key="workers")
