"""The nouns of the grammar: German with its gender and plural, English, and what they can stand for.

Columns: article, singular, plural (and an irregular genitive) | English singular (and irregular plural) |
classes | how one is there and goes there, `in=at zu=to` being "im Kino" at, "zum Kino" to.
A noun without a plural is a mass ("Brot"); `weak` nouns end like their plural but in the nominative singular;
`unique` ones are used in the singular only. Classes steer what a verb may be said of; `own` nouns take a
possessive, `work` nouns name an occupation.
"""

PEOPLE = """
der Mann, Männer | man, men | person adult male
die Frau, Frauen | woman, women | person adult female
das Kind, Kinder | child, children | person young own
das Mädchen, Mädchen | girl | person young
der Junge, Jungen | boy | person young male weak
das Baby, Babys | baby | infant own
der Vater, Väter | father | person adult male kin own unique
die Mutter, Mütter | mother | person adult female kin own unique
der Bruder, Brüder | brother | person adult male kin own
die Schwester, Schwestern | sister | person adult female kin own
der Sohn, Söhne | son | person young male kin own
die Tochter, Töchter | daughter | person young female kin own
der Onkel, Onkel | uncle | person adult male kin own
die Tante, Tanten | aunt | person adult female kin own
der Großvater, Großväter | grandfather | person adult male kin own unique
die Großmutter, Großmütter | grandmother | person adult female kin own unique
der Freund, Freunde | friend | person adult male own
die Freundin, Freundinnen | friend | person adult female own
der Nachbar, Nachbarn | neighbor | person adult male own weak
die Nachbarin, Nachbarinnen | neighbor | person adult female own
der Kollege, Kollegen | colleague | person adult male own weak
die Kollegin, Kolleginnen | colleague | person adult female own
der Chef, Chefs, Chefs | boss | person adult male own unique
der Gast, Gäste | guest | person adult male own
der Lehrer, Lehrer | teacher | person adult male own work
die Lehrerin, Lehrerinnen | teacher | person adult female own work
der Schüler, Schüler | pupil | person young male
die Schülerin, Schülerinnen | pupil | person young female
der Student, Studenten | student | person adult male weak work
die Studentin, Studentinnen | student | person adult female work
der Professor, Professoren | professor | person adult male work
der Arzt, Ärzte | doctor | person adult male healer own work
die Ärztin, Ärztinnen | doctor | person adult female healer own work
der Anwalt, Anwälte | lawyer | person adult male own work
die Anwältin, Anwältinnen | lawyer | person adult female own work
der Koch, Köche, Kochs | cook | person adult male work
die Köchin, Köchinnen | cook | person adult female work
der Bäcker, Bäcker | baker | person adult male work
der Kellner, Kellner | waiter | person adult male work
die Kellnerin, Kellnerinnen | waitress | person adult female work
der Bauer, Bauern | farmer | person adult male weak work
der Gärtner, Gärtner | gardener | person adult male work
die Gärtnerin, Gärtnerinnen | gardener | person adult female work
der Maler, Maler | painter | person adult male artist work
die Malerin, Malerinnen | painter | person adult female artist work
der Musiker, Musiker | musician | person adult male artist work
die Musikerin, Musikerinnen | musician | person adult female artist work
die Sängerin, Sängerinnen | singer | person adult female artist work
der Polizist, Polizisten | police officer | person adult male weak work
der Journalist, Journalisten | journalist | person adult male weak work
die Journalistin, Journalistinnen | journalist | person adult female work
der Pilot, Piloten | pilot | person adult male weak work
der Mechaniker, Mechaniker | mechanic | person adult male work
der Architekt, Architekten | architect | person adult male weak work
die Architektin, Architektinnen | architect | person adult female work
der Tourist, Touristen | tourist | person adult male weak
der Kunde, Kunden | customer | person adult male weak
die Kundin, Kundinnen | customer | person adult female
der Arbeiter, Arbeiter | worker | person adult male
"""

ANIMALS = """
der Hund, Hunde | dog | animal pet dog own
die Katze, Katzen | cat | animal pet hunter own
das Pferd, Pferde | horse | animal tame own
das Kaninchen, Kaninchen | rabbit | animal pet own
der Vogel, Vögel | bird | animal prey
der Fisch, Fische | fish, fish | swimmer prey
die Kuh, Kühe | cow | animal tame
das Schaf, Schafe | sheep, sheep | animal tame
die Ziege, Ziegen | goat | animal tame
der Esel, Esel | donkey | animal tame
die Ente, Enten | duck | animal tame
die Maus, Mäuse | mouse, mice | animal prey
der Fuchs, Füchse | fox | animal wild hunter
der Wolf, Wölfe | wolf, wolves | animal wild hunter
der Bär, Bären | bear | animal wild weak
der Löwe, Löwen | lion | animal wild hunter weak
der Affe, Affen | monkey | animal wild weak
der Elefant, Elefanten | elephant | animal wild weak
"""

FOOD = """
das Brot | bread | food baked
der Käse | cheese | food sliced
das Fleisch | meat | food cooked sliced
der Reis | rice | food cooked
die Schokolade | chocolate | food sweet
das Eis | ice cream | food sweet
der Apfel, Äpfel | apple | food fruit
die Birne, Birnen | pear | food fruit
die Banane, Bananen | banana | food fruit
die Orange, Orangen | orange | food fruit
die Tomate, Tomaten | tomato, tomatoes | food fruit
die Kartoffel, Kartoffeln | potato, potatoes | food cooked
das Ei, Eier | egg | food cooked
die Wurst, Würste | sausage | food cooked sliced
die Suppe, Suppen | soup | food dish cooked
der Salat, Salate | salad | food dish
die Pizza, Pizzas | pizza | food dish baked
der Kuchen, Kuchen | cake | food baked sweet
der Pfannkuchen, Pfannkuchen | pancake | food dish
das Brötchen, Brötchen | roll | food baked
der Kaffee | coffee | drink hot
der Tee | tea | drink hot
das Wasser | water | drink
die Milch | milk | drink
der Saft | juice | drink
der Wein | wine | drink
das Bier | beer | drink
"""

THINGS = """
das Buch, Bücher | book | text print ware item own
der Roman, Romane | novel | text print ware item own
die Zeitung, Zeitungen | newspaper | text print ware item own
die Zeitschrift, Zeitschriften | magazine | text print ware item
das Wörterbuch, Wörterbücher | dictionary | text print ware item own
der Brief, Briefe | letter | text mail letter item own
die Postkarte, Postkarten | postcard | text mail letter ware item
die Nachricht, Nachrichten | message | text mail letter
der Artikel, Artikel | article | text
der Bericht, Berichte | report | text letter own
das Gedicht, Gedichte | poem | text tale own
die Geschichte, Geschichten | story | text tale own
das Märchen, Märchen | fairy tale | text tale
der Vertrag, Verträge | contract | text letter
das Lied, Lieder | song | music own
das Bild, Bilder | picture | art image ware item own
das Foto, Fotos | photo | image item own
die Landkarte, Landkarten | map | image ware item
der Film, Filme | movie | show
das Theaterstück, Theaterstücke | play | show
das Kleid, Kleider | dress | clothing ware own
der Mantel, Mäntel | coat | clothing ware item own
die Jacke, Jacken | jacket | clothing ware item own
das Hemd, Hemden | shirt | clothing ware own
der Rock, Röcke | skirt | clothing ware own
der Pullover, Pullover | sweater | clothing ware own
der Hut, Hüte | hat | clothing ware item own
die Mütze, Mützen | cap | clothing ware item own
der Schal, Schals, Schals | scarf, scarves | clothing ware item own
der Schuh, Schuhe | shoe | clothing ware own
das Auto, Autos | car | vehicle machine ware own
das Fahrrad, Fahrräder | bicycle | vehicle machine ware own
das Motorrad, Motorräder | motorcycle | vehicle machine ware own
das Boot, Boote | boat | vehicle machine ware own
der Bus, Busse | bus | vehicle transport
der Zug, Züge | train | vehicle transport
die Straßenbahn, Straßenbahnen | tram | vehicle transport
das Taxi, Taxis | taxi | vehicle
das Schiff, Schiffe | ship | vehicle transport
das Flugzeug, Flugzeuge | airplane | vehicle flyer
der Computer, Computer | computer | device machine ware own
das Radio, Radios | radio | device machine ware own
der Fernseher, Fernseher | television | device machine ware own
die Lampe, Lampen | lamp | device machine ware own
die Waschmaschine, Waschmaschinen | washing machine | device machine ware own
das Handy, Handys | cell phone | device machine ware item own
die Kamera, Kameras | camera | machine ware item own
die Uhr, Uhren | clock | machine ware own
die Gitarre, Gitarren | guitar | machine ware own
die Geige, Geigen | violin | ware own
das Klavier, Klaviere | piano | machine ware own
der Tisch, Tische | table | furniture surface ware own
der Stuhl, Stühle | chair | furniture seat ware own
der Sessel, Sessel | armchair | furniture ware own
das Sofa, Sofas | sofa | furniture seat surface ware own
das Bett, Betten | bed | furniture seat surface ware own
der Schrank, Schränke | closet | furniture ware own
das Regal, Regale | shelf, shelves | furniture surface ware
der Teppich, Teppiche | carpet | surface ware own
der Spiegel, Spiegel | mirror | ware
die Vase, Vasen | vase | ware item fragile
die Tasse, Tassen | cup | ware item fragile
das Glas, Gläser | glass | ware item fragile
der Teller, Teller | plate | ware item fragile
die Flasche, Flaschen | bottle | ware item fragile
das Messer, Messer | knife, knives | ware item
der Löffel, Löffel | spoon | ware item
die Gabel, Gabeln | fork | ware item
der Schlüssel, Schlüssel | key | item own
der Ring, Ringe | ring | ware item own
der Bleistift, Bleistifte | pencil | ware item own
der Regenschirm, Regenschirme | umbrella | ware item own
die Fahrkarte, Fahrkarten | ticket | ware item own
der Ball, Bälle | ball | ware item toy own
die Puppe, Puppen | doll | ware item toy own
der Stein, Steine | stone | pebble item
die Tasche, Taschen | bag | ware item vessel own
der Koffer, Koffer | suitcase | ware vessel own
der Korb, Körbe | basket | ware item vessel
die Kiste, Kisten | box | item vessel
das Geschenk, Geschenke | gift | ware item parcel
das Paket, Pakete | package | item parcel
die Blume, Blumen | flower | flower plant ware
die Rose, Rosen | rose | flower plant ware
die Pflanze, Pflanzen | plant | plant ware own
der Baum, Bäume | tree | plant landmark
die Tür, Türen | door | opening
das Fenster, Fenster | window | opening
das Tor, Tore | gate | opening
"""

PLACES = """
das Haus, Häuser | house | building home own | in=in in=into
die Wohnung, Wohnungen | apartment | building home own | in=in in=into
die Kirche, Kirchen | church | building landmark | in=in in=into
die Schule, Schulen | school | building town own | in=at zu=to
das Krankenhaus, Krankenhäuser | hospital | building town | in=in in=to
das Hotel, Hotels | hotel | building town lodging | in=at zu=to
das Museum, Museen | museum | building town sight | in=in in=to
die Bibliothek, Bibliotheken | library | building town | in=in in=to
der Bahnhof, Bahnhöfe | train station | building town | an=at zu=to
der Flughafen, Flughäfen | airport | building town | an=at zu=to
die Fabrik, Fabriken | factory | building town | in=in in=to
das Restaurant, Restaurants | restaurant | building town diner | in=in in=to
das Café, Cafés | café | building town diner | in=in in=to
das Theater, Theater | theater | building town | in=at in=to
das Kino, Kinos | movie theater | building town | in=at in=to
der Turm, Türme | tower | building landmark sight
das Schloss, Schlösser | castle | building landmark sight | in=in zu=to
das Büro, Büros | office | building town own | in=in in=to
der Laden, Läden | store | building town shop | in=in in=to
der Supermarkt, Supermärkte | supermarket | building town shop | in=in in=to
die Bäckerei, Bäckereien | bakery | building town shop | in=in in=to
das Rathaus, Rathäuser | town hall | building landmark town | in=in zu=to
die Universität, Universitäten | university | building town | an=at zu=to
die Brücke, Brücken | bridge | landmark structure
das Zimmer, Zimmer | room | room lounge own | in=in in=into
die Küche, Küchen | kitchen | room lounge own | in=in in=into
das Wohnzimmer, Wohnzimmer | living room | room lounge own | in=in in=into
das Schlafzimmer, Schlafzimmer | bedroom | room lounge own | in=in in=into
das Badezimmer, Badezimmer | bathroom | room own | in=in in=into
der Keller, Keller | basement | room own | in=in in=into
die Garage, Garagen | garage | room own | in=in in=into
der Garten, Gärten | garden | outside own | in=in in=into
der Park, Parks, Parks | park | outside | in=in in=to
der Wald, Wälder | forest | outside nature | in=in in=into
die Wiese, Wiesen | meadow | outside | auf=in auf=to
das Feld, Felder | field | outside | auf=in auf=to
der Strand, Strände | beach | outside nature | an=at zu=to
der See, Seen | lake | outside nature | an=at zu=to
der Fluss, Flüsse | river | outside nature | an=at zu=to
der Berg, Berge | mountain | nature sight peak
der Markt, Märkte | market | town shop | auf=at zu=to
der Hafen, Häfen | harbor | town sight | an=at zu=to
die Stadt, Städte | city | settlement sight | in=in in=to
das Dorf, Dörfer | village | settlement sight | in=in in=to
die Insel, Inseln | island | settlement sight | auf=on auf=to
"""

IDEAS = """
das Problem, Probleme | problem | puzzle topic own
die Aufgabe, Aufgaben | task | puzzle own
die Frage, Fragen | question | question topic own
die Antwort, Antworten | answer | topic own
die Idee, Ideen | idea | topic own
der Plan, Pläne | plan | topic own
der Vorschlag, Vorschläge | proposal | topic own
der Fehler, Fehler | mistake | topic own
das Ergebnis, Ergebnisse | result | topic own
die Regel, Regeln | rule | topic
das Geheimnis, Geheimnisse | secret | tale own
der Traum, Träume | dream | topic own
die Sprache, Sprachen | language | language own
die Reise, Reisen | trip | event project own
das Fest, Feste | party | event project
die Hochzeit, Hochzeiten | wedding | event project
das Konzert, Konzerte | concert | event show
das Spiel, Spiele | game | contest event show
der Preis, Preise | prize | contest
die Prüfung, Prüfungen | exam | event own
die Sitzung, Sitzungen | meeting | event
der Kurs, Kurse | course | event
die Sonne | sun | sun unique
"""
