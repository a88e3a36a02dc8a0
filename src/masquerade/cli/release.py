"""``masquerade release``: synthetic claims that may be published."""

from __future__ import annotations

import time
from json import dumps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from masquerade.cli.options import AsJson, ClaimsFile, choice, completion, engines
from masquerade.cli.terminal import ask_back, progress_bar, show

if TYPE_CHECKING:
    from masquerade.answers import Progress
    from masquerade.release import (
        Cells,
        DensityModel,
        Domain,
        Engine,
        GroupedClaims,
        PosteriorHistogram,
        Release,
    )
    from masquerade.release.grouped_claims import Duplicates, Missing
    from masquerade.release.guarantee import Unit


def release(
    claims: ClaimsFile,
    out: Annotated[
        Path,
        typer.Option(
            help="Where to write the synthetic claims (CSV, CSV.gz or Parquet); a codebook goes "
            "beside them."
        ),
    ],
    engine: Annotated[
        str,
        typer.Option(
            help="claims (resembles the claims), source (what they are drawn from), wiener, hist, "
            "hist2 (users, two passes), pooled, basic, test-honest; test-paper and uniform promise "
            "nothing. With parameters: claims:bins=21,spread=2.",
            autocompletion=completion(engines),
        ),
    ] = "claims",
    epsilon: Annotated[
        str | None, typer.Option(help="Privacy loss that the release may cost one unit.")
    ] = None,
    domain: Annotated[
        tuple[str, str] | None,
        typer.Option(metavar="LOW HIGH", help="The public range of values, for all objects."),
    ] = None,
    domains: Annotated[
        Path | None,
        typer.Option(help="A table (task,low,high) of objects with a public range of their own."),
    ] = None,
    step: Annotated[
        str | None, typer.Option(help="Distance of values that can be answered, such as 1.")
    ] = None,
    listed: Annotated[
        Path | None,
        typer.Option(
            help="A table (task) of the public objects: hides who claimed anything about which; "
            "all of them are released. With claims:expected=20, the expected claims about each."
        ),
    ] = None,
    attribute: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=A,B",
            help="With --listed: keep how values go with a column of the claims, by the categories "
            "named here, such as shift=day,night. Can be given several times.",
        ),
    ] = None,
    samples: Annotated[int, typer.Option(min=1, help="Points of each object.")] = 30,
    unit: Annotated[
        str | None,
        choice("claim", "user", help="What is protected: claim, or user with all claims."),
    ] = None,
    cap: Annotated[
        int | None,
        typer.Option(min=1, help="With users protected: most objects of one user. Default: 10."),
    ] = None,
    delta: Annotated[str | None, typer.Option(help="For test-honest alone.")] = None,
    bandwidth: Annotated[
        str | None,
        typer.Option(
            help="Public width of the bumps (own: for hist and hist2, that of the release itself); "
            "test-honest needs it."
        ),
    ] = None,
    bins: Annotated[int | None, typer.Option(min=1, help="Public number of bins.")] = None,
    densities: Annotated[
        Path | None, typer.Option(help="Where to write the released densities.")
    ] = None,
    report: Annotated[Path | None, typer.Option(help="Where to write a page about it.")] = None,
    compare: Annotated[
        bool,
        typer.Option(
            "--compare",
            help="The claims may be read here: also show errors against them, and densities before "
            "the release. Not covered by the guarantee.",
        ),
    ] = False,
    objects: Annotated[
        str | None, typer.Option(help="Objects to draw on the page, separated by commas.")
    ] = None,
    missing: Annotated[
        str, choice("error", "drop", help="Claims without a number: error, or drop.")
    ] = "error",
    duplicates: Annotated[
        str,
        choice(
            *("error", "first", "last", "mean"),
            help="A user's several claims about an object: error, first, last or mean.",
        ),
    ] = "error",
    json: AsJson = False,
) -> None:
    """Release synthetic claims about each object, with a stated privacy guarantee.

    Whoever runs this holds the claims. The guarantee is against those who see what is written, and
    each release adds to what earlier ones cost.

    Example: masquerade release numbers.csv --epsilon 1 --domain 0 10 --out synthetic.csv
    """
    from masquerade.answers.frames import STANDARD, write_table
    from masquerade.errors import ParameterError
    from masquerade.release import guarantee_sentence, parse_engine, report_page, synthesize

    if out == STANDARD:
        raise ParameterError("--out - has no place for the codebook; name a file.")
    started = time.perf_counter()
    # once, for the release and the comparison: both speak of the same claims
    public = _domain(domain, domains, step)
    cells = _cells(attribute, listed, compare)
    grouped = _grouped(claims, missing, duplicates, cells)
    public_objects: list[Any] | None = None
    if listed is not None:
        public_objects = _listed(listed, grouped) if cells is None else list(cells.objects)
    made = parse_engine(
        engine,
        epsilon=epsilon,
        domain=public,
        unit=cast("Unit | None", unit),
        cap=cap,
        delta=delta,
        bandwidth=bandwidth,
        bins=bins,
        objects=public_objects,
    )
    if cells is not None:
        made = cells.split(cast("PosteriorHistogram", made))
    with progress_bar("releasing") as tell:
        published = synthesize(grouped, engine=made, samples=samples, progress=tell)
    if cells is not None:
        published = cells.shared_out(published, samples)
    ask_back(published.guarantee)
    reference: DensityModel | None = None
    errors: dict[str, Any] = {}
    if compare:
        with progress_bar("comparing") as tell:
            reference, errors = _compared(grouped, made, public, published, tell)
    published.write(out)
    codebook = _beside(out)
    codebook.write_text(
        dumps(published.codebook(), ensure_ascii=False, indent=2) + "\n", encoding="utf-8"
    )
    result = _result(published) | errors | {"out": str(out), "codebook": str(codebook)}
    if densities is not None:
        write_table(published.density_table(), densities)
        result["densities"] = str(densities)
    # without --compare the page holds nothing but what is released
    if report is not None:
        names = None if objects is None else [name.strip() for name in objects.split(",")]
        page = report_page(published, reference=reference, show=names)
        report.write_text(page, encoding="utf-8")
        result["report"] = str(report)
    result["seconds"] = round(time.perf_counter() - started, 3)
    if not json:
        result["guarantee"] = guarantee_sentence(published.guarantee)
    show(result, as_json=json, title="Release")


def _result(published: Release) -> dict[str, Any]:
    from masquerade.release import guarantee_json

    return {
        "engine": published.engine,
        "objects": len(published.objects),
        "released": len(published.points),
        "statuses": published.statuses,
        "guarantee": guarantee_json(published.guarantee),
        "for_the_collector": dict(published.collector),
    }


def _compared(
    grouped: GroupedClaims,
    engine: Engine,
    domain: Domain | None,
    published: Release,
    tell: Progress | None,
) -> tuple[DensityModel, dict[str, Any]]:
    """Return the density of the claims themselves, and errors against it; for the collector."""
    import numpy as np

    from masquerade.release import PosteriorHistogram, bandwidths, fit_density, ise

    given = getattr(engine, "bandwidth", None)
    if isinstance(engine, PosteriorHistogram) and engine.objects is not None:
        grouped = grouped.about(engine.objects)
    width = bandwidths(grouped, "robust" if given in (None, "own") else float(given))
    result: dict[str, Any] = {}
    if domain is not None:
        low, high = domain.ends(grouped.objects)
        # equal claims would be needles, of which the mean error would speak alone
        floor = np.maximum((high - low) / 40, float(domain.step or 0) / 2)
        width = np.maximum(width, floor)
        result["reference_floor"] = [float(floor.min()), float(floor.max())]
    reference = fit_density(grouped, bandwidth=width, progress=tell)
    result |= ise(reference, published).to_json()
    if isinstance(engine, PosteriorHistogram):
        result["rel_ise_without_noise"] = ise(reference, engine.without_noise(grouped)).rel_ise
    return reference, result


def _listed(path: Path, grouped: GroupedClaims) -> list[Any]:
    import pyarrow as pa

    from masquerade.answers.frames import read_table
    from masquerade.errors import SchemaError

    table = read_table(path)
    if "task" not in table.column_names:
        raise SchemaError(f"{path} lacks the column task, the names of the public objects.")
    names = table["task"].to_pylist()
    # names are texts where one of the claims' objects has a name that is no number
    return [str(name) for name in names] if pa.types.is_string(grouped.objects.type) else names


def _cells(attributes: list[str] | None, listed: Path | None, compare: bool) -> Cells | None:
    """Return the cells of ``--attribute``; their objects are texts, as those of a CSV file."""
    from masquerade.answers.frames import read_table
    from masquerade.errors import ParameterError, SchemaError
    from masquerade.release import Cells

    if not attributes:
        return None
    if listed is None or compare:
        raise ParameterError(
            "--attribute needs --listed, a list of objects that is not read off the claims, and "
            "goes without --compare."
        )
    lists = {}
    for text in attributes:
        name, mark, categories = text.partition("=")
        if not name or not mark:
            raise ParameterError(
                f"--attribute is {text!r}, expected a column as in shift=day,night."
            )
        lists[name] = [one.strip() for one in categories.split(",") if one.strip()]
    table = read_table(listed)
    if "task" not in table.column_names:
        raise SchemaError(f"{listed} lacks the column task, the names of the public objects.")
    return Cells(table["task"].to_pylist(), lists)


def _grouped(path: Path, missing: str, duplicates: str, cells: Cells | None) -> GroupedClaims:
    from masquerade.answers import Claims
    from masquerade.answers.frames import read_table
    from masquerade.release import GroupedClaims

    if cells is None:
        claims = Claims.read(path, kind="numeric", null=True, duplicates="all")
    else:
        table = cells.claims(read_table(path))
        claims = Claims.from_frame(table, kind="numeric", null=True, duplicates="all")
    return GroupedClaims.of(
        claims, missing=cast("Missing", missing), duplicates=cast("Duplicates", duplicates)
    )


def _domain(ends: tuple[str, str] | None, domains: Path | None, step: str | None) -> Domain | None:
    from masquerade.answers.frames import read_table
    from masquerade.errors import ParameterError, SchemaError
    from masquerade.release import Domain

    if ends is None:
        if domains is not None or step is not None:
            raise ParameterError(
                "--domains and --step go with --domain LOW HIGH, which holds for all other objects."
            )
        return None
    own = None
    if domains is not None:
        table = read_table(domains)
        absent = {"task", "low", "high"} - set(table.column_names)
        if absent:
            raise SchemaError(
                f"{domains} lacks {sorted(absent)}; expected the columns task, low and high."
            )
        columns = (table[name].to_pylist() for name in ("task", "low", "high"))
        own = {task: (low, high) for task, low, high in zip(*columns, strict=True)}
    return Domain(*ends, step=step, of_objects=own)


def _beside(out: Path) -> Path:
    name = out.name.removesuffix(".gz").removesuffix(".csv").removesuffix(".parquet")
    return out.with_name(f"{name.removesuffix('.pq')}.codebook.json")
