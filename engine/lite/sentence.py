"""Putting what was measured into one plain sentence."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.lite.colour import NEUTRAL
from engine.lite.place import part

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from engine.lite.colour import Palette
    from engine.lite.motion import Change
    from engine.lite.observation import Observation
    from engine.lite.ocr import Line

MAX_WORDS = 24
QUOTED_WORDS = 10
"""Most words quoted from the screen, if the rest of the sentence leaves room for them."""
QUOTED_CHARACTERS = 60
QUOTED_LINES = 3
NEAR = 0.03
"""How far the edge of writing may be from that of the box it was found in, as a share of the picture."""
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
    quoted = _chosen(seen.lines, quoted_words) if quoted_words else {}
    quote = _listed(quoted.values())
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
        clause = _event(seen, quote, quoted)
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
        return f"{text} {_ground(seen)}" if seen.palette.backdrop else text
    return seen.noun or _look(seen.palette)


def _ground(seen: Observation) -> str:
    """What the text stands on, where that is one colour; it is plain if nothing but text stands out."""
    boxes = [line.box for line in seen.lines]
    spot, colour = seen.palette.spot, seen.palette.colours[0]
    if spot is None or (
        all(min(box[side] for box in boxes) - NEAR <= spot.box[side] for side in (0, 1))
        and all(max(box[side] for box in boxes) + NEAR >= spot.box[side] for side in (2, 3))
    ):
        return f"on a plain {colour} screen"
    return f"on a mostly {colour} screen"


def _event(seen: Observation, quote: str, quoted: Iterable[str]) -> str:
    """What happens in a view that goes on, as a clause, with what is still to be seen in it."""
    assert seen.change is not None
    happens = _action(seen, seen.change)
    if quote:
        before = {line.text.casefold() for line in seen.lines_before}
        if all(text.casefold() in before for text in quoted):
            reads = f"the text still reads {quote}"
        else:
            reads = f"text reads {quote}"
            if seen.change.kind == "still" and not seen.turned:
                happens, reads = "", f"the text now reads {quote}" if before else reads
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
    colours, accent = palette.colours, palette.accent
    one = " ".join(("dark",) * (palette.light == "dark" and colours[:1] != ("black",)) + colours[:1])
    if palette.plain:
        return f"a plain {one} picture"
    if palette.spotted and palette.spot is not None and (where := _corner(palette.spot.box)):
        return f"{_article(one)} picture with something {palette.spot.colour} {where}"
    if accent and palette.much and NEUTRAL.issuperset(colours):
        colours = ()  # a lot of orange is what one sees, not the grey behind it
    # A word for the light goes before the colours unless they say it already.
    said = {"dark": "black", "bright": "white"}.get(palette.light)
    light = palette.light if said and said not in colours[:1] else ""
    mostly = f"mostly {' and '.join(colours)}" if colours else ""
    look = f"{_article(', '.join(filter(None, (light, mostly))))} picture" if light or mostly else "a picture"
    if accent:
        return f"{look} with {'a lot of' if palette.much else 'some'} {accent}"
    if palette.many:
        return f"{look} of many colours"
    return look if light or mostly else "a picture of several colours"


def _article(adjective: str) -> str:
    return f"{'an' if adjective[0] in 'aeiou' else 'a'} {adjective}"


def _corner(box: tuple[float, float, float, float]) -> str | None:
    """Where in the picture a box is, if it is in one place."""
    left, top, right, bottom = box
    if right - left > 1 / 3 or bottom - top > 1 / 3:
        return None
    return part((left + right) / 2, (top + bottom) / 2)


def _text(seen: Observation, quote: str) -> str:
    if not quote:
        return ""
    return f"a lot of text, such as {quote}" if len(seen.lines) >= MUCH_TEXT else f"text reading {quote}"


def _chosen(lines: Sequence[Line], words: int) -> dict[str, str]:
    """The most prominent lines that fit, in reading order, each with how much of it is shown."""
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
    return {lines[i].text: shown[i] for i in sorted(chosen)}


def _listed(shown: Iterable[str]) -> str:
    """In quotes: ``'EXIT 12' and 'Airport'``."""
    quoted = [_quoted(text) for text in shown]
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
