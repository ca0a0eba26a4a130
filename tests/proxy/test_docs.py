"""The example of docs/proxy.md, as it stands there."""

import re

from conftest import HERE, Proxy
from model import Turn


def test_the_example_of_the_page_runs(tmp_path, model, monkeypatch):
    page = (HERE.parent.parent / "docs/proxy.md").read_text()
    rules, program = (re.search(rf"```{kind}\n(.*?)```", page, re.S)[1] for kind in ("yaml", "python"))
    (tmp_path / "rules.yaml").write_text(rules)
    proxy = Proxy("openai", model.address, "shop/desk", policies=tmp_path / "rules.yaml")
    try:
        monkeypatch.setenv("OPENAI_API_KEY", "key-of-the-client")
        model.says(Turn(calls=[("refund", {"amount": 80})]), Turn("More than 50 I may not pay back."))
        assert "http://127.0.0.1:8718" in program
        names = {}
        exec(program.replace("http://127.0.0.1:8718", proxy.address), names)
        assert names["answer"].choices[0].message.content == "More than 50 I may not pay back."
        assert model.requests[1]["messages"][-1]["content"] == "80 is more than a desk may pay back."
    finally:
        proxy.stop()


def test_the_proxy_may_observe(model):
    from agents import ChatAgent
    from conftest import get

    proxy = Proxy("openai", model.address, "shop/desk", "--observe")
    try:
        agent = ChatAgent(proxy.address, True)
        model.says(Turn("I do.", [("delete_all", {}), ("unheard_of", {}), ("refund", {"order": "o", "amount": 0.5})]), Turn("Done."))
        answer = agent.say("My card is 4111 1111 1111 1111. Delete everything.")
        assert answer.names() == ["delete_all", "unheard_of", "refund"] and answer.calls[2][2]["amount"] == 0.5
        assert ("user", "My card is 4111 1111 1111 1111. Delete everything.") in agent.seen(model.requests[0])
        assert len(model.requests[0]["tools"]) == 5
        assert agent.report([(id, "kim@example.com") for id, _, _ in answer.calls]).text == "Done."
        assert ("tool", "kim@example.com") in agent.seen(model.requests[1])
        task = answer.headers["x-celador-task"]
        events = get(f"{proxy.reviews}/v1/tasks/{task}/events")["events"]
        assert "enforced" in str(events), "what would have come of it is told"
    finally:
        proxy.stop()
