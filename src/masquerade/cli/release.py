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
            help="File for the synthetic claims (CSV, CSV.gz, Parquet or .xlsx). A codebook is "
            "written beside it, with the ending .codebook.json. Standard output (-) is "
            "refused."
        ),
    ],
    engine: Annotated[
        str,
        typer.Option(
            help="Algorithm that makes the synthetic claims. claims imitates the claims that "
            "were made. source imitates the distribution from which they were drawn. "
            "wiener, hist, hist2 (for users, in two passes) and pooled are further engines. "
            "Parameters follow a colon: claims:bins=21,spread=2.",
            autocompletion=completion(engines),
        ),
    ] = "claims",
    epsilon: Annotated[
        str | None,
        typer.Option(
            help="Privacy loss of the whole release for one unit (see --unit), above 0 and at "
            "most 1024. A smaller epsilon protects more. Every engine needs it."
        ),
    ] = None,
    domain: Annotated[
        tuple[str, str] | None,
        typer.Option(
            metavar="LOW HIGH",
            help="Public range of the values of all objects, such as 0 10. Never take it from "
            "the claims. Claims outside are moved to the nearer end. Every engine needs it.",
        ),
    ] = None,
    domains: Annotated[
        Path | None,
        typer.Option(
            help="Table with the columns task, low and high: objects that have a public range of "
            "their own. --domain holds for all others."
        ),
    ] = None,
    step: Annotated[
        str | None,
        typer.Option(
            help="Public distance between two values that can be answered, such as 1 for whole "
            "numbers. Released values are rounded to such values. Needs --domain. Default: "
            "every number can be answered."
        ),
    ] = None,
    listed: Annotated[
        Path | None,
        typer.Option(
            help="Table with the column task: a public list of objects, not derived from the "
            "claims. It hides who made a claim about which object, and all listed objects "
            "are released. Also give the number of claims that you expect about each, for "
            "example --engine claims:expected=20."
        ),
    ] = None,
    attribute: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=A,B",
            help="With --listed: release the values together with another column of the claims. "
            "Name its categories here, such as shift=day,night; do not derive them from the "
            "claims. Can be given several times.",
        ),
    ] = None,
    samples: Annotated[
        int,
        typer.Option(
            min=1,
            help="How many points (synthetic claims) to draw for each object.",
        ),
    ] = 30,
    unit: Annotated[
        str | None,
        choice(
            "claim",
            "user",
            help="What the guarantee protects: claim is one claim, user is one user with all "
            "claims (about at most --cap objects). Default: claim; for the engine hist2, "
            "user.",
        ),
    ] = None,
    cap: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="With --unit user: the claims of one user are used for at most this many "
            "objects, chosen at random. Each object gets epsilon / cap. Default: 10.",
        ),
    ] = None,
    bandwidth: Annotated[
        str | None,
        typer.Option(
            help="Public width of the bumps, the normal curves of which a density is made. For "
            "hist and hist2, own computes it from the released shares. "
            "Default: the engine's own rule."
        ),
    ] = None,
    bins: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Public number of bins in which the claims about an object are counted. "
            "Default: the engine's own rule, from public numbers alone.",
        ),
    ] = None,
    densities: Annotated[
        Path | None,
        typer.Option(
            help="File for the released densities, one row for each bump, with the columns task, "
            "location, weight and width. Default: not written."
        ),
    ] = None,
    report: Annotated[
        Path | None,
        typer.Option(
            help="File for an HTML page about the release, with the guarantee and drawings. "
            "Default: not written."
        ),
    ] = None,
    compare: Annotated[
        bool,
        typer.Option(
            "--compare",
            help="Also compute errors against the claims, and show the densities before the "
            "release on the page of --report. The guarantee does not cover these; they are "
            "for the holder of the claims alone.",
        ),
    ] = False,
    objects: Annotated[
        str | None,
        typer.Option(
            help="Objects to draw on the page of --report, separated by commas. Default: the "
            "first six by name."
        ),
    ] = None,
    missing: Annotated[
        str,
        choice(
            "error",
            "drop",
            help="What to do with claims without a number: error stops the command, drop leaves "
            "them out.",
        ),
    ] = "error",
    duplicates: Annotated[
        str,
        choice(
            *("error", "first", "last", "mean"),
            help="What to do if a user made several claims about an object: error stops the "
            "command, first or last keeps that one, mean takes their mean.",
        ),
    ] = "error",
    json: AsJson = False,
) -> None:
    """Make synthetic claims about each object, for publication, with a stated privacy guarantee.

    You hold the claims in clear. The guarantee protects against those who see what is written.
    What a release costs adds to what earlier releases of the same claims cost. The command writes
    the synthetic claims, a codebook beside them, and what --densities and --report name. It prints
    the guarantee.

    Example: masquerade release numbers.csv --epsilon 1 --domain 0 10 --out synthetic.csv
    """
    from masquerade.answers.frames import STANDARD, write_table
    from masquerade.errors import ParameterError
    from masquerade.release import guarantee_sentence, parse_engine, report_page, synthesize

    if out == STANDARD:
        raise ParameterError(
            "--out is standard output (-), and the codebook has no place there. Name a file "
            "in --out; the codebook is written beside it."
        )
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

    from masquerade.release import bandwidths, fit_density, ise

    given = getattr(engine, "bandwidth", None)
    if engine.public_objects is not None:
        grouped = grouped.about(engine.public_objects)
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
    if (exact := engine.without_noise(grouped)) is not None:
        result["rel_ise_without_noise"] = ise(reference, exact).rel_ise
    return reference, result


def _listed(path: Path, grouped: GroupedClaims) -> list[Any]:
    import pyarrow as pa

    from masquerade.answers.frames import read_table
    from masquerade.errors import SchemaError

    table = read_table(path)
    if "task" not in table.column_names:
        raise SchemaError(
            f"{path} has no column task; expected the names of the public objects there."
        )
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
            "--attribute needs --listed, a public list of objects that does not come from "
            "the claims, and does not work with --compare."
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
        raise SchemaError(
            f"{listed} has no column task; expected the names of the public objects there."
        )
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
                "--domains or --step was given without --domain. Give --domain LOW HIGH too, "
                "the range of all objects that --domains does not list."
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
