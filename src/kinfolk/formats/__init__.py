"""Every on-disk format, one file each; `load` and `save` choose by the suffix or by what a folder holds."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kinfolk._core.checks import check_whole
from kinfolk._core.errors import InputError
from kinfolk._core.files import existing_file, steady
from kinfolk._core.frames import is_frame
from kinfolk.features import FeatureSet, register_from_table, register_save
from kinfolk.formats import (
    arrow,
    clip_retrieval,
    fiftyone,
    hdf5,
    hf_dataset,
    kf_folder,
    market1501,
    mat,
    msmt17,
    npy,
    npz,
    parquet,
    parts,
    pt,
    raw,
    safetensors,
    table,
    veri776,
)
from kinfolk.formats._columns import Asked
from kinfolk.formats._common import COLUMNS, columns, reading
from kinfolk.formats._labels import attach_labels, find_labels
from kinfolk.formats._names import attach_names
from kinfolk.formats._sidecar import sidecar
from kinfolk.formats.frame import read_frame
from kinfolk.formats.kf_folder import FolderWriter

__all__ = ["FORMATS", "FolderWriter", "Format", "dropped", "load", "save"]

EVERYTHING = tuple(COLUMNS)


@dataclass(frozen=True)
class Format:
    """One format.

    Parameters
    ----------
    name : name in messages.
    suffixes : suffixes of its files; none for folders that are recognised by their contents.
    description : one line for the documentation.
    read : path -> FeatureSet; None for a folder whose files are of other formats.
    write : (set, path, force) -> None; None for a format that is only read.
    keeps : the columns that are written.
    wants_dim : `read` takes the dimension of a vector as a second argument.
    wants_columns : `read` takes the columns asked for (`_columns.Asked`) as a second argument.
    labels_beside : the labels are in a file of their own.
    folder_kind : for a format that writes a folder, what its manifest calls it.
    check : (set, path, force) -> None, for a format of several files: raises what `write` would raise about them.
    """

    name: str
    suffixes: tuple[str, ...]
    description: str
    read: Callable[..., FeatureSet] | None = None
    write: Callable[[FeatureSet, Path, bool], None] | None = None
    keeps: tuple[str, ...] = EVERYTHING
    wants_dim: bool = False
    wants_columns: bool = False
    labels_beside: bool = False
    folder_kind: str | None = None
    check: Callable[[FeatureSet, Path, bool], None] | None = None


NATIVE = Format(
    "folder",
    (".kf",),
    "kinfolk's own folder, memory-mapped, of any size",
    kf_folder.read,
    kf_folder.write,
    folder_kind=kf_folder.KIND,
)
PARTS = Format("parts", (), "folder: MS-Celeb as published, features/ and labels/, choose with part=")
MSMT17 = Format("msmt17", (), "folder: lists of MSMT17, features in their order", msmt17.read, wants_dim=True)
VERI776 = Format("veri776", (), "folder: lists of VeRi-776, features in their order", veri776.read, wants_dim=True)
MARKET1501 = Format(
    "market1501",
    (),
    "folder: pictures or lists of Market-1501, features in their order",
    market1501.read,
    wants_dim=True,
)
HF_DATASET = Format(
    "datasets",
    (),
    "folder: Hugging Face's datasets, as save_to_disk writes them",
    hf_dataset.read,
    wants_columns=True,
)
CLIP_RETRIEVAL = Format("clip-retrieval", (), "folder: shards of clip-retrieval and open_clip", clip_retrieval.read)
FIFTYONE = Format("fiftyone", (".json",), "samples.json of fiftyone, or its folder", fiftyone.read, wants_columns=True)
FORMATS = (
    Format("npz", (".npz",), "numpy archive: every column in one file", npz.read, npz.write, wants_columns=True),
    Format(
        "npy",
        (".npy",),
        "numpy array of features, labels in a file beside it",
        npy.read,
        npy.write,
        keeps=("labels",),
        labels_beside=True,
        check=npy.check,
    ),
    Format(
        "bin",
        (".bin",),
        "raw float32 features, memory-mapped, labels in X.meta",
        raw.read,
        raw.write,
        keeps=("labels",),
        wants_dim=True,
        labels_beside=True,
        check=raw.check,
    ),
    Format(
        "mat",
        (".mat",),
        "MATLAB 5 result of re-ID code: query_f, gallery_f and so on",
        mat.read,
        mat.write,
        keeps=("labels", "cameras", "query"),
    ),
    Format("table", (".csv", ".tsv"), "text table, header optional", table.read, table.write, wants_columns=True),
    Format(
        "safetensors",
        (".safetensors",),
        "named tensors, safe to share",
        safetensors.read,
        safetensors.write,
        wants_columns=True,
    ),
    Format(
        "parquet", (".parquet",), "columnar table (extra 'parquet')", parquet.read, parquet.write, wants_columns=True
    ),
    Format("hdf5", (".h5", ".hdf5"), "HDF5 datasets (extra 'hdf5')", hdf5.read, hdf5.write, wants_columns=True),
    Format("pt", (".pt", ".pth"), "tensors of torch.save (extra 'train')", pt.read, wants_columns=True),
    Format("arrow", (".arrow", ".feather"), "arrow table (extra 'parquet')", arrow.read, wants_columns=True),
    FIFTYONE,
    NATIVE,
    PARTS,
    MSMT17,
    VERI776,
    MARKET1501,
    HF_DATASET,
    CLIP_RETRIEVAL,
)
WRITTEN = tuple(suffix for known in FORMATS for suffix in known.suffixes if known.write is not None)
BY_SUFFIX = {suffix: known for known in FORMATS for suffix in known.suffixes}


def load(
    path: str | os.PathLike[str],
    labels: str | os.PathLike[str] | None = None,
    dim: int | None = None,
    part: str | None = None,
    *,
    names: str | os.PathLike[str] | Sequence[str] | NDArray[Any] | None = None,
    name_column: str | None = None,
    label_column: str | None = None,
    feature_columns: str | Sequence[str] | None = None,
) -> FeatureSet:
    """Read a feature set from a file or a folder.

    Parameters
    ----------
    path : a file with a known suffix, or a folder of a known layout (see `FORMATS` and docs/formats.md).
    labels : a .npy, .txt or .meta file with the labels, instead of those found with the features.
    dim : dimensions of a vector. Needed for .bin files whose vectors are not 256 wide; checked for other formats.
    part : return only this part, such as "train" or "test"; for the MS-Celeb layout "part1_test" or "1".
    names : the name of each row, before a part is chosen, instead of those found with the features: a list, or a file
        (.txt with one a line, .csv or .tsv with a column of them, .npy).
    name_column, label_column : titles of these columns of a table, where they are not recognised.
    feature_columns : the features of a table: titles, globs such as "f*" and ranges such as "f0:f127", as a list or
        with commas between them.

    Returns
    -------
    FeatureSet. `taken_from` says what the columns of a table were taken for. Features in memory have been checked (no
    NaN, infinite or zero vectors); memory-mapped ones are not read here, and are checked when they are used.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "small.npz"
    >>> save(FeatureSet(np.eye(3), labels=[0, 0, 1]), path)
    >>> load(path)
    FeatureSet(3 x 3, 2 classes)
    """
    if dim is not None:
        check_whole("dim", dim)
    if is_frame(path):
        raise InputError("a path is expected, not a table: kf.FeatureSet.from_table(table)")
    source = Path(path)
    known = format_of(source)
    if known is PARTS:
        source, part = parts.part_file(source, part), None
        known = format_of(source)
    assert known.read is not None
    asked = Asked(name_column, label_column, feature_columns)
    if asked and not known.wants_columns and not (names is not None and asked == Asked(name_column)):
        raise InputError(f"{source} is no table: its columns have no titles to choose by")
    second = (dim,) if known.wants_dim else (asked,) if known.wants_columns else ()
    read_features = known.read

    def labels_file() -> Path | None:
        return Path(labels) if labels is not None else find_labels(source) if known.labels_beside else None

    def read() -> FeatureSet:
        fs = read_features(source, *second)
        fs = fs if names is None else attach_names(fs, names, name_column)
        beside = labels_file()  # after the features: to read them may finish what a killed run left, labels too
        return fs if beside is None else attach_labels(fs, source, beside)

    fs = steady([source, *filter(None, [labels_file()])], read)
    with reading(source, known.name):
        if dim is not None and fs.dim != dim:
            raise InputError(f"vectors have {fs.dim} dimensions, not dim={dim}")
        if not isinstance(fs.features, np.memmap):
            fs.validate()
        return fs if part is None else fs.part(part)


def read_beside(path: str | os.PathLike[str]) -> list[Path]:
    """Return the files that `load` reads with this one, those that are there.

    >>> read_beside("no-such-file.npy")
    []
    """
    file = Path(path)
    known = BY_SUFFIX.get(file.suffix.lower())
    if known is None or not known.labels_beside:
        return []
    return [found for found in (sidecar(file), find_labels(file)) if found is not None and found.is_file()]


def written_beside(path: str | os.PathLike[str]) -> list[Path]:
    """Return the files that `save` may write with this one.

    >>> [file.name for file in written_beside("faces.npy")]
    ['faces.npy.json', 'faces.labels.npy']
    """
    file = Path(path)
    known = BY_SUFFIX.get(file.suffix.lower())
    if known is None or not known.labels_beside:
        return []
    return [sidecar(file), npy.labels_file(file) if known.name == "npy" else file.with_suffix(".meta")]


def check_save(fs: FeatureSet, path: str | os.PathLike[str], force: bool = False) -> None:
    """Raise InputError where `save` would refuse because of files that are there: before the work that makes the set.

    >>> check_save(FeatureSet(np.eye(2)), "no-such-file.npy")
    """
    known = format_for(Path(path))
    if known.check is not None:
        known.check(fs, Path(path), force)


def save(fs: FeatureSet, path: str | os.PathLike[str], force: bool = False) -> None:
    """Write a feature set in the format of the suffix, whole or not at all.

    Parameters
    ----------
    fs : the set. Not every format has a place for every column: see `dropped`.
    path : where to write; see `FORMATS` for the suffixes.
    force : replace a file or folder of features that is there; without it that is an error.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "small.csv"
    >>> save(FeatureSet([[0.5, 1.0]], labels=[7]), path)
    >>> print(path.read_text().strip())
    label,f0,f1
    7,0.5,1
    """
    target = Path(path)
    write = format_to_write(target).write
    assert write is not None
    fs.validate()
    try:
        write(fs, target, force)
    except UnicodeEncodeError as error:
        raise InputError(f"{target}: a text of this set is not valid Unicode: {error}") from error


def dropped(fs: FeatureSet, path: str | os.PathLike[str]) -> tuple[str, ...]:
    """Return the columns that would be lost if the set were written to `path`.

    Parameters
    ----------
    fs : the set.
    path : where it would be written; only the suffix is used.

    Returns
    -------
    Names of columns, as docs/formats.md has them.

    Examples
    --------
    >>> dropped(FeatureSet(np.eye(2), labels=[0, 1], cameras=[3, 4]), "out.bin")
    ('cameras',)
    """
    keeps = format_to_write(Path(path)).keeps
    lost = [name for name in columns(fs) if name not in keeps]
    if fs.label_names and keeps is not EVERYTHING:
        lost.append("label_names")
    return tuple(lost)


def format_for(path: Path) -> Format:
    """Return the format of a file by its suffix."""
    known = BY_SUFFIX.get(path.suffix.lower())
    if known is None:
        raise InputError(f"{path}: the suffix {path.suffix!r} is not known; known are {', '.join(BY_SUFFIX)}")
    return known


def format_to_write(path: Path) -> Format:
    """Return the format in which a file of this suffix is written."""
    known = BY_SUFFIX.get(path.suffix.lower())
    if known is None or known.write is None:
        fault = f"the suffix {path.suffix!r} is not known" if known is None else "files of this suffix are only read"
        raise InputError(f"{path}: {fault}; written are {', '.join(WRITTEN)}")
    return known


def format_of(path: Path) -> Format:
    """Return the format of an existing file or folder."""
    if not path.is_dir():
        return format_for(existing_file(path))
    if (path / kf_folder.FEATURES).is_file():
        return NATIVE
    layouts: tuple[tuple[Format, Any], ...] = (
        (HF_DATASET, hf_dataset),
        (CLIP_RETRIEVAL, clip_retrieval),
        (FIFTYONE, fiftyone),
        (MSMT17, msmt17),
        (VERI776, veri776),
        (MARKET1501, market1501),
        (PARTS, parts),
    )
    for layout, module in layouts:
        if module.matches(path):
            return layout
    raise InputError(
        f"{path} is a folder without {kf_folder.FEATURES}, without features/*.bin or *.npy, without the lists of"
        " MSMT17, VeRi-776 or Market-1501, and not of Hugging Face's datasets, clip-retrieval or fiftyone"
    )


def _from_table(table: Any, *asked: Any) -> FeatureSet:
    return read_frame(table, Asked(*asked)).validate()


register_save(save)
register_from_table(_from_table)
