"""Random questions."""

from collections.abc import Callable

from nmt.grammar.meaning import Clause, NounPhrase, Phrase, Pronoun, Sentence, replace
from nmt.grammar.scenes import PRIVATE, NoScene, Scenes, having, is_private, need, people
from nmt.grammar.tables import NAMES, PERSONS, STATES, Activity, Fixed

WHERE, WHITHER, WHEN, WHY = (
    Fixed(*pair.split()) for pair in ("wo where", "wohin where", "wann when", "warum why")
)  # fmt: skip
POLITE = [(modal, Pronoun.YOU) for modal in ("können", "wollen", "möchten")]
POLITE += [(modal, Pronoun.ME) for modal in ("dürfen", "sollen")]
# Of these one tells, and asks no question.
NOT_ASKED = (Pronoun.ME, Pronoun.WE, "ein")
WONDERED_AT = ("müde", "traurig", "nervös", "glücklich", "wach")


class Questioner:
    """Makes questions by chance."""

    def __init__(self, scenes: Scenes) -> None:
        self.scenes, self.chance = scenes, scenes.chance
        self.kinds: tuple[tuple[float, Callable[[], Clause]], ...] = (
            (5, self.yes_or_no),
            (3, self.polite),
            (3, self.who),
            (5, self.what),
            (3, self.where),
            (1, self.whither),
            (2, self.when),
            (3, self.why),
        )

    def question(self) -> Sentence:
        """A question of any kind."""
        return Sentence(self.chance.weigh(self.kinds)(), mark="?")

    def asked_of(self, activity: Activity, yours: float = 0.2) -> Phrase:
        """Who is asked about: mostly who is spoken to, or someone of theirs."""
        chance = self.chance
        kind = chance.weigh(((0.5, "you"), (yours, "yours"), (0.1, "name"), (0.2, "anyone")))
        match kind:
            case "you":
                return Pronoun.YOU
            case "yours":
                group = next(who for who in activity.who if who in PRIVATE)
                relatives = [each for each in people(group) if not {"one", "plural"} & each.kinds]
                return NounPhrase(chance.choose(relatives), Pronoun.YOU)
            case "name":
                return chance.choose(NAMES)
        subject = self.scenes.subject(activity, True)
        need(subject not in (Pronoun.ME, Pronoun.WE) and getattr(subject, "determiner", "") not in NOT_ASKED)
        return subject

    def plain(self, activity: Activity, tense: str, rich: float = 0.0) -> Clause:
        """A clause to ask about."""
        return self.scenes.clause(activity, tense, self.asked_of(activity), rich=rich)

    def yes_or_no(self) -> Clause:
        """`Hast du das Buch gelesen?`"""
        chance = self.chance
        if chance.happens(0.25):
            return replace(
                self.plain(chance.choose([each for each in STATES if is_private(each)]), "present"),
                front="verb",
            )
        activity = self.scenes.pick()
        ongoing = {"unplanned", "done"}.isdisjoint(activity.traits) and chance.happens(0.5)
        clause = self.plain(activity, "present" if ongoing or "state" in activity.traits else "perfect", 0.2)
        return replace(self.scenes.with_time(clause, activity, 0.25), front="verb")

    def polite(self) -> Clause:
        """`Kannst du mir helfen?`, `Möchtest du ins Kino gehen?`, `Darf ich ...?`"""
        modal, subject = self.chance.choose(POLITE)
        activity = self.chance.choose([each for each in having() if modal in each.may])
        clause = self.scenes.clause(activity, "present", subject, rich=0.2)
        clause = replace(clause, modal=modal, ongoing=False, front="verb")
        return self.scenes.with_time(clause, activity, 0.25)

    def who(self) -> Clause:
        """`Wer hat das Fenster zugemacht?`"""
        activity = self.scenes.pick(self.chance.choose(("what", "duty")))
        tense = "present" if "state" in activity.traits else "perfect"
        clause = self.scenes.clause(activity, tense, Pronoun.WHO, rich=0.1)
        if not isinstance(clause.object, NounPhrase) or clause.object.determiner == Pronoun.YOU:
            raise NoScene
        return self.scenes.with_time(clause, activity, 0.3)

    def what(self) -> Clause:
        """`Was liest du?`, `Wen hast du besucht?`, `Welches Buch hast du gekauft?`"""
        activity, chance = self.scenes.pick("what"), self.chance
        now = "state" in activity.traits or ("done" not in activity.traits and chance.happens(0.5))
        clause = replace(
            self.plain(activity, "present" if now else "perfect", 0.15), company=None, front="object"
        )
        thing, asked = clause.object, Pronoun.WHAT
        if not isinstance(thing, NounPhrase):
            raise NoScene
        if PERSONS & thing.noun.kinds:
            asked = Pronoun.WHO
        elif clause.verb.preposition:
            raise NoScene
        which = (
            asked == Pronoun.WHAT
            and thing.determiner == "ein"
            and thing.noun.adjectives
            and chance.happens(0.25)
        )
        clause = replace(clause, object=NounPhrase(thing.noun, "welch") if which else asked)
        return self.scenes.with_time(clause, activity, 0.25)

    def where(self) -> Clause:
        """`Wo wohnt deine Schwester?`"""
        activity = self.scenes.pick("where", lacking="state")
        if self.chance.happens(0.5):
            activity = self.scenes.pick("where", "state")
        now = "state" in activity.traits or ("lasts" in activity.traits and self.chance.happens(0.5))
        subject = self.asked_of(activity, 0.6 if "state" in activity.traits else 0.2)
        clause = self.scenes.clause(
            activity, "present" if now else "perfect", subject, rich=0.0, definite=True
        )
        ongoing = clause.ongoing and "habit" not in activity.traits
        return replace(clause, place=None, company=None, asked=WHERE, ongoing=ongoing)

    def whither(self) -> Clause:
        """`Wohin fährst du am Samstag?`"""
        activity = self.scenes.pick("when", lacking="done")
        if not activity.to:
            raise NoScene
        time = self.chance.choose((None, *self.scenes.times(activity, "coming")))
        return replace(self.plain(activity, "present"), to=None, asked=WHITHER, time=time)

    def when(self) -> Clause:
        """`Wann kommst du nach Hause?`"""
        clause = self.plain(self.scenes.pick("when"), self.chance.choose(("present", "perfect")))
        return replace(clause, asked=WHEN, how=None)

    def why(self) -> Clause:
        """`Warum weinst du?`"""
        if self.chance.happens(0.4):
            state = self.chance.choose([each for each in STATES if each.key in WONDERED_AT])
            return replace(self.plain(state, "present"), asked=WHY)
        activity = self.scenes.pick("wonder", trades=True)
        if not is_private(activity):
            clause = self.scenes.clause(activity, "present", rich=0.0)
            return replace(clause, asked=WHY, negated="state" in activity.traits)
        return replace(
            self.plain(activity, "perfect" if "done" in activity.traits else "present"), asked=WHY, how=None
        )
