"""The same fits over a Dask cluster, also while workers die."""

from __future__ import annotations

import os
import signal
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pa_parquet
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID
from tests.patience import PATIENCE_SECONDS

from masquerade.answers import Claims, Truths
from masquerade.errors import ClusterError, UnreadableFile
from masquerade.simulate import crowd
from masquerade.truth import (
    Auto,
    CategoricalEstimator,
    DawidSkene,
    MajorityVote,
    OneCoin,
    TruthDiscovery,
    TwoCoin,
    accuracy,
)
from masquerade.truth.scale import DaskCluster, Partitions, fit_partitions
from masquerade.truth.scale.engines import even_runs

pytest.importorskip("distributed")

pytestmark = pytest.mark.filterwarnings("default:::(distributed|tornado|asyncio|zict)")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder of three partitions."""
    path = tmp_path_factory.mktemp("partitions")
    claims, truths = crowd(np.random.default_rng(40), tasks=200, workers=30, accuracy=(3, 3))
    table = claims.to_arrow()
    for part in range(3):
        rows = table.filter(pa.array(claims.task % 3 == part))
        pa_parquet.write_table(rows, path / f"{part}.parquet")
    pa_parquet.write_table(truths.table, path / "_truths.parquet")
    return path


def whole(folder: Path) -> Claims:
    """Return all claims of the folder."""
    return Claims.from_frame(
        pa.concat_tables([pa_parquet.read_table(folder / f"{part}.parquet") for part in range(3)])
    )


@pytest.mark.parametrize(
    "method",
    [
        MajorityVote(),
        TruthDiscovery(),
        OneCoin(max_iterations=6),
        DawidSkene(max_iterations=6),
        TwoCoin(max_iterations=6),
        Auto(),
    ],
    ids=lambda one: one.name,
)
def test_a_cluster_gives_what_memory_gives(
    method: CategoricalEstimator, cluster: DaskCluster, folder: Path, tmp_path: Path
) -> None:
    """Labels and diagnostics are equal, posteriors and weights to 1e-9."""
    fit = method.fit(whole(folder))
    found = fit_partitions(Partitions.at(folder), method, engine=cluster)
    assert found.truths_.equals(fit.truths_)
    for name in ("converged_", "iterations_", "components_", "orientation_ambiguous_"):
        assert getattr(found, name) == getattr(fit, name)
    np.testing.assert_allclose(
        found.reliability_["weight"], fit.reliability_["weight"], rtol=0, atol=1e-9
    )
    np.testing.assert_allclose(found.posteriors_["1"], fit.posteriors_["1"], rtol=0, atol=1e-9)
    found.write(tmp_path / "out")
    assert pa_parquet.read_table(tmp_path / "out").equals(found.truths_)


def test_known_truths_reach_every_worker(cluster: DaskCluster, folder: Path) -> None:
    """With `gold`, labels and weights over a cluster are those in memory."""
    table = pa_parquet.read_table(folder / "_truths.parquet")
    gold = dict(zip(*(column.to_pylist()[:40] for column in table.columns), strict=True))
    fit = TwoCoin().fit(whole(folder), gold=gold)
    found = fit_partitions(Partitions.at(folder), TwoCoin(), engine=cluster, gold=gold)
    assert found.truths_.equals(fit.truths_)
    np.testing.assert_allclose(
        found.reliability_["weight"], fit.reliability_["weight"], rtol=0, atol=1e-9
    )


def test_a_killed_worker_changes_nothing(cluster: DaskCluster, folder: Path) -> None:
    """With a worker killed after the second round, and again, the result is the same."""
    method = TruthDiscovery()
    fit = method.fit(whole(folder))
    assert fit.iterations_ >= 3
    killed: list[int] = []

    def kill(done: int, most: int) -> None:
        if done <= 2:
            victim = next(iter(cluster.client.run(os.getpid).values()))
            os.kill(victim, signal.SIGKILL)
            killed.append(victim)

    found = fit_partitions(Partitions.at(folder), method, engine=cluster, progress=kill)
    assert len(killed) == 2
    assert found.truths_.equals(fit.truths_)
    assert found.iterations_ == fit.iterations_
    np.testing.assert_allclose(
        found.reliability_["weight"], fit.reliability_["weight"], rtol=0, atol=1e-9
    )


def test_errors_of_partitions_come_through(cluster: DaskCluster, folder: Path) -> None:
    """A file's fault is told as without a cluster."""
    partitions = Partitions.at(folder)
    gone = replace(partitions.files[2], path=folder / "gone.parquet", key="gone")
    broken = Partitions((*partitions.files[:2], gone, *partitions.files[3:]))
    with pytest.raises(UnreadableFile, match=r"gone\.parquet cannot be read"):
        fit_partitions(broken, engine=cluster)


def test_scores_are_worked_out_where_the_claims_are(cluster: DaskCluster, folder: Path) -> None:
    """Accuracy against truths is the in-memory one."""
    truths = Truths.from_frame(pa_parquet.read_table(folder / "_truths.parquet"))
    found = fit_partitions(Partitions.at(folder), engine=cluster)
    expected = accuracy(TruthDiscovery().fit(whole(folder)), truths)
    assert found.accuracy(truths)[0] == pytest.approx(expected)
    assert found.accuracy(truths)[1] == 200


def test_a_scheduler_that_is_not_there_is_named() -> None:
    """The error holds the address and advice."""
    with pytest.raises(ClusterError, match=r"at tcp://127\.0\.0\.1:1: .*check the address"):
        DaskCluster("tcp://127.0.0.1:1", timeout=0.5)  # meant to pass


def test_a_cluster_is_joined_by_its_address(cluster: DaskCluster, folder: Path) -> None:
    """A second client of the same scheduler fits too, and leaves the cluster standing."""
    address = cluster.client.scheduler.address
    with DaskCluster(address) as second:
        found = fit_partitions(Partitions.at(folder), "majority-vote", engine=second)
    assert found.index.n_claims == 2000
    assert len(cluster.client.nthreads()) == 2


def test_a_client_of_ones_own_is_used_and_stays_open(cluster: DaskCluster, folder: Path) -> None:
    """An existing client is enough, and is not closed at the end."""
    with DaskCluster(cluster.client) as joined:
        found = fit_partitions(Partitions.at(folder), "majority-vote", engine=joined)
    assert found.index.n_claims == 2000
    assert cluster.client.status == "running"


def test_a_worker_that_joins_late_gets_a_share(folder: Path, tmp_path: Path) -> None:
    """Shares are dealt anew when a worker joins and when one dies; the result stays the same."""
    distributed = pytest.importorskip("distributed")
    claims = whole(folder)
    for part in range(8):
        rows = claims.to_arrow().filter(pa.array(claims.task % 8 == part))
        pa_parquet.write_table(rows, tmp_path / f"{part}.parquet")
    method = TruthDiscovery()
    fit = method.fit(claims)
    assert fit.iterations_ >= 4
    homes: list[set[str]] = []
    with (
        distributed.LocalCluster(
            n_workers=1, threads_per_worker=1, dashboard_address="127.0.0.1:0"
        ) as workers,
        distributed.Client(workers, set_as_default=False) as client,
        DaskCluster(client) as engine,
    ):

        def change(done: int, most: int) -> None:
            homes.append(set(engine._homes.values()))
            if done == 1:
                workers.scale(2)
                client.wait_for_workers(2, timeout=PATIENCE_SECONDS)
            elif done == 3:
                os.kill(next(iter(client.run(os.getpid).values())), signal.SIGKILL)

        found = fit_partitions(Partitions.at(tmp_path), method, engine=engine, progress=change)
        labels = found.truths_.sort_by("task")
    assert len(homes[0]) == 1
    assert len(homes[1]) == 2
    assert found.iterations_ == fit.iterations_
    assert labels.equals(fit.truths_.sort_by("task"))
    np.testing.assert_allclose(
        found.reliability_.sort_by("worker")["weight"],
        fit.reliability_.sort_by("worker")["weight"],
        rtol=0,
        atol=1e-9,
    )


@pytest.mark.parametrize("sizes", [[1], [0, 0], [5] * 7, [1, 100, 1, 1], [9, 1, 1, 1, 9]])
@pytest.mark.parametrize("count", [1, 2, 3, 16])
def test_shares_are_runs_of_about_equal_bytes(sizes: list[int], count: int) -> None:
    """Each partition is in one share, in order, and no share is longer than fair by one file."""
    runs = even_runs(sizes, count)
    assert [place for first, last in runs for place in range(first, last)] == list(
        range(len(sizes))
    )
    assert len(runs) <= count
    fair = sum(max(one, 1) for one in sizes) / count
    assert max(sum(sizes[first:last]) for first, last in runs) <= fair + max(sizes)


@pytest.fixture
def certificates(tmp_path: Path) -> Any:
    """Return Dask's settings of TLS with a certificate that was just made."""
    distributed = pytest.importorskip("distributed")
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "masquerade test")])
    now = datetime.now(UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .sign(key, hashes.SHA256())
    )
    file = tmp_path / "both.pem"
    file.write_bytes(
        key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
        + made.public_bytes(Encoding.PEM)
    )
    parts = {
        f"tls_{who}_{what}": str(file)
        for who in ("scheduler", "worker", "client")
        for what in ("cert", "key")
    }
    return distributed.Security(tls_ca_file=str(file), require_encryption=True, **parts)


def test_a_cluster_with_tls_is_joined_by_certificate(certificates: Any, folder: Path) -> None:
    """With its certificates a tls:// scheduler is joined; without them the error says so."""
    distributed = pytest.importorskip("distributed")
    with distributed.LocalCluster(
        n_workers=1,
        threads_per_worker=1,
        processes=False,
        protocol="tls",
        security=certificates,
        dashboard_address=None,
    ) as workers:
        address = workers.scheduler_address
        assert address.startswith("tls://")
        with DaskCluster(address, security=certificates) as engine:
            found = fit_partitions(Partitions.at(folder), "majority-vote", engine=engine)
        with pytest.raises(ClusterError, match="certificates"):
            DaskCluster(address, timeout=2.0)  # meant to pass
    assert found.index.n_claims == 2000
