"""The verbs of the grammar: German principal parts, English, and what can be said with them.

Columns: infinitive, he-form, preterite, participle (with `ist` where the perfect takes it) | English | frame.
German: `auf+machen` separates, `sich freuen` is reflexive, `Klavier spielen` keeps its first word apart.
English: irregular past and participle in parentheses; `-for` is a preposition before the object.
Frame: classes of the subject, then each complement after a `>` with the classes that fill it: `acc`, `dat`, a
preposition and its case, `auf+acc`, whose English goes with the verb or, as in `auf=on+dat`, stands
beside it, or `to` and `at` for a place gone to or stayed at. After `how`: adverbs of manner that suit; after
`in`: classes of places where it is done; after `why`: states that are a reason for it. After `is`:

- `daily`: people do it often, and may do it before or after anything else; with `making`, of any amount
- `lasting`: it takes some time, in which something else can happen
- `sudden`: it can interrupt what lasts
- `making`: its object is there, or at hand, from then on
- `together`: it is done with others
- `grand`: it can be told of a whole month or year
- `past`: it is told only when it is over
- `simple`: English does not use the progressive of it
- `state`: it is so, rather than happens: no progressive, no perfect, no future, no adverbs
- `telling`: it tells which of several people is meant
- `unwilled`: nobody sets out to do it

An indented line continues the one above.
"""

ACTIVITIES = """
schlafen, schläft, schlief, geschlafen | sleep (slept, slept) | person infant pet | in nap | why müde krank
    | is lasting
arbeiten, arbeitet, arbeitete, gearbeitet | work | adult | how allein | in desk | is daily lasting
lachen, lacht, lachte, gelacht | laugh | person infant | how laut leise | why glücklich | is lasting unwilled
weinen, weint, weinte, geweint | cry | young infant | how laut leise | why traurig hungrig müde
    | is lasting unwilled
lächeln, lächelt, lächelte, gelächelt | smile | person infant | why glücklich zufrieden | is lasting unwilled
tanzen, tanzt, tanzte, getanzt | dance | person | how fröhlich allein | in lounge park | why glücklich
    | is daily lasting together
singen, singt, sang, gesungen | sing (sang, sung) | person | how laut leise fröhlich | in lounge outside
    | why glücklich | is daily lasting together
schwimmen, schwimmt, schwamm, ist geschwommen | swim (swam, swum) | person | how schnell langsam allein
    | is daily lasting together
kochen, kocht, kochte, gekocht | cook | adult | how allein | in kitchen | why hungrig | is daily lasting together
spielen, spielt, spielte, gespielt | play | young pet | how fröhlich allein leise | in lounge outside
    | is daily lasting
warten, wartet, wartete, gewartet | wait | person | how geduldig allein | in stop | is lasting
auf+wachen, wacht, wachte, ist aufgewacht | wake up (woke, woken) | person infant | is unwilled sudden
ein+schlafen, schläft, schlief, ist eingeschlafen | fall asleep (fell, fallen) | person infant
    | how schnell sofort | why müde | is unwilled
fern+sehen, sieht, sah, ferngesehen | watch TV | person | how allein | in lounge | is daily lasting together
ein+kaufen, kauft, kaufte, eingekauft | go shopping (went, gone) | adult | how allein | in shop
    | is daily lasting together
zurück+kommen, kommt, kam, ist zurückgekommen | come back (came, come) | person | how allein sofort
    | is sudden
spazieren gehen, geht, ging, ist spazieren gegangen | go for a walk (went, gone) | person | how allein
    | in walk | is daily lasting together
Klavier spielen, spielt, spielte, Klavier gespielt | play the piano | person | in lounge | is daily lasting
Fußball spielen, spielt, spielte, Fußball gespielt | play soccer | young | in grass | is daily lasting together
Karten spielen, spielt, spielte, Karten gespielt | play cards | person | in lounge | is daily lasting together
sich beeilen, beeilt, beeilte, beeilt | hurry | person | is unwilled
sich aus+ruhen, ruht, ruhte, ausgeruht | rest | person | in lounge outside | why müde krank | is daily lasting
bellen, bellt, bellte, gebellt | bark | dog | how laut | in outside | is lasting
rennen, rennt, rannte, ist gerannt | run (ran, run) | young dog > to outside | how schnell
blühen, blüht, blühte, geblüht | bloom | flower | in park | is lasting unwilled
funktionieren, funktioniert, funktionierte, funktioniert | work | device | is state
ab+fahren, fährt, fuhr, ist abgefahren | depart | transport
an+kommen, kommt, kam, ist angekommen | arrive | transport person | is sudden unwilled
beginnen, beginnt, begann, begonnen | begin (began, begun) | event | is past grand
enden, endet, endete, geendet | end | event | is past
statt+finden, findet, fand, stattgefunden | take place (took, taken) | event | in venue | is past grand
"""

DEEDS = """
lesen, liest, las, gelesen | read (read, read) | person > acc text | how langsam leise
    | in lounge outside cafe library | is daily lasting
schreiben, schreibt, schrieb, geschrieben | write (wrote, written) | adult > acc letter
    | how schnell langsam | in lounge desk cafe | is lasting making
übersetzen, übersetzt, übersetzte, übersetzt | translate | adult > acc text | in desk | is lasting grand
unterschreiben, unterschreibt, unterschrieb, unterschrieben | sign | adult > acc contract | how sofort
kaufen, kauft, kaufte, gekauft | buy (bought, bought) | adult > acc food drink | in shop | is daily making
kaufen, kauft, kaufte, gekauft | buy (bought, bought) | adult > acc ware | in city | is making grand
verkaufen, verkauft, verkaufte, verkauft | sell (sold, sold) | adult > acc vehicle furniture device home | is grand
bestellen, bestellt, bestellte, bestellt | order | adult > acc dish drink | in diner
bezahlen, bezahlt, bezahlte, bezahlt | pay -for (paid, paid) | adult > acc dish drink | how sofort
brauchen, braucht, brauchte, gebraucht | need | adult > acc tool vehicle furniture | is state
essen, isst, aß, gegessen | eat (ate, eaten) | person > acc food | how langsam schnell | in kitchen diner
    | why hungrig | is daily lasting
trinken, trinkt, trank, getrunken | drink (drank, drunk) | person > acc drink | how langsam schnell
    | in kitchen diner | is daily lasting
kochen, kocht, kochte, gekocht | cook | adult > acc cooked | in kitchen | why hungrig | is daily lasting making
backen, backt, backte, gebacken | bake | adult > acc baked | in kitchen | is daily lasting making
schneiden, schneidet, schnitt, geschnitten | cut (cut, cut) | adult > acc sliced | how vorsichtig langsam
    | in kitchen | is lasting
probieren, probiert, probierte, probiert | taste | person > acc dish | in kitchen diner | is lasting
jagen, jagt, jagte, gejagt | chase | hunter > acc prey | is lasting
fangen, fängt, fing, gefangen | catch (caught, caught) | hunter > acc prey | is past
füttern, füttert, fütterte, gefüttert | feed (fed, fed) | person > acc pet tame | is daily lasting
streicheln, streichelt, streichelte, gestreichelt | pet (petted, petted) | person > acc pet tame
    | how vorsichtig | is lasting
beobachten, beobachtet, beobachtete, beobachtet | watch | person > acc animal | how leise | is lasting
sehen, sieht, sah, gesehen | see (saw, seen) | person > acc person animal landmark | is simple
suchen, sucht, suchte, gesucht | look -for | person > acc loose pet | in lounge garden | is lasting together
finden, findet, fand, gefunden | find (found, found) | person > acc loose | in lounge garden
    | is past making unwilled
verlieren, verliert, verlor, verloren | lose (lost, lost) | person > acc loose | in city outside stop
    | is past unwilled
vergessen, vergisst, vergaß, vergessen | forget (forgot, forgotten) | person > acc loose | in stop diner
    | is past unwilled
verstecken, versteckt, versteckte, versteckt | hide (hid, hidden) | person > acc parcel toy | how schnell
    | in lounge
zerbrechen, zerbricht, zerbrach, zerbrochen | break (broke, broken) | person > acc fragile | is past unwilled
holen, holt, holte, geholt | get (got, gotten) | person > acc drink loose | how schnell sofort
pflücken, pflückt, pflückte, gepflückt | pick | person > acc orchard flower | in garden | is lasting making
pflanzen, pflanzt, pflanzte, gepflanzt | plant | adult > acc plant | in garden | is lasting
gießen, gießt, goss, gegossen | water | person > acc flower | in garden | is daily lasting
hören, hört, hörte, gehört | listen -to | person > acc music | in lounge | is daily lasting
singen, singt, sang, gesungen | sing (sang, sung) | person > acc song | how laut leise | is lasting together
malen, malt, malte, gemalt | paint | person > acc art | how langsam | is lasting making
malen, malt, malte, gemalt | paint | person > acc landmark animal | how langsam | is lasting
fotografieren, fotografiert, fotografierte, fotografiert | photograph | adult > acc landmark animal nature
    | is lasting
betrachten, betrachtet, betrachtete, betrachtet | look -at | person > acc image landmark nature | is lasting
bewundern, bewundert, bewunderte, bewundert | admire | person > acc image landmark nature | is lasting
besichtigen, besichtigt, besichtigte, besichtigt | tour | adult > acc sight | is lasting together grand
besuchen, besucht, besuchte, besucht | visit | person > acc kin friend | is daily grand
besuchen, besucht, besuchte, besucht | visit | person > acc city | is grand
treffen, trifft, traf, getroffen | meet (met, met) | adult > acc adult | in stop diner | is telling grand
kennen, kennt, kannte, gekannt | know (knew, known) | person > acc adult settlement tale | is state telling
lieben, liebt, liebte, geliebt | love | person > acc kin pet nature | is state
vermissen, vermisst, vermisste, vermisst | miss | person > acc kin friend pet | is state
begrüßen, begrüßt, begrüßte, begrüßt | greet | adult > acc adult | how höflich
fragen, fragt, fragte, gefragt | ask | person > acc adult | how höflich | is telling
untersuchen, untersucht, untersuchte, untersucht | examine | healer > acc young kin | how vorsichtig | is lasting
unterrichten, unterrichtet, unterrichtete, unterrichtet | teach (taught, taught) | teacher > acc pupil
    | how geduldig | is lasting
wecken, weckt, weckte, geweckt | wake (woke, woken) | adult > acc kin infant | how leise
an+rufen, ruft, rief, angerufen | call | person > acc kin friend | how sofort | is daily sudden telling
ab+holen, holt, holte, abgeholt | pick up | adult > acc kin friend young | in stop
ein+laden, lädt, lud, eingeladen | invite | adult > acc kin friend neighbor | is telling grand
an+ziehen, zieht, zog, angezogen | put on (put, put) | person > acc garment | how schnell langsam
aus+ziehen, zieht, zog, ausgezogen | take off (took, taken) | person > acc garment | how schnell langsam
waschen, wäscht, wusch, gewaschen | wash | adult > acc garment vehicle | is daily lasting
putzen, putzt, putzte, geputzt | clean | adult > acc room window | is daily lasting
auf+räumen, räumt, räumte, aufgeräumt | tidy up | person > acc room | how schnell | is daily lasting
öffnen, öffnet, öffnete, geöffnet | open | person > acc opening vessel | how vorsichtig langsam leise
auf+machen, macht, machte, aufgemacht | open | person > acc opening parcel | how vorsichtig langsam | is sudden
schließen, schließt, schloss, geschlossen | close | person > acc opening vessel | how leise langsam
zu+machen, macht, machte, zugemacht | close | person > acc opening | how leise schnell
an+schalten, schaltet, schaltete, angeschaltet | turn on | person > acc device
aus+schalten, schaltet, schaltete, ausgeschaltet | turn off | person > acc device | how sofort
reparieren, repariert, reparierte, repariert | repair | adult > acc vehicle device furniture | how schnell allein
    | in garage | is lasting together grand
bauen, baut, baute, gebaut | build (built, built) | adult > acc built | how allein | is lasting making together grand
lösen, löst, löste, gelöst | solve | adult > acc puzzle | how schnell allein
beantworten, beantwortet, beantwortete, beantwortet | answer | adult > acc question mail | how geduldig sofort
verstehen, versteht, verstand, verstanden | understand (understood, understood)
    | person > acc topic question language | is state
lernen, lernt, lernte, gelernt | learn | person > acc language song | how schnell langsam | is lasting grand
korrigieren, korrigiert, korrigierte, korrigiert | correct | teacher > acc mistake text | in desk | is lasting
planen, plant, plante, geplant | plan (planned, planned) | adult > acc project | is lasting grand
organisieren, organisiert, organisierte, organisiert | organize | adult > acc event | is lasting grand
genießen, genießt, genoss, genossen | enjoy | person > acc treat | is lasting
an+schauen, schaut, schaute, angeschaut | watch | person > acc show | in lounge | is lasting together
gewinnen, gewinnt, gewann, gewonnen | win (won, won) | person > acc contest | is past unwilled grand
"""

FAVORS = """
helfen, hilft, half, geholfen | help | person > dat person | how geduldig | in kitchen garden | is daily telling
danken, dankt, dankte, gedankt | thank | person > dat person | how höflich | is telling
folgen, folgt, folgte, ist gefolgt | follow | young dog > dat adult | how langsam leise | is lasting
antworten, antwortet, antwortete, geantwortet | reply -to | adult > dat person | how höflich sofort
vertrauen, vertraut, vertraute, vertraut | trust | person > dat kin friend | is state
gratulieren, gratuliert, gratulierte, gratuliert | congratulate | person > dat kin friend adult
zu+hören, hört, hörte, zugehört | listen -to | person > dat adult | how geduldig | is lasting
geben, gibt, gab, gegeben | give (gave, given) | person > dat person > acc loose
schenken, schenkt, schenkte, geschenkt | give (gave, given) | person > dat kin friend young > acc flower toy print
zeigen, zeigt, zeigte, gezeigt | show (showed, shown) | person > dat person > acc image home
schicken, schickt, schickte, geschickt | send (sent, sent) | adult > dat adult > acc letter parcel
bringen, bringt, brachte, gebracht | bring (brought, brought) | person > dat person > acc drink loose
    | how sofort
leihen, leiht, lieh, geliehen | lend (lent, lent) | adult > dat friend neighbor > acc tool vehicle print
erzählen, erzählt, erzählte, erzählt | tell (told, told) | adult > dat young > acc tale | how leise
erklären, erklärt, erklärte, erklärt | explain -to | adult > dat person > acc puzzle topic | how geduldig
empfehlen, empfiehlt, empfahl, empfohlen | recommend -to | adult > dat adult > acc diner lodging show print
vor+lesen, liest, las, vorgelesen | read aloud -to (read, read) | adult > dat young > acc tale | how langsam
    | is daily lasting
servieren, serviert, servierte, serviert | serve | server > dat patron > acc dish drink | how sofort
"""

WHEREABOUTS = """
gehen, geht, ging, ist gegangen | go (went, gone) | person > to town grass | how allein
fahren, fährt, fuhr, ist gefahren | drive (drove, driven) | adult > to stop settlement city | how allein
laufen, läuft, lief, ist gelaufen | walk | person > to outside | how langsam schnell allein
reisen, reist, reiste, ist gereist | travel | adult > nach=to+dat city country | how allein | is grand
fliegen, fliegt, flog, ist geflogen | fly (flew, flown) | adult > nach=to+dat city country | is grand
kommen, kommt, kam, ist gekommen | come (came, come) | adult > aus=from+dat city country | is state telling
wohnen, wohnt, wohnte, gewohnt | live | adult > at settlement city | how allein | is state telling
bleiben, bleibt, blieb, ist geblieben | stay | person > at lounge lodging | why müde krank
sitzen, sitzt, saß, gesessen | sit (sat, sat) | person pet > auf=on+dat seat | is lasting
sitzen, sitzt, saß, gesessen | sit (sat, sat) | person > at garden park cafe lounge | how allein | is lasting
stehen, steht, stand, gestanden | be (was, been) | vehicle > vor=in_front_of/hinter=behind+dat building | is state
stehen, steht, stand, gestanden | be (was, been) | fragile vessel > auf=on+dat surface | is state
liegen, liegt, lag, gelegen | lie (lay, lain) | loose print > auf=on+dat surface | is state
liegen, liegt, lag, gelegen | lie (lay, lain) | pet > unter=under/neben=next_to/auf=on+dat seat | is lasting unwilled
stellen, stellt, stellte, gestellt | put (put, put) | person > acc fragile > auf=on+acc surface | how vorsichtig
legen, legt, legte, gelegt | put (put, put) | person > acc loose print > auf=on+acc surface
legen, legt, legte, gelegt | put (put, put) | person > acc loose > in=into+acc vessel
warten, wartet, wartete, gewartet | wait -for | person > auf+acc person transport | how geduldig | in stop
    | is lasting
denken, denkt, dachte, gedacht | think -about (thought, thought) | person > an+acc kin friend project
    | is lasting unwilled
sprechen, spricht, sprach, gesprochen | talk -to | person > mit+dat person | how leise laut höflich | is lasting
träumen, träumt, träumte, geträumt | dream -about | person > von+dat project kin country | is lasting unwilled
spielen, spielt, spielte, gespielt | play -with | young pet > mit+dat toy pet | how fröhlich | in lounge garden
    | is daily lasting
lachen, lacht, lachte, gelacht | laugh -about | person > über+acc tale mistake | how laut | is lasting unwilled
sich freuen, freut, freute, gefreut | look forward -to | person > auf+acc project | is lasting unwilled
sich erinnern, erinnert, erinnerte, erinnert | remember | adult > an+acc adult tale settlement | is state
sich kümmern, kümmert, kümmerte, gekümmert | take care -of (took, taken)
    | adult > um+acc infant pet tame young | is daily lasting
"""

COPULAS = """
sein, ist, war, ist gewesen | be (was, been) | person | is state
werden, wird, wurde, ist geworden | become (became, become) | person | is state
"""

WEATHER = """
regnen, regnet, regnete, geregnet | rain | weather | is lasting
schneien, schneit, schneite, geschneit | snow | weather | is lasting
scheinen, scheint, schien, geschienen | shine (shone, shone) | sun | is lasting
"""

OPINIONS = """
glauben, glaubt, glaubte, geglaubt | believe | adult > dass | is state
wissen, weiß, wusste, gewusst | know (knew, known) | person > dass ob warum | is state
sagen, sagt, sagte, gesagt | say (said, said) | person > dass | is state
hoffen, hofft, hoffte, gehofft | hope | person > dass zu | is state
meinen, meint, meinte, gemeint | think (thought, thought) | adult > dass | is state
fragen, fragt, fragte, gefragt | ask | person > ob warum | is past
erklären, erklärt, erklärte, erklärt | explain | adult > warum | is past
versuchen, versucht, versuchte, versucht | try | person > zu
beschließen, beschließt, beschloss, beschlossen | decide | adult > zu | is past
versprechen, verspricht, versprach, versprochen | promise | person > zu | is past
vergessen, vergisst, vergaß, vergessen | forget (forgot, forgotten) | person > zu | is past
planen, plant, plante, geplant | plan (planned, planned) | adult > zu | is grand
"""
