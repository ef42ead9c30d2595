"""Adjectives, adverbs, times, names and numbers of the grammar.

Adjectives: lemma (and stem for endings, `teuer/teur`) | English | rank and classes described | comparatives.
Two adjectives stand in the order of their ranks. A `trait` is a lasting quality of people, a `state` a
passing one, which can be a reason for what they do. An indented line continues the one above.
"""

ADJECTIVES = """
nett | nice | 1 trait
freundlich | friendly | 1 trait | freundlicher friendlier
klug | smart | 1 trait | klüger smarter
fleißig | hard-working | 1 trait | fleißiger more hard-working
höflich | polite | 1 character | höflicher more polite
faul | lazy | 1 character | fauler lazier
mutig | brave | 1 character | mutiger braver
geduldig | patient | 1 character | geduldiger more patient
fröhlich | cheerful | 1 character | fröhlicher more cheerful
ehrlich | honest | 1 character | ehrlicher more honest
streng | strict | 1 teacher | strenger stricter
berühmt | famous | 1 artist | berühmter more famous
müde/müd | tired | 1 state
krank | sick | 1 state
glücklich | happy | 1 state
traurig | sad | 1 state
hungrig | hungry | 1 state
durstig | thirsty | 1 state
zufrieden | satisfied | 1 state
nervös | nervous | 1 state
wütend | angry | 1 state
jung | young | 3 stranger pet | jünger younger
alt | old | 3 stranger pet tame tool furniture device building vehicle settlement print clothing | älter older
groß | big | 2 pet tame wild vehicle furniture building room vessel park settlement toy parcel | größer bigger
klein | small | 2 small pet vehicle furniture building room vessel settlement toy parcel | kleiner smaller
neu | new | 3 vehicle furniture device building tool clothing song film | neuer newer
schön | beautiful | 1 image landmark clothing park nature flower song settlement | schöner more beautiful
hässlich | ugly | 1 furniture clothing vessel | hässlicher uglier
teuer/teur | expensive | 1 vehicle furniture device tool clothing lodging | teurer more expensive
billig | cheap | 1 vehicle furniture device clothing lodging | billiger cheaper
schwer | heavy | 2 vessel parcel furniture | schwerer heavier
kaputt | broken | 3 device
schmutzig | dirty | 3 clothing vehicle room window
rot | red | 4 clothing vehicle flower vessel toy
blau | blue | 4 clothing vehicle vessel toy fragile
grün | green | 4 clothing vehicle furniture
gelb | yellow | 4 clothing flower toy
weiß | white | 4 clothing vehicle flower furniture pet
schwarz | black | 4 clothing vehicle pet vessel
braun | brown | 4 tame furniture vessel
grau | gray | 4 clothing
lang | long | 2 letter film
kurz | short | 2 letter film
interessant | interesting | 1 text show topic sight | interessanter more interesting
spannend | exciting | 1 tale show
lustig | funny | 1 tale show
wichtig | important | 1 topic contract | wichtiger more important
schwierig | difficult | 1 puzzle question | schwieriger more difficult
einfach | easy | 1 puzzle question | einfacher easier
gut | good | 1 text show diner work
frisch | fresh | 3 sliced baked fruit
süß | sweet | 1 fruit | süßer sweeter
lecker | delicious | 1 dish baked
heiß | hot | 2 hot
kalt | cold | 2 cold
bequem | comfortable | 1 seat | bequemer more comfortable
hell | bright | 3 room
dunkel/dunkl | dark | 3 room
ruhig | quiet | 1 park settlement
laut | loud | 1 dog
modern | modern | 3 building
gefährlich | dangerous | 1 wild | gefährlicher more dangerous
schnell | fast | 1 vehicle | schneller faster
"""

MANNERS = """
langsam | slowly
schnell | quickly
laut | loudly
leise | quietly
vorsichtig | carefully
geduldig | patiently
höflich | politely
allein | alone
"""

FREQUENCIES = """
oft | often
manchmal | sometimes
selten | rarely
nie | never
meistens | usually
"""

COMMENTS = """
natürlich | of course,
"""

HABITS = """
jeden Tag | every day
jeden Morgen | every morning
jeden Abend | every evening
am Wochenende | on weekends
abends | in the evening
montags | on Mondays
freitags | on Fridays
sonntags | on Sundays
nach der Arbeit | after work
nach dem Frühstück | after breakfast
vor dem Abendessen | before dinner
"""

PAST_TIMES = """
gestern | yesterday
gestern Abend | yesterday evening
heute Morgen | this morning
"""

DAYS_AGO = """
vorgestern | the day before yesterday
letzten Sonntag | last Sunday
am Samstag | on Saturday
"""

LONG_AGO = """
letzte Woche | last week
vor drei Tagen | three days ago
letztes Jahr | last year
letzten Monat | last month
letzten Sommer | last summer
vor zwei Jahren | two years ago
vor einer Woche | a week ago
vor einem Monat | a month ago
"""

RECENT_ADVERBS = """
schon | already
gerade | just
"""

COMING_TIMES = """
morgen | tomorrow
morgen Abend | tomorrow evening
"""

DAYS_AHEAD = """
übermorgen | the day after tomorrow
am Freitag | on Friday
am Samstag | on Saturday
"""

LATER = """
nächste Woche | next week
nächstes Jahr | next year
nächsten Monat | next month
nächsten Sommer | next summer
in zwei Wochen | in two weeks
im Juli | in July
"""

NAMES = """
Anna | Anna | person adult female
Maria | Maria | person adult female
Julia | Julia | person adult female
Lena | Lena | person adult female
Sophie | Sophie | person adult female
Peter | Peter | person adult male
Paul | Paul | person adult male
Martin | Martin | person adult male
Jan | Jan | person adult male
Daniel | Daniel | person adult male
Berlin | Berlin | city settlement
Hamburg | Hamburg | city settlement
München | Munich | city settlement
Köln | Cologne | city settlement
Wien | Vienna | city settlement
Paris | Paris | city settlement
London | London | city settlement
Rom | Rome | city settlement
Deutschland | Germany | country
Italien | Italy | country
Spanien | Spain | country
Frankreich | France | country
Österreich | Austria | country
"""

NUMBERS = """
zwei | two
drei | three
vier | four
"""

CONJUNCTIONS = """
weil | because
obwohl | although
wenn | when
als | when
während | while
bevor | before
nachdem | after
sobald | as soon as
dass | that
ob | whether
warum | why
um | in order to
zu | to
und | and
denn | because
deshalb | so
"""
