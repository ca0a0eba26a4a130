"""Parts of Google's Agent Development Kit: which are known, what rules read of them, and parts made from decided texts."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Sequence
from typing import Any

from google.genai import types

from celador._messages import Form, Piece, as_json, as_text, drop, readable, refuse, strict_json, text_piece, treatment

CONFIRMATION = "adk_request_confirmation"
CREDENTIAL = "adk_request_credential"
KEPT = "celador_kept"
"""Where a part of the history has a message that is judged later."""

_VENDOR = "Gemini runs it itself"

FORMS: Sequence[Form] = (
    Form("text", "user", "judged", "as an input"),
    Form("text", "model", "judged", "as a response; one that the caller brings, as an input"),
    Form("thought", "model", "judged", "as the text of a response"),
    *(Form("inline_data", sender, "passed", "what is text is judged; of the rest, rules read that it is there") for sender in ("user", "model")),
    *(Form("file_data", sender, "passed", "no text: rules read that it is there") for sender in ("user", "model")),
    Form("function_call", "model", "judged", "as a call"),
    Form("function_call", "user", "refused", "the model calls, no user"),
    Form("function_response", "user", "judged", "as the result of its call; one of a call that is over or not known, as an input"),
    Form(CONFIRMATION, "user", "judged", "as answers to reviews; one that nobody has asked for is dropped"),
    Form(CREDENTIAL, "user", "passed", "for the ADK itself; no model reads it"),
    *(Form(kind, sender, "refused", _VENDOR) for sender in ("user", "model") for kind in ("executable_code", "code_execution_result", "tool_call", "tool_response")),
    Form("part_metadata", "model", "dropped"),
)
"""Which parts are known, and what happens to each. What is not here is refused."""

_BESIDE = {"thought", "thought_signature", "video_metadata", "media_resolution", "part_metadata"}
"""Members of a part that say something about what it holds."""


def kind_of(part: types.Part, sender: str) -> str:
    """The kind of a part. Raises for one that is not known, and for a part that holds several things."""
    held = [name for name in type(part).model_fields if name not in _BESIDE and getattr(part, name) is not None]
    if not held:
        return ""
    if len(held) > 1:
        refuse(f"no rule can read a part of the {sender} that is {' and '.join(held)} at the same time")
        return " and ".join(held)
    kind = "thought" if held == ["text"] and part.thought else held[0]
    name = part.function_response.name if part.function_response else None
    treatment(FORMS, sender, name if name in (CONFIRMATION, CREDENTIAL) and sender == "user" else kind)
    return kind


def piece_of(part: types.Part, sender: str) -> Piece | None:
    """What rules read of a part that is no call and no result."""
    kind = kind_of(part, sender)
    if part.part_metadata:
        drop("part_metadata", sender)
    if kind == "text":
        return text_piece(part.text or "")
    if kind == "thought":
        return Piece(kind, readable(part.text or ""), original=part)
    if kind == "inline_data" and part.inline_data is not None:
        media, data = part.inline_data.mime_type or "application/octet-stream", part.inline_data.data or b""
        is_text = media.startswith("text/") or media == "application/json"
        return Piece(kind, readable(data.decode("utf-8", "replace")) if is_text else None, media, part)
    if kind == "file_data" and part.file_data is not None:
        return Piece(kind, None, part.file_data.mime_type or "application/octet-stream", part)
    return None if kind in ("", "function_call", "function_response") else Piece(kind, None, original=part)


def part_of(piece: Piece) -> types.Part:
    """A part made from what was decided."""
    part: Any = piece.original
    if piece.kind == "text" or part is None:
        return types.Part(text=piece.text)
    if piece.kind == "thought":
        # a signature is one of the text as it was
        signature = part.thought_signature if readable(part.text or "") == piece.text else None
        return types.Part(text=piece.text, thought=True, thought_signature=signature)
    if piece.text is not None and part.inline_data is not None:
        return types.Part(inline_data=types.Blob(mime_type=part.inline_data.mime_type, data=piece.text.encode()))
    if piece.kind in ("inline_data", "file_data"):
        return types.Part(inline_data=part.inline_data, file_data=part.file_data, video_metadata=part.video_metadata)
    assert isinstance(part, types.Part)
    return part  # unjudged


def call_of(part: types.Part) -> types.FunctionCall:
    """A call with an id of its own, and arguments as rules read them."""
    call = part.function_call
    assert call is not None
    # The ADK gives a call without an id one of this form, and only later.
    return types.FunctionCall(id=call.id or f"adk-{uuid.uuid4()}", name=call.name, args=as_json(dict(call.args or {})))


def response_text(response: types.FunctionResponse) -> str:
    """What the model was told of a call: the ADK puts what is no object under `result`."""
    told = response.response or {}
    if len(told) == 1:
        for name in ("result", "error"):
            if name in told:
                return as_text(as_json(told[name]) if name == "result" else str(told[name]))
    return as_text(as_json(told))


def with_text(response: types.FunctionResponse, text: str, *, failed: bool = False) -> types.Part:
    """The response of a function with another text."""
    try:
        value = strict_json(text) if text.startswith("{") else text
    except ValueError:
        value = text
    told = value if isinstance(value, dict) else {"error" if failed else "result": value}
    return types.Part(function_response=types.FunctionResponse(id=response.id, name=response.name, response=told))


def is_error(response: types.FunctionResponse) -> bool:
    return set(response.response or ()) == {"error"}


def hosted(tools: Iterable[Any]) -> list[str]:
    """The tools of a request that Gemini runs itself, by name."""
    found: list[str] = []
    for tool in tools:
        if not isinstance(tool, types.Tool):
            found.append(type(tool).__name__)
            continue
        found += [name for name in type(tool).model_fields if name != "function_declarations" and getattr(tool, name) is not None]
    return found


def kept(part: types.Part) -> dict[str, Any] | None:
    found = (part.part_metadata or {}).get(KEPT)
    return found if isinstance(found, dict) else None


__all__ = [
    "CONFIRMATION",
    "CREDENTIAL",
    "FORMS",
    "KEPT",
    "call_of",
    "hosted",
    "is_error",
    "kept",
    "kind_of",
    "part_of",
    "piece_of",
    "response_text",
    "with_text",
]
