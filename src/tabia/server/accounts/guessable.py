"""Passwords that are guessed first: common words, names, dates, runs of keys, and short combinations of them.

A password is cut into the longest known pieces; what is left counts letter by letter. Fewer than four pieces are too
few: `Password123!` has three. A longer list of leaked passwords would add little to this, as accounts are throttled.
"""

from __future__ import annotations

import re

FEWEST = 4
"""Pieces that a password needs."""
_LONGEST_LOOK = 128  # characters; a longer password has enough pieces anyway, unless it is a repetition
_SHORTEST_RUN = 3
_LEET = str.maketrans({"@": "a", "4": "a", "0": "o", "3": "e", "$": "s", "5": "s", "1": "i", "!": "i", "7": "t"})
_RUNS = (
    "01234567890",
    "abcdefghijklmnopqrstuvwxyz",
    "qwertyuiop",
    "qwertzuiopü",
    "azertyuiop",
    "asdfghjkl;",
    "zxcvbnm,./",
    "yxcvbnm",
    "1qaz2wsx3edc4rfv5tgb6yhn7ujm8ik9ol0p",
    "q1w2e3r4t5y6u7i8o9p0",
    "1q2w3e4r5t6y7u8i9o0p",
    "qazwsxedcrfvtgbyhnujmikolp",
    "147258369",
    "159357",
    "!@#$%^&*()",
    '!"§$%&/()=',
)
_TEXT = """
abcd access account admin administrator adventure agent alexander amanda america andrea andrew angel angela animal
anthony apple april arsenal asdf ashley august austin autumn baby babygirl backup badboy banana barcelona baseball
basketball batman beautiful believe berlin bigdaddy bird blackjack blessed blink blue boomer boston brandon brother
bubbles buster butterfly caesar calvin cambridge camera canada captain carlos carolina casino casper cat champion
change changeme charles charlie cheese chelsea chess chicago chicken chocolate chris christian christopher classic
coffee college compaq computer connect connect4 cookie cool corvette cowboy cowboys creative crystal dad daddy dallas
daniel daniela dark david death december default demo denise dennis diamond dog dolphin dragon eagle eagles elephant
elizabeth emily eminem england enter estrella everton extreme faith family fender ferrari firebird fish flower flowers
football forever france frank freedom friend friends fuck fuckyou future galaxy gandalf garden gateway genesis george
gerald german ghost giants ginger girls god goldfish golf golfer google grandma green guest guitar hammer hannah happy
harley heather hello hellokitty help hockey home honda honey hunter iceman iloveyou infinity internet ironman jackson
james january jasmine jason jennifer jessica jesus jonathan jordan joseph joshua july june junior justice justin
karina killer king kitten kitty knight lakers lauren legend leonardo letmein liberty life lions liverpool login london
looking lord louise love lovely lover lucky maggie magic manager manchester march marina marine mario marlboro martin
martina master matrix matthew maverick maxwell melissa member mercedes mercury metallica michael michelle midnight
miller mom money monica monkey monster monday mother motorola mountain mozart murphy music mustang naruto natalie
natasha nathan newyork nicholas nicole nintendo november october office online orange othello pass passion passport
passwd password patricia patrick peaches peanut pepper phantom philip phoenix player playboy please pokemon police
porsche power prince princess private prosper pumpkin purple qwer rabbit racing rainbow ranger rangers rebecca red
remember richard robert rocket ronaldo root rosebud russia samantha samsung samuel sarah saturn school scooby scorpion
scott secret security september server service shadow shopping silver simple sister skate slayer smile snoopy snowball
soccer something sophie special spider spiderman spring stanley star starwars stella steelers stephen steven student
success summer sunflower sunshine super superman superstar support swimming sydney system tabia teacher tennis teresa
test testing thomas thunder thursday tiger tigers tigger time tinkerbell toyota trinity trouble trust trustno truelove
turtle united universe user vacation valentine vanessa veronica victor victoria viking vincent virginia volleyball
warrior welcome whatever william willow windows winner winston winter wizard wolf wolverine wonder world yamaha
yankees yellow you zachary zaq
"""
_WORDS = frozenset(_TEXT.split())
_DATE = re.compile(r"(?:19|20)\d\d|(?:0[1-9]|[12]\d|3[01])(?:0[1-9]|1[0-2])|(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01])")


def is_guessable(password: str, *more: str) -> bool:
    """Whether a password has too few pieces; `more` are further words, such as the account's name.

    >>> is_guessable("Tr0ub4dor&3"), is_guessable("P@ssw0rd2024"), is_guessable("qwerty12345")
    (False, True, True)
    """
    words = _WORDS | {word.casefold() for word in more if len(word) >= _SHORTEST_RUN}
    text = password.casefold()
    return _is_repeated(text) or _pieces(text, words) < FEWEST


def _pieces(text: str, words: frozenset[str]) -> int:
    """How many known pieces and single letters a text has, taking the longest piece each time."""
    text, count, place = text[:_LONGEST_LOOK], 0, 0
    plain = text.translate(_LEET)
    while place < len(text):
        word = max(_word(text, place, words), _word(plain, place, words))
        place += max(word, _run(text, place), _date(text, place), _same(text, place), 1)
        count += 1
    return count


def _word(text: str, place: int, words: frozenset[str]) -> int:
    longest = min(24, len(text) - place)
    return next((size for size in range(longest, 1, -1) if text[place : place + size] in words), 0)


def _run(text: str, place: int) -> int:
    size = _SHORTEST_RUN
    while place + size <= len(text) and _is_run(text[place : place + size]):
        size += 1
    return size - 1 if size > _SHORTEST_RUN else 0


def _is_run(piece: str) -> bool:
    return any(piece in run or piece[::-1] in run for run in _RUNS)


def _date(text: str, place: int) -> int:
    found = _DATE.match(text, place)
    return 0 if found is None else found.end() - place


def _same(text: str, place: int) -> int:
    size = 1
    while place + size < len(text) and text[place + size] == text[place]:
        size += 1
    return size if size >= _SHORTEST_RUN else 0


def _is_repeated(text: str) -> bool:
    """Whether a text is a shorter one, again and again."""
    return text in (text + text)[1:-1] and len(text) <= 64
