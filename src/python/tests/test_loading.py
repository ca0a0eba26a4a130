"""What is refused when it is loaded, and how it is told."""

from __future__ import annotations

from pathlib import Path

import pytest

import celador
import shop

TYPO = shop.MANIFESTS.replace("error_message: The order", "error_mesage: The order", 1)


def test_a_typo_has_a_caret() -> None:
    with pytest.raises(celador.LoadError) as refused:
        celador.load({"shop.yaml": TYPO})
    error = refused.value
    assert "--> shop.yaml:" in str(error) and "^^^" in str(error) and "error_message" in str(error)
    assert error.code == "refused"
    (found,) = error.diagnostics
    assert (found.severity, found.code, found.file, found.refused) == ("error", "unknown_key", "shop.yaml", True)
    assert found.line > 1 and found.column > 1 and found.help is not None
    assert found.to_dict()["line"] == found.line
    assert str(found) in str(error)
    assert isinstance(error, celador.CeladorError)


def test_a_warning_that_may_lose_a_rule_is_refused() -> None:
    lost = shop.MANIFESTS.replace("input.amount > 10", "input.amuont > 10")
    with pytest.raises(celador.LoadError, match="amuont"):
        celador.load({"shop.yaml": lost})
    found = celador.check({"shop.yaml": lost})
    assert any(one.severity == "warning" and one.refused for one in found)
    assert celador.check({"shop.yaml": shop.MANIFESTS}) == []


def test_paths(tmp_path: Path, root: Path) -> None:
    with pytest.raises(celador.LoadError, match="cannot read"):
        celador.load(tmp_path / "nowhere.yaml")
    with pytest.raises(celador.MisuseError):
        celador.load()
    policies = celador.load(str(root / "policies" / "support-desk"))
    assert policies.agents == ("support/support-desk",)
    assert policies.agent("support-desk").name == "support/support-desk"
    with pytest.raises(celador.MisuseError, match="`support/support-desk`") as unknown:
        policies.agent("desk")
    assert unknown.value.code == "unknown_agent"


def test_wrong_arguments() -> None:
    with pytest.raises(TypeError):
        celador.load(7)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="not both"):
        celador.load({"a": "b"}, store="x.db", server="http://127.0.0.1:1")
    with pytest.raises(ValueError, match="token"):
        celador.load({"a": "b"}, token="t")
    with pytest.raises(celador.MisuseError):
        celador.load({"shop.yaml": shop.MANIFESTS}, server="http://127.0.0.1:1")
    with pytest.raises(celador.MisuseError, match="TLS|https|loopback"):
        celador.load(server="http://celador.example").agent("a/b").task()
    with pytest.raises(ValueError):
        celador.agent_for([{"name": "x"}])  # type: ignore[typeddict-item]
    with pytest.raises(celador.LoadError):
        celador.agent_for([{"name": "x", "inputSchema": {"type": "object", "properties": {"a": {"$dynamicRef": "#nope"}}}}])


def test_no_server_is_a_store_error() -> None:
    with pytest.raises(celador.StoreError) as nobody:
        celador.load(server="http://127.0.0.1:9").agent("shop/desk").task("t-1")
    assert nobody.value.code == "unreachable"


def test_a_store_that_is_none(tmp_path: Path) -> None:
    (tmp_path / "no.db").write_bytes(b"this is no database" * 100)
    agent = celador.load({"shop.yaml": shop.MANIFESTS}, store=tmp_path / "no.db").agent()
    with pytest.raises(celador.StoreError):
        agent.task("t-1")
