"""The lite engine on ten frames a second of a 720p source of 30: whether it keeps up, or what it drops."""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from live_run import ROOT, STREAM, LiveRun, spread

from tests.live.ffmpeg_server import QUIET, file_server, h264

FPS = 10


def as_camera(clip: Path, made: Path) -> Path:
    """`clip` as a camera of 720p and 30 frames a second would send it."""
    shape = "scale=1280:720:force_original_aspect_ratio=decrease,pad=1280:720:-1:-1,fps=30"
    command = [*QUIET, "-i", str(clip), "-vf", shape, *h264(30), "-b:v", "4M", "-an", "-f", "mpegts"]
    subprocess.run([*command, str(made)], check=True)
    return made


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("clip", nargs="?", type=Path, default=ROOT / "samples" / "tour.mp4")
    parser.add_argument("--seconds", type=float, default=60)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        made = as_camera(asked.clip, Path(folder) / "camera.ts")
        with file_server(made, life_s=asked.seconds + 60) as source:
            options = (
                "--engine",
                "lite",
                "--fps",
                str(FPS),
                "--duration",
                f"{asked.seconds:g}",
                "-f",
                "jsonl",
            )
            with LiveRun([*STREAM, "caption", source.url, *options]) as run:
                code = run.wait()
    captions = run.captions
    print(f"exit code {code}", *run.errors[-3:], sep="\n")
    span_s = captions[-1]["pts_s"] - captions[0]["pts_s"]
    dropped = sum(each["dropped_since_last"] for each in captions)
    print(f"{len(captions)} captions in {span_s:.1f} s: {(len(captions) - 1) / span_s:.2f} a second of {FPS}")
    print(f"dropped {dropped}; together {len(captions) + dropped}, of {span_s * FPS + 1:.0f} ticks")
    print(f"lag_s {spread([each['lag_s'] for each in captions])}")
    print(f"memory at most {max(megabytes for _, megabytes in run.memory):.0f} MB")


if __name__ == "__main__":
    main()
