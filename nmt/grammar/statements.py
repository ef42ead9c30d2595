"""Random statements of one clause: what someone does, did, will do or wants to do, and habits."""

from nmt.grammar.meaning import Clause, NounPhrase, Pronoun, Sentence, replace, taken_up
from nmt.grammar.people import different, is_private, need
from nmt.grammar.scenes import Scenes
from nmt.grammar.word_tables import ACTIVITIES, STATES, TIMES, Activity, Fixed

GLADLY = Fixed("gern", "")
# Places of meals in the order of the day; nobody says of these that he likes to do them.
MEALS = (1, 2, 3, 10, 13)
# Traits of activities that may be negated, since they were expected.
EXPECTED = frozenset(("what", "when", "wish", "duty", "habit", "try", "state"))
# Activities of pets have statements of their own, since the tables have few of them.
ANIMALS = tuple(each for each in ACTIVITIES if {"Hund", "Katze"} & {*each.who})


class Teller(Scenes):
    """Makes statements of one clause."""

    def richness(self) -> float:
        """How many optional parts a sentence has: a random 0, 0.5 or 1."""
        return self.chance.weigh({0.0: 4, 0.5: 3, 1.0: 3})

    def statement(self) -> Sentence:
        """What someone does, did or will do."""
        rich, activity = self.richness(), self.chance.choose(ACTIVITIES)
        clause = self.told(activity, rich)
        clause = replace(clause, subject=self.with_relative(clause.subject, 0.1 + 0.25 * rich, activity))
        return Sentence(self.about_a_thing(clause, activity))

    def animal(self) -> Sentence:
        """What a dog or a cat does, in few words: `Der kleine Hund schläft.`"""
        activity = self.chance.choose(ANIMALS)
        tense = self.chance.weigh({"present": 0 if "done" in activity.traits else 3, "perfect": 2})
        clause = self.clause(activity, tense, rich=self.chance.choose((0.0, 0.0, 0.7)), trades=True)
        return Sentence(self.with_time(clause, activity, 0.2, 0.5))

    def about_a_thing(self, clause: Clause, activity: Activity) -> Clause:
        """The clause, perhaps with a relative clause at its object, where nothing else follows the object."""
        after = (clause.how, clause.company, clause.place, clause.time if clause.front != "time" else None)
        if "given" not in activity.traits or any(after) or clause.negated:
            return clause
        tense = "pluperfect" if clause.tense == "past" else "perfect"
        thing = self.with_history(clause.object, clause.subject, 0.5, tense)
        told_of = thing.relative if isinstance(thing, NounPhrase) else None
        if told_of and told_of.subject not in (taken_up(clause.subject), Pronoun.ME, Pronoun.WE):
            different(clause, told_of)
        return replace(clause, object=thing)

    def told(self, activity: Activity, rich: float, report: bool = False) -> Clause:
        """A clause in any tense, denied now and then, or with a modal verb."""
        chance, traits, known = self.chance, activity.traits, is_private(activity)
        if "state" in traits:
            tense = "past" if not report and "plain" not in traits and chance.happens(0.2) else "present"
            return self.denied(self.clause(activity, tense, rich=rich, trades=True), activity)
        # People plan what they do not do each day anyway.
        rare = not {"week", "year"}.isdisjoint(activity.when) or not traits.isdisjoint(("when", "how"))
        planned = rare and "unplanned" not in traits and (known or ("how" in traits and not activity.what))
        searching = activity.verb.english_preposition
        shares = {
            "perfect": 5.0,
            "past": 0.9 * (not report),
            "recent": 0.8 * (not (report or activity.how or searching or "regular" in traits)),
            "present": 5.0 * ("done" not in traits),
            "coming": 1.2 * planned,
            "future": 0.8 * planned,
            "modal": 2.2 * bool(activity.may and (known or not report)),
        }
        kind = chance.weigh(shares)
        if kind == "modal":
            return self.with_modal(activity, rich, report)
        tense = {"recent": "perfect", "coming": "present"}.get(kind, kind)
        ahead = kind in ("coming", "future")
        definite = not ahead and ("given" in traits or traits >= {"told", "what"}) and chance.happens(0.4)
        trades = not ahead or not activity.what
        clause = self.clause(activity, tense, rich=rich, trades=trades, definite=definite)
        if kind == "recent":
            need(clause.object is not None or activity.order >= 0)
            already, just = TIMES["any", "recent"]
            often = just if "unplanned" in traits else chance.choose((already, just))
            return replace(clause, often=often, place=None, company=None)
        if kind == "coming":
            clause = self.coming(clause, activity)
        share = {"perfect": 0.4 + 0.5 * rich, "present": 0.1 + 0.3 * rich, "future": 1.0}.get(tense, 0.5)
        return self.denied(self.with_time(clause, activity, share, 0.6), activity)

    def coming(self, clause: Clause, activity: Activity) -> Clause:
        """The clause, which is in the present, with a time in the future."""
        times = self.times(activity, "coming")
        need(times)
        return self.fronted(replace(clause, time=self.chance.choose(times)), 0.45)

    def with_modal(self, activity: Activity, rich: float, report: bool = False) -> Clause:
        """A clause with a modal verb, or `gern`."""
        chance, modal = self.chance, self.chance.choose(activity.may)
        need(not report or modal != "sollen")
        likable = modal == "wollen" and "habit" in activity.traits and activity.order not in MEALS
        if likable and not report and chance.happens(0.3):
            clause = self.clause(activity, "present", habit=True, rich=rich * 0.4)
            need(getattr(clause.object, "determiner", "") != "ein")
            return replace(clause, modal="gern", often=GLADLY)
        past = modal in ("müssen", "wollen", "dürfen") and chance.happens(0.25)
        clause = self.clause(activity, "past" if past else "present", rich=rich * 0.6, trades=True)
        clause = replace(clause, modal=modal, ongoing=False)
        if modal == "können":
            clause = replace(clause, company=None)
        elif "trifle" not in activity.traits:
            clause = self.with_time(clause, activity, 0.2 + 0.4 * rich, 0.45)
        return clause if past else self.denied(clause, activity)

    def denied(self, clause: Clause, activity: Activity) -> Clause:
        """The clause, sometimes with `nicht` or `kein`, unless it has a part that the negation would be about."""
        thing, tail, state = clause.object, activity.verb.tail, "state" in activity.traits
        determiner = thing.determiner if isinstance(thing, NounPhrase) else None
        unfit = (
            clause.recipient or clause.how or clause.place or clause.company,
            tail[:1].isupper() or tail.startswith(("das ", "ein", "kein", "viel")),
            isinstance(thing, NounPhrase) and determiner in ("", "ein") and thing.adjectives,
            state and isinstance(determiner, Pronoun),
            clause.modal in ("möchten", "sollen"),
            activity.traits >= {"unplanned", "what"},
            clause.time in TIMES["any", "now"] or (clause.tense == "past" and not (state or clause.modal)),
            clause.tense == "present" and not (thing or clause.time or clause.modal or state),
        )
        if any(unfit) or EXPECTED.isdisjoint(activity.traits):
            return clause
        return replace(clause, negated=self.chance.happens(0.4 if determiner == "der" else 0.14))

    def habit(self) -> Sentence:
        """What someone does again and again, and how often or when."""
        activity, rich = self.pick("habit"), self.richness() * 0.6
        clause = self.clause(activity, "present", habit=True, rich=rich)
        if activity.how and clause.how is None:
            clause = replace(clause, how=self.chance.choose(activity.how))
        countable = getattr(clause.object, "determiner", "") == "ein"
        if not countable and "regular" not in activity.traits and self.chance.happens(0.4):
            often = self.chance.choose(TIMES["any", "often" if clause.how is None else "mostly"])
            return Sentence(replace(clause, often=often))
        return Sentence(self.with_time(clause, activity, 1.0, 0.35))

    def state(self) -> Sentence:
        """How someone is."""
        state, past = self.chance.choose(STATES), self.chance.happens(0.25)
        clause = self.clause(state, "past" if past else "present", rich=0.3, trades=True)
        if state.when and (past or self.chance.happens(0.4)):
            time = TIMES["day", "past" if past else "now"][0]
            clause = self.fronted(replace(clause, time=time), 0.5 * past)
        return Sentence(self.denied(clause, state))
