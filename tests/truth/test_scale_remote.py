"""Partitions in file systems that fsspec knows: in memory, and at a server that speaks S3."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pa_parquet
import pytest

from masquerade.answers import Claims
from masquerade.errors import EmptyTable, ParameterError, UnreadableFile
from masquerade.simulate import crowd
from masquerade.truth import DawidSkene, TruthDiscovery
from masquerade.truth.scale import DaskCluster, Partitions, Stream, fit_partitions

fsspec = pytest.importorskip("fsspec")


def claims_at(address: str) -> Claims:
    """Write three partitions to a folder, with a file that is none, and return all claims."""
    claims, _ = crowd(np.random.default_rng(41), tasks=90, workers=12, accuracy=(3, 3))
    table = claims.to_arrow()
    for part in range(3):
        rows = table.filter(pa.array(claims.task % 3 == part))
        with fsspec.open(f"{address}/below/{part}.parquet", "wb") as file:
            pa_parquet.write_table(rows, file)
    with fsspec.open(f"{address}/_SUCCESS", "wb") as file:
        file.write(b"")
    return claims


@pytest.fixture
def s3(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The address of a bucket at a local server that speaks S3, set as fsspec's users set it."""
    pytest.importorskip("s3fs")
    server = pytest.importorskip("moto.server").ThreadedMotoServer("127.0.0.1", port=0)
    server.start()
    host, port = server.get_host_and_port()
    # Read by the S3 library itself, here and in the processes of workers.
    monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://{host}:{port}")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "testing")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "testing")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    system = fsspec.filesystem("s3", skip_instance_cache=True)
    bucket = f"claims-{secrets.token_hex(8)}"
    system.mkdir(bucket)
    yield f"s3://{bucket}"
    fsspec.filesystem("s3").clear_instance_cache()
    server.stop()


@pytest.fixture
def memory() -> Iterator[str]:
    """The address of an empty folder in memory."""
    yield "memory://claims"
    fsspec.filesystem("memory").rm("/", recursive=True)


@pytest.mark.parametrize("kind", ["memory", "s3"])
def test_partitions_elsewhere_are_fitted_as_here(kind: str, request: pytest.FixtureRequest) -> None:
    """Labels and weights are those in memory, and written files can be read again."""
    root = request.getfixturevalue(kind)
    claims = claims_at(f"{root}/in")
    fit = TruthDiscovery().fit(claims)
    partitions = Partitions.at(f"{root}/in")
    assert [one.path.name for one in partitions.files] == [f"{part}.parquet" for part in range(3)]
    assert all(one.size > 0 for one in partitions.files)
    with Stream() as engine:
        found = fit_partitions(partitions, TruthDiscovery(), engine=engine)
        expected = dict(zip(*(column.to_pylist() for column in fit.truths_.columns), strict=True))
        labels = dict(zip(*(column.to_pylist() for column in found.truths_.columns), strict=True))
        assert labels == expected
        found.write(f"{root}/out")
        with pytest.raises(ParameterError, match="not an empty folder"):
            found.write(f"{root}/out")
    system, path = fsspec.core.url_to_fs(f"{root}/out")
    files = sorted(system.find(path))
    assert len(files) == 3
    with system.open(files[0]) as file:
        assert pa_parquet.read_table(file).column_names == ["task", "label"]


def test_workers_of_a_cluster_read_from_s3(s3: str) -> None:
    """Each worker reads its share from the bucket itself."""
    pytest.importorskip("distributed")
    claims = claims_at(f"{s3}/in")
    with DaskCluster(workers=2, memory_limit="1GiB") as engine:
        found = fit_partitions(
            Partitions.at(f"{s3}/in"), DawidSkene(max_iterations=5), engine=engine
        )
    fit = DawidSkene(max_iterations=5).fit(claims)
    np.testing.assert_allclose(
        sorted(found.reliability_["weight"].to_pylist()),
        sorted(fit.reliability_["weight"].to_pylist()),
        rtol=0,
        atol=1e-9,
    )


def test_other_contents_are_other_partitions(memory: str) -> None:
    """The codes of one file are not used for a later file at its address."""
    claims_at(f"{memory}/in")
    before = Partitions.at(f"{memory}/in")
    claims, _ = crowd(np.random.default_rng(42), tasks=30, workers=12, accuracy=(3, 3))
    with fsspec.open(f"{memory}/in/below/0.parquet", "wb") as file:
        pa_parquet.write_table(claims.to_arrow(), file)
    after = Partitions.at(f"{memory}/in")
    assert {one.key for one in before.files}.isdisjoint(one.key for one in after.files)


def test_what_is_not_there_is_named(memory: str, tmp_path: Path) -> None:
    """A missing address, an empty folder and an unknown scheme are errors that name them."""
    with pytest.raises(UnreadableFile, match="memory://claims/none is neither"):
        Partitions.at(f"{memory}/none")
    with fsspec.open(f"{memory}/few/_SUCCESS", "wb") as file:
        file.write(b"")
    with pytest.raises(EmptyTable, match="no Parquet file"):
        Partitions.at(f"{memory}/few")
    with pytest.raises(ParameterError, match="nosuch://a cannot be read"):
        Partitions.at("nosuch://a")
    with fsspec.open(f"{memory}/a.csv", "wb") as file:
        file.write(b"task,worker,label\n1,2,3\n")
    with Stream() as engine, pytest.raises(ParameterError, match="is no Parquet file"):
        fit_partitions(Partitions.at(f"{memory}/a.csv"), engine=engine)
