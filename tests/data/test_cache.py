"""A cache entry is made once, however many processes ask for it at once, and made again where it was damaged."""

import errno
import fcntl
import itertools
import json
import os
import re
import resource
import signal
import stat
import subprocess
import sys
import tempfile
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from faults import fail_at_call

from nmt.config import TokenizerSettings
from nmt.data import cache
from nmt.data.arrays import on_disk
from nmt.data.cache import cache_folder, cached_folder
from nmt.data.corpus import ParallelText
from nmt.data.dataset import load_dataset
from nmt.data.tokenizer import obtain_tokenizer
from nmt.errors import DataError

TEXT = ParallelText(["a b c", "d e", "f g h i j", "k", "a c e g"] * 9, ["x y", "z", "u v", "y z", "v w"] * 9)
LETTERS = TokenizerSettings(
    kind="char", vocabulary_size=40, joint=True, character_coverage=1.0, byte_fallback=False,
    normalization="identity", model=None,
)  # fmt: skip
ASK = """
import pathlib, sys, time
from nmt.data.cache import cached_folder

def make(folder):
    with open(sys.argv[1], "a") as file:
        file.write("made\\n")
    time.sleep(1)
    (folder / "content").write_text("whole")

print((cached_folder("slow", make) / "content").read_text())
"""


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """Return the folder of a cache of its own."""
    monkeypatch.setenv("NMT_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def ids():
    """Return the tokenizer's model, and the ids and offsets of both sides, as the cache has them."""
    tokenizer = obtain_tokenizer(LETTERS, TEXT)
    dataset = load_dataset(TEXT, tokenizer)
    sides = (dataset.source, dataset.target)
    return tokenizer.source.model, [(side.tokens.tolist(), side.offsets.tolist()) for side in sides]


def whole(folder):
    (folder / "content").write_text("whole")


def flip(path, place=-3):
    content = bytearray(path.read_bytes())
    content[place] ^= 1
    path.write_bytes(content)


def move_an_offset(entry):
    offsets = np.fromfile(entry / "target.offsets", np.int64)
    offsets[4] += 1
    offsets.tofile(entry / "target.offsets")


def cut(entry):
    os.truncate(entry / "source.tokens", 140)


def empty(entry):
    for path in entry.iterdir():
        path.unlink()


DAMAGE = {
    "a bit of an id": lambda entry: flip(entry / "target.tokens"),
    "an offset": move_an_offset,
    "a file cut": cut,
    "a file empty": lambda entry: os.truncate(entry / "source.offsets", 0),
    "a file missing": lambda entry: (entry / "target.offsets").unlink(),
    "the manifest missing": lambda entry: (entry / "manifest.json").unlink(),
    "the manifest torn": lambda entry: os.truncate(entry / "manifest.json", 30),
    "the manifest a list": lambda entry: (entry / "manifest.json").write_text("[]"),
    "the folder empty": empty,
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_damaged_ids_are_made_again_and_that_is_said(folder, damage, caplog):
    made = ids()
    (entry,) = folder.glob("dataset-*")
    DAMAGE[damage](entry)
    assert ids() == made
    (line,) = caplog.messages
    assert line.startswith(f"cache        {entry} was damaged (")
    assert line.endswith("); it was made again")
    assert ids() == made
    assert len(caplog.messages) == 1, "it is whole now"
    assert not list(folder.glob(".*")), "nothing is left of what was damaged"


@pytest.mark.parametrize(
    "damage", [flip, lambda path: os.truncate(path, 99), lambda path: os.truncate(path, 0)]
)
def test_a_damaged_tokenizer_is_made_again_and_that_is_said(folder, damage, caplog):
    made = ids()
    (entry,) = folder.glob("tokenizer-*")
    damage(entry / "content")
    assert ids() == made
    (line,) = caplog.messages
    assert line.startswith(f"cache        {entry} was damaged (content: ")


def test_training_on_a_damaged_cache_ends_as_on_a_good_one(
    nmt, folder, tiny_training, tmp_path, outcome, changed_files
):
    small = [*tiny_training("rnn"), "data.num_train=80", "data.num_validation=2", "data.num_test=2"]
    small += ["tokenizer.vocabulary_size=90", "training.max_updates=1", "decoding.beam_size=1"]
    nmt("train", "run=good", *small)
    entries = sorted(folder.iterdir())
    for entry in entries:
        flip(entry / ("content" if entry.name.startswith("tokenizer-") else "target.tokens"))
    done = nmt("train", "run=other", *small)
    said = [line for line in done.stderr.decode().split("\n") if "was damaged" in line]
    assert sorted(line.split()[1] for line in said) == list(map(str, entries))
    assert changed_files(outcome(tmp_path / "good"), outcome(tmp_path / "other")) == []


@pytest.mark.parametrize("is_damaged", [False, True])
def test_several_processes_make_it_once(tmp_path, folder, is_damaged):
    if is_damaged:
        flip(cached_folder("slow", whole) / "content")
    processes = [
        subprocess.Popen([sys.executable, "-c", ASK, str(tmp_path / "log")], stdout=subprocess.PIPE)
        for _ in range(4)
    ]
    assert [process.communicate(timeout=60)[0] for process in processes] == [b"whole\n"] * 4
    assert (tmp_path / "log").read_text() == "made\n"
    assert [path.name for path in folder.iterdir()] == ["slow"]


def test_what_a_killed_process_had_begun_is_removed(folder):
    killed = "import os; from nmt.data.cache import cached_folder; cached_folder('thing', lambda entry: os.abort())"
    assert subprocess.run([sys.executable, "-c", killed], capture_output=True).returncode == -signal.SIGABRT
    assert len([path for path in folder.iterdir() if path.is_dir()]) == 1
    cached_folder("another", whole)
    assert len([path for path in folder.iterdir() if path.is_dir()]) == 2, "it may still be wanted"
    cached_folder("thing", whole)
    assert {path.name for path in folder.iterdir()} == {"thing", "another"}


def test_without_locks_each_has_a_whole_one(folder, monkeypatch):
    """Two processes make one entry at once: the later one does not fail, and the entry is whole."""
    monkeypatch.setattr(
        cache.fcntl, "flock", lambda *_: (_ for _ in ()).throw(OSError(errno.ENOLCK, "no locks"))
    )

    faster = []

    def make(entry):
        made = cached_folder("thing", whole)  # the other process, which is faster
        faster.append((made / "content").stat().st_ino)
        whole(entry)

    found = cached_folder("thing", make) / "content"
    assert found.read_text() == "whole"
    assert found.stat().st_ino == faster[0], "what the other process may have open stays"
    assert [path.name for path in folder.iterdir()] == ["thing"]


def test_a_file_system_that_locks_only_what_may_be_written_has_locks(folder, monkeypatch):
    """As NFS does since Linux 2.6.12, flock(2)."""
    flock = fcntl.flock

    def of_nfs(descriptor, operation):
        if fcntl.fcntl(descriptor, fcntl.F_GETFL) & os.O_ACCMODE == os.O_RDONLY:
            raise OSError(errno.EBADF, os.strerror(errno.EBADF))
        flock(descriptor, operation)

    monkeypatch.setattr(cache.fcntl, "flock", of_nfs)
    with cache.alone(folder, "thing") as is_locked:
        assert is_locked


def test_who_fails_leaves_it_to_the_next(folder):
    def fail(entry):
        whole(entry)
        raise ValueError("no text")

    with pytest.raises(ValueError, match="no text"):
        cached_folder("thing", fail)
    assert not list(folder.iterdir())
    assert cached_folder("thing", whole) == folder / "thing"


@contextmanager
def room_for(num_bytes):
    """Let no file grow beyond some bytes, as a full disk does."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (num_bytes, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.mark.parametrize("num_bytes", [20, 200, 700])
def test_a_full_disk_is_said_in_one_line(folder, num_bytes):
    """The disk fills up while the tokenizer, the ids or their offsets are written."""
    with room_for(num_bytes), pytest.raises(DataError) as caught:
        ids()
    message = str(caught.value)
    assert message.startswith("NMT_CACHE: a folder that can be written, and room in it, is needed; got ")
    assert message.endswith("; NMT_CACHE=FOLDER names another")
    assert "\n" not in message
    assert not list(folder.glob(".*"))
    assert ids() == ids()


def test_an_array_on_disk_has_its_room_from_the_start(tmp_path, monkeypatch):
    """A write into a hole of a mapped file, on a full disk, would kill the process."""
    opened, original = [], tempfile.TemporaryFile

    def open_it(**options):
        file = original(**options)
        opened.append(os.dup(file.fileno()))
        return file

    monkeypatch.setattr(tempfile, "TemporaryFile", open_it)
    size = (1 << 18) + 3
    array = on_disk(size, tmp_path)
    assert os.fstat(opened[0]).st_blocks * 512 >= 8 * size
    os.close(opened[0])
    array[:] = np.arange(size)
    assert (len(array), int(array[-1])) == (size, size - 1)
    assert not list(tmp_path.iterdir())
    with room_for(100), pytest.raises(OSError, match="File too large"):
        on_disk(size, tmp_path)


def test_without_a_home_the_cache_has_to_be_named(monkeypatch, tmp_path):
    def no_home():
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr(Path, "home", no_home)
    assert cache_folder() == tmp_path / "cache"
    monkeypatch.delenv("NMT_CACHE")
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    with pytest.raises(
        DataError, match=r"^NMT_CACHE: a folder is needed where the user has no home; got none$"
    ):
        cache_folder()


@pytest.mark.parametrize("call", ["fsync", "rename", "mkdir", "open", "replace"])
def test_what_fails_anywhere_leaves_nothing_half_made(folder, call, monkeypatch):
    messages = []
    for number in itertools.count(1):
        with monkeypatch.context() as patch, suppress_data_error(messages):
            calls = fail_at_call(patch, call, number)
            cached_folder(f"thing-{number}", whole)
        assert not list(folder.glob(".thing*"))
        assert (cached_folder(f"thing-{number}", whole) / "content").read_text() == "whole"
        if len(calls) < number:
            break
    assert messages
    assert all(": No space left on device; NMT_CACHE=FOLDER names another" in message for message in messages)


@contextmanager
def suppress_data_error(messages):
    try:
        yield
    except DataError as error:
        messages.append(str(error))


def test_damage_that_cannot_be_mended_is_said_in_one_line(folder, monkeypatch, caplog):
    flip(cached_folder("thing", whole) / "content")

    def read_only(path, flags, *rest, original=os.open, **options):
        if flags & (os.O_CREAT | os.O_WRONLY | os.O_RDWR):
            raise OSError(errno.EROFS, "Read-only file system", str(path))
        return original(path, flags, *rest, **options)

    monkeypatch.setattr(os, "open", read_only)
    with pytest.raises(DataError) as caught:
        cached_folder("thing", whole)
    assert re.fullmatch(
        "NMT_CACHE: a folder that can be written, and room in it, is needed; "
        f"got {folder}/.thing.lock: Read-only file system; {folder}/thing is damaged "
        r"\(content: SHA-256 [0-9a-f]{12} in place of [0-9a-f]{12}\); NMT_CACHE=FOLDER names another",
        str(caught.value),
    )
    assert caplog.messages == []


def test_what_has_its_name_was_flushed_before(folder, monkeypatch):
    flushed, original = set(), os.fsync

    def fsync(descriptor):
        flushed.add(os.fstat(descriptor).st_ino)
        original(descriptor)

    def rename(source, target, original=os.rename):
        if Path(target).name == "thing":
            inside = [Path(source), *Path(source).iterdir()]
            assert {path.name for path in inside[1:]} == {"content", "manifest.json"}
            assert {path.stat().st_ino for path in inside} <= flushed
            flushed.clear()
        original(source, target)

    monkeypatch.setattr(os, "fsync", fsync)
    monkeypatch.setattr(os, "rename", rename)
    cached_folder("thing", whole)
    assert flushed == {folder.stat().st_ino}, "and its name after"


@pytest.mark.parametrize(
    ("number", "is_refused"), [(errno.EINVAL, False), (errno.ENOTSUP, False), (errno.EIO, True)]
)
def test_a_file_system_that_cannot_flush_a_folder_holds_a_cache_and_a_broken_disk_does_not(
    number, is_refused, folder, monkeypatch
):
    original = os.fsync

    def fsync(descriptor):
        if stat.S_ISDIR(os.fstat(descriptor).st_mode):
            raise OSError(number, os.strerror(number))
        original(descriptor)

    monkeypatch.setattr(os, "fsync", fsync)
    if is_refused:
        with pytest.raises(DataError, match="NMT_CACHE: a folder that can be written"):
            cached_folder("thing", whole)
    else:
        assert (cached_folder("thing", whole) / "content").exists()


@pytest.mark.parametrize("umask", [0o002, 0o027, 0o077])
def test_who_shares_a_cache_says_the_umask(umask):
    before = os.umask(umask)
    try:
        entry = cached_folder("thing", whole)
    finally:
        os.umask(before)
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in [entry, *entry.iterdir()]}
    assert modes == {"thing": 0o777 & ~umask, "content": 0o666 & ~umask, "manifest.json": 0o666 & ~umask}


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("nmt.data.cache.FORMAT", 0),
        ("nmt.data.dataset.SENTENCEPIECE", "0"),
        ("nmt.data.tokenizer.SENTENCEPIECE", "0"),
    ],
)
def test_another_version_takes_no_entry_for_its_own(folder, monkeypatch, name, value):
    made = ids()
    before = {path.name for path in folder.iterdir()}
    monkeypatch.setattr(name, value)
    assert ids() == made
    assert {path.name for path in folder.iterdir()} > before


def test_the_manifest_says_what_is_there(folder):
    ids()
    (entry,) = folder.glob("dataset-*")
    described = json.loads((entry / "manifest.json").read_text())
    assert {name: facts["bytes"] for name, facts in described.items()} == {
        path.name: path.stat().st_size for path in entry.iterdir() if path.name != "manifest.json"
    }
