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
faul | lazy | 1 trait tame pet | fauler lazier
berühmt | famous | 1 adult | berühmter more famous
höflich | polite | 1 trait | höflicher more polite
mutig | brave | 1 trait | mutiger braver
geduldig | patient | 1 trait | geduldiger more patient
fröhlich | cheerful | 1 trait | fröhlicher more cheerful
ehrlich | honest | 1 trait | ehrlicher more honest
streng | strict | 1 adult | strenger stricter
reich | rich | 1 adult | reicher richer
arm | poor | 1 adult | ärmer poorer
stark | strong | 1 trait wild | stärker stronger
jung | young | 3 adult animal | jünger younger
alt | old | 3 adult animal item furniture machine building clothing plant vehicle settlement | älter older
müde/müd | tired | 1 state
krank | sick | 1 state
glücklich | happy | 1 state
traurig | sad | 1 state
hungrig | hungry | 1 state
durstig | thirsty | 1 state
zufrieden | satisfied | 1 state
nervös | nervous | 1 state
wütend | angry | 1 state
gesund | healthy | 1 state
groß | big | 2 animal vehicle furniture building room vessel outside nature settlement plant | größer bigger
klein | small | 2 person animal vehicle furniture building room vessel item settlement plant | kleiner smaller
neu | new | 3 ware building text machine music show room project topic | neuer newer
schön | beautiful | 1 image building landmark clothing outside nature sight music plant project
    | schöner more beautiful
hässlich | ugly | 1 image building clothing furniture landmark | hässlicher uglier
teuer/teur | expensive | 1 ware diner lodging | teurer more expensive
billig | cheap | 1 ware diner lodging | billiger cheaper
schwer | heavy | 2 item furniture machine vessel | schwerer heavier
leicht | light | 2 item vessel clothing | leichter lighter
kaputt | broken | 1 device machine toy
sauber | clean | 1 room clothing fragile vehicle
schmutzig | dirty | 1 room clothing fragile vehicle pet
rot | red | 4 clothing vehicle flower furniture toy fragile fruit
blau | blue | 4 clothing vehicle furniture toy fragile vessel
grün | green | 4 clothing vehicle furniture toy vessel opening
gelb | yellow | 4 clothing vehicle flower toy fragile
weiß | white | 4 clothing vehicle flower furniture building pet tame
schwarz | black | 4 clothing vehicle furniture pet tame device
braun | brown | 4 clothing furniture pet tame vessel
grau | gray | 4 clothing building pet tame
bunt | colorful | 4 clothing toy image prey
lang | long | 2 text project clothing structure event
kurz | short | 2 text project event
interessant | interesting | 1 text show topic event sight | interessanter more interesting
langweilig | boring | 1 text show event | langweiliger more boring
spannend | exciting | 1 text show project
lustig | funny | 1 tale show trait | lustiger funnier
wichtig | important | 1 topic puzzle letter event | wichtiger more important
schwierig | difficult | 1 puzzle question language | schwieriger more difficult
einfach | simple | 1 puzzle question language | einfacher simpler
seltsam | strange | 1 tale topic image
gut | good | 1 text show topic diner work
frisch | fresh | 3 food
süß | sweet | 1 sweet fruit | süßer sweeter
lecker | delicious | 1 food drink
heiß | hot | 2 dish hot
kalt | cold | 2 drink
warm | warm | 2 room clothing hot
bequem | comfortable | 1 seat lodging | bequemer more comfortable
hell | bright | 4 room
dunkel/dunkl | dark | 4 room nature
ruhig | quiet | 1 room outside settlement
laut | loud | 1 machine dog | lauter louder
modern | modern | 3 building furniture machine vehicle home
leer | empty | 1 vessel room
gefährlich | dangerous | 1 wild peak | gefährlicher more dangerous
wild | wild | 1 wild
schnell | fast | 1 vehicle hunter | schneller faster
scharf | spicy | 1 dish
"""

MANNERS = """
langsam | slowly
schnell | quickly
laut | loudly
leise | quietly
ruhig | calmly
vorsichtig | carefully
geduldig | patiently
freundlich | politely
fröhlich | cheerfully
allein | alone
gut | well
sofort | immediately
"""

FREQUENCIES = """
oft | often
immer | always
manchmal | sometimes
selten | rarely
nie | never
meistens | usually
"""

COMMENTS = """
vielleicht | perhaps
leider | unfortunately,
natürlich | of course,
"""

HABITS = """
jeden Tag | every day
jeden Morgen | every morning
jeden Abend | every evening
jede Woche | every week
am Wochenende | on the weekend
im Sommer | in the summer
im Winter | in the winter
im Frühling | in the spring
im Herbst | in the fall
morgens | in the morning
abends | in the evening
nachts | at night
montags | on Mondays
freitags | on Fridays
sonntags | on Sundays
nach der Arbeit | after work
nach dem Frühstück | after breakfast
nach dem Mittagessen | after lunch
vor dem Abendessen | before dinner
um acht Uhr | at eight o'clock
um zehn Uhr | at ten o'clock
"""

PAST_TIMES = """
gestern | yesterday
vorgestern | the day before yesterday
gestern Abend | yesterday evening
letzte Woche | last week
letztes Jahr | last year
letzten Monat | last month
letzten Sommer | last summer
vor zwei Jahren | two years ago
vor einer Woche | a week ago
vor drei Tagen | three days ago
vor einem Monat | a month ago
am Montag | on Monday
am Sonntag | on Sunday
im Mai | in May
"""

RECENT_TIMES = """
heute | today
heute Morgen | this morning
diese Woche | this week
diesen Monat | this month
dieses Jahr | this year
"""

RECENT_ADVERBS = """
schon | already
gerade | just
"""

COMING_TIMES = """
morgen | tomorrow
morgen Abend | tomorrow evening
übermorgen | the day after tomorrow
bald | soon
nächste Woche | next week
nächstes Jahr | next year
nächsten Monat | next month
nächsten Sommer | next summer
in zwei Wochen | in two weeks
in einer Stunde | in an hour
am Freitag | on Friday
am Samstag | on Saturday
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
fünf | five
sechs | six
acht | eight
zehn | ten
zwölf | twelve
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
aber | but
denn | because
deshalb | so
"""
