"""The verbs of the grammar: German principal parts, English, and what can be said with them.

Columns: infinitive, he-form, preterite, participle (with `ist` where the perfect takes it) | English | frame.
German: `auf+machen` separates, `sich freuen` is reflexive, `Klavier spielen` keeps its first word apart.
English: irregular past and participle in parentheses; `-for` is a preposition before the object.
Frame: classes of the subject, then each complement after a `>` with the classes that fill it: `acc`, `dat`, a
preposition and its case, `auf+acc`, whose English goes with the verb or, as in `neben=next_to+dat`, stands
beside it, or `to` and `at` for a place gone to or stayed at. After `how`: adverbs of manner that suit; after
`in`: classes of places where it is done; `together` where it is done with others; `state` where it just
is so, `unwilled` where it is not done on purpose. An indented line continues the one above.
"""

ACTIVITIES = """
schlafen, schläft, schlief, geschlafen | sleep (slept, slept) | person infant pet | how ruhig allein
    | in lounge
arbeiten, arbeitet, arbeitete, gearbeitet | work | adult | how allein ruhig langsam | in town outside
    | together
lachen, lacht, lachte, gelacht | laugh | person infant | how laut leise | in lounge outside
weinen, weint, weinte, geweint | cry | person infant | how laut leise | in lounge | unwilled
lächeln, lächelt, lächelte, gelächelt | smile | person infant | how freundlich
tanzen, tanzt, tanzte, getanzt | dance | person | how gut fröhlich | in lounge outside | together
singen, singt, sang, gesungen | sing (sang, sung) | person | how laut leise gut fröhlich
    | in lounge outside | together
schwimmen, schwimmt, schwamm, ist geschwommen | swim (swam, swum) | person swimmer
    | how schnell langsam gut | together
kochen, kocht, kochte, gekocht | cook | adult | how gut schnell | together
spielen, spielt, spielte, gespielt | play | young pet | how fröhlich laut ruhig allein
    | in lounge outside | together
warten, wartet, wartete, gewartet | wait | person | how geduldig ruhig | in town
auf+stehen, steht, stand, ist aufgestanden | get up (got, gotten) | person | how langsam schnell
auf+wachen, wacht, wachte, ist aufgewacht | wake up (woke, woken) | person infant | unwilled
ein+schlafen, schläft, schlief, ist eingeschlafen | fall asleep (fell, fallen) | person infant pet
    | how schnell sofort | unwilled
fern+sehen, sieht, sah, ferngesehen | watch TV | person | in lounge | together
ein+kaufen, kauft, kaufte, eingekauft | go shopping (went, gone) | adult | how allein | in shop | together
zurück+kommen, kommt, kam, ist zurückgekommen | come back (came, come) | person | how allein sofort
    | together | unwilled
spazieren gehen, geht, ging, ist spazieren gegangen | go for a walk (went, gone) | adult | how allein
    | in outside | together
Klavier spielen, spielt, spielte, Klavier gespielt | play the piano | person | how gut laut leise | in lounge
Fußball spielen, spielt, spielte, Fußball gespielt | play soccer | young | how gut | in outside | together
Karten spielen, spielt, spielte, Karten gespielt | play cards | adult | how ruhig | in lounge | together
sich beeilen, beeilt, beeilte, beeilt | hurry | person | unwilled
sich aus+ruhen, ruht, ruhte, ausgeruht | rest | person | in lounge outside
bellen, bellt, bellte, gebellt | bark | dog | how laut | in outside
rennen, rennt, rannte, ist gerannt | run (ran, run) | animal young | how schnell
rennen, rennt, rannte, ist gerannt | run (ran, run) | young dog > to outside | how schnell
blühen, blüht, blühte, geblüht | bloom | flower | in outside
wachsen, wächst, wuchs, ist gewachsen | grow (grew, grown) | plant | how schnell langsam | in outside
    | unwilled
funktionieren, funktioniert, funktionierte, funktioniert | function | device machine | how gut
ab+fahren, fährt, fuhr, ist abgefahren | depart | transport
an+kommen, kommt, kam, ist angekommen | arrive | transport flyer person | unwilled
beginnen, beginnt, begann, begonnen | begin (began, begun) | event
enden, endet, endete, geendet | end | event
statt+finden, findet, fand, stattgefunden | take place (took, taken) | event | in town
scheinen, scheint, schien, geschienen | shine (shone, shone) | sun | state
"""

DEEDS = """
lesen, liest, las, gelesen | read (read, read) | person > acc text | how langsam laut schnell
    | in lounge outside diner | together
schreiben, schreibt, schrieb, geschrieben | write (wrote, written) | adult > acc letter
    | how schnell langsam | in lounge
übersetzen, übersetzt, übersetzte, übersetzt | translate | adult > acc text | how gut schnell
unterschreiben, unterschreibt, unterschrieb, unterschrieben | sign | adult > acc letter | how sofort | in town
drucken, druckt, druckte, gedruckt | print | adult > acc text
kaufen, kauft, kaufte, gekauft | buy (bought, bought) | adult > acc ware food drink | in shop settlement
verkaufen, verkauft, verkaufte, verkauft | sell (sold, sold) | adult > acc ware home | how sofort
bestellen, bestellt, bestellte, bestellt | order | adult > acc dish drink ware | in diner
bezahlen, bezahlt, bezahlte, bezahlt | pay -for (paid, paid) | adult > acc ware dish drink | how sofort
brauchen, braucht, brauchte, gebraucht | need | adult > acc ware machine food | state
essen, isst, aß, gegessen | eat (ate, eaten) | person > acc food | how langsam schnell
    | in lounge diner outside | together
trinken, trinkt, trank, getrunken | drink (drank, drunk) | person > acc drink | how langsam schnell
    | in lounge diner | together
kochen, kocht, kochte, gekocht | cook | adult > acc cooked | how schnell | in lounge | together
backen, backt, backte, gebacken | bake | adult > acc baked
schneiden, schneidet, schnitt, geschnitten | cut (cut, cut) | adult > acc fruit baked sliced
    | how vorsichtig langsam | in lounge
probieren, probiert, probierte, probiert | taste | person > acc food dish drink | how vorsichtig
jagen, jagt, jagte, gejagt | chase | hunter > acc prey | in outside
fangen, fängt, fing, gefangen | catch (caught, caught) | hunter > acc prey | how schnell
fangen, fängt, fing, gefangen | catch (caught, caught) | young > acc swimmer | how schnell
füttern, füttert, fütterte, gefüttert | feed (fed, fed) | person > acc animal | in outside
streicheln, streichelt, streichelte, gestreichelt | stroke | person > acc pet tame | how vorsichtig
beobachten, beobachtet, beobachtete, beobachtet | observe | person > acc animal person
    | how ruhig leise geduldig | in outside
sehen, sieht, sah, gesehen | see (saw, seen) | person > acc person animal vehicle building
    | in outside settlement
suchen, sucht, suchte, gesucht | look -for | person > acc item person pet | how geduldig
    | in lounge outside | together
finden, findet, fand, gefunden | find (found, found) | person > acc item pet | how sofort | in lounge outside
verlieren, verliert, verlor, verloren | lose (lost, lost) | person > acc item | in outside town | unwilled
vergessen, vergisst, vergaß, vergessen | forget (forgot, forgotten) | person > acc item question topic
    | in town | unwilled
verstecken, versteckt, versteckte, versteckt | hide (hid, hidden) | person > acc item | how schnell
    | in lounge
zerbrechen, zerbricht, zerbrach, zerbrochen | break (broke, broken) | person > acc fragile | unwilled
stehlen, stiehlt, stahl, gestohlen | steal (stole, stolen) | adult > acc item | unwilled
holen, holt, holte, geholt | fetch | person > acc item food drink | how schnell sofort
sammeln, sammelt, sammelte, gesammelt | collect | person > acc pebble image print
pflücken, pflückt, pflückte, gepflückt | pick | person > acc fruit flower | how vorsichtig | in outside
pflanzen, pflanzt, pflanzte, gepflanzt | plant | adult > acc plant | in outside
gießen, gießt, goss, gegossen | water | adult > acc plant | in outside
hören, hört, hörte, gehört | hear (heard, heard) | person > acc music dog
singen, singt, sang, gesungen | sing (sang, sung) | person > acc music | how laut leise | together
malen, malt, malte, gemalt | paint | person > acc art building landmark animal | how langsam gut | in outside
fotografieren, fotografiert, fotografierte, fotografiert | photograph
    | adult > acc building landmark animal person nature
betrachten, betrachtet, betrachtete, betrachtet | look -at | person > acc image landmark nature | how ruhig
bewundern, bewundert, bewunderte, bewundert | admire | person > acc artist image landmark sight
besichtigen, besichtigt, besichtigte, besichtigt | tour | adult > acc sight | together
besuchen, besucht, besuchte, besucht | visit | person > acc person sight | together
treffen, trifft, traf, getroffen | meet (met, met) | person > acc person | in town outside diner
kennen, kennt, kannte, gekannt | know (knew, known) | person > acc person settlement tale | state
lieben, liebt, liebte, geliebt | love | person > acc person pet music nature | state
vermissen, vermisst, vermisste, vermisst | miss | person > acc person pet | state
begrüßen, begrüßt, begrüßte, begrüßt | greet | person > acc person | how freundlich laut | in town
fragen, fragt, fragte, gefragt | ask | person > acc person | how freundlich leise
retten, rettet, rettete, gerettet | rescue | adult > acc person animal
untersuchen, untersucht, untersuchte, untersucht | examine | healer > acc person animal | how vorsichtig ruhig
unterrichten, unterrichtet, unterrichtete, unterrichtet | teach (taught, taught) | adult > acc young
    | how geduldig gut
wecken, weckt, weckte, geweckt | wake (woke, woken) | person > acc person infant | how leise vorsichtig
an+rufen, ruft, rief, angerufen | call | person > acc person | how sofort
ab+holen, holt, holte, abgeholt | pick up | adult > acc person parcel | in town
ein+laden, lädt, lud, eingeladen | invite | adult > acc person
tragen, trägt, trug, getragen | wear (wore, worn) | person > acc clothing
an+ziehen, zieht, zog, angezogen | put on (put, put) | person > acc clothing | how schnell langsam
aus+ziehen, zieht, zog, ausgezogen | take off (took, taken) | person > acc clothing | how schnell langsam
waschen, wäscht, wusch, gewaschen | wash | adult > acc clothing fragile vehicle
putzen, putzt, putzte, geputzt | clean | adult > acc room opening machine | how schnell langsam
auf+räumen, räumt, räumte, aufgeräumt | tidy up | person > acc room | how schnell
öffnen, öffnet, öffnete, geöffnet | open | person > acc opening vessel | how vorsichtig langsam leise
auf+machen, macht, machte, aufgemacht | open | person > acc opening parcel | how vorsichtig schnell
schließen, schließt, schloss, geschlossen | close | person > acc opening vessel | how leise langsam
zu+machen, macht, machte, zugemacht | close | person > acc opening | how leise schnell
an+schalten, schaltet, schaltete, angeschaltet | turn on | person > acc device
aus+schalten, schaltet, schaltete, ausgeschaltet | turn off | person > acc device | how sofort
mit+nehmen, nimmt, nahm, mitgenommen | take along (took, taken) | person > acc item pet
reparieren, repariert, reparierte, repariert | repair | adult > acc machine furniture
    | how schnell langsam allein | in outside | together
bauen, baut, baute, gebaut | build (built, built) | adult > acc home structure furniture
    | how schnell langsam | together
lösen, löst, löste, gelöst | solve | person > acc puzzle | how schnell allein
beantworten, beantwortet, beantwortete, beantwortet | answer | adult > acc question mail | how geduldig sofort
verstehen, versteht, verstand, verstanden | understand (understood, understood)
    | person > acc topic text language
lernen, lernt, lernte, gelernt | learn | person > acc language music tale | how schnell langsam allein
    | together
korrigieren, korrigiert, korrigierte, korrigiert | correct | adult > acc text | how schnell | in lounge
planen, plant, plante, geplant | plan (planned, planned) | adult > acc project | together
organisieren, organisiert, organisierte, organisiert | organize | adult > acc event | together
genießen, genießt, genoss, genossen | enjoy | person > acc project music dish
an+schauen, schaut, schaute, angeschaut | watch | person > acc show | in lounge | together
gewinnen, gewinnt, gewann, gewonnen | win (won, won) | person > acc contest | unwilled
"""

FAVORS = """
helfen, hilft, half, geholfen | help | person > dat person | how geduldig sofort | in lounge outside
danken, dankt, dankte, gedankt | thank | person > dat person | how freundlich
folgen, folgt, folgte, ist gefolgt | follow | person animal > dat person transport | how langsam leise
antworten, antwortet, antwortete, geantwortet | reply -to | person > dat person | how freundlich ruhig sofort
vertrauen, vertraut, vertraute, vertraut | trust | person > dat person
gratulieren, gratuliert, gratulierte, gratuliert | congratulate | person > dat person | how freundlich
zu+hören, hört, hörte, zugehört | listen -to | person > dat person | how geduldig ruhig
gehören, gehört, gehörte, gehört | belong -to | ware building vehicle > dat person | state
geben, gibt, gab, gegeben | give (gave, given) | person > dat person > acc item food ware
schenken, schenkt, schenkte, geschenkt | give (gave, given)
    | adult > dat person > acc flower clothing print toy image
zeigen, zeigt, zeigte, gezeigt | show (showed, shown)
    | person > dat person > acc building image room item sight
schicken, schickt, schickte, geschickt | send (sent, sent)
    | adult > dat person > acc letter parcel image print
bringen, bringt, brachte, gebracht | bring (brought, brought) | person > dat person > acc food drink item
    | how sofort schnell
leihen, leiht, lieh, geliehen | lend (lent, lent) | person > dat person > acc item machine
erzählen, erzählt, erzählte, erzählt | tell (told, told) | person > dat person > acc tale | how leise
erklären, erklärt, erklärte, erklärt | explain -to | adult > dat person > acc puzzle topic | how geduldig
beschreiben, beschreibt, beschrieb, beschrieben | describe -to
    | person > dat person > acc building item puzzle topic
empfehlen, empfiehlt, empfahl, empfohlen | recommend -to
    | adult > dat person > acc text diner lodging show dish
vor+lesen, liest, las, vorgelesen | read -to (read, read) | adult > dat person > acc text | how langsam
servieren, serviert, servierte, serviert | serve | adult > dat person > acc food drink
"""

WHEREABOUTS = """
gehen, geht, ging, ist gegangen | go (went, gone) | person > to town outside room
    | how langsam schnell allein | together
fahren, fährt, fuhr, ist gefahren | drive (drove, driven) | adult > to town settlement
    | how langsam schnell allein | together
laufen, läuft, lief, ist gelaufen | walk | person pet > to outside room town | how langsam schnell allein
    | together
reisen, reist, reiste, ist gereist | travel | adult > nach=to+dat city country | how allein | together
fliegen, fliegt, flog, ist geflogen | fly (flew, flown) | adult flyer > nach=to+dat city country
kommen, kommt, kam, ist gekommen | come (came, come) | person > aus=from+dat city country | state
wohnen, wohnt, wohnte, gewohnt | live | person > at settlement home | how allein | state
bleiben, bleibt, blieb, ist geblieben | stay | person > at room town lodging | how allein
sitzen, sitzt, saß, gesessen | sit (sat, sat) | person pet > auf=on+dat seat | how ruhig allein
sitzen, sitzt, saß, gesessen | sit (sat, sat) | person pet > at room outside diner | how ruhig allein
stehen, steht, stand, gestanden | stand (stood, stood)
    | person vehicle > vor=in_front_of/hinter=behind/neben=next_to+dat building vehicle
stehen, steht, stand, gestanden | stand (stood, stood) | fragile vessel > auf=on+dat surface
stehen, steht, stand, gestanden | stand (stood, stood) | furniture > at room
liegen, liegt, lag, gelegen | lie (lay, lain) | item clothing > auf=on/unter=under+dat surface
liegen, liegt, lag, gelegen | lie (lay, lain) | item clothing > in=in+dat vessel
schlafen, schläft, schlief, geschlafen | sleep (slept, slept)
    | pet > unter=under/neben=next_to/auf=on+dat furniture | how ruhig
stellen, stellt, stellte, gestellt | put (put, put)
    | person > acc fragile vessel > auf=on/neben=next_to+acc surface | how vorsichtig
legen, legt, legte, gelegt | put (put, put) | person > acc item clothing > auf=on/unter=under+acc surface
    | how vorsichtig
legen, legt, legte, gelegt | put (put, put) | person > acc item clothing > in=into+acc vessel | how schnell
warten, wartet, wartete, gewartet | wait -for | person > auf+acc person transport flyer mail
    | how geduldig ruhig | in town
denken, denkt, dachte, gedacht | think -of (thought, thought) | person > an+acc person event settlement
sprechen, spricht, sprach, gesprochen | speak -with (spoke, spoken) | person > mit+dat person
    | how leise laut ruhig | in town
träumen, träumt, träumte, geträumt | dream -of | person > von+dat person event animal | unwilled
spielen, spielt, spielte, gespielt | play -with | young pet > mit+dat toy pet young | how fröhlich
    | in lounge outside | together
lachen, lacht, lachte, gelacht | laugh -at | person > über+acc tale topic show | how laut
sich freuen, freut, freute, gefreut | look forward -to | person > auf+acc event parcel
sich erinnern, erinnert, erinnerte, erinnert | remember | person > an+acc person event tale topic | state
sich kümmern, kümmert, kümmerte, gekümmert | take care -of (took, taken)
    | adult > um+acc young infant animal plant
"""

COPULAS = """
sein, ist, war, ist gewesen | be (was, been) | person
werden, wird, wurde, ist geworden | become (became, become) | person
"""

WEATHER = """
regnen, regnet, regnete, geregnet | rain | weather
schneien, schneit, schneite, geschneit | snow | weather
"""

OPINIONS = """
glauben, glaubt, glaubte, geglaubt | believe | adult > dass
wissen, weiß, wusste, gewusst | know (knew, known) | person > dass ob warum
sagen, sagt, sagte, gesagt | say (said, said) | person > dass
hoffen, hofft, hoffte, gehofft | hope | person > dass zu
meinen, meint, meinte, gemeint | think (thought, thought) | adult > dass
fragen, fragt, fragte, gefragt | ask | person > ob warum
erklären, erklärt, erklärte, erklärt | explain | adult > dass warum
versuchen, versucht, versuchte, versucht | try | person > zu
beschließen, beschließt, beschloss, beschlossen | decide | adult > zu
versprechen, verspricht, versprach, versprochen | promise | person > zu
vergessen, vergisst, vergaß, vergessen | forget (forgot, forgotten) | person > zu
an+fangen, fängt, fing, angefangen | start | person > zu
planen, plant, plante, geplant | plan (planned, planned) | adult > zu
"""
