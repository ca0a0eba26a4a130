"""Parts of messages of Pydantic AI: which are known, what rules read of them, and parts made from decided texts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from pydantic_ai.messages import ModelResponse, TextPart, ThinkingPart, ToolCallPart

from celador._messages import Form, Piece, readable, strict_json, text_piece, treatment

_HOSTED = "the vendor runs it"
_MEDIA = ("image-url", "video-url", "audio-url", "document-url", "binary", "uploaded-file")

FORMS: Sequence[Form] = (
    Form("user-prompt", "request", "judged", "as an input"),
    Form("system-prompt", "request", "judged", "as an input; that of the agent itself is its developer's"),
    Form("tool-return", "request", "judged", "as the result of its call; one of no known call, as an input"),
    Form("retry-prompt", "request", "judged", "as the result of its call; one of no known call, as an input"),
    Form("retry-feedback", "request", "judged", "as an input; that of the run itself quotes a response that was judged"),
    Form("tool-availability-delta", "request", "passed", "names of tools"),
    Form("instructions", "history", "dropped", "of an earlier run; those of the run itself are the developer's"),
    Form("model-settings-delta", "request", "passed", "no text"),
    *(Form(f"instruction-{kind}", "request", "passed", "of the agent's developer") for kind in ("delta", "baseline", "digest")),
    *(Form(kind, "request", "refused") for kind in ("speech", "compaction", "tool-search-return", "capability-load-return", "capability-load-delta")),
    Form("text-content", "user", "judged"),
    *(Form(kind, "user", "passed", "no text: rules read that it is there; of `binary`, what is text is judged") for kind in _MEDIA),
    Form("cache-point", "user", "passed", "nothing in it"),
    Form("structured-content", "user", "refused"),
    Form("text", "response", "judged", "as a response; one that the caller brings, as an input"),
    Form("thinking", "response", "judged", "its text; what is encrypted is the vendor's"),
    Form("tool-call", "response", "judged", "as a call; one of no known turn, its arguments as an input"),
    Form("file", "response", "passed", "no text: rules read that it is there"),
    *(Form(kind, "response", "refused", _HOSTED) for kind in ("builtin-tool-call", "builtin-tool-return")),
    *(Form(kind, "response", "refused") for kind in ("speech", "compaction", "tool-search-call", "capability-load-call")),
)
"""Which parts are known, and what happens to each. What is not here is refused."""


def prompt_pieces(content: Any) -> list[Piece]:
    """The parts of what a user has said."""
    items = [content] if isinstance(content, str) else list(content)
    pieces: list[Piece] = []
    for item in items:
        if isinstance(item, str):
            pieces.append(text_piece(item))
            continue
        kind = str(getattr(item, "kind", type(item).__name__))
        if treatment(FORMS, "user", kind) == "judged":
            pieces.append(text_piece(str(item.content)))
            continue
        media = str(getattr(item, "media_type", "") if kind not in ("cache-point", "uploaded-file") else "") or "application/octet-stream"
        data = getattr(item, "data", None)
        is_text = isinstance(data, bytes) and (media.startswith("text/") or media == "application/json")
        pieces.append(Piece(kind, readable(data.decode("utf-8", "replace")) if is_text and data is not None else None, media, item))
    return pieces


def prompt_content(pieces: Sequence[Piece]) -> Any:
    """What a user has said, made from decided parts."""
    if all(piece.kind == "text" for piece in pieces) and len(pieces) <= 1:
        return pieces[0].text if pieces else ""
    return [piece.text if piece.kind == "text" else _media(piece) for piece in pieces]


def _media(piece: Piece) -> Any:
    if piece.text is None or piece.original.data.decode("utf-8", "replace") == piece.text:
        return piece.original
    return piece.text


def kind_of(part: Any, sender: str) -> str:
    kind = str(getattr(part, "part_kind", type(part).__name__))
    treatment(FORMS, sender, kind)
    return kind


def spoken(parts: Iterable[Any]) -> list[Piece]:
    """What a response says, beside its calls. Raises for a part that is not known."""
    pieces: list[Piece] = []
    for part in parts:
        kind = kind_of(part, "response")
        if kind == "text":
            pieces.append(text_piece(part.content))
        elif kind == "thinking":
            pieces.append(Piece("thinking", readable(part.content or ""), original=part))
        elif kind == "file":
            pieces.append(Piece("file", None, str(part.content.media_type), part))
        elif kind != "tool-call":
            pieces.append(Piece(kind, None, original=part))  # unjudged
    return pieces


def parts_of(response: ModelResponse, pieces: Iterable[Piece]) -> list[Any]:
    """The parts of a response anew: its calls behind what was decided of the rest."""
    parts: list[Any] = []
    for piece in pieces:
        if piece.kind == "text":
            parts.append(TextPart(piece.text or ""))
        elif isinstance(piece.original, ThinkingPart):
            # a signature is one of the text as it was
            parts.append(piece.original if readable(piece.original.content or "") == piece.text else ThinkingPart(piece.text or ""))
        elif piece.kind != "structured":
            parts.append(piece.original)
    parts += [part for part in response.parts if isinstance(part, ThinkingPart) and not part.content]
    for part in response.parts:
        if isinstance(part, ToolCallPart):
            part.args = arguments_of(part)
            parts.append(part)
    return parts


def arguments_of(call: ToolCallPart) -> dict[str, Any]:
    """Arguments that are no JSON, or not the same for every reader, stand under a name of their own: no schema has it, and the call is refused."""
    given = call.args
    if not isinstance(given, str):
        return dict(given or {})
    try:
        arguments = strict_json(given or "{}")
    except ValueError:
        return {"": readable(given)}
    return arguments if isinstance(arguments, dict) else {"": readable(given)}


__all__ = ["FORMS", "arguments_of", "kind_of", "parts_of", "prompt_content", "prompt_pieces", "spoken"]
