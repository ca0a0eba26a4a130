"""Items of the OpenAI Agents SDK: which are known, their parts, and items made from decided parts."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any

from openai.types.responses import (
    ResponseFunctionToolCall,
    ResponseOutputItemAddedEvent,
    ResponseOutputItemDoneEvent,
    ResponseOutputMessage,
    ResponseOutputRefusal,
    ResponseOutputText,
    ResponseReasoningItem,
    ResponseTextDeltaEvent,
)

from celador._messages import Form, Piece, drop, joined, readable, strict_json, text_piece, treatment

UNJUDGED = "unjudged"
"""The kind of an item that is passed on as it came."""

_HOSTED = "the vendor runs it"
_ROLES = ("user", "system", "developer")

FORMS: Sequence[Form] = (
    *(Form("message", role, "judged", "as an input") for role in _ROLES),
    Form("message", "assistant", "judged", "as a response; one that the caller brings, as an input"),
    Form("function_call", "assistant", "judged", "as a call; one of no known turn, its arguments as an input"),
    Form("function_call_output", "tool", "judged", "as the result of its call; one of no known call, as an input"),
    Form("reasoning", "assistant", "judged", "its texts; what is encrypted is the vendor's"),
    *(Form(kind, role, "judged") for role in (*_ROLES, "assistant") for kind in ("input_text", "output_text", "text")),
    Form("refusal", "assistant", "judged"),
    *(Form(kind, role, "passed", "no text: rules read that it is there") for role in _ROLES for kind in ("input_image", "input_file", "input_audio")),
    *(Form(kind, "tool", "judged") for kind in ("input_text", "output_text", "text")),
    *(Form(kind, "tool", "passed", "no text: rules read that it is there") for kind in ("input_image", "input_file")),
    *(
        Form(kind, "assistant", "refused", _HOSTED)
        for kind in (
            "web_search_call",
            "file_search_call",
            "computer_call",
            "code_interpreter_call",
            "image_generation_call",
            "mcp_call",
            "mcp_list_tools",
            "mcp_approval_request",
            "tool_search_call",
            "program",
        )
    ),
    *(Form(kind, "assistant", "refused", "no function of this process") for kind in ("local_shell_call", "shell_call", "apply_patch_call", "custom_tool_call")),
    Form("item_reference", "user", "refused", "what it names is not here"),
    Form("compaction", "assistant", "refused"),
    Form("annotations", "assistant", "dropped"),
)
"""Which items and parts are known, and what happens to each. What is not here is refused."""


def get(item: Any, name: str) -> Any:
    return item.get(name) if isinstance(item, dict) else getattr(item, name, None)


def kind_of(item: Any) -> tuple[str, str]:
    """The kind of an item and who has sent it. Raises for one that is not known; it is `UNJUDGED` where an adapter observes."""
    kind = get(item, "type") or ("message" if get(item, "role") else "")
    role = get(item, "role")
    if kind == "message":
        sender = str(role)
    else:
        sender = next((form.sender for form in FORMS if form.name == kind), "assistant")
    judged = treatment(FORMS, sender, str(kind)) == "judged"
    return str(kind) if judged else UNJUDGED, sender


def pieces_of(item: Any, sender: str) -> list[Piece]:
    """The parts of a message, a result, or of reasoning."""
    kind = get(item, "type")
    if kind == "reasoning":
        texts = [get(part, "text") for name in ("summary", "content") for part in get(item, name) or ()]
        return [Piece("reasoning", readable("\n".join(str(text) for text in texts)), original=item)] if texts else []
    content = get(item, "output") if kind == "function_call_output" else get(item, "content")
    if isinstance(content, str):
        return joined([text_piece(content)])
    return joined(_piece(part, sender) for part in content or ())


def _piece(part: Any, sender: str) -> Piece:
    kind = str(get(part, "type"))
    if treatment(FORMS, sender, kind) == "passed":
        return Piece(kind, None, original=part)
    if kind == "refusal":
        return Piece(kind, readable(str(get(part, "refusal") or "")), original=part)
    return text_piece(str(get(part, "text") or ""))


def written(item: Any, sender: str, pieces: Sequence[Piece]) -> list[Any]:
    """A message for the model, made from decided parts."""
    if get(item, "type") == "reasoning":
        return [item] if list(pieces) == pieces_of(item, sender) else []
    if sender == "assistant":
        if all(piece.text is not None for piece in pieces):
            return [{"role": "assistant", "content": "".join(piece.text or "" for piece in pieces)}]
        parts = [{"type": "output_text", "text": piece.text} if piece.kind == "text" else piece.original for piece in pieces]
        return [{"role": "assistant", "content": parts}]
    if len(pieces) <= 1 and all(piece.kind == "text" for piece in pieces):
        return [{"role": sender, "content": pieces[0].text if pieces else ""}]
    parts = [{"type": "input_text", "text": piece.text} if piece.kind == "text" else piece.original for piece in pieces]
    return [{"role": sender, "content": parts}]


def arguments_of(call: Any) -> dict[str, Any]:
    """Arguments that are no JSON, or not the same for every reader, stand under a name of their own: no schema has it, and the call is refused."""
    text = get(call, "arguments") or "{}"
    try:
        arguments = strict_json(text)
    except ValueError:
        return {"": readable(text)}
    return arguments if isinstance(arguments, dict) else {"": readable(text)}


def response_pieces(output: Iterable[Any]) -> list[Piece]:
    """All that a response says, beside its calls. Raises for an item that is not known."""
    pieces: list[Piece] = []
    for item in output:
        kind, sender = kind_of(item)
        if kind not in ("function_call", UNJUDGED):
            pieces += pieces_of(item, sender)
        if any(get(part, "annotations") for part in (get(item, "content") or () if kind == "message" else ())):
            drop("annotations", "assistant")
    return joined(pieces)


def response_items(output: Iterable[Any], pieces: Iterable[Piece]) -> list[Any]:
    """The items of a response anew: reasoning that was let through as it was, one message, and the calls."""
    items = list(output)
    given = list(pieces)
    reasoned = {id(piece.original): piece.text for piece in given if piece.kind == "reasoning"}
    result: list[Any] = []
    for item in items:
        if isinstance(item, ResponseReasoningItem):
            own = pieces_of(item, "assistant")
            if not own or reasoned.get(id(item)) == own[0].text:
                result.append(item)
    content: list[Any] = []
    for piece in given:
        if piece.kind == "refusal":
            content.append(ResponseOutputRefusal(type="refusal", refusal=piece.text or ""))
        elif piece.kind == "text":
            content.append(ResponseOutputText(type="output_text", text=piece.text or "", annotations=[]))
        elif piece.kind != "reasoning":
            content.append(piece.original)
    first = next((item for item in items if isinstance(item, ResponseOutputMessage)), None)
    if content:
        id_ = first.id if first is not None else "celador"
        result.append(ResponseOutputMessage(id=id_, type="message", role="assistant", status="completed", content=content))
    for item in items:
        if kind_of(item)[0] == UNJUDGED:
            result.append(item)
        elif isinstance(item, ResponseFunctionToolCall):
            arguments = arguments_of(item)
            result.append(item if "" in arguments else item.model_copy(update={"arguments": json.dumps(arguments, ensure_ascii=False, separators=(",", ":"))}))
    return result


def message(text: str) -> ResponseOutputMessage:
    part = ResponseOutputText(type="output_text", text=text, annotations=[])
    return ResponseOutputMessage(id="celador", type="message", role="assistant", status="completed", content=[part])


def events(output: Sequence[Any]) -> Iterable[Any]:
    """The items of a judged response as a stream has them."""
    for at, item in enumerate(output):
        yield ResponseOutputItemAddedEvent(type="response.output_item.added", item=item, output_index=at, sequence_number=0)
        for index, part in enumerate(item.content if isinstance(item, ResponseOutputMessage) else ()):
            if isinstance(part, ResponseOutputText):
                yield ResponseTextDeltaEvent(
                    type="response.output_text.delta",
                    item_id=item.id,
                    output_index=at,
                    content_index=index,
                    delta=part.text,
                    logprobs=[],
                    sequence_number=0,
                )
        yield ResponseOutputItemDoneEvent(type="response.output_item.done", item=item, output_index=at, sequence_number=0)


__all__ = ["FORMS", "UNJUDGED", "arguments_of", "events", "get", "kind_of", "message", "pieces_of", "response_items", "response_pieces", "written"]
