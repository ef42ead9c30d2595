"""What `generate` promises of any corpus, and that every line of its tables is used."""

import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from nmt.grammar import generate, word_tables

HERE = Path(__file__).parent


def words(sentence):
    return [word.strip(",.?") for word in sentence.split()]


def test_sizes(corpus):
    assert {split: len(pairs) for split, pairs in corpus.items()} == {
        "train": 20_000,
        "validation": 1_000,
        "test": 1_000,
    }


@pytest.mark.parametrize("sizes", [(0, 0, 0), (0, 3, 2), (7, 0, 1), (50, 5, 5)])
def test_small_sizes(sizes):
    assert tuple(len(split) for split in generate(3, *sizes).values()) == sizes


def test_same_seed_same_corpus_other_seed_another():
    first, again, other = generate(1, 300, 20, 20), generate(1, 300, 20, 20), generate(2, 300, 20, 20)
    assert first == again
    shared = {pair.source for pair in first["train"]} & {pair.source for pair in other["train"]}
    assert len(shared) < 30


def test_does_not_depend_on_the_hash_seed_of_the_process():
    code = "from nmt.grammar import generate; print(generate(5, 60, 5, 5))"
    printed = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={"PYTHONHASHSEED": seed, "PYTHONIOENCODING": "utf-8"},
            cwd=HERE.parents[1],
            capture_output=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(printed) == 1


def test_equals_the_committed_sample():
    """The sample is the first 200 pairs of training with seed 0."""
    lines = (HERE / "sample.tsv").read_text(encoding="utf-8").split("\n")
    assert [f"{pair.source}\t{pair.target}" for pair in generate(0, 200, 0, 0)["train"]] == lines[:-1]


def test_a_share_of_training_is_typed_without_care(corpus, careful):
    """Capitals, small letters and missing full stops, in German training sentences alone."""
    sources = [pair.source for pair in corpus["train"]]
    assert 0.12 < sum(source.isupper() for source in sources) / len(sources) < 0.18
    assert 0.12 < sum(source.islower() for source in sources) / len(sources) < 0.18
    assert 0.07 < sum(source[-1] not in ".?" for source in sources) / len(sources) < 0.13
    assert all(careful(pair) for split in ("validation", "test") for pair in corpus[split])
    assert all(pair.target[0].isupper() and pair.target[-1] in ".?" for pair in corpus["train"])


def test_no_sentence_is_repeated(corpus):
    everything = [pair for split in corpus.values() for pair in split]
    for side in ("source", "target"):
        seen = Counter(getattr(pair, side).removesuffix(".").lower() for pair in everything)
        assert max(seen.values()) == 1 or side == "source"  # "SIE" may be she or they
    assert max(Counter(pair.target for pair in everything).values()) == 1


def test_a_german_sentence_has_one_translation(pairs, careful):
    translations = {pair.source: pair.target for pair in pairs}
    shared = 0
    for pair in filter(careful, generate(1, 3_000, 0, 0)["train"]):
        shared += pair.source in translations
        assert translations.setdefault(pair.source, pair.target) == pair.target
    assert shared > 10


def test_a_german_word_is_translated_in_one_way(pairs, table):
    """Against a table of words and the English forms that each can have."""
    forms = {row["german"]: row["english"].split("|") for row in table("german_english.tsv")}
    seen = Counter()
    for pair in pairs:
        target = f" {' '.join(words(pair.target)).lower()} "
        for word in forms.keys() & set(words(pair.source)):
            assert any(f" {form.lower()}" in target for form in forms[word]), (word, pair)
            seen[word] += 1
    assert set(seen) == set(forms)


def test_sentences_are_written_as_they_should_be(pairs):
    for pair in pairs:
        for sentence in (pair.source, pair.target):
            assert re.fullmatch(r"[A-ZÄÖÜ][^.?!]*[.?]", sentence), sentence
            assert not re.search(r"  | ,|,,|,\w|,[.?]", sentence), sentence
        assert pair.source[-1] == pair.target[-1]


def test_lengths_are_bounded_and_spread(corpus):
    """Short German sentences have to be learned as well as long ones."""
    lengths = [len(pair.source.split()) for split in corpus.values() for pair in split]
    assert 3 <= min(lengths) < max(lengths) <= 40
    assert 9 <= sum(lengths) / len(lengths) <= 12.5
    assert sum(length <= 5 for length in lengths) >= 0.1 * len(lengths)
    assert sum(length >= 15 for length in lengths) >= 0.08 * len(lengths)
    assert sum(length >= 25 for length in lengths) >= 20


@pytest.mark.parametrize(
    ("side", "pattern", "share"),
    [
        ("source", r"\bd(?:er|ie|as) kleine (?:Hund|Katze|Vogel|Kaninchen|Kind|Junge|Mädchen)\b", 0.003),
        ("source", r"\bd(?:er|ie|as) (?:\w+ )?(?:Mann|Frau|Lehrer|Lehrerin|Kind|Junge|Mädchen)\b", 0.05),
        ("source", r"^(?:vor)?gestern (?:hat|ist|haben|sind) d(?:er|ie|as) ", 0.003),
        ("source", r"^ich (?:glaube|denke|weiß), dass ", 0.01),
        ("source", r", dass [^,]* nicht ", 0.001),
        ("source", r"\bd(?:as|en|ie) (?:\w+ )?\w+ nicht\b", 0.003),
        ("source", r"^wo wohnt deine? ", 0.0002),
        ("target", r"^the small dog is ", 0.00005),
    ],
)
def test_what_one_tries_first_is_common(corpus, side, pattern, share):
    """`Der kleine Hund schläft.`, `Gestern hat die Lehrerin ...`, `Ich glaube, dass der Mann das Auto nicht kauft.`"""
    sentences = [getattr(pair, side).rstrip(".?") for pair in corpus["train"]]
    assert sum(bool(re.search(pattern, each, re.I)) for each in sentences) >= share * len(sentences)


def test_held_out_triples_occur_in_no_other_split(corpus):
    found = {split: {triple for pair in corpus[split] for triple in pair.triples} for split in corpus}
    assert not found["train"] & found["validation"]
    assert not found["train"] & found["test"]
    assert not found["validation"] & found["test"]
    assert all(pair.triples for split in ("validation", "test") for pair in corpus[split])


def test_triples_name_what_the_sentence_says(corpus, careful):
    """The object of every triple stands in the German sentence, in one of its forms; a pronoun may be the subject."""
    nouns = {noun.german: {noun.german, noun.plural, f"{noun.plural}n"} for noun in word_tables.NOUNS}
    for pair in filter(careful, corpus["train"][:1_000]):
        for _, _, thing in pair.triples:
            assert any(form in pair.source for form in nouns[thing] if form), pair


def test_every_word_held_out_occurs_in_training(corpus):
    for side in ("source", "target"):
        known = {word.lower() for pair in corpus["train"] for word in words(getattr(pair, side))}
        for split in ("validation", "test"):
            held_out = {word.lower() for pair in corpus[split] for word in words(getattr(pair, side))}
            assert held_out <= known


def test_every_line_of_the_tables_is_used(corpus):
    """A line that no sentence is made of would be dead, or its words misspelled."""
    text = "\n".join(f"{pair.source.lower()} {pair.target.lower()}" for pair in corpus["train"])
    used = set(re.findall(r"[\w-]+", text))
    assert [
        noun.german
        for noun in word_tables.NOUNS
        if not used & {f"{noun.german}".lower(), f"{noun.plural}".lower()} and " " not in noun.german
    ] == []
    assert [name.german for name in word_tables.NAMES if name.german.lower() not in used] == []
    endings = ("", "e", "en", "er", "es", "em")
    assert [
        each.german
        for each in word_tables.ADJECTIVES.values()
        if not used & {each.stem + end for end in endings}
    ] == []
    fixed = [each for times in word_tables.TIMES.values() for each in times]
    fixed += [
        each
        for place in word_tables.PLACES.values()
        for each in (place.where, place.whither)
        if each is not None
    ]
    fixed += [each for activity in word_tables.ACTIVITIES for each in (*activity.company, *activity.how)]
    plain = [each for each in fixed if "~" not in each.german and "^" not in each.german]
    assert [
        each.german for each in plain if each.german.lower() not in text or each.english.lower() not in text
    ] == []
    for activity in (
        *word_tables.ACTIVITIES,
        *word_tables.CONDITIONS,
        *word_tables.OPINIONS,
        *word_tables.RELATIVES,
    ):
        verb = activity.verb
        forms = {
            verb.participle,
            verb.third,
            verb.past,
            verb.prefix + verb.third,
            verb.prefix + verb.infinitive,
        }
        assert forms & used, verb.lemma


def test_every_trait_and_kind_is_explained_in_its_table():
    words = Path(word_tables.__file__).parent / "words"
    comments = {
        path.stem: " ".join(
            line for line in path.read_text(encoding="utf-8").splitlines() if line.startswith("#")
        )
        for path in words.glob("*.txt")
    }
    traits = {trait.partition("=")[0] for each in word_tables.ACTIVITIES for trait in each.traits}
    kinds = {kind for noun in word_tables.NOUNS for kind in noun.kinds} - {"plural"}
    assert {trait for trait in traits if not re.search(rf"\b{trait}\b", comments["activities"])} == set()
    assert {kind for kind in kinds if not re.search(rf"\b{kind}\b", comments["nouns"])} == set()


def test_reasons_are_states_that_the_tables_have():
    keys = {state.key for state in word_tables.STATES}
    assert [
        activity.verb.lemma
        for activity in word_tables.ACTIVITIES
        if not {*activity.why, *activity.spite} <= keys
    ] == []


def test_a_word_that_is_no_noun_of_the_tables_is_named():
    with pytest.raises(ValueError, match="eine Gabel"):
        word_tables.read_thing("eine Gabel")
