"""Languages as Argos Translate and LibreTranslate name them, and the languages of a run's text."""

from typing import NamedTuple

from nmt.config import DataSettings
from nmt.errors import RunError, SettingsError
from nmt.runs.directory import RunDirectory
from nmt.runs.text import data_of_run

# Codes of other programs that differ from ours, which are those of Argos Translate.
CODES = {"pt-br": "pb", "zh-tw": "zt", "zh-hk": "zt", "zh-hant": "zt", "zh-hans": "zh"}
# Our codes that clients of LibreTranslate write in another way.
SHOWN = {"pb": "pt-BR", "zh": "zh-Hans", "zt": "zh-Hant"}
LANGUAGES = """\
af Afrikaans, am Amharic, ar Arabic, az Azerbaijani, be Belarusian, bg Bulgarian, bn Bengali, br Breton, bs Bosnian,
ca Catalan, cs Czech, cy Welsh, da Danish, de German, el Greek, en English, eo Esperanto, es Spanish, et Estonian,
eu Basque, fa Persian, fi Finnish, fo Faroese, fr French, fy West Frisian, ga Irish, gd Scottish Gaelic, gl Galician,
gu Gujarati, ha Hausa, he Hebrew, hi Hindi, hr Croatian, hu Hungarian, hy Armenian, id Indonesian, ig Igbo,
is Icelandic, it Italian, ja Japanese, ka Georgian, kk Kazakh, km Khmer, kn Kannada, ko Korean, ky Kyrgyz,
lb Luxembourgish, lo Lao, lt Lithuanian, lv Latvian, mk Macedonian, ml Malayalam, mn Mongolian, mr Marathi, ms Malay,
mt Maltese, my Burmese, nb Norwegian, ne Nepali, nl Dutch, nn Norwegian Nynorsk, no Norwegian, oc Occitan, pa Punjabi,
pb Portuguese (Brazil), pl Polish, ps Pashto, pt Portuguese, rm Romansh, ro Romanian, ru Russian, se Northern Sami,
si Sinhala, sk Slovak, sl Slovenian, so Somali, sq Albanian, sr Serbian, sv Swedish, sw Swahili, ta Tamil, te Telugu,
tg Tajik, th Thai, tk Turkmen, tl Tagalog, tr Turkish, tt Tatar, ug Uyghur, uk Ukrainian, ur Urdu, uz Uzbek,
vi Vietnamese, wo Wolof, xh Xhosa, yi Yiddish, yo Yoruba, zh Chinese, zt Chinese (traditional), zu Zulu"""
NAMES = dict(item.split(maxsplit=1) for item in LANGUAGES.split(","))


class Language(NamedTuple):
    """A language as Argos Translate and LibreTranslate know it."""

    code: str
    name: str


def languages_of(
    run: RunDirectory, source_language: str | None, target_language: str | None
) -> tuple[Language, Language]:
    """Return the languages that were given, `de` or `gsw:Schweizerdeutsch`, else those of the run's text.

    Raises SettingsError where neither tells a language, or where both sides have the same one.
    """
    typed = source_language, target_language
    known = ("", "") if all(typed) else names_of_text(run)
    found = []
    for key, given, other in zip(("source_language", "target_language"), typed, known, strict=True):
        code, _, name = (given or "").partition(":")
        if not code and not other:
            raise SettingsError(
                f"{key}: a code such as de, or with a name gsw:Schweizerdeutsch, is needed, since the run does not say "
                "which language its text is of; got null; source_language=de target_language=en name both"
            )
        found.append(language(code or other, name))
    source, target = found
    if source.code == target.code:
        raise SettingsError(
            f"target_language: another language than {source.code} is needed; got {target.code}"
        )
    return source, target


def language(code: str, name: str = "") -> Language:
    """Return a language by any code that programs use for it, with the given name or else its usual one."""
    code = code_of(code)
    return Language(code, name or NAMES.get(code, code))


def code_of(name: str) -> str:
    """Return our code of a language; its region or script counts only in the few codes of `CODES`."""
    name = name.lower().replace("_", "-")
    return CODES.get(name, name.split("-")[0])


def shown(code: str) -> str:
    """Return the code of a language as clients of LibreTranslate, and browsers, know it."""
    return SHOWN.get(code, code)


def names_of_text(run: RunDirectory) -> tuple[str, str]:
    """Return the run's own names of its languages, such as `de` and `zh-TW`; empty for an unknown language."""
    try:
        return names_of(data_of_run(run))
    except RunError:  # it was imported, without text
        return "", ""


def names_of(data: DataSettings) -> tuple[str, str]:
    """Return the names that a text gives to its languages; empty for an unknown language."""
    one, other = (name if isinstance(name, str) else name[0] for name in data.languages)
    return one if code_of(one) in NAMES else "", other if code_of(other) in NAMES else ""
