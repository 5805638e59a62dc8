"""Files broken in every way that chance finds: each is read as far as it goes, or refused in one line."""

from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest

from tests.cli.video.broken import KINDS, break_, make_whole
from tests.cli.video.reading import WAYS, ReadingProcess

EACH = 28  # 18 kinds of them: 504
MOST_MB = 600  # of one process over all the files; an idle one has 75


@pytest.fixture(scope="module")
def process() -> Iterator[ReadingProcess]:
    reading = ReadingProcess()
    yield reading
    reading.close()


@pytest.mark.parametrize("kind", KINDS)
def test_broken_files_are_read_or_refused(tmp_path: Path, process: ReadingProcess, kind: str) -> None:
    whole = make_whole(tmp_path, kind)
    for way in WAYS:
        assert process.read(tmp_path / kind, way)["outcome"] == "ok"
    faults = []
    for seed in range(EACH):
        data, words = break_(whole, kind, Random(f"{kind} {seed}"))
        path = tmp_path / f"broken-{kind}"
        path.write_bytes(data)
        way = WAYS[seed % len(WAYS)]
        said = process.read(path, way)
        if said["outcome"] not in ("ok", "refused") or said["peak_mb"] > MOST_MB:
            faults.append((seed, words, way, said))
    assert not faults
