"""Training examples: windows of a captioning session, as token ids with targets, and their pictures.

A window is what a session's bounded history holds when it asks for a caption: perhaps a system prompt, then
for each kept frame a user turn with its picture and, but for the newest, an assistant turn with the reply it
got. It may begin anywhere in a clip, so the first kept frame's reply often tells of a motion whose other
frame is gone. Every reply in the window is trained at once. The first frame's target never claims motion,
whatever its reply in the history says; every later frame's target does. Replies in the history are often
falsified, while their targets stay true: the model learns to look at the pictures and not to copy itself.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from blank_model import (
    ASSISTANT,
    END,
    FAKE,
    GLOBAL,
    IMAGE,
    IMAGE_TOKENS,
    JSON_CLOSE,
    JSON_OPEN,
    PICTURE,
    PROMPTS,
    SLOTS,
    SYSTEM,
    USER,
)
from make_clip import (
    COLOURS,
    POINTS,
    SHAPES,
    Look,
    State,
    make_look,
    make_states,
    motion,
    place,
    render,
    subject,
)

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerFast

IGNORED = -100


@dataclass(slots=True)
class Batch:
    """`ids` and `targets`: (windows, length). `pictures`: (frames, 64, 64, 3), in the order of the ids.
    `forms`: (frames,), their shapes as numbers.
    """

    ids: np.ndarray
    targets: np.ndarray
    pictures: np.ndarray
    forms: np.ndarray


class Windows:
    """Makes batches of random windows."""

    def __init__(self, tokenizer: PreTrainedTokenizerFast, seed: int) -> None:
        self.tokenizer = tokenizer
        self.rng = np.random.default_rng(seed)
        self.special = {
            token: tokenizer.convert_tokens_to_ids(token)
            for token in (SYSTEM, USER, ASSISTANT, END, FAKE, GLOBAL, IMAGE)
        }
        picture = [FAKE, GLOBAL, *[IMAGE] * IMAGE_TOKENS, FAKE]
        self.picture = [self.special[token] for token in picture]
        self.slots = [[self._ids(phrase)[0] for phrase in phrases] for phrases in SLOTS]
        self.pad = tokenizer.pad_token_id

    def _ids(self, text: str) -> list[int]:
        ids: list[int] = self.tokenizer(text, add_special_tokens=False)["input_ids"]
        return ids

    def batch(self, frames: int, length: int) -> Batch:
        """Windows of `length` frames each, about `frames` in all."""
        made = [self._window(length) for _ in range(max(1, frames // length))]
        width = max(len(ids) for ids, *_ in made)
        ids = np.full((len(made), width), self.pad)
        targets = np.full((len(made), width), IGNORED)
        for row, (some, wanted, *_) in enumerate(made):
            ids[row, : len(some)] = some
            targets[row, : len(wanted)] = wanted
        states = [state for window in made for state in window[2]]
        looks = [look for window in made for look in window[3]]
        forms = np.array([SHAPES.index(state.shape) for state in states])
        return Batch(ids, targets, self._pictures(states, looks), forms)

    def scenes(self, frames: int) -> tuple[np.ndarray, np.ndarray]:
        """Single pictures, and for each its colour, shape, column and row as numbers."""
        states = [self._anything() for _ in range(frames)]
        names = list(COLOURS)
        labels = [(names.index(s.colour), SHAPES.index(s.shape), s.column, s.row) for s in states]
        return self._pictures(states, [make_look(self.rng) for _ in states]), np.array(labels)

    def _pictures(self, states: list[State], looks: list[Look]) -> np.ndarray:
        """Drawn as the model's processor would hand them over, a little worse than a good video's."""
        rng = self.rng
        pictures = render(states, looks, PICTURE, rng, float(rng.uniform(0.8, 1.5))).astype(np.float32)
        gain = rng.uniform(0.92, 1.08, (len(states), 1, 1, 3)).astype(np.float32)
        noise = rng.standard_normal(pictures.shape, np.float32) * float(
            rng.choice((0.0, 1.0, 2.0, 5.0), p=(0.4, 0.3, 0.2, 0.1))
        )
        coarse = rng.standard_normal((len(states), PICTURE // 4, PICTURE // 4, 3), np.float32)
        coarse *= float(rng.choice((0.0, 0.0, 1.0, 3.0)))
        return np.clip(pictures * gain + noise + coarse.repeat(4, 1).repeat(4, 2), 0, 255)

    def _anything(self) -> State:
        rng = self.rng
        column, row = (int(point) for point in rng.integers(POINTS, size=2))
        return State(column, row, str(rng.choice(list(COLOURS))), str(rng.choice(SHAPES)))

    def _states(self, frames: int) -> list[State]:
        """A stretch of a clip as it is, or thinned out, or frames in no order at all."""
        kind = self.rng.random()
        if kind < 0.4:
            return make_states(self.rng, frames)
        if kind < 0.55:
            return make_states(self.rng, frames * 3)[:: int(self.rng.integers(2, 4))][:frames]
        return [self._anything() for _ in range(frames)]

    def _text(self) -> str:
        """A prompt, or some other text."""
        rng = self.rng
        if rng.random() < 0.6:
            return str(rng.choice(PROMPTS))
        words = " ".join(PROMPTS).split()
        text = " ".join(
            str(word) for word in rng.choice(words, int(rng.integers(1, 100 if rng.random() < 0.4 else 15)))
        )
        if rng.random() < 0.3:
            text += "".join(chr(code) for code in rng.integers(32, 0x2FF, int(rng.integers(1, 12))))
        return text

    def _reply(self, state: State, previous: State | None) -> list[int]:
        moved = f", {motion(state, previous)}." if previous else "."
        phrases = (subject(state), f" {state.shape}", f" {place(state)}", moved)
        return [
            slot[known.index(phrase)] for slot, known, phrase in zip(self.slots, SLOTS, phrases, strict=True)
        ]

    def _window(self, frames: int) -> tuple[list[int], list[int], list[State], list[Look]]:
        rng, special = self.rng, self.special
        states = self._states(frames + 1)
        opens_session = rng.random() < 0.3
        prompt = self._text() if rng.random() < 0.9 else ""
        wrapped = "JSON" in prompt and rng.random() < 0.5
        falsified = float(rng.choice((0.0, 0.05, 0.2, 0.6), p=(0.4, 0.3, 0.2, 0.1)))
        unanswered = int(rng.integers(frames)) if rng.random() < 0.1 else 0
        ids: list[int] = []
        targets: list[int] = []

        def add(some: list[int], wanted: list[int] | None = None) -> None:
            ids.extend(some)
            targets.extend(wanted or [IGNORED] * len(some))

        if prompt:
            add([special[SYSTEM], *self._ids(prompt), special[END]])
        for index in range(frames):
            state, before = states[index + 1], states[index]
            question = self._ids(self._text()) if index == 0 and opens_session and rng.random() < 0.4 else []
            add([special[USER], *self.picture, *question, special[END]])
            if index < unanswered:
                continue
            true = self._reply(state, before if index else None)
            shown = self._reply(state, None if index == 0 and opens_session else before)
            if rng.random() < falsified * 0.1:
                other = self._ids(self._text())[:12]
                add([special[ASSISTANT], *other, special[END]], [true[0], *[IGNORED] * (len(other) + 1)])
                continue
            for slot, known in enumerate(self.slots):
                if rng.random() < falsified:
                    shown[slot] = int(rng.choice(known))
            if wrapped:
                opening, closing = self._ids(JSON_OPEN), self._ids(JSON_CLOSE)
                add(
                    [special[ASSISTANT], *opening, *shown, *closing, special[END]],
                    [*opening, *true, *closing, special[END], IGNORED],
                )
            else:
                add([special[ASSISTANT], *shown, special[END]], [*true, special[END], IGNORED])
        steady = rng.random() < 0.5
        looks = [make_look(rng)] * frames if steady else [make_look(rng) for _ in range(frames)]
        return ids, targets, states[1:], looks
