"""Make clips of one coloured shape that moves over a plain ground, with the true caption of every frame.

    python samples/shapes/make_clip.py clip.mp4 --seed 3 --frames 100 --fps 2

writes the video (H.264 for .mp4, lossless FFV1 for .mkv) and, beside it, `clip.jsonl` with one line a frame.
The same seed always makes the same clip.

The shape's centre stands on a lattice of 6 × 6 points, two for each cell of the 3 × 3 grid that captions name
("top left", "centre", ...), and no point lies near a cell's border, so the words are never a matter of
opinion. Between two frames the shape stands still or steps to a neighbouring point, in one of eight
directions. It turns at the walls and now and then by itself, and sometimes changes its colour or its form.
"""

from __future__ import annotations

import argparse
import json
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

COLOURS: dict[str, tuple[int, int, int]] = {
    "red": (215, 35, 40),
    "green": (35, 165, 60),
    "blue": (40, 75, 215),
    "yellow": (240, 220, 50),
    "purple": (150, 45, 180),
    "orange": (245, 135, 25),
}
SHAPES = ("circle", "square", "triangle", "cross")
PLACES = (
    ("at the top left", "at the top", "at the top right"),
    ("at the left", "in the centre", "at the right"),
    ("at the bottom left", "at the bottom", "at the bottom right"),
)
POINTS = 6
"""Lattice points along each side."""
PITCH = 9 / 64
"""Distance between neighbouring points, in picture widths."""
MARGIN = 9.5 / 64
"""Distance of the outermost points from the picture's edge, in picture widths."""


@dataclass(frozen=True, slots=True)
class State:
    """What one frame shows."""

    column: int
    row: int
    colour: str
    shape: str


@dataclass(frozen=True, slots=True)
class Look:
    """What stays the same through a clip: the ground, the shape's size and tint, the camera's grain."""

    ground: tuple[float, float, float]
    slope: tuple[float, float]
    tint: tuple[float, float, float]
    radius: float
    grain: float


def subject(state: State) -> str:
    """The caption's head, such as "An orange"."""
    return f"{'An' if state.colour == 'orange' else 'A'} {state.colour}"


def place(state: State) -> str:
    """The cell of the 3 × 3 grid the shape is in."""
    return PLACES[state.row * 3 // POINTS][state.column * 3 // POINTS]


def motion(state: State, previous: State) -> str:
    """How the shape moved since the frame before: "moving up and left", "standing still"."""
    down, right = state.row - previous.row, state.column - previous.column
    words = [word for word in (("up", "", "down")[_sign(down)], ("left", "", "right")[_sign(right)]) if word]
    return f"moving {' and '.join(words)}" if words else "standing still"


def caption(state: State, previous: State | None = None) -> str:
    """The true caption of a frame; without a previous frame it claims no motion."""
    moved = f", {motion(state, previous)}" if previous else ""
    return f"{subject(state)} {state.shape} {place(state)}{moved}."


def _sign(value: int) -> int:
    """0, 1 or 2 for a negative, zero or positive value."""
    return (value > 0) - (value < 0) + 1


def make_states(rng: np.random.Generator, frames: int) -> list[State]:
    """The life of one shape, frame by frame."""
    names = tuple(COLOURS)
    state = State(
        int(rng.integers(POINTS)), int(rng.integers(POINTS)), str(rng.choice(names)), str(rng.choice(SHAPES))
    )
    states = [state]
    step = (0, 0)
    while len(states) < frames:
        column, row = state.column + step[0], state.row + step[1]
        outside = not (0 <= column < POINTS and 0 <= row < POINTS)
        if outside or len(states) == 1 or rng.random() < 0.25:
            choices = [
                (right, down)
                for right in (-1, 0, 1)
                for down in (-1, 0, 1)
                if 0 <= state.column + right < POINTS and 0 <= state.row + down < POINTS
            ]
            step = choices[int(rng.integers(len(choices)))]
            column, row = state.column + step[0], state.row + step[1]
        state = replace(state, column=column, row=row)
        if rng.random() < 0.03:
            state = replace(state, colour=str(rng.choice(names)))
        if rng.random() < 0.03:
            state = replace(state, shape=str(rng.choice(SHAPES)))
        states.append(state)
    return states


def make_look(rng: np.random.Generator) -> Look:
    """A ground of little colour, so that every shape stands out from it by its own."""
    level = rng.uniform(25, 210)
    red, green, blue = (float(level + rng.uniform(-18, 18)) for _ in range(3))
    across, down = (float(rng.uniform(-30, 30)) for _ in range(2))
    tint = (float(rng.uniform(-10, 10)), float(rng.uniform(-10, 10)), float(rng.uniform(-10, 10)))
    return Look(
        (red, green, blue), (across, down), tint, float(rng.uniform(7.2, 8.0) / 64), float(rng.uniform(0, 3))
    )


def render(
    states: list[State], looks: list[Look], size: int, rng: np.random.Generator, softness: float = 1.0
) -> NDArray[np.uint8]:
    """Draw frames, one look each: (frames, size, size, 3) RGB. An edge is `softness` pixels wide."""
    axis = (np.arange(size, dtype=np.float32) + 0.5) / size
    centre_x = np.array([MARGIN + PITCH * state.column for state in states], np.float32)
    centre_y = np.array([MARGIN + PITCH * state.row for state in states], np.float32)
    radius = np.array([look.radius for look in looks], np.float32)[:, None, None]
    x = (axis[None, None, :] - centre_x[:, None, None]) / radius
    y = (axis[None, :, None] - centre_y[:, None, None]) / radius
    distance = np.empty((len(states), size, size), np.float32)
    for name in {state.shape for state in states}:
        chosen = np.array([state.shape == name for state in states])
        distance[chosen] = _distance(name, x[chosen], y[chosen])
    cover = np.clip(0.5 - distance * radius * (size / softness), 0, 1)[..., None]
    across = np.array([look.slope[0] for look in looks], np.float32)[:, None, None] * (
        axis[None, None, :] - 0.5
    )
    down = np.array([look.slope[1] for look in looks], np.float32)[:, None, None] * (
        axis[None, :, None] - 0.5
    )
    ground = (
        np.array([look.ground for look in looks], np.float32)[:, None, None, :] + (across + down)[..., None]
    )
    paint = np.array([COLOURS[state.colour] for state in states], np.float32)
    paint = (paint + np.array([look.tint for look in looks], np.float32))[:, None, None, :]
    grain = np.array([look.grain for look in looks], np.float32)[:, None, None, None]
    noise = rng.standard_normal(ground.shape, np.float32) * grain
    picture: NDArray[np.uint8] = np.clip(ground + (paint - ground) * cover + noise, 0, 255).astype(np.uint8)
    return picture


def _distance(shape: str, x: NDArray[np.float32], y: NDArray[np.float32]) -> NDArray[Any]:
    """Signed distance from the outline of a shape that fills -1..1; negative inside, y down."""
    if shape == "circle":
        return np.sqrt(x * x + y * y) - 0.8
    across, up = np.abs(x), np.abs(y)
    if shape == "square":
        return np.maximum(across, up) - 1
    if shape == "triangle":
        return np.maximum(0.894 * across - 0.447 * y - 0.447, y - 0.9)
    return np.minimum(np.maximum(across - 1, up - 0.24), np.maximum(across - 0.24, up - 1))


def make_clip(seed: int, frames: int, size: int = 256) -> tuple[NDArray[np.uint8], list[State]]:
    """The frames of the clip that belongs to a seed, and their states."""
    rng = np.random.default_rng(seed)
    states, look = make_states(rng, frames), make_look(rng)
    return render(states, [look] * frames, size, rng), states


def truth(states: list[State], fps: float) -> list[dict[str, object]]:
    """One record a frame; `caption` is for who saw the frame before, `alone` for who did not."""
    return [
        {
            "frame": index,
            "time_s": round(index / fps, 6),
            "caption": caption(state, states[index - 1] if index else None),
            "alone": caption(state),
            "column": state.column,
            "row": state.row,
            "colour": state.colour,
            "shape": state.shape,
        }
        for index, state in enumerate(states)
    ]


def write_video(path: Path, pictures: NDArray[np.uint8], fps: float) -> None:
    """Write RGB frames as FFV1 (.mkv, lossless) or H.264 (any other suffix)."""
    import av

    lossless = path.suffix == ".mkv"
    with av.open(str(path), "w") as container:
        stream = container.add_stream(
            "ffv1" if lossless else "libx264", rate=Fraction(fps).limit_denominator(1000)
        )
        stream.height, stream.width = pictures.shape[1:3]
        stream.pix_fmt = "bgr0" if lossless else "yuv420p"
        if not lossless:
            stream.options = {"crf": "20", "preset": "slow"}
        for picture in pictures:
            container.mux(stream.encode(av.VideoFrame.from_ndarray(picture, format="rgb24")))
        container.mux(stream.encode())


def main() -> None:
    """Write one clip and its truth."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("out", type=Path, help="the video to write: .mp4 (H.264) or .mkv (lossless)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--frames", type=int, default=100)
    parser.add_argument("--fps", type=float, default=2.0)
    parser.add_argument("--size", type=int, default=256, help="width and height in pixels")
    options = parser.parse_args()
    pictures, states = make_clip(options.seed, options.frames, options.size)
    write_video(options.out, pictures, options.fps)
    lines = "".join(json.dumps(record) + "\n" for record in truth(states, options.fps))
    options.out.with_suffix(".jsonl").write_text(lines, encoding="utf-8")


if __name__ == "__main__":
    main()
