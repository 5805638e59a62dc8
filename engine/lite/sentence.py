"""Putting what was measured into one plain sentence."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from engine.lite.colour import Palette
    from engine.lite.motion import Change
    from engine.lite.observation import Observation
    from engine.lite.ocr import Line

MAX_WORDS = 24
QUOTED_WORDS = 10
"""Most words quoted from the screen, if the rest of the sentence leaves room for them."""
QUOTED_CHARACTERS = 60
QUOTED_LINES = 3
MUCH_TEXT = 6
"""Lines from which a picture has a lot of text and only an example is given."""


def compose(seen: Observation) -> str:
    """One sentence of at most `MAX_WORDS` words: capital letter, full stop, no control characters."""
    for words in range(QUOTED_WORDS, 0, -1):
        sentence = _sentence(seen, words)
        if len(sentence.split()) <= MAX_WORDS:
            return sentence
    return _sentence(seen, 0)


def cut(text: str, max_words: int) -> tuple[str, int, bool]:
    """The first `max_words` words of `text`, how many those are, and whether that cut something off."""
    words = text.split()
    return " ".join(words[:max_words]), min(len(words), max_words), len(words) > max_words


def _sentence(seen: Observation, quoted_words: int) -> str:
    quote = _quote(seen.lines, quoted_words) if quoted_words else ""
    if seen.palette.light == "black" and not quote:
        clause = _black(seen)
    elif seen.change is None and not seen.was_black:
        clause = _view(seen, quote)
    elif seen.was_black and not quote and seen.palette.colours[:1] == ("black",):
        clause = "the picture is almost black"
    elif seen.was_black:
        clause = f"a picture appears out of black: {_view(seen, quote)}"
    elif seen.earlier:
        clause = f"back to an earlier view: {_view(seen, quote)}"
    elif seen.change is not None and seen.change.kind == "cut":
        clause = f"new scene: {_view(seen, quote)}"
    elif seen.change is not None and seen.change.kind == "much":
        clause = f"the view changes: {_view(seen, quote)}"
    else:
        clause = _event(seen, quote)
    return clause[0].upper() + clause[1:] + "."


def _black(seen: Observation) -> str:
    if seen.was_black:
        return "the picture stays black"
    if seen.change is None:
        return "a black picture"
    return "the picture fades to black" if seen.fading else "the picture goes black"


def _view(seen: Observation, quote: str) -> str:
    """What there is to see, as a noun phrase."""
    text = _text(seen, quote)
    if seen.noun and text:
        return f"{seen.noun}, and {text}"
    if text:
        return f"{text} on a plain {seen.palette.colours[0]} screen" if seen.palette.backdrop else text
    return seen.noun or _look(seen.palette)


def _event(seen: Observation, quote: str) -> str:
    """What happens in a view that goes on, as a clause, with what is still to be seen in it."""
    assert seen.change is not None
    happens = _action(seen, seen.change)
    if quote:
        if seen.text_stays:
            reads = f"the text still reads {quote}"
        elif seen.change.kind == "still" and not seen.turned:
            happens, reads = "", f"the text now reads {quote}"
        else:
            reads = f"text reads {quote}"
        if len(seen.lines) >= MUCH_TEXT:
            reads = f"there is a lot of text, such as {quote}"
        noun = f", with {seen.noun} in view" if seen.noun else ""
        return f"{happens}{noun}; {reads}" if happens else f"{reads}{noun}"
    if seen.noun:
        return f"{happens}, with {seen.noun} in view"
    if seen.turned:
        return happens
    return f"{happens} in {_look(seen.palette)}" if seen.change.kind == "still" else happens


def _action(seen: Observation, change: Change) -> str:
    if seen.turned:
        return f"the picture turns {seen.turned}"
    match change.kind:
        case "camera":
            return f"the camera {change.camera}"
        case "light":
            if seen.fading:
                return "the picture fades in" if change.brighter else "the picture fades"
            return "the picture gets brighter" if change.brighter else "the picture gets darker"
        case "local" if change.place:
            return f"something {'moves' if change.moves else 'changes'} {change.place}"
        case "local":
            if change.wide:
                return (
                    "there is movement all over the picture"
                    if change.moves
                    else "much of the picture changes"
                )
            what = "is movement" if change.moves else "are changes"
            return f"there {what} in several places"
        case _:
            return "nothing moves"


def _look(palette: Palette) -> str:
    """Light and colours as a noun phrase."""
    if palette.plain:
        return f"a plain {palette.colours[0]} picture"
    # A word for the light goes before the colours unless they say it already.
    said = {"dark": "black", "bright": "white"}.get(palette.light)
    light = palette.light if said and said not in palette.colours[:1] else ""
    colours = f"mostly {' and '.join(palette.colours)}" if palette.colours else ""
    if light and colours:
        return f"a {light}, {colours} picture"
    if light or colours:
        return f"a {light or colours} picture"
    return "a picture of many colours"


def _text(seen: Observation, quote: str) -> str:
    if not quote:
        return ""
    return f"a lot of text, such as {quote}" if len(seen.lines) >= MUCH_TEXT else f"text reading {quote}"


def _quote(lines: Sequence[Line], words: int) -> str:
    """The most prominent lines that fit, quoted in reading order: ``'EXIT 12' and 'Airport'``."""
    chosen: list[int] = []
    characters = QUOTED_CHARACTERS
    most = 1 if len(lines) >= MUCH_TEXT else QUOTED_LINES
    shown = [_shortened(line.text, words, QUOTED_CHARACTERS) for line in lines]
    for i in sorted(range(len(lines)), key=lambda i: -_height(lines[i])):
        size = len(shown[i].split())
        if len(chosen) < most and size <= words and len(shown[i]) <= characters:
            chosen.append(i)
            words -= size
            characters -= len(shown[i])
    quoted = [_quoted(shown[i]) for i in sorted(chosen)]
    return " and ".join(filter(None, [", ".join(quoted[:-1]), *quoted[-1:]]))


def _height(line: Line) -> float:
    return round(line.box[3] - line.box[1], 2)


def _shortened(text: str, words: int, characters: int) -> str:
    """`text` with at most so many words and characters; an ellipsis where it was cut."""
    short = " ".join(text.split()[:words])
    if len(short) > characters:
        short = short[: characters - 1]
        short = short[: short.rfind(" ")] if " " in short else short
    return short if short == text else f"{short}…"


def _quoted(text: str) -> str:
    """`text` in single quotes; in double ones if it has an apostrophe or single quotes itself."""
    return f"'{text}'" if "'" not in text else '"' + text.replace('"', "'") + '"'
