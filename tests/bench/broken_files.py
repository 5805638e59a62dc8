"""Reads thousands of broken files, more than the test suite does; tells each that is a fault, and counts.

    broken_files.py [FILES_OF_EACH_KIND [FIRST_SEED]]

A file that crashes or hangs the reading process is kept in the folder that is named at the end.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from random import Random

sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.cli.video.broken import KINDS, break_, make_whole
from tests.cli.video.reading import WAYS, ReadingProcess


def main() -> None:
    each = int(sys.argv[1]) if len(sys.argv) > 1 else 300
    first = int(sys.argv[2]) if len(sys.argv) > 2 else 1_000_000
    folder = Path(tempfile.mkdtemp(prefix="broken-"))
    process, total, faults, slowest, peak_mb = ReadingProcess(), Counter[str](), 0, 0.0, 0
    print(f"{'kind':<14} {'ok':>6} {'refused':>8} {'faults':>7} {'slowest':>9}")
    for kind in KINDS:
        whole = make_whole(folder, kind)
        counts, longest = Counter[str](), 0.0
        for seed in range(first, first + each):
            data, words = break_(whole, kind, Random(f"{kind} {seed}"))
            path, way = folder / f"{seed}-{kind}", WAYS[seed % len(WAYS)]
            path.write_bytes(data)
            started = time.perf_counter()
            said = process.read(path, way)
            longest = max(longest, time.perf_counter() - started)
            counts[said["outcome"]] += 1
            peak_mb = max(peak_mb, said["peak_mb"])
            if said["outcome"] in ("ok", "refused"):
                path.unlink()
            else:
                faults += 1
                print(f"{path} ({words}; read {way}): {said['outcome']}: {said['detail']}", file=sys.stderr)
        bad = each - counts["ok"] - counts["refused"]
        print(f"{kind:<14} {counts['ok']:>6} {counts['refused']:>8} {bad:>7} {longest:>7.2f} s", flush=True)
        total += counts
        slowest = max(slowest, longest)
    process.close()
    print(f"{dict(total)}; peak memory {peak_mb} MB; slowest {slowest:.2f} s; {folder}")
    sys.exit(bool(faults))


if __name__ == "__main__":
    main()
