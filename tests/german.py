"""Four lines to translate, one of them blank."""

GERMAN = ["Der Hund schläft.", "", "Die Lehrerin kauft ein Buch.", "Ein Mann liest."]
