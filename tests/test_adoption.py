"""Stumbles of people who adopted the package, each with the test that shows it gone.

A stumble that somebody finds gets a row here with its test. What remains says why, and what to do
instead.
"""

from __future__ import annotations

import ast
from pathlib import Path

from masquerade.results import SurveyReports
from masquerade.surveys import Choice, Codebook
from masquerade.surveys.survey import Survey

TESTS = Path(__file__).parent

#: What somebody stumbled over, and the test, by its file, that fails where it comes back.
GONE = {
    "no page for data protection or an ethics board, nor one of a given survey": (
        "server/routes/test_dossier.py::test_a_dossier_has_the_figures_of_its_survey"
    ),
    "a message names a package that no index has": (
        "test_exports.py::test_an_extra_is_installed_from_where_the_rest_came"
    ),
    "a missing extra is not named": "test_exports.py::test_what_needs_an_extra_names_it",
    "commands on files need an extra": (
        "cli/test_extras.py::test_every_data_command_runs_without_extras"
    ),
    "a token can only be made in a browser": (
        "cli/test_user.py::test_a_token_is_made_for_a_program"
    ),
    "a survey from Python is raw HTTP": (
        "client/test_surveyor.py::test_from_a_file_to_a_data_frame"
    ),
    "no command makes, opens, closes or exports a survey": (
        "client/test_surveyor.py::test_the_command_does_the_same"
    ),
    "days are those of UTC alone, and no setting changes it": (
        "server/test_services.py::test_days_are_those_of_a_time_zone"
    ),
    "a suggested letter names a last day without its time zone": (
        "server/mail/test_usual_letters.py::test_each_day_is_named_with_its_time_zone"
    ),
    "a public address with a path is taken, and half works": (
        "server/test_settings.py::test_a_server_below_a_path_is_refused"
    ),
    "a proxy alone serves a path of another site, and half works": (
        "server/operations/test_address_check.py::test_what_answers_at_the_address"
    ),
    "a server's CSV has no byte-order mark for spreadsheets": (
        "server/results/test_results.py::test_results_over_http"
    ),
    "there is no workbook of a result": (
        "server/results/test_findings.py::test_pages_and_files_over_http"
    ),
    "a wrong password and a wrong port of PostgreSQL give the same line": (
        "server/operations/test_doctor.py::test_why_a_database_cannot_be_reached"
    ),
    "a fingerprint with spaces is taken in one place alone": (
        "server/parties/test_interface.py::test_from_the_draft_to_the_page_of_results"
    ),
    "an OpenID issuer with a slash too many is seen when the first person joins": (
        "server/accounts/test_openid.py::test_a_server_asks_the_provider_when_it_starts"
    ),
    "results_ready comes before survey.closed": (
        "server/webhooks/test_deliveries.py::test_each_event_is_told_once"
    ),
    "a loss has no float(), format() or comparison with numbers": (
        "exact/test_loss.py::test_a_loss_is_used_as_its_epsilon"
    ),
    "a loss of 2 is at most 2 and at least 2, and not equal to 2": (
        "exact/test_micro.py::test_equal_amounts_hash_equally"
    ),
    "equal amounts have different hashes": "exact/test_micro.py::test_equal_amounts_hash_equally",
    "the repr of a survey's reports prints every pseudonym": (
        "test_adoption.py::test_reports_are_quiet"
    ),
    "an empty environment variable refuses to start": (
        "server/test_settings.py::test_an_empty_variable_is_not_set"
    ),
    "a generator of clients drops error responses": (
        "server/routes/test_api.py::test_a_generated_client_has_every_response"
    ),
    "there is no bill of materials (SBOM)": (
        "test_licences.py::test_a_release_has_its_bill_of_materials"
    ),
    "there is no security.txt": "server/routes/test_api.py::test_where_faults_are_reported",
    "versions of what is installed are not printed": (
        "cli/test_versions.py::test_all_versions_are_printed"
    ),
    "a mechanism or method of one's own has no entry point": (
        "extending/test_plugins.py::test_commands_use_what_another_package_adds"
    ),
    "files carry no licence": "test_licences.py::test_every_file_has_a_licence",
    "there is no recipe for conda or for an image that was tried": (
        "server/operations/test_recipes.py::test_condas_requirements_are_the_projects"
    ),
    "fit(X, y) is a TypeError, so no Pipeline": (
        "truth/test_scikit_learn.py::test_a_method_ends_a_pipeline"
    ),
    "a method cannot be cloned by its parameters": (
        "truth/test_scikit_learn.py::test_a_method_is_cloned_by_its_parameters"
    ),
    "Arrow comes out where pandas or polars went in": (
        "truth/test_labelled_input.py::test_the_answer_is_of_the_kind_of_the_table"
    ),
    "missing labels are refused a row at a time": (
        "truth/test_agreement.py::test_missing_labels_are_no_answers"
    ),
    "Krippendorff's alpha takes no missing label": (
        "truth/test_agreement.py::test_missing_labels_are_no_answers"
    ),
    "Krippendorff's alpha knows no order": (
        "truth/test_agreement.py::test_alpha_of_an_order_is_that_of_all_pairs"
    ),
    "there is no Cohen's or weighted kappa": (
        "truth/test_agreement.py::test_kappa_of_two_has_the_published_error"
    ),
    "agreement has no intervals": "truth/test_agreement.py::test_audit_intervals_of_agreement_hold",
    "labelled input is read by its place": (
        "analysis/test_labelled_input.py::test_a_regression_reads_labels"
    ),
    "files of crowd-kit and Label Studio were never tried with these programs": (
        "answers/test_peer_round_trips.py::test_label_studios_converter_exports_our_tasks"
    ),
    "claims do not go back to Label Studio": (
        "answers/test_label_studio.py::test_annotations_of_label_studio_are_the_same_claims"
    ),
}

#: What remains, and why.
REMAINS = {
    "the base install is 388 MB": "pyarrow, scipy and numpy are 9 of 10: docs/tutorials/install.md",
    "typer loads pydantic for each option": "since 0.27; a bound would refuse others' updates",
    "truths_ of a fit is an Arrow table": "fit_predict answers in the kind of the table it got",
    "no index and no DOI has a release": "nothing is released before version 0.1",
}


def test_every_stumble_has_its_test() -> None:
    """Each row names a test that is there."""
    missing = []
    for stumble, place in GONE.items():
        file, _, name = place.partition("::")
        tree = ast.parse((TESTS / file).read_text(encoding="utf-8"))
        if name not in {one.name for one in tree.body if isinstance(one, ast.FunctionDef)}:
            missing.append((stumble, place))
    assert missing == []
    assert not GONE.keys() & REMAINS.keys()


def test_reports_are_quiet() -> None:
    """The repr of reports names how many there are, and nobody."""
    asked = (Choice("ill", "Have you worked while ill?", ("Yes", "No")),)
    survey = Survey.at_levels(title="Work", questions=asked, levels=("medium",))
    book = Codebook("0123456789abcdef", survey, survey.content_hash())
    people = [f"person{number}" for number in range(20)]
    reports = SurveyReports.from_rows(book, people, ["medium"] * 20, [[0]] * 20)
    assert repr(reports).startswith("SurveyReports(20 people")
    assert "person" not in repr(reports)
