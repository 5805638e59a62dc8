"""Sampling two frames a second: `stream frames -o none` against ffmpeg's `fps` filter and an OpenCV loop.

Real content as it is, and the same encoded again by x264's defaults at 720p and 1080p. One clip has no frames
that nothing refers to: there it is held against ffmpeg alone, and against its own run at 0.1 frames a second.
Times are of whole processes, start-up and all, the three by turns.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import tempfile
from fractions import Fraction
from pathlib import Path
from time import perf_counter

from cli.video.reader import Reader
from cli.video.sampled import sampled
from cli.video.sampling import SamplingPlan
from cli.video.timeline import Decoded

STREAM = str(Path(sys.executable).parent / "stream")
OPENCV = """
import sys
import cv2

video, count, taken = cv2.VideoCapture(sys.argv[1]), 0, 0
rate = video.get(cv2.CAP_PROP_FPS)
while video.grab():
    if count / rate >= taken / 2:
        ok, picture = video.retrieve()
        assert ok
        taken += 1
    count += 1
assert taken > 1
"""
X264 = ["-an", "-c:v", "libx264", "-pix_fmt", "yuv420p"]


def ffmpeg(*arguments: str) -> None:
    subprocess.run(["ffmpeg", "-v", "error", "-y", *arguments], check=True)


def make_clips(clips: Path, folder: Path) -> dict[str, Path]:
    """The clips that are measured: some minutes each, as videos are, not the few seconds of the real ones."""
    bikes, film = clips / "sk_bikes.mp4", clips / "am_bbb_2500ms.ts"
    once = folder / "once.mp4"
    made = {name: folder / f"{name}.mp4" for name in ("bikes", "x264 720p", "x264 1080p")}

    def repeat(path: Path, seconds: int, target: Path) -> None:
        again = ["-stream_loop", "-1", "-i", str(path), "-t", str(seconds)]
        ffmpeg(*again, "-map", "0:v", "-c", "copy", str(target))

    repeat(bikes, 600, made["bikes"])
    ffmpeg("-stream_loop", "5", "-i", str(bikes), "-vf", "scale=1280:720,setsar=1", *X264, str(once))
    repeat(once, 240, made["x264 720p"])
    ffmpeg("-i", str(film), "-vf", "loop=loop=-1:size=58", "-t", "40", *X264, str(once))
    repeat(once, 200, made["x264 1080p"])
    return made


def wall_s(commands: dict[str, list[str]], rounds: int) -> dict[str, float]:
    """Median of each command's wall time."""
    times: dict[str, list[float]] = {name: [] for name in commands}
    for _ in range(rounds):
        for name, command in commands.items():
            started = perf_counter()
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            times[name].append(perf_counter() - started)
    return {name: statistics.median(taken) for name, taken in times.items()}


def frames(path: Path, fps: Fraction) -> tuple[dict[Fraction, int], int]:
    """Times and checksums of the frames taken, and how many were decoded."""
    reader = Reader(str(path))
    taken = {
        event.pts: hash(event.picture.to_ndarray().tobytes())
        for event in sampled(reader, SamplingPlan(fps=fps))
        if isinstance(event, Decoded)
    }
    reader.close()
    return taken, reader.frames_decoded


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("clips", type=Path, help="the folder of real clips")
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        paths = make_clips(options.clips, Path(folder))
        steady = options.clips / "am_long_1080p_lowbitrate.mp4"
        paths["1080p, all referred to"] = steady
        print(f"{'clip':<24}{'stream':>9}{'ffmpeg':>9}{'OpenCV':>9}{'/ ffmpeg':>10}{'/ OpenCV':>10}  decoded")
        for name, path in paths.items():
            decoder = ["ffmpeg", "-v", "error", "-threads", "2", "-i", str(path)]
            commands = {
                "stream": [STREAM, "frames", str(path), "--fps", "2", "-o", "none", "-q"],
                "ffmpeg": [*decoder, "-vf", "fps=2", "-f", "null", "-"],
                "OpenCV": [sys.executable, "-c", OPENCV, str(path)],
            }
            took = wall_s(commands, options.rounds)
            columns = "".join(f"{seconds:>7.2f} s" for seconds in took.values())
            ratios = "".join(f"{took['stream'] / took[peer]:>10.2f}" for peer in ("ffmpeg", "OpenCV"))
            taken, decoded = frames(path, Fraction(2))
            print(f"{name:<24}{columns}{ratios}  {decoded} for {len(taken)}", flush=True)
        seldom = [STREAM, "frames", str(steady), "--fps", "0.1", "-o", "none", "-q"]
        often = [STREAM, "frames", str(steady), "--fps", "2", "-o", "none", "-q"]
        took = wall_s({"seldom": seldom, "often": often}, options.rounds)
    few, decoded = frames(steady, Fraction(1, 10))
    same = few.items() <= frames(steady, Fraction(2))[0].items()
    print(
        f"0.1 frames a second: {took['seldom']:.2f} s, {took['seldom'] / took['often']:.2f} × two a second; "
        f"{len(few)} frames, {'the same' if same else 'NOT the same'}; {decoded} decoded"
    )


if __name__ == "__main__":
    main()
