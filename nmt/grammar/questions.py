"""Random questions."""

from nmt.grammar.meaning import Clause, NounPhrase, Phrase, Pronoun, Sentence, replace
from nmt.grammar.people import PRIVATE, SPEAKERS, is_private, need, people
from nmt.grammar.scenes import Scenes, having
from nmt.grammar.word_tables import NAMES, PERSONS, STATES, Activity, Fixed

KINDS = {"yes_or_no": 5, "polite": 3, "who": 3, "what": 5, "where": 3, "whither": 1, "when": 2, "why": 3}
WHERE, WHITHER = Fixed("wo", "where"), Fixed("wohin", "where")
WHEN, WHY = Fixed("wann", "when"), Fixed("warum", "why")
POLITE = [(modal, Pronoun.YOU) for modal in ("können", "wollen", "möchten")]
POLITE += [(modal, Pronoun.ME) for modal in ("dürfen", "sollen")]
# Speakers make statements about these, and ask no questions.
NOT_ASKED = (Pronoun.ME, Pronoun.WE, "ein")
MOODS = tuple(each for each in STATES if is_private(each))
WONDERED_AT = tuple(each for each in MOODS if each.key in ("müde", "traurig", "nervös", "glücklich", "wach"))


class Questioner(Scenes):
    """Makes questions."""

    def question(self) -> Sentence:
        """A question of any kind."""
        clause: Clause = getattr(self, self.chance.weigh(KINDS))()
        return Sentence(clause, mark="?")

    def asked_of(self, activity: Activity, yours: float = 0.2) -> Phrase:
        """The subject of a question: mostly the person spoken to, or a relative of theirs."""
        chance = self.chance
        match chance.weigh({"you": 0.5, "yours": yours, "name": 0.1, "anyone": 0.2}):
            case "you":
                return Pronoun.YOU
            case "yours":
                group = next(who for who in activity.who if who in PRIVATE)
                relatives = [each for each in people(group) if not {"one", "plural"} & each.kinds]
                return NounPhrase(chance.choose(relatives), Pronoun.YOU)
            case "name":
                return chance.choose(NAMES)
        subject = self.subject(activity)
        need(subject not in NOT_ASKED and getattr(subject, "determiner", "") not in NOT_ASKED)
        return subject

    def plain(self, activity: Activity, now: float, rich: float = 0.0, definite: bool = False) -> Clause:
        """A clause for a question: in the present with probability `now`, else in the perfect.

        States are always in the present; activities that are `done` or `unplanned` are not.
        """
        lasting = {"unplanned", "done"}.isdisjoint(activity.traits) and self.chance.happens(now)
        tense = "present" if lasting or "state" in activity.traits else "perfect"
        yours = 0.6 if activity.traits >= {"where", "state"} else 0.2
        return self.clause(activity, tense, self.asked_of(activity, yours), rich=rich, definite=definite)

    def yes_or_no(self) -> Clause:
        """`Hast du das Buch gelesen?`"""
        activity = self.chance.choose(MOODS) if self.chance.happens(0.25) else self.pick()
        clause = replace(self.plain(activity, 0.5, 0.2), front="verb")
        return clause if activity in MOODS else self.with_time(clause, activity, 0.25)

    def polite(self) -> Clause:
        """`Kannst du mir helfen?`, `Möchtest du ins Kino gehen?`, `Darf ich ...?`"""
        modal, subject = self.chance.choose(POLITE)
        activity = self.chance.choose([each for each in having() if modal in each.may])
        clause = self.clause(activity, "present", subject, rich=0.2)
        return self.with_time(replace(clause, modal=modal, ongoing=False, front="verb"), activity, 0.25)

    def who(self) -> Clause:
        """`Wer hat das Fenster zugemacht?`"""
        activity = self.pick(self.chance.choose(("what", "duty")))
        tense = "present" if "state" in activity.traits else "perfect"
        clause = self.clause(activity, tense, Pronoun.WHO, rich=0.1)
        need(isinstance(clause.object, NounPhrase) and clause.object.determiner != Pronoun.YOU)
        return self.with_time(clause, activity, 0.3)

    def what(self) -> Clause:
        """`Was liest du?`, `Wen hast du besucht?`, `Welches Buch hast du gekauft?`"""
        activity = self.pick("what")
        clause = replace(self.plain(activity, 0.5, 0.15), company=None, front="object")
        thing, asked = clause.object, Pronoun.WHAT
        if isinstance(thing, NounPhrase) and PERSONS & thing.noun.kinds:
            asked = Pronoun.WHO
        need(isinstance(thing, NounPhrase) and (asked == Pronoun.WHO or not clause.verb.preposition))
        said = replace(clause, object=asked)
        if isinstance(thing, NounPhrase) and thing.determiner == "ein" and asked == Pronoun.WHAT:
            which = thing.noun.adjectives and self.chance.happens(0.25)
            said = replace(clause, object=NounPhrase(thing.noun, "welch")) if which else said
        return self.with_time(said, activity, 0.25)

    def where(self) -> Clause:
        """`Wo wohnt deine Schwester?`"""
        living = self.chance.happens(0.5)
        activity = self.pick("where", "state") if living else self.pick("where", "lasts", lacking="habit")
        return replace(self.plain(activity, 0.5, definite=True), place=None, company=None, asked=WHERE)

    def whither(self) -> Clause:
        """`Wohin fährst du am Samstag?`"""
        activity = self.pick("when", lacking="done")
        need(activity.to)
        time = self.chance.choose((None, *self.times(activity, "coming")))
        return replace(self.plain(activity, 1.0), to=None, asked=WHITHER, time=time)

    def when(self) -> Clause:
        """`Wann kommst du nach Hause?`"""
        activity, tense = self.pick("when"), self.chance.choose(("present", "perfect"))
        clause = self.clause(activity, tense, self.asked_of(activity))
        # Nobody asks when he himself was visited: he knows.
        need(tense == "present" or {clause.object, clause.recipient}.isdisjoint(SPEAKERS))
        return replace(clause, asked=WHEN, how=None)

    def why(self) -> Clause:
        """`Warum weinst du?`"""
        if self.chance.happens(0.4):
            return replace(self.plain(self.chance.choose(WONDERED_AT), 1.0), asked=WHY)
        activity = self.pick("wonder", trades=True)
        if is_private(activity):
            return replace(self.plain(activity, 1.0), asked=WHY, how=None)
        clause = self.clause(activity, "present", trades=True)
        return replace(clause, asked=WHY, how=None, negated="state" in activity.traits)
