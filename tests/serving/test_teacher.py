"""A student of a server: nmt serve translates for it as the run itself does."""

from nmt.cli.compose import compose
from nmt.decoding.chunks import Chunk
from nmt.distillation.remote import RemoteTeacher
from nmt.distillation.teachers import RunTeacher


def test_a_run_that_is_served_teaches_as_the_run_does(start, trained_run, tmp_path):
    lines = ["der Hund schläft", "", "die Katzen sehen den alten Mann nicht", "ich"]
    typed = ["student=none", "data=grammar", "distillation.source_language=de", "distillation.target_language=en",
             "distillation.num_hypotheses=2", "device=cpu", "precision=float32"]  # fmt: skip
    own = RunTeacher(compose("distil", [f"teacher={trained_run}", *typed], None).settings())
    with start(tmp_path, f"run={trained_run}") as server:
        served = RemoteTeacher(compose("distil", [f"teacher={server.url}", *typed], None).settings())
        assert served.translate(Chunk(lines, 0)) == [
            [" ".join(text.split()) for text in texts] for texts in own.translate(Chunk(lines, 0))
        ]
