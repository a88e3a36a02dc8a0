"""Public data sets: found, checked, fetched, or refused with every way to get them."""

from __future__ import annotations

import gzip
import hashlib
import logging
import sys
import threading
import zipfile
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from masquerade import datasets
from masquerade.answers import Claims
from masquerade.datasets import DATA_VARIABLE, DATASETS, Dataset, dataset_named
from masquerade.errors import DatasetUnavailable, ParameterError, UnreadableFile

CLAIMS = "task,worker,answer\na,x,1\na,y,2\nb,x,1\n"


def made_up(**changes: object) -> Dataset:
    """Return a data set of one small file."""
    known = {
        "name": "tiny",
        "title": "Three answers",
        "kind": "categorical",
        "citation": "nobody",
        "licence": "none",
        "source": "nowhere",
        "files": {"claims.csv.gz": hashlib.sha256(CLAIMS.encode()).hexdigest()},
    }
    return Dataset(**{**known, **changes})  # type: ignore[arg-type]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the folder of the small data set, below the one that the environment names."""
    monkeypatch.setenv(DATA_VARIABLE, str(tmp_path))
    place = tmp_path / "tiny"
    place.mkdir()
    with gzip.open(place / "claims.csv.gz", "wt") as file:
        file.write(CLAIMS)
    return place


@pytest.mark.parametrize("name", sorted(DATASETS))
def test_every_data_set_says_whose_it_is(name: str) -> None:
    """Title, citation, licence and source are there, and a checksum for every file."""
    one = dataset_named(name)
    assert one.name == name
    assert one.kind in ("categorical", "numeric", "comparisons")
    assert all((one.title, one.citation, one.licence, one.source))
    assert all(len(digits) == 64 for digits in one.files.values())
    assert bool(one.files) != bool(one.address)
    assert (one.address is None) == (one.download is None)


def test_every_data_set_and_simulator_is_documented() -> None:
    """The page of data sets names each one, and each function that makes one up."""
    page = (Path(__file__).parents[1] / "docs/reference/datasets.md").read_text(encoding="utf-8")
    for name, one in DATASETS.items():
        assert f"| `{name}` | {one.title} <br>" in page
    for name in datasets.__all__:
        if name[0].islower() and name != "dataset_named":
            assert f"`{name}(rng" in page


def test_an_unknown_name_lists_the_known_ones() -> None:
    """The error for a name that is none lists those that are."""
    with pytest.raises(ParameterError, match=r"no data set 'wsb'.*wsd"):
        dataset_named("wsb")


def test_claims_are_read_from_the_folder(folder: Path) -> None:
    """The variable names the folder above; kinds are the data set's unless asked for."""
    assert folder.is_dir()
    assert made_up().available()
    assert made_up().claims().n_options == 2
    assert made_up().claims(kind="numeric").kind == "numeric"


def test_another_file_of_the_same_name_is_refused(folder: Path) -> None:
    """A changed file does not pass for the one that results were measured on."""
    with gzip.open(folder / "claims.csv.gz", "wt") as file:
        file.write(CLAIMS + "b,y,1\n")
    with pytest.raises(UnreadableFile, match=r"sha256 .* expected"):
        made_up().claims()
    assert len(made_up().claims(check=False)) == 4


def test_a_file_that_is_not_there(folder: Path) -> None:
    """A missing file is told apart from an unknown one."""
    (folder / "claims.csv.gz").unlink()
    with pytest.raises(DatasetUnavailable, match=r"claims\.csv\.gz is not there"):
        made_up().path()
    with pytest.raises(ParameterError, match=r"no file 'truth\.csv'"):
        made_up().truths()


def test_without_a_folder_the_way_to_get_it_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where nothing can be downloaded, the message says so, from where to get it, and whither."""
    monkeypatch.delenv(DATA_VARIABLE, raising=False)
    with pytest.raises(DatasetUnavailable, match=r"nowhere.*MASQUERADE_DATA.*not set") as caught:
        made_up().claims()
    assert "cannot be downloaded" in str(caught.value)


def test_without_pooch_both_ways_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where a download is possible but pooch is missing, folder and extra are both named."""
    monkeypatch.delenv(DATA_VARIABLE, raising=False)
    monkeypatch.setitem(sys.modules, "pooch", None)
    with pytest.raises(DatasetUnavailable, match=r"MASQUERADE_DATA.*\[datasets\]"):
        dataset_named("movielens_100k").claims()


def archive(folder: Path) -> Path:
    """Write an archive of MovieLens's form with two ratings."""
    path = folder / "ml-100k.zip"
    with zipfile.ZipFile(path, "w") as found:
        found.writestr("ml-100k/u.data", "1\t7\t4\t881250949\n2\t7\t5\t881250950\n")
        found.writestr("ml-100k/u.item", "7|Twelve Monkeys (1995)|01-Jan-1995||http|0\n8|?||||\n")
    return path


def test_an_archive_is_downloaded_once_and_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The archive comes from its address, is checked, kept, and its tables are read."""
    pooch = pytest.importorskip("pooch")
    served, cache = tmp_path / "served", tmp_path / "cache"
    served.mkdir()
    digits = hashlib.sha1(archive(served).read_bytes()).hexdigest()
    monkeypatch.delenv(DATA_VARIABLE, raising=False)
    monkeypatch.setattr(pooch, "os_cache", lambda _: cache)

    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, format: str, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(served)))
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        address = f"http://127.0.0.1:{server.server_port}/ml-100k.zip"
        films = made_up(
            name="films", kind="numeric", files={}, address=address, download=f"sha1:{digits}"
        )
        claims = films.claims()
        broken = made_up(name="other", files={}, address=address, download="sha1:" + "0" * 40)
        (cache / "ml-100k.zip").rename(cache / "kept.zip")
        with pytest.raises(DatasetUnavailable, match="could not be downloaded"):
            broken.path()
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
    (cache / "kept.zip").rename(cache / "ml-100k.zip")
    assert claims.value.tolist() == [4, 5]  # the second read is from the cache: nothing serves
    assert films.table("movies.csv")["year"].to_pylist() == [1995, None]


@pytest.mark.real_data
@pytest.mark.parametrize("name", ["wsd", "bluebird", "movielens_small"])
def test_real_sets_are_what_the_catalogue_says(name: str) -> None:
    """Counts of tasks, workers and answers are those of the files, and checksums agree."""
    one = dataset_named(name)
    if not one.available():
        pytest.skip("name the folder of the real data sets in MASQUERADE_DATA")
    claims: Claims = one.claims(duplicates="all")
    assert (claims.n_tasks, claims.n_workers, len(claims)) == (one.tasks, one.workers, one.answers)


def test_the_log_names_the_file(folder: Path, caplog: pytest.LogCaptureFixture) -> None:
    """The origin of a data set is logged at level DEBUG."""
    with caplog.at_level(logging.DEBUG, logger="masquerade.datasets"):
        made_up().claims()
    [line] = [record.getMessage() for record in caplog.records]
    assert line == f"tiny is read from {folder / 'claims.csv.gz'}"
