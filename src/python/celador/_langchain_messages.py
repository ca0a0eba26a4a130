"""Messages of LangChain: which forms are known, their parts, and messages made from decided parts.

A message is written anew from what was decided. Members that no rule reads and that a model or a user would see are left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any, cast

from langchain_core.messages import AIMessage, AnyMessage, BaseMessage, HumanMessage, SystemMessage, ToolCall, ToolMessage

from celador._messages import Form, Piece, as_text, drop, joined, readable, text_piece, treatment

UNKNOWN = "other"
"""Who has written a message of a kind that is not known."""

_CALL = "a copy of a call in `tool_calls`; written anew from it"
_HOSTED = "a tool that the vendor runs"

FORMS: Sequence[Form] = (
    Form("HumanMessage", "user", "judged", "as an input"),
    Form("SystemMessage", "system", "judged", "as an input; the prompt of the agent itself is its developer's"),
    Form("AIMessage", "model", "judged", "as a response; one that the caller brings, as an input"),
    Form("ToolMessage", "tool", "judged", "as the result of its call; one of no known call, as an input"),
    Form("FunctionMessage", "tool", "refused", "replaced by ToolMessage"),
    Form("ChatMessage", UNKNOWN, "refused", "a role of the caller's own"),
    *(Form("text", sender, "judged") for sender in ("user", "system", "model", "tool")),
    *(Form("text-plain", sender, "judged") for sender in ("user", "system", "model", "tool")),
    *(
        Form(kind, sender, "passed", "no text: rules read that it is there")
        for sender in ("user", "model", "tool")
        for kind in ("image", "image_url", "audio", "input_audio", "video", "file")
    ),
    Form("reasoning", "model", "judged"),
    Form("thinking", "model", "judged"),
    Form("refusal", "model", "judged"),
    Form("redacted_thinking", "model", "passed", "encrypted by the vendor"),
    *(Form(kind, "model", "passed", _CALL) for kind in ("tool_call", "tool_use", "function_call")),
    *(
        Form(kind, "model", "refused", _HOSTED)
        for kind in ("server_tool_call", "server_tool_result", "server_tool_use", "mcp_tool_use", "mcp_tool_result", "web_search_call")
    ),
    Form("invalid_tool_call", "model", "dropped"),
    Form("non_standard", "model", "refused"),
    Form("artifact", "tool", "dropped", "passed on with `artifacts=True`"),
    Form("Command", "tool", "judged", "all of its messages and its update, as one result"),
)
"""Which messages and parts are known, and what happens to each. What is not here is refused."""

_SENDERS: dict[type[BaseMessage], str] = {HumanMessage: "user", SystemMessage: "system", AIMessage: "model", ToolMessage: "tool"}
_TEXTS = {"text": "text", "text-plain": "text", "reasoning": "reasoning", "thinking": "thinking", "refusal": "refusal"}
"""The member that holds the text of a part."""
_SIGNED = ("id", "signature", "encrypted_content", "index")
"""Members of a part with reasoning that mean something to its vendor alone."""
_KWARGS = {"refusal": "refusal", "reasoning_content": "reasoning"}
"""Texts that clients of models keep beside the content."""
_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")


def sender(message: BaseMessage) -> str:
    """Who has written a message. Raises for a kind of message that is not known; it is `UNKNOWN` where an adapter observes."""
    for kind, name in _SENDERS.items():
        if isinstance(message, kind):
            treatment(FORMS, name, kind.__name__)
            return name
    kind_name = type(message).__name__
    treatment(FORMS, next((form.sender for form in FORMS if form.name == kind_name), UNKNOWN), kind_name)
    return UNKNOWN


def pieces_of(message: BaseMessage) -> list[Piece]:
    """All parts of a message, those of a model's reasoning and refusal as well. Raises for a part that is not known."""
    who = sender(message)
    if who == UNKNOWN:
        return []
    content = message.content
    pieces = [_piece(block, who) for block in ([content] if isinstance(content, str) else content)]
    for name in _KWARGS:
        text = message.additional_kwargs.get(name) if who == "model" else None
        if isinstance(text, str):
            pieces.append(Piece(_KWARGS[name], readable(text), original=name))
    return [piece for piece in pieces if piece is not None]


def _piece(block: Any, who: str) -> Piece | None:
    if isinstance(block, str):
        return text_piece(block)
    kind = str(block.get("type"))
    how = treatment(FORMS, who, kind)
    if how == "dropped":
        drop(kind, who)
        return None
    member = _TEXTS.get(kind)
    if member is None:
        return Piece(kind, None, str(block.get("mime_type") or "application/octet-stream"), block)
    if kind == "reasoning" and "summary" in block:  # the form of the Responses API
        text = "\n".join(str(part.get("text", "")) for part in block["summary"])
        return Piece(kind, readable(text), original=block)
    text = block.get(member)
    plain = kind in ("text", "text-plain")
    return text_piece(str(text or "")) if plain else Piece(kind, readable(str(text or "")), original=block)


def written(message: BaseMessage, pieces: Iterable[Piece]) -> AnyMessage:
    """The message anew, with these parts."""
    who, given = sender(message), list(pieces)
    if who == UNKNOWN:
        return cast("AnyMessage", message)
    kwargs = {piece.original: piece.text for piece in given if isinstance(piece.original, str)}
    blocks = [piece for piece in given if not isinstance(piece.original, str)]
    name = message.name if message.name and _NAME.fullmatch(message.name) else None
    calls = message.tool_calls if isinstance(message, AIMessage) else []
    content: Any = [block for piece in blocks for block in _block(piece, calls)]
    if len(blocks) <= 1 and all(piece.kind == "text" for piece in blocks):
        content = blocks[0].text if blocks else ""
    if isinstance(message, HumanMessage):
        return HumanMessage(content, id=message.id, name=name)
    if isinstance(message, SystemMessage):
        return SystemMessage(content, id=message.id, name=name)
    if isinstance(message, ToolMessage):
        return ToolMessage(content, id=message.id, name=name, tool_call_id=message.tool_call_id, status=message.status)
    assert isinstance(message, AIMessage), who
    opaque = {name: value for name, value in message.additional_kwargs.items() if name.startswith("__")}
    for other in set(message.additional_kwargs) - set(opaque) - set(_KWARGS):
        drop(f"additional_kwargs.{other}", who)
    if message.invalid_tool_calls:
        drop("invalid_tool_call", who)
    update = {"content": content, "additional_kwargs": {**opaque, **kwargs}, "invalid_tool_calls": [], "name": name}
    return message.model_copy(update=update)


def _block(piece: Piece, calls: Sequence[ToolCall]) -> list[Any]:
    if piece.kind == "text":
        return [{"type": "text", "text": piece.text}]
    block = piece.original
    member = _TEXTS.get(piece.kind)
    if member is not None:
        if "summary" in block and piece.text == "\n".join(str(part.get("text", "")) for part in block["summary"]):
            return [{"type": piece.kind, "summary": [{"type": "summary_text", "text": str(p.get("text", ""))} for p in block["summary"]], **_kept(block)}]
        # a signature is one of the text as it was
        return [{"type": piece.kind, member: piece.text, **(_kept(block) if block.get(member) == piece.text else {})}]
    if piece.kind not in ("tool_call", "tool_use", "function_call"):
        return [block]
    call = next((call for call in calls if call["id"] in (block.get("id"), block.get("call_id"))), None)
    if call is None:
        drop(piece.kind, "model")
        return []
    if piece.kind == "tool_use":
        return [{"type": "tool_use", "id": call["id"], "name": call["name"], "input": call["args"]}]
    return []  # clients of models write these from `tool_calls`


def _kept(block: dict[str, Any]) -> dict[str, Any]:
    return {name: block[name] for name in _SIGNED if name in block}


def said(message: BaseMessage) -> list[Piece]:
    """The parts of a message that rules read: all but copies of calls."""
    return [piece for piece in joined(pieces_of(message)) if piece.kind not in ("tool_call", "tool_use", "function_call")]


def rewritten(message: BaseMessage, decided: Sequence[Piece]) -> AnyMessage:
    """The message anew with the decided parts; copies of calls stay behind them."""
    copies = [piece for piece in pieces_of(message) if piece.kind in ("tool_call", "tool_use", "function_call")]
    return written(message, [*decided, *copies])


def id_of(call: ToolCall) -> str:
    """The id that the model has given a call."""
    id = call["id"]
    if not id:
        raise ValueError(f"the model gave its call of {call['name']} no id")
    return id


def text_of(message: AnyMessage) -> str:
    """The content of a message as a text."""
    return message.content if isinstance(message.content, str) else as_text(message.content)


__all__ = ["FORMS", "UNKNOWN", "id_of", "pieces_of", "rewritten", "said", "sender", "text_of", "written"]
