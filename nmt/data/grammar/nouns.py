"""The nouns of the grammar: German with its gender and plural, English, and what they can stand for.

Columns: article, singular, plural (and an irregular genitive) | English singular (and irregular plural) |
classes | how one is there and goes there, `in=at in=to` being "im Kino" at, "ins Kino" to.
A noun without a plural is a mass ("Brot"); `weak` nouns end like their plural but in the nominative singular;
`unique` ones are used in the singular only, `many` in the plural only. Classes steer what a verb may be said
of; `own` nouns take a possessive, `work` nouns name an occupation, and a `stranger` is nobody of the family;
only adults have someone `grown`.
Who is no stranger, no pupil and no colleague is `familiar` (and `grownup`, if adult), and can be told of at home.
"""

PEOPLE = """
der Mann, Männer | man, men | person adult male stranger trait familiar grownup
die Frau, Frauen | woman, women | person adult female stranger trait familiar grownup
das Kind, Kinder | child, children | person young small
das Mädchen, Mädchen | girl | person young small
der Junge, Jungen | boy | person young male weak small
das Baby, Babys | baby, babies | infant
der Vater, Väter | father | person adult male kin own unique
die Mutter, Mütter | mother | person adult female kin own unique
der Bruder, Brüder | brother | person adult male kin own
die Schwester, Schwestern | sister | person adult female kin own
der Sohn, Söhne | son | person young male kin own grown child
die Tochter, Töchter | daughter | person young female kin own grown child
der Onkel, Onkel | uncle | person adult male kin own unique
die Tante, Tanten | aunt | person adult female kin own unique
der Großvater, Großväter | grandfather | person adult male kin own unique
die Großmutter, Großmütter | grandmother | person adult female kin own unique
der Freund, Freunde | friend | person adult male friend own many
der Nachbar, Nachbarn | neighbor | person adult male neighbor own weak
die Nachbarin, Nachbarinnen | neighbor | person adult female neighbor own
der Kollege, Kollegen | colleague | person adult male friend own weak trait grown
die Kollegin, Kolleginnen | colleague | person adult female friend own trait grown
der Chef, Chefs, Chefs | boss | person adult male own unique grown
der Gast, Gäste | guest | person adult male patron stranger
der Lehrer, Lehrer | teacher | person adult male teacher stranger trait work
die Lehrerin, Lehrerinnen | teacher | person adult female teacher stranger trait work
der Schüler, Schüler | pupil | person young male pupil trait
die Schülerin, Schülerinnen | pupil | person young female pupil trait
der Student, Studenten | student | person adult male weak trait work
die Studentin, Studentinnen | student | person adult female trait work
der Professor, Professoren | professor | person adult male stranger trait work
der Arzt, Ärzte | doctor | person adult male healer stranger trait work
die Ärztin, Ärztinnen | doctor | person adult female healer stranger trait work
der Anwalt, Anwälte | lawyer | person adult male stranger trait work
die Anwältin, Anwältinnen | lawyer | person adult female stranger trait work
der Koch, Köche, Kochs | cook | person adult male stranger work cook
die Köchin, Köchinnen | cook | person adult female stranger work cook
der Bäcker, Bäcker | baker | person adult male stranger work cook
der Kellner, Kellner | waiter | person adult male server stranger work
die Kellnerin, Kellnerinnen | waitress | person adult female server stranger work
der Bauer, Bauern | farmer | person adult male weak stranger work grower
der Gärtner, Gärtner | gardener | person adult male stranger work grower
die Gärtnerin, Gärtnerinnen | gardener | person adult female stranger work grower
der Maler, Maler | painter | person adult male artist stranger work
die Malerin, Malerinnen | painter | person adult female artist stranger work
der Musiker, Musiker | musician | person adult male artist stranger work
die Musikerin, Musikerinnen | musician | person adult female artist stranger work
die Sängerin, Sängerinnen | singer | person adult female artist stranger work
der Polizist, Polizisten | police officer | person adult male weak stranger work
der Journalist, Journalisten | journalist | person adult male weak stranger work
die Journalistin, Journalistinnen | journalist | person adult female stranger work
der Pilot, Piloten | pilot | person adult male weak stranger work
der Mechaniker, Mechaniker | mechanic | person adult male stranger work handy
der Architekt, Architekten | architect | person adult male weak stranger work
die Architektin, Architektinnen | architect | person adult female stranger work
"""

ANIMALS = """
der Hund, Hunde | dog | animal pet dog own
die Katze, Katzen | cat | animal pet hunter own
das Pferd, Pferde | horse | animal tame
das Kaninchen, Kaninchen | rabbit | animal pet own
der Vogel, Vögel | bird | animal prey
die Kuh, Kühe | cow | animal tame
das Schaf, Schafe | sheep, sheep | animal tame
die Ziege, Ziegen | goat | animal tame
der Esel, Esel | donkey | animal tame
die Ente, Enten | duck | animal
die Maus, Mäuse | mouse, mice | prey
der Fuchs, Füchse | fox | animal wild hunter
der Wolf, Wölfe | wolf, wolves | animal wild
der Bär, Bären | bear | animal wild weak
der Löwe, Löwen | lion | animal wild weak
der Elefant, Elefanten | elephant | animal wild weak
"""

FOOD = """
das Brot | bread | food baked sliced
der Käse | cheese | food sliced
das Fleisch | meat | food cooked sliced
der Reis | rice | food cooked
die Schokolade | chocolate | food
das Eis | ice cream | food
der Apfel, Äpfel | apple | food fruit orchard sliced
die Birne, Birnen | pear | food fruit orchard
die Banane, Bananen | banana | food fruit
die Orange, Orangen | orange | food fruit
die Tomate, Tomaten | tomato, tomatoes | food sliced orchard
die Kartoffel, Kartoffeln | potato, potatoes | food cooked many
das Ei, Eier | egg | food cooked
die Wurst, Würste | sausage | food
die Suppe | soup | food dish cooked hot
der Salat, Salate | salad | food dish unique
die Pizza, Pizzas | pizza | food dish baked unique hot
der Kuchen | cake | food dish baked
das Brötchen, Brötchen | roll | food baked
der Kaffee | coffee | drink brew hot
der Tee | tea | drink brew hot
das Wasser | water | drink cold
die Milch | milk | drink cold
der Saft | juice | drink cold
der Wein | wine | drink brew
das Bier | beer | drink brew
"""

THINGS = """
das Buch, Bücher | book | text tale print ware loose own
der Roman, Romane | novel | text print ware
die Zeitung, Zeitungen | newspaper | text print
die Zeitschrift, Zeitschriften | magazine | text print
das Wörterbuch, Wörterbücher | dictionary | print ware
der Brief, Briefe | letter | text mail letter
die Postkarte, Postkarten | postcard | mail letter
die Nachricht, Nachrichten | message | mail letter
der Artikel, Artikel | article | text
der Bericht, Berichte | report | text letter
das Gedicht, Gedichte | poem | text
die Geschichte, Geschichten | story | text tale
das Märchen, Märchen | fairy tale | tale
der Vertrag, Verträge | contract | contract
das Lied, Lieder | song | song music
die Musik | music | music treat
das Bild, Bilder | picture | art image
das Foto, Fotos | photo | image
der Film, Filme | movie | show film
der Mantel, Mäntel | coat | clothing garment ware own
die Jacke, Jacken | jacket | clothing garment ware own
das Hemd, Hemden | shirt | clothing garment ware own
der Pullover, Pullover | sweater | clothing garment ware own
der Hut, Hüte | hat | clothing ware own
die Mütze, Mützen | cap | clothing ware own
der Schal, Schals, Schals | scarf, scarves | clothing ware own
das Auto, Autos | car | vehicle ware own
das Fahrrad, Fahrräder | bicycle | vehicle ware own
das Motorrad, Motorräder | motorcycle | vehicle ware own
der Bus, Busse | bus | transport
der Zug, Züge | train | transport
das Schiff, Schiffe | ship | transport
der Computer, Computer | computer | device ware own
das Radio, Radios | radio | device ware
der Fernseher, Fernseher | television | device ware
die Lampe, Lampen | lamp | device ware
die Waschmaschine, Waschmaschinen | washing machine | device ware
die Kamera, Kameras | camera | tool ware own
die Uhr, Uhren | watch | ware tool own
der Tisch, Tische | table | furniture surface built ware
der Stuhl, Stühle | chair | furniture seat ware
das Sofa, Sofas | sofa | furniture seat ware
das Bett, Betten | bed | furniture seat ware
der Schrank, Schränke | wardrobe | furniture built ware
das Regal, Regale | shelf, shelves | furniture surface built ware
die Vase, Vasen | vase | ware fragile
die Tasse, Tassen | cup | ware fragile
das Glas, Gläser | glass | fragile
der Teller, Teller | plate | ware fragile
die Flasche, Flaschen | bottle | fragile
der Schlüssel, Schlüssel | key | loose own
der Ring, Ringe | ring | loose ware own
der Bleistift, Bleistifte | pencil | loose own
der Regenschirm, Regenschirme | umbrella | loose tool ware own
die Fahrkarte, Fahrkarten | ticket | loose own
der Ball, Bälle | ball | toy ware own unique
die Puppe, Puppen | doll | toy ware own
die Tasche, Taschen | bag | vessel ware own
der Koffer, Koffer | suitcase | vessel ware own
das Geschenk, Geschenke | gift | parcel
das Paket, Pakete | package | parcel
die Blume, Blumen | flower | flower plant
die Rose, Rosen | rose | flower plant
der Baum, Bäume | tree | plant
die Tür, Türen | door | opening
das Fenster, Fenster | window | opening window
"""

PLACES = """
das Haus, Häuser | house | building home own
die Wohnung, Wohnungen | apartment | home own
die Kirche, Kirchen | church | building landmark | in=in in=to
die Schule, Schulen | school | building | in=at in=to
das Krankenhaus, Krankenhäuser | hospital | building town | in=in in=to
das Hotel, Hotels | hotel | building lodging venue | in=at in=to
das Museum, Museen | museum | building town sight | in=in in=to
die Bibliothek, Bibliotheken | library | building town library desk | in=in in=to
der Bahnhof, Bahnhöfe | train station | building town stop station | an=at zu=to
der Flughafen, Flughäfen | airport | stop station | an=at zu=to
das Restaurant, Restaurants | restaurant | building town diner venue | in=in in=to
das Café, Cafés | café | building town diner cafe stop | in=in in=to
das Theater, Theater | theater | building town | in=at in=to
das Kino, Kinos | movie theater | building town | in=at in=to
der Turm, Türme | tower | landmark sight
das Schloss, Schlösser | castle | landmark sight | in=in zu=to
das Büro, Büros | office | desk town own | in=in in=to
der Laden, Läden | store | building town shop | in=in in=to
der Supermarkt, Supermärkte | supermarket | building town shop | in=in in=to
das Rathaus, Rathäuser | town hall | building landmark venue | in=in zu=to
die Universität, Universitäten | university | building town | an=at zu=to
die Brücke, Brücken | bridge | landmark
das Zimmer, Zimmer | room | room nap own | in=in in=into
die Küche, Küchen | kitchen | room kitchen | in=in in=into
das Wohnzimmer, Wohnzimmer | living room | room lounge nap | in=in in=into
das Schlafzimmer, Schlafzimmer | bedroom | room nap | in=in in=into
das Badezimmer, Badezimmer | bathroom | room | in=in in=into
die Garage, Garagen | garage | garage | in=in in=into
der Garten, Gärten | garden | outside garden park own | in=in in=into
der Park, Parks, Parks | park | outside park walk grass | in=in in=to
der Wald, Wälder | forest | walk nature | in=in in=into
die Wiese, Wiesen | meadow | outside grass | auf=in auf=to
der Strand, Strände | beach | outside walk nature | an=at zu=to
der See, Seen | lake | nature walk | an=at zu=to
der Fluss, Flüsse | river | nature walk | an=by zu=to
der Berg, Berge | mountain | nature
der Markt, Märkte | market | town shop | auf=at zu=to
die Stadt, Städte | city | settlement sight | in=in in=to
das Dorf, Dörfer | village | settlement | in=in in=to
"""

IDEAS = """
das Problem, Probleme | problem | puzzle topic
das Rätsel, Rätsel | puzzle | puzzle
die Frage, Fragen | question | question
die Aufgabe, Aufgaben | task | topic
die Idee, Ideen | idea | topic own
der Plan, Pläne | plan | topic own
der Fehler, Fehler | mistake | mistake own
die Regel, Regeln | rule | topic
das Deutsch | German | language
das Englisch | English | language
das Spanisch | Spanish | language
die Reise, Reisen | trip | project treat
das Fest, Feste | party, parties | event project treat
die Hochzeit, Hochzeiten | wedding | event project
das Konzert, Konzerte | concert | event treat
das Spiel, Spiele | game | contest show event
der Preis, Preise | prize | contest
die Sitzung, Sitzungen | meeting | event
der Kurs, Kurse | course | event
die Sonne | sun | sun unique
"""
