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
- `counted`: one says how many
- `trifle`: nobody says when
- `definite`: it is told of what is known
- `useful`: it can be promised, and forgotten
- `hard`: it can be tried

An indented line continues the one above.
"""

ACTIVITIES = """
schlafen, schläft, schlief, geschlafen | sleep (slept, slept) | familiar infant pet | in nap | why müde krank
    | is lasting
arbeiten, arbeitet, arbeitete, gearbeitet | work | adult | how allein | in desk | is daily lasting
lachen, lacht, lachte, gelacht | laugh | person infant | how laut leise | why glücklich | is lasting unwilled
weinen, weint, weinte, geweint | cry | young infant | how laut leise | why traurig hungrig müde
    | is lasting unwilled
lächeln, lächelt, lächelte, gelächelt | smile | person infant | why glücklich zufrieden | is trifle lasting unwilled
tanzen, tanzt, tanzte, getanzt | dance | familiar | how allein | in lounge park | why glücklich
    | is daily lasting together
singen, singt, sang, gesungen | sing (sang, sung) | familiar artist | how laut leise | in lounge outside
    | why glücklich | is daily lasting together
schwimmen, schwimmt, schwamm, ist geschwommen | swim (swam, swum) | familiar | how schnell langsam allein
    | is daily lasting together
kochen, kocht, kochte, gekocht | cook | grownup cook | how allein | in kitchen | why hungrig
    | is daily lasting together
spielen, spielt, spielte, gespielt | play | young pet | how allein leise | in lounge outside
    | is daily lasting
warten, wartet, wartete, gewartet | wait | person | how geduldig allein | in stop | is lasting
auf+wachen, wacht, wachte, ist aufgewacht | wake up (woke, woken) | familiar infant | is unwilled
ein+schlafen, schläft, schlief, ist eingeschlafen | fall asleep (fell, fallen) | familiar infant
    | how schnell | why müde | is trifle unwilled
fern+sehen, sieht, sah, ferngesehen | watch TV | familiar | how allein | in lounge | is daily lasting together
ein+kaufen, kauft, kaufte, eingekauft | shop (shopped, shopped) | grownup | how allein | in shop
    | is useful daily lasting together
zurück+kommen, kommt, kam, ist zurückgekommen | come back (came, come) | person
    | is sudden
spazieren gehen, geht, ging, ist spazieren gegangen | take a walk (took, taken) | familiar | how allein
    | in walk | is daily lasting together
Klavier spielen, spielt, spielte, Klavier gespielt | play the piano | familiar | in lounge | is daily lasting
Fußball spielen, spielt, spielte, Fußball gespielt | play soccer | young | in grass | is daily lasting together
Karten spielen, spielt, spielte, Karten gespielt | play cards | familiar | in lounge | is daily lasting together
sich beeilen, beeilt, beeilte, beeilt | hurry | familiar | is trifle unwilled
sich aus+ruhen, ruht, ruhte, ausgeruht | rest | familiar | in lounge outside | why müde krank | is daily lasting
bellen, bellt, bellte, gebellt | bark | dog | how laut | in outside | is lasting
rennen, rennt, rannte, ist gerannt | run (ran, run) | young dog > to outside | how schnell
blühen, blüht, blühte, geblüht | bloom | flower | in park | is lasting unwilled
funktionieren, funktioniert, funktionierte, funktioniert | work | device | is state
ab+fahren, fährt, fuhr, ist abgefahren | depart | transport
an+kommen, kommt, kam, ist angekommen | arrive | transport person | is sudden unwilled
beginnen, beginnt, begann, begonnen | begin (began, begun) | event | is past
enden, endet, endete, geendet | end | event | is past
statt+finden, findet, fand, stattgefunden | take place (took, taken) | event | in venue | is past grand
"""

DEEDS = """
lesen, liest, las, gelesen | read (read, read) | adult > acc text | how langsam leise
    | in lounge outside cafe library | is daily lasting
lesen, liest, las, gelesen | read (read, read) | young > acc tale | how langsam leise
    | in lounge outside library | is daily lasting
schreiben, schreibt, schrieb, geschrieben | write (wrote, written) | adult > acc letter
    | how schnell langsam | in lounge desk cafe | is lasting making counted
übersetzen, übersetzt, übersetzte, übersetzt | translate | grownup > acc text | in desk | is hard lasting
unterschreiben, unterschreibt, unterschrieb, unterschrieben | sign | adult > acc contract
kaufen, kauft, kaufte, gekauft | buy (bought, bought) | adult > acc food drink | in shop | is daily making counted
kaufen, kauft, kaufte, gekauft | buy (bought, bought) | adult > acc ware | in city | is making grand counted
verkaufen, verkauft, verkaufte, verkauft | sell (sold, sold) | adult > acc vehicle furniture device home | is grand
bestellen, bestellt, bestellte, bestellt | order | adult > acc dish brew | in diner
bezahlen, bezahlt, bezahlte, bezahlt | pay -for (paid, paid) | adult > acc dish brew
brauchen, braucht, brauchte, gebraucht | need | adult > acc tool vehicle furniture | is state
essen, isst, aß, gegessen | eat (ate, eaten) | familiar > acc food | how langsam schnell | in kitchen
    | why hungrig | is daily lasting counted
essen, isst, aß, gegessen | eat (ate, eaten) | familiar > acc dish | how langsam | in diner | why hungrig
    | is daily lasting
trinken, trinkt, trank, getrunken | drink (drank, drunk) | grownup > acc brew | how langsam
    | in kitchen diner | is daily lasting
trinken, trinkt, trank, getrunken | drink (drank, drunk) | familiar > acc cold | how langsam schnell | in kitchen
    | is lasting
kochen, kocht, kochte, gekocht | cook | grownup cook > acc cooked | in kitchen | why hungrig | is daily lasting making
backen, backt, backte, gebacken | bake | grownup cook > acc baked | in kitchen
    | is hard useful daily lasting making counted
schneiden, schneidet, schnitt, geschnitten | cut (cut, cut) | grownup cook > acc sliced | how vorsichtig langsam
    | in kitchen | is lasting
probieren, probiert, probierte, probiert | taste | person > acc dish | in kitchen diner | is lasting
jagen, jagt, jagte, gejagt | chase | hunter > acc prey | is lasting
fangen, fängt, fing, gefangen | catch (caught, caught) | hunter > acc prey | is past
füttern, füttert, fütterte, gefüttert | feed (fed, fed) | familiar > acc pet tame | is useful daily lasting
streicheln, streichelt, streichelte, gestreichelt | pet (petted, petted) | familiar > acc pet tame
    | how vorsichtig | is lasting
beobachten, beobachtet, beobachtete, beobachtet | watch | person > acc animal | how leise | is lasting
sehen, sieht, sah, gesehen | see (saw, seen) | person > acc person animal landmark | is simple
suchen, sucht, suchte, gesucht | look -for | familiar > acc loose pet | in lounge garden | is trifle lasting together
finden, findet, fand, gefunden | find (found, found) | familiar > acc loose | in lounge garden
    | is past making unwilled
verlieren, verliert, verlor, verloren | lose (lost, lost) | familiar > acc loose | in city outside stop
    | is past unwilled
vergessen, vergisst, vergaß, vergessen | forget (forgot, forgotten) | familiar > acc loose | in stop diner
    | is past unwilled
verstecken, versteckt, versteckte, versteckt | hide (hid, hidden) | familiar > acc parcel toy | how schnell
    | in lounge
    | is trifle
zerbrechen, zerbricht, zerbrach, zerbrochen | break (broke, broken) | familiar > acc fragile | is trifle past unwilled
holen, holt, holte, geholt | get (got, gotten) | familiar > acc drink loose | how schnell | is trifle
pflücken, pflückt, pflückte, gepflückt | pick | familiar grower > acc orchard flower | in garden
    | is lasting making counted
pflanzen, pflanzt, pflanzte, gepflanzt | plant | grownup grower > acc plant | in garden | is lasting counted
gießen, gießt, goss, gegossen | water | familiar grower > acc flower | in garden | is useful daily lasting
hören, hört, hörte, gehört | listen -to | familiar > acc music | in lounge | is daily lasting
singen, singt, sang, gesungen | sing (sang, sung) | familiar artist > acc song | how laut leise | is lasting together
malen, malt, malte, gemalt | paint | person > acc art | how langsam | is hard lasting making
malen, malt, malte, gemalt | paint | familiar > acc landmark animal | how langsam | is lasting
fotografieren, fotografiert, fotografierte, fotografiert | photograph | adult > acc landmark animal nature
    | is lasting
betrachten, betrachtet, betrachtete, betrachtet | look -at | familiar > acc image | is lasting
bewundern, bewundert, bewunderte, bewundert | admire | person > acc image landmark nature | is lasting unwilled
besichtigen, besichtigt, besichtigte, besichtigt | tour | adult > acc sight | is definite lasting together grand
besuchen, besucht, besuchte, besucht | visit | familiar > acc kin friend | is useful daily grand
besuchen, besucht, besuchte, besucht | visit | familiar > acc city | is grand
treffen, trifft, traf, getroffen | meet (met, met) | adult > acc adult | in stop diner | is telling grand
kennen, kennt, kannte, gekannt | know (knew, known) | person > acc adult settlement tale | is definite state telling
lieben, liebt, liebte, geliebt | love | familiar > acc kin pet nature | is definite state
vermissen, vermisst, vermisste, vermisst | miss | familiar > acc kin friend pet | is definite state
begrüßen, begrüßt, begrüßte, begrüßt | greet | adult > acc adult
fragen, fragt, fragte, gefragt | ask | person > acc adult | is telling
untersuchen, untersucht, untersuchte, untersucht | examine | healer > acc young kin | is lasting
unterrichten, unterrichtet, unterrichtete, unterrichtet | teach (taught, taught) | teacher > acc pupil | is lasting
wecken, weckt, weckte, geweckt | wake (woke, woken) | grownup > acc kin | is hard useful
an+rufen, ruft, rief, angerufen | call | familiar > acc kin friend | is hard useful daily sudden telling
ab+holen, holt, holte, abgeholt | pick up | grownup > acc kin friend young | in stop | is useful
ein+laden, lädt, lud, eingeladen | invite | grownup > acc kin friend neighbor | is telling grand
an+ziehen, zieht, zog, angezogen | put on (put, put) | familiar > acc garment | how schnell langsam | is trifle
aus+ziehen, zieht, zog, ausgezogen | take off (took, taken) | familiar > acc garment | how schnell langsam | is trifle
waschen, wäscht, wusch, gewaschen | wash | grownup > acc garment vehicle | is useful daily lasting
putzen, putzt, putzte, geputzt | clean | grownup > acc room window | is useful daily lasting
auf+räumen, räumt, räumte, aufgeräumt | tidy up | familiar > acc room | how schnell | is useful daily lasting
öffnen, öffnet, öffnete, geöffnet | open | familiar > acc opening vessel | how vorsichtig langsam leise
    | is hard trifle
auf+machen, macht, machte, aufgemacht | open | familiar > acc opening parcel | how vorsichtig langsam
    | is trifle sudden
schließen, schließt, schloss, geschlossen | close | familiar > acc opening vessel | how leise langsam | is trifle
zu+machen, macht, machte, zugemacht | close | familiar > acc opening | how leise schnell | is useful trifle
an+schalten, schaltet, schaltete, angeschaltet | turn on | familiar > acc device | is trifle
aus+schalten, schaltet, schaltete, ausgeschaltet | turn off | familiar > acc device | is useful trifle
reparieren, repariert, reparierte, repariert | repair | grownup handy > acc vehicle device furniture
    | how schnell allein
    | in garage | is hard useful lasting together grand
bauen, baut, baute, gebaut | build (built, built) | grownup handy > acc built | how allein
    | is lasting making together grand
lösen, löst, löste, gelöst | solve | adult > acc puzzle | how schnell allein | is hard
beantworten, beantwortet, beantwortete, beantwortet | answer | adult > acc question mail | how geduldig
verstehen, versteht, verstand, verstanden | understand (understood, understood)
    | person > acc topic question language | is definite state
lernen, lernt, lernte, gelernt | learn | person > acc language song | how schnell langsam | is hard lasting grand
korrigieren, korrigiert, korrigierte, korrigiert | correct | teacher > acc mistake | in desk | is lasting
planen, plant, plante, geplant | plan (planned, planned) | grownup > acc project | is lasting grand
organisieren, organisiert, organisierte, organisiert | organize | adult > acc event | is lasting grand
genießen, genießt, genoss, genossen | enjoy | person > acc treat | is unwilled lasting
an+schauen, schaut, schaute, angeschaut | watch | familiar > acc show | in lounge | is lasting together
gewinnen, gewinnt, gewann, gewonnen | win (won, won) | person > acc contest | is past unwilled grand
"""

FAVORS = """
helfen, hilft, half, geholfen | help | person > dat familiar pupil | how geduldig | is useful daily telling
danken, dankt, dankte, gedankt | thank | person > dat person | how höflich | is telling
folgen, folgt, folgte, ist gefolgt | follow | young dog > dat adult | how langsam leise | is trifle lasting
antworten, antwortet, antwortete, geantwortet | reply -to | adult > dat person | how höflich | is useful
vertrauen, vertraut, vertraute, vertraut | trust | familiar > dat kin friend | is state
gratulieren, gratuliert, gratulierte, gratuliert | congratulate | person > dat kin friend adult
zu+hören, hört, hörte, zugehört | listen -to | person > dat adult | how geduldig | is lasting
geben, gibt, gab, gegeben | give (gave, given) | familiar > dat person > acc loose
schenken, schenkt, schenkte, geschenkt | give (gave, given) | familiar > dat kin friend young > acc flower toy print
    | is making
zeigen, zeigt, zeigte, gezeigt | show (showed, shown) | person > dat person > acc image home
schicken, schickt, schickte, geschickt | send (sent, sent) | adult > dat adult > acc letter parcel | is useful counted
bringen, bringt, brachte, gebracht | bring (brought, brought) | person > dat person > acc drink loose | is useful
leihen, leiht, lieh, geliehen | lend (lent, lent) | grownup > dat friend neighbor > acc tool vehicle print
erzählen, erzählt, erzählte, erzählt | tell (told, told) | grownup teacher > dat small child > acc tale | how leise
erklären, erklärt, erklärte, erklärt | explain -to | grownup teacher > dat familiar pupil > acc puzzle topic
    | how geduldig | is hard
empfehlen, empfiehlt, empfahl, empfohlen | recommend -to | adult > dat adult > acc diner lodging show print
vor+lesen, liest, las, vorgelesen | read aloud -to (read, read) | adult > dat small child > acc tale | how langsam
    | is daily lasting
servieren, serviert, servierte, serviert | serve | server > dat patron > acc dish brew
"""

WHEREABOUTS = """
gehen, geht, ging, ist gegangen | go (went, gone) | person > to town grass
fahren, fährt, fuhr, ist gefahren | drive (drove, driven) | adult > to station settlement city
laufen, läuft, lief, ist gelaufen | walk | familiar > to outside | how langsam schnell
reisen, reist, reiste, ist gereist | travel | adult > nach=to+dat city country | is grand
fliegen, fliegt, flog, ist geflogen | fly (flew, flown) | adult > nach=to+dat city country | is grand
kommen, kommt, kam, ist gekommen | come (came, come) | adult > aus=from+dat city country | is state telling
wohnen, wohnt, wohnte, gewohnt | live | adult > at settlement city | how allein | is state telling
bleiben, bleibt, blieb, ist geblieben | stay | familiar > at lounge lodging | why müde krank
sitzen, sitzt, saß, gesessen | sit (sat, sat) | familiar pet > auf=on+dat seat | is trifle lasting
sitzen, sitzt, saß, gesessen | sit (sat, sat) | familiar > at garden park cafe lounge | how allein | is lasting
stehen, steht, stand, gestanden | be (was, been) | vehicle > vor=in_front_of/hinter=behind+dat building | is state
stehen, steht, stand, gestanden | be (was, been) | fragile vessel > auf=on+dat surface | is state
liegen, liegt, lag, gelegen | be (was, been) | loose print > auf=on+dat surface | is state
liegen, liegt, lag, gelegen | lie (lay, lain) | pet > unter=under/neben=next_to/auf=on+dat seat | is lasting unwilled
stellen, stellt, stellte, gestellt | put (put, put) | familiar > acc fragile > auf=on+acc surface | how vorsichtig
    | is trifle
legen, legt, legte, gelegt | put (put, put) | familiar > acc loose print > auf=on+acc surface | is trifle
legen, legt, legte, gelegt | put (put, put) | familiar > acc loose > in=into+acc vessel | is trifle
warten, wartet, wartete, gewartet | wait -for | adult > auf+acc adult kin transport | how geduldig | in stop
    | is lasting
denken, denkt, dachte, gedacht | think -about (thought, thought) | familiar > an+acc kin friend project
    | is lasting unwilled
sprechen, spricht, sprach, gesprochen | talk -to | person > mit+dat person | how leise laut höflich | is lasting
träumen, träumt, träumte, geträumt | dream -about | familiar > von+dat project kin country | is lasting unwilled
spielen, spielt, spielte, gespielt | play -with | young pet > mit+dat toy pet | in lounge garden
    | is daily lasting
lachen, lacht, lachte, gelacht | laugh -about | person > über+acc tale mistake | how laut | is lasting unwilled
sich freuen, freut, freute, gefreut | look forward -to | familiar > auf+acc project | is lasting unwilled
sich erinnern, erinnert, erinnerte, erinnert | remember | grownup > an+acc adult tale settlement | is state
sich kümmern, kümmert, kümmerte, gekümmert | take care -of (took, taken)
    | grownup > um+acc infant pet tame small child | is daily lasting
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
glauben, glaubt, glaubte, geglaubt | believe | grownup > dass | is state
wissen, weiß, wusste, gewusst | know (knew, known) | familiar > dass ob warum | is state
sagen, sagt, sagte, gesagt | say (said, said) | familiar > dass | is state
hoffen, hofft, hoffte, gehofft | hope | familiar > dass zu | is state
meinen, meint, meinte, gemeint | think (thought, thought) | grownup > dass | is state
fragen, fragt, fragte, gefragt | ask | familiar > ob warum | is past
erklären, erklärt, erklärte, erklärt | explain | grownup > warum | is past
versuchen, versucht, versuchte, versucht | try | familiar > zu
beschließen, beschließt, beschloss, beschlossen | decide | grownup > zu | is past
versprechen, verspricht, versprach, versprochen | promise | familiar > zu | is past
vergessen, vergisst, vergaß, vergessen | forget (forgot, forgotten) | familiar > zu | is past
planen, plant, plante, geplant | plan (planned, planned) | grownup > zu | is grand
"""
