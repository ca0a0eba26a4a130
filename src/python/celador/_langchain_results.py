"""What a tool of LangChain has returned: as rules read it, and made anew from what was decided.

In: a message, or a `Command` with messages and what it writes into the state of the graph. Out: one value for rules, and the same thing with the value
that policies have left.
"""

from __future__ import annotations

import dataclasses
from typing import Any, cast

from langchain_core.messages import AnyMessage, RemoveMessage, ToolCall, ToolMessage
from langgraph.types import Command

from celador import MisuseError
from celador._langchain_messages import FORMS, rewritten, said
from celador._messages import as_json, as_text, drop, refuse, treatment


@dataclasses.dataclass(frozen=True)
class Result:
    """What a tool has returned: a message, or a command with messages and what it writes into the state of the graph."""

    of_call: ToolMessage | None
    messages: list[AnyMessage]
    rest: dict[str, Any]
    command: Command[Any] | None
    unread: dict[str, Any] = dataclasses.field(default_factory=dict)
    """What a command writes that no rule can read."""

    @classmethod
    def of(cls, result: ToolMessage | Command[Any], call: ToolCall) -> Result:
        if isinstance(result, ToolMessage):
            said(result)
            return cls(result, [result], {}, None)
        treatment(FORMS, "tool", type(result).__name__)
        update = {} if result.update is None else result.update
        if not isinstance(update, dict):
            refuse("no rule can read a Command whose update is no dict")
            return cls(None, [], {}, result)
        messages = update.get("messages") or []
        messages = messages if isinstance(messages, list) else [messages]
        for message in messages:
            if isinstance(message, RemoveMessage):
                continue
            said(message)
        if "celador_task" in update or "celador_kept" in update:
            raise MisuseError("a Command that writes what the middleware keeps", "reserved")
        rest = {name: value for name, value in update.items() if name != "messages"}
        unread = {name: value for name, value in rest.items() if not _is_json(value)}
        for name in unread:
            refuse(f"no rule can read what a Command writes as {name!r}, as it is no JSON")
            del rest[name]
        own = next((m for m in messages if isinstance(m, ToolMessage) and m.tool_call_id == call["id"]), None)
        return cls(own, messages, rest, result, unread)

    @property
    def failed(self) -> bool:
        return self.of_call is not None and self.of_call.status == "error"

    def output(self) -> Any:
        """What rules read: the content of the one message, or all contents and all else by their names."""
        contents = [message.content for message in self.messages if not isinstance(message, RemoveMessage)]
        if not self.rest and len(contents) <= 1:
            return contents[0] if contents else None
        return {"messages": [as_json(content) for content in contents], **self.rest}

    def anew(self, value: Any, artifacts: bool) -> ToolMessage | Command[Any]:
        whole = self.rest or len([m for m in self.messages if not isinstance(m, RemoveMessage)]) > 1
        contents = list(value["messages"]) if whole and isinstance(value, dict) and isinstance(value.get("messages"), list) else [value]
        messages: list[Any] = []
        for message in self.messages:
            if isinstance(message, RemoveMessage):
                messages.append(message)
            elif contents:
                messages.append(_with_content(message, contents.pop(0), artifacts))
        if self.command is None:
            return cast("ToolMessage", messages[0])
        rest = {name: value[name] for name in self.rest if isinstance(value, dict) and name in value}
        if not isinstance(self.command.update, (dict, type(None))):
            return self.command
        return dataclasses.replace(self.command, update={**self.unread, **rest, **({"messages": messages} if messages else {})})


def _is_json(value: Any) -> bool:
    """Whether a value is JSON as it stands: made anew from JSON it is the same."""
    if isinstance(value, dict):
        return all(type(name) is str and _is_json(member) for name, member in value.items())
    if isinstance(value, list):
        return all(_is_json(member) for member in value)
    return value is None or (type(value) in (bool, int, float, str) and type(as_json([value])[0]) is type(value))


def _with_content(message: AnyMessage, value: Any, artifacts: bool) -> AnyMessage:
    """The message with a content that was decided: parts of LangChain if it is a list of such, else the text of the value."""
    as_parts = isinstance(value, list) and value and all(isinstance(part, dict) and isinstance(part.get("type"), str) for part in value)
    content: Any = value if as_parts and isinstance(message.content, list) else as_text(value)
    if not isinstance(message, ToolMessage):
        return rewritten(message.model_copy(update={"content": content}), said(message.model_copy(update={"content": content})))
    new = ToolMessage(content, id=message.id, name=message.name, tool_call_id=message.tool_call_id, status=message.status)
    if artifacts:
        new.artifact = message.artifact
    elif message.artifact is not None:
        drop("artifact", "tool")
    return new


__all__ = ["Result"]
