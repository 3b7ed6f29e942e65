"""Corrupted files: every kind of file that kinfolk reads, damaged at random, read by a process with limits.

Each case copies a valid file or folder, damages one file of it (bits, lengths, splices, numbers in headers, members of
zip files, values of JSON), and reads it in a worker. Counted are: read (the damage did no harm, or cannot be seen),
refused (an error of kinfolk or of the system, one line), and what must not be: foreign (another exception), crashed
(the process died), late (over 20 seconds), memory (over 512 MiB more than before).

Run with a case's number to see it alone: python -m tools.trials.corrupted KEEP_FOLDER SEED NUMBER.
"""

from __future__ import annotations

import json
import os
import random
import re
import resource
import select
import shutil
import struct
import subprocess
import sys
import tempfile
import zipfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

SECONDS = 20  # for a case; a valid file takes a few milliseconds
MOST_GROWTH = 512 << 20  # bytes: the files are of kilobytes
SPACE = 4 << 30  # address space beyond that of the imports, so that a runaway allocation ends the case, not the machine
BAD_NUMBERS = (0, 1, -1, 127, 255, 2**15, 2**16 - 1, 2**31 - 1, 2**31, 2**32 - 1, 2**62, 2**63 - 1)
BAD_VALUES: tuple[Any, ...] = (
    *(0, -1, 1, 2**31, 10**9, 10**30, 0.5, 1e308, float("inf"), float("nan"), True, None, "", "x", "../../x", "\0"),
    *([], {}, [[]], {"a": {}}, "9" * 5000, ["x"] * 50),
)
BAD_CELLS = (b"nan", b"inf", b"-1", b"1e400", b"99999999999999999999", b"x", b"", b'"', b"\xff", b"0x1p5", b"1_0")
SOURCES = {"mat7": "set.mat", "deflated": "set.npz", "fiftyone": "set.json", "datasets": "set", "clip": "set"}


# ---- valid files


def make_all(folder: Path) -> None:
    """Write one valid example of everything below a folder."""
    import numpy as np

    import kinfolk as kf
    from kinfolk._core.files import replacing_folder
    from kinfolk.experiments.results import ExperimentResult, Table
    from kinfolk.formats.clusters import write_clusters
    from kinfolk.rerank.ranking_file import write_ranking
    from kinfolk.training.checkpoint import Checkpoints, StageState

    rng = np.random.default_rng(0)
    X = rng.standard_normal((12, 4)).astype(np.float32)
    fs = kf.FeatureSet(
        X,
        labels=np.arange(12) % 3,
        cameras=np.arange(12) % 2,
        names=[f"n{row}.jpg" for row in range(12)],
        query=np.arange(12) < 3,
        part_index=np.zeros(12, dtype=int),
        part_names=("test",),
    )
    for suffix in ("npz", "npy", "bin", "mat", "csv", "tsv", "safetensors", "parquet", "h5", "kf"):
        place = folder / f"features-{suffix}"
        place.mkdir()
        fs.save(place / f"set.{suffix}")
    _make_foreign(folder, X)
    g = kf.knn_graph(X, 3, show_progress=False)
    for name in ("graph-npz/graph.npz", "graph-folder/graph"):
        (folder / name).parent.mkdir()
        g.save(folder / name)
    _make_models(folder)
    for suffix in ("npz", "csv"):
        (folder / f"ranking-{suffix}").mkdir()
        write_ranking(folder / f"ranking-{suffix}" / f"ranking.{suffix}", kf.rerank.cosine(X, X, top=3), fs, fs)
    (folder / "cells").mkdir()
    lines = [json.dumps(dict(key=f"toy {number}", value=number)) for number in range(5)]
    (folder / "cells" / "cells.jsonl").write_text("\n".join(lines) + "\n")
    (folder / "clusters").mkdir()
    write_clusters(folder / "clusters" / "clusters.csv", np.arange(12) % 3, None)
    with replacing_folder(folder / "manifest", "example") as place:
        (place / "a.txt").write_text("one")
    import torch

    state = StageState(step=7, module={"weight": torch.ones(3)}, optimizer={"weight/step": torch.ones(1)})
    Checkpoints(folder / "checkpoints", fingerprint="3f0c").save("encoder", state)
    (folder / "results").mkdir()
    table = Table(data="digits", head=("", "mAP"), rows=(("raw", "66.0"),))
    ExperimentResult(name="table2", title="Table 2", about="mAP", tables=(table,)).save(folder / "results")


def _make_foreign(folder: Path, X: Any) -> None:
    """Write what other programs do: deflated archives, torch, arrow, datasets, clip-retrieval, fiftyone."""
    import base64
    import io
    import zlib

    import numpy as np
    import pyarrow as pa
    import pyarrow.parquet as pq
    import torch
    from scipy.io import savemat

    def place(name: str) -> Path:
        (folder / name).mkdir()
        return folder / name

    sides = {f"{side}_f": X for side in ("query", "gallery")}
    rest = {f"{side}_{name}": np.arange(12) for side in ("query", "gallery") for name in ("label", "cam")}
    savemat(place("features-mat7") / "set.mat", {**sides, **rest}, do_compression=True)
    np.savez_compressed(place("features-deflated") / "set.npz", features=X, labels=np.arange(12), names=["n"] * 12)
    neighbors = np.argsort(-(X @ X.T), axis=1)[:, :4]
    data = np.stack([neighbors, np.sort(rng_like(neighbors), axis=1)], axis=1)
    np.savez_compressed(place("graph-distances") / "graph.npz", data=data)
    content = {"embeddings": torch.from_numpy(X), "labels": torch.arange(12), "names": ["n"] * 12}
    torch.save(content, place("features-pt") / "set.pt")
    table = pa.table({"embedding": X.tolist(), "label": np.arange(12) % 3, "file": ["f"] * 12})
    for name, new, options in (
        ("arrow", pa.ipc.new_stream, None),
        ("feather", pa.ipc.new_file, pa.ipc.IpcWriteOptions(compression="lz4")),
    ):
        with new(place(f"features-{name}") / f"set.{name}", table.schema, options=options) as writer:
            writer.write_table(table)
    hf = place("features-datasets") / "set"
    hf.mkdir()
    shutil.copy(folder / "features-arrow" / "set.arrow", hf / "data-00000-of-00001.arrow")
    (hf / "dataset_info.json").write_text("{}")
    (hf / "state.json").write_text(json.dumps({"_data_files": [{"filename": "data-00000-of-00001.arrow"}]}))
    clip = place("features-clip") / "set"
    (clip / "img_emb").mkdir(parents=True)
    (clip / "metadata").mkdir()
    np.save(clip / "img_emb" / "img_emb_0.npy", X.astype(np.float16))
    pq.write_table(pa.table({"image_path": ["p"] * 12}), clip / "metadata" / "metadata_0.parquet")
    samples = []
    for row, vector in enumerate(X):
        stream = io.BytesIO()
        np.save(stream, vector)
        text = base64.b64encode(zlib.compress(stream.getvalue())).decode()
        binary = {"$binary": {"base64": text, "subType": "00"}}
        samples.append({"filepath": str(row), "ground_truth": {"label": "cat"}, "embedding": binary})
    (place("features-fiftyone") / "set.json").write_text(json.dumps({"samples": samples}))


def rng_like(array: Any) -> Any:
    """Return distances of the shape of an array of neighbours."""
    import numpy as np

    return np.random.default_rng(1).random(array.shape)


def _make_models(folder: Path) -> None:
    import numpy as np

    import kinfolk as kf

    fs = kf.datasets.person_like(12, seed=1, dim=8)
    X, y = np.asarray(fs.features), fs.labels
    quiet = dict(k=4, show_progress=False)
    kf.GraphEnhancer(**quiet).fit(X).save(folder / "model-free")
    kf.GraphEnhancer(model="subgraph", **quiet).fit(X).save(folder / "model-encoder")
    faces = kf.datasets.celeb_like(n_identities=12).part("train")
    kf.GraphEnhancer(k=10, show_progress=False).fit(faces, faces.labels).save(folder / "model-metric")
    for kind in (kf.cluster.AdaNets, kf.cluster.StarFC, kf.cluster.Clusformer):
        kind(k=4, steps=2, show_progress=False).fit(X, y).save(folder / f"learned-{kind.__name__}")


# ---- reading, in the worker


class Cell(NamedTuple):
    """A finished cell of an experiment."""

    key: str
    value: int


def read(place: Path) -> None:
    """Read a case as its user would, and use what was read."""
    import numpy as np

    import kinfolk as kf

    what, _, which = place.name.partition("-")
    if what == "features":
        fs = kf.load(place / SOURCES.get(which, f"set.{which}"), dim=4 if which == "bin" else None)
        kf.features.unit_rows(fs)  # a memory map is looked at only now
        repr((fs, None if fs.names is None else fs.names.tolist()))
    elif what == "graph":
        kf.NeighborGraph.load(next(place.glob("graph*"))).to_scipy()
    elif what == "model":
        enhancer = kf.GraphEnhancer.load(place)
        enhancer.transform(np.random.default_rng(0).standard_normal((8, enhancer.n_features_in_)))
    elif what == "learned":
        clusterer = getattr(kf.cluster, which).load(place)
        clusterer.predict(np.random.default_rng(0).standard_normal((8, clusterer.n_features_in_)))
    elif what == "clusters":
        from kinfolk.formats.clusters import read_clusters

        read_clusters(place / "clusters.csv", 12)
    elif what == "ranking":
        from kinfolk.rerank.ranking_file import read_ranking

        fs = kf.FeatureSet(np.ones((12, 4)), labels=np.arange(12) % 3, names=[f"n{row}.jpg" for row in range(12)])
        read_ranking(place / f"ranking.{which}", fs, fs)
    elif what == "cells":
        from kinfolk.experiments.resume import CellStore

        CellStore(place / "cells.jsonl", Cell)
    elif what == "manifest":
        from kinfolk._core.manifest import read_manifest

        manifest = read_manifest(place)
        if manifest is not None:
            repr((list(manifest.foreign(place)), manifest.changed(place)))
    elif what == "checkpoints":
        from kinfolk.training.checkpoint import Checkpoints

        Checkpoints(place, fingerprint="3f0c").load("encoder")
    else:
        from kinfolk.experiments.results import read_results

        read_results(place)


def outcome(place: Path) -> tuple[str, str]:
    """Return how reading a case ended, and why."""
    import warnings

    from kinfolk._core.errors import KinfolkError

    before = _reset_peak()
    try:
        with warnings.catch_warnings(action="ignore"):
            read(place)
        result = ("read", "")
    except MemoryError as error:
        result = ("memory", repr(error))
    except (KinfolkError, OSError) as error:
        lines = str(error).splitlines()
        starved = isinstance(error.__cause__, MemoryError)
        result = ("memory" if starved else "refused" if len(lines) == 1 else "foreign", str(error))
    except Exception as error:
        import traceback

        where = traceback.extract_tb(error.__traceback__)[-1]
        result = ("foreign", f"{type(error).__name__}: {error} ({where.filename}:{where.lineno})")
    grown = _status("VmHWM") - before
    return ("memory", f"{grown >> 20} MiB") if grown > MOST_GROWTH else result


def _reset_peak() -> int:
    Path("/proc/self/clear_refs").write_text("5")
    return _status("VmRSS")


def _status(field: str) -> int:
    lines = Path("/proc/self/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith(field)).split()[1]) * 1024


def work() -> None:
    """Read the cases named on stdin, one a line, and answer with one line of JSON each."""
    import h5py  # noqa: F401
    import pyarrow.parquet  # noqa: F401
    import torch  # noqa: F401

    import kinfolk  # noqa: F401

    results, sys.stdout = os.fdopen(os.dup(1), "w"), sys.stderr
    space = _status("VmSize") + SPACE
    resource.setrlimit(resource.RLIMIT_AS, (space, space))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    for line in sys.stdin:
        print(json.dumps(outcome(Path(line.rstrip("\n")))), file=results, flush=True)


class Worker:
    """A process that reads cases, started anew when one of them ends it."""

    def __init__(self) -> None:
        """Start nothing yet."""
        self.process: subprocess.Popen[str] | None = None

    def ask(self, place: Path) -> tuple[str, str]:
        """Return how reading this case ended."""
        if self.process is None:
            command = [sys.executable, "-c", "from tools.trials.corrupted import work; work()"]
            self.process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
            )
            self._seconds = 10 * SECONDS  # the first case waits for the imports and for what numba compiles
        assert self.process.stdin is not None and self.process.stdout is not None
        self.process.stdin.write(f"{place}\n")
        self.process.stdin.flush()
        ready, _, _ = select.select([self.process.stdout], [], [], self._seconds)
        self._seconds = SECONDS
        if not ready:
            self.stop()
            return "late", f"over {SECONDS} seconds"
        line = self.process.stdout.readline()
        if not line:
            code = self.process.wait()
            self.process = None
            return "crashed", f"exit code {code}"
        result, why = json.loads(line)
        return result, why

    def stop(self) -> None:
        """End the process."""
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process = None


# ---- damage


def flip_bits(content: bytearray, chance: random.Random) -> bytearray:
    """Flip one to eight bits."""
    for _ in range(chance.randint(1, 8)):
        content[chance.randrange(len(content))] ^= 1 << chance.randrange(8)
    return content


def cut(content: bytearray, chance: random.Random) -> bytearray:
    """Leave out the end."""
    return content[: chance.randrange(len(content))]


def splice(content: bytearray, chance: random.Random) -> bytearray:
    """Leave out, repeat, zero or move a piece."""
    start = chance.randrange(len(content))
    piece = content[start : start + chance.choice((1, 4, 8, 64, 512))]
    to = chance.randrange(len(content))
    how = chance.randrange(4)
    if how == 0:
        del content[start : start + len(piece)]
    elif how == 1:
        content[to:to] = piece
    elif how == 2:
        content[start : start + len(piece)] = bytes(len(piece))
    else:
        content[to : to + len(piece)] = piece
    return content


def change_number(content: bytearray, chance: random.Random) -> bytearray:
    """Put a number that is rarely thought of where a header or a footer may have one."""
    form = chance.choice(("<B", "<H", "<I", "<Q", ">I", ">Q"))
    size = struct.calcsize(form)
    if len(content) <= size:
        return cut(content, chance)
    near = chance.choice((0, max(0, len(content) - 256), chance.randrange(len(content))))
    at = min(near + chance.randrange(256), len(content) - size)
    number = chance.choice(BAD_NUMBERS) & ((1 << 8 * size) - 1)
    content[at : at + size] = struct.pack(form, number)
    return content


def change_text_number(content: bytearray, chance: random.Random) -> bytearray:
    """Replace one number written as text, as in an npy header, a csv file, or JSON."""
    found = list(re.finditer(rb"\d[\d.eE+-]*", bytes(content)))
    if not found:
        return flip_bits(content, chance)
    chosen = chance.choice(found[:40] if chance.random() < 0.5 else found)
    content[chosen.start() : chosen.end()] = chance.choice(BAD_CELLS)
    return content


def change_json(content: bytearray, chance: random.Random) -> bytearray:
    """Change, remove or bury a value of JSON; of a safetensors file that of its header."""
    start, end = 0, len(content)
    if content[8:9] == b"{":
        start, end = 8, 8 + int.from_bytes(content[:8], "little")
    try:
        value = json.loads(bytes(content[start:end]))
    except ValueError:
        return change_text_number(content, chance)
    places: list[tuple[Any, Any]] = []

    def collect(inner: Any) -> None:
        keys = inner.keys() if isinstance(inner, dict) else range(len(inner)) if isinstance(inner, list) else ()
        for key in keys:
            places.append((inner, key))
            collect(inner[key])

    collect(value)
    if not places:
        return bytearray(json.dumps(chance.choice(BAD_VALUES)).encode())
    inner, key = chance.choice(places)
    how = chance.random()
    if how < 0.15:
        del inner[key]
    elif how < 0.2:
        return content[:start] + bytearray(b"[" * 100_000) + content[end:]
    elif how < 0.3 and isinstance(inner, dict):
        inner[str(key) + "x"] = inner.pop(key)
    else:
        inner[key] = chance.choice(BAD_VALUES)
    text = json.dumps(value).encode()
    return content[:start] if start == 0 and not text else _with_header(content, start, end, text)


def _with_header(content: bytearray, start: int, end: int, text: bytes) -> bytearray:
    if start == 0:
        return bytearray(text)
    return bytearray(len(text).to_bytes(8, "little")) + text + content[end:]


def change_zip(content: bytearray, chance: random.Random) -> bytearray:
    """Play the tricks of zip files: passwords, other methods, sizes that lie, a name twice, bombs."""
    if content[:2] != b"PK":
        return change_number(content, chance)
    central = content.find(b"PK\1\2")
    if central < 0 or chance.random() < 0.4:
        return _rewritten_zip(content, chance)
    # offsets of: flags, method, crc, packed size, size, length of the name, place of the member
    for first, offset, size in ((central, chance.choice((8, 10, 16, 20, 24, 28, 42)), chance.choice((1, 2, 4))),):
        number = chance.choice(BAD_NUMBERS) & ((1 << 8 * size) - 1)
        content[first + offset : first + offset + size] = number.to_bytes(size, "little")
    return content


def _rewritten_zip(content: bytearray, chance: random.Random) -> bytearray:
    import io
    import warnings

    method = chance.choice((zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_LZMA, zipfile.ZIP_BZIP2))
    target = io.BytesIO()
    with (
        warnings.catch_warnings(action="ignore"),
        zipfile.ZipFile(io.BytesIO(content)) as old,
        zipfile.ZipFile(target, "w", method) as new,
    ):
        names = old.namelist()
        for name in names:
            data = bytearray(old.read(name))
            how = chance.random()
            if how < 0.15:
                continue
            if how < 0.5 and data:
                data = chance.choice((flip_bits, cut, splice, change_number, change_text_number))(data, chance)
            if how > 0.95:
                data = data[:128] + bytes(40 << 20)
            new.writestr(name, bytes(data))
            if 0.5 < how < 0.6:
                new.writestr(chance.choice(names), bytes(data))
    return bytearray(target.getvalue())


DAMAGES: tuple[Callable[[bytearray, random.Random], bytearray], ...] = (
    *(flip_bits, cut, splice, change_number, change_text_number, change_json, change_zip),
)
FITTING = {".json": change_json, ".npz": change_zip, ".pt": change_zip, ".csv": change_text_number}


def damage(place: Path, chance: random.Random) -> None:
    """Damage one file of a case."""
    files = sorted(file for file in place.rglob("*") if file.is_file())
    likely = [file for file in files if file.name not in ("README.md", "manifest.json") or place.name == "manifest"]
    file = chance.choice(likely)
    how = FITTING.get(file.suffix) if chance.random() < 0.4 else None
    content = bytearray(file.read_bytes())
    file.write_bytes((how or chance.choice(DAMAGES))(content, chance) if content else b"")
    config = place / "config.json"
    if file.suffix == ".safetensors" and config.is_file() and chance.random() < 0.7:
        _accept_weights(file, config)


def _accept_weights(file: Path, config: Path) -> None:
    """Let the checksum of damaged weights be right, so that what comes after it is tried as well."""
    import hashlib

    facts = json.loads(config.read_text())
    facts["weights"]["sha256"] = hashlib.sha256(file.read_bytes()).hexdigest()
    config.write_text(json.dumps(facts))


def make_case(valid: Path, target: Path, seed: int, number: int) -> Path:
    """Copy a valid example and damage it; the same numbers make the same case."""
    chance = random.Random(f"{seed} {number}")
    kinds = sorted(place.name for place in valid.iterdir())
    kind = kinds[number % len(kinds)]
    shutil.copytree(valid / kind, target / kind)
    damage(target / kind, chance)
    return target / kind


def run(count: int, seed: int) -> dict[str, int]:
    """Damage and read `count` files; what must not be is printed with its number."""
    counts = Counter(dict(read=0, refused=0, foreign=0, crashed=0, late=0, memory=0))
    worker = Worker()
    with tempfile.TemporaryDirectory() as folder:
        valid = Path(folder) / "valid"
        valid.mkdir()
        make_all(valid)
        try:
            for kind in sorted(valid.iterdir()):
                result, why = worker.ask(kind)
                if result != "read":
                    raise AssertionError(f"the valid example of {kind.name} is {result}: {why}")
            for number in range(count):
                target = Path(folder) / "case"
                place = make_case(valid, target, seed, number)
                result, why = worker.ask(place)
                counts[result] += 1
                if result not in ("read", "refused"):
                    print(f"{number} {place.name} {result}: {why[:300]}", file=sys.stderr)
                shutil.rmtree(target)
        finally:
            worker.stop()
    return dict(ran=count, **counts)


if __name__ == "__main__":
    kept = Path(sys.argv[1])
    if not (kept / "valid").is_dir():
        (kept / "valid").mkdir(parents=True)
        make_all(kept / "valid")
    shutil.rmtree(kept / "case", ignore_errors=True)
    made = make_case(kept / "valid", kept / "case", int(sys.argv[2]), int(sys.argv[3]))
    print(made, *outcome(made))
