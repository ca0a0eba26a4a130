"""Celador for Google's Agent Development Kit: a plugin.

    runner = Runner(app=App(name="desk", root_agent=assistant, plugins=[celador.google_adk.Plugin(agent)]), session_service=sessions)

Every part that the model reads, each turn of the model with its texts and all of its calls, and each result pass the policies; `FORMS` has the parts
that are known. Reviews are confirmations of the ADK (`adk_request_confirmation`): all reviews of a turn are asked in one event, other calls of the turn
have run by then, and a function response with `{"confirmed": true}` answers one of them, in this process or another one. A call that was approved and
has to wait for other reviews runs by itself once these are answered. A message that comes meanwhile is kept, and the model reads it then. The task
has the id of the session and its user.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.adk.plugins import BasePlugin
from google.adk.tools.base_tool import BaseTool
from google.adk.tools.set_model_response_tool import SetModelResponseTool
from google.adk.tools.tool_confirmation import ToolConfirmation
from google.adk.tools.tool_context import ToolContext
from google.adk.tools.transfer_to_agent_tool import TransferToAgentTool
from google.genai import types

from celador import _adk_parts as adk
from celador._adk_parts import FORMS
from celador._messages import Piece, as_json, as_text, drop, joined, refuse, text_piece
from celador._steps import KEPT, REFUSED, Admitted, Ask, Given, Hold, Kept, Obligations, Run, Stopped, Tell, Whom, for_user
from celador._turns import Conversation, Tasks

if TYPE_CHECKING:
    from celador import Agent, Tool
    from google.adk.agents.callback_context import CallbackContext
    from google.adk.agents.invocation_context import InvocationContext

_FLOW = {"transfer_to_agent", "set_model_response"}
"""Tools by which the ADK moves between agents and takes a typed response: they do nothing to the world."""


class Plugin(BasePlugin):
    """Holds the agents of a runner to the policies of an agent of Celador."""

    def __init__(self, agent: Agent, *, user: Whom = None, obligations: Obligations | None = None, observe: bool = False) -> None:
        """`user` says for whom the task runs: a user, or a function of the session; without it the user of the session.

        `obligations` are functions for the obligations of policies, by their ids; a call with another one does not run. What the model says is
        streamed once it was judged as a whole, as a stream cannot be called back. `observe` passes parts that no rule can read on, and logs them as
        unjudged, for agents that observe."""
        super().__init__(name="celador")
        self._tasks = Tasks(agent, user or (lambda session: session.user_id), obligations, observe=observe)
        self._refused: dict[str, str] = {}
        """What the user reads in the place of a run, by the invocation."""
        self._running: set[str] = set()

    async def _of(self, session: Any) -> Conversation:
        return await self._tasks.find(session.id, session)

    # Messages

    async def on_user_message_callback(self, *, invocation_context: InvocationContext, user_message: types.Content) -> types.Content | None:
        conversation = await self._of(invocation_context.session)
        return await conversation.off_loop(self._received, conversation, invocation_context, user_message)

    def _received(self, conversation: Conversation, context: InvocationContext, message: types.Content) -> types.Content:
        """The message of the user anew: answers to reviews, results of calls, and what else was admitted."""
        asked, answered = _confirmations(context.session.events)
        parts: list[types.Part] = []
        pieces: list[Piece] = []
        answers: dict[str, types.FunctionResponse] = {}
        for part in message.parts or ():
            adk.kind_of(part, "user")
            response = part.function_response
            if response is None:
                piece = adk.piece_of(part, "user")
                pieces += [] if piece is None else [piece]
            elif response.name == adk.CONFIRMATION:
                if response.id in asked:
                    answers[asked[response.id]] = response
                else:
                    drop("a confirmation that nobody has asked for", "user")
            elif response.name == adk.CREDENTIAL:
                parts.append(types.Part(function_response=response))
            else:
                parts.append(self._result(conversation, context, response))
        _pass_on(conversation, {call: response.response or {} for call, response in answers.items()})
        confirmed, waiting = self._tried(conversation, asked, answered, answers)
        parts += confirmed
        if not pieces and not parts and waiting:
            # Nothing can run yet. The ADK takes a confirmation as used once the call was tried, so it is not.
            self._refused[context.invocation_id] = _NOTED
            return types.Content(role="user", parts=waiting)
        step = conversation.said(pieces)
        if isinstance(step, Admitted):
            return types.Content(role="user", parts=[*parts, *map(adk.part_of, step.pieces)])
        if not parts:
            self._refused[context.invocation_id] = step.text if isinstance(step, Stopped) else KEPT
        if isinstance(step, Stopped):
            return types.Content(role="user", parts=[*parts, types.Part(text=REFUSED)])
        if any(piece.text is None for piece in pieces):
            drop("a part without text of a message that is kept", "user")
        text = "".join(piece.text or "" for piece in pieces)
        note = types.Part(text=_KEPT_PLACE, part_metadata={adk.KEPT: {"id": step.id, "text": text}})
        return types.Content(role="user", parts=[*parts, note])

    def _tried(
        self, conversation: Conversation, asked: dict[str | None, str], answered: set[str | None], answers: dict[str, types.FunctionResponse]
    ) -> tuple[list[types.Part], list[types.Part]]:
        """The confirmations by which the ADK tries calls again: those that were answered, and those of calls that had to wait for other reviews or
        that somebody has answered elsewhere; and those that are answered and cannot run yet."""
        open_reviews = {review.call for review in conversation.task.reviews()}
        tried: list[types.Part] = []
        waiting: list[types.Part] = []
        for call, id in {call: id for id, call in asked.items()}.items():
            if call in open_reviews or not conversation.knows(call):
                continue
            step = conversation.call_as_it_is(call)
            if call not in answers and isinstance(step, Tell) and id in answered:
                continue  # over since long
            response = answers[call].response if call in answers else {"confirmed": True}
            part = types.Part(function_response=types.FunctionResponse(id=id, name=adk.CONFIRMATION, response=response))
            (waiting if isinstance(step, Hold) and open_reviews else tried).append(part)
        return tried, waiting

    def _result(self, conversation: Conversation, context: InvocationContext, response: types.FunctionResponse) -> types.Part:
        """A result that the user sends: that of a call that was let through, or else an input."""
        calls = {call.id: call for event in context.session.events for call in event.get_function_calls()}
        call, text = calls.get(response.id), adk.response_text(response)
        if call is not None and call.id and conversation.is_open(call.id):
            told = conversation.told(call.id, call.name or "", as_json(dict(call.args or {})), text)
            return adk.with_text(response, told if told is not None else REFUSED)
        step = conversation.said([text_piece(text)])
        return adk.with_text(response, "".join(piece.text or "" for piece in step.pieces) if isinstance(step, Admitted) else REFUSED)

    async def before_run_callback(self, *, invocation_context: InvocationContext) -> types.Content | None:
        refused = self._refused.pop(invocation_context.invocation_id, None)
        if refused is None:
            return None
        conversation = await self._of(invocation_context.session)
        return types.ModelContent(await conversation.off_loop(conversation.own, refused))

    async def before_model_callback(self, *, callback_context: CallbackContext, llm_request: LlmRequest) -> LlmResponse | None:
        vendors = adk.hosted(llm_request.config.tools or () if llm_request.config else ())
        agent = getattr(getattr(callback_context, "_invocation_context", None), "agent", None)
        if getattr(agent, "code_executor", None) is not None:
            vendors.append("code_executor")
        conversation = await self._of(callback_context.session)
        if vendors:
            conversation.step(refuse, f"nobody can hold these tools to a policy, as they are no functions of this process: {', '.join(vendors)}")
        return await conversation.off_loop(self._admitted, conversation, callback_context.session.events, llm_request)

    def _admitted(self, conversation: Conversation, events: Iterable[Any], request: LlmRequest) -> LlmResponse | None:
        """Judges what the model has not read yet, wherever it stands in the request, and puts what was admitted in its place."""
        conversation.withdraw_stuck(_reported(request.contents))
        limits = conversation.task.limits()
        if not limits.allowed:
            return _answer(conversation, for_user(limits))
        known, calls = conversation.known(), dict[str | None, types.FunctionCall]()
        last = max((at for at, content in enumerate(request.contents) if content.role == "model"), default=-1)
        stopped: str | None = None
        shown: set[str] = set()
        contents: list[types.Content] = []
        for at, content in enumerate(request.contents):
            sender = "model" if content.role == "model" else "user"
            parts: list[types.Part] = []
            said: list[Piece] = []
            for part in content.parts or ():
                adk.kind_of(part, sender)
                late = adk.kept(part)
                if late is not None:
                    shown.add(str(late.get("id")))
                    step = self._joined(conversation, late)
                    if isinstance(step, Admitted):
                        parts += map(adk.part_of, step.pieces)
                    elif isinstance(step, Stopped):
                        parts.append(types.Part(text=REFUSED))
                        stopped = stopped or (step.text if at > last else None)
                elif part.function_call is not None:
                    call = part.function_call
                    calls[call.id] = call
                    if call.name not in _FLOW and not (call.id and conversation.knows_call(call.id, call.name or "", call.args or {})):
                        if not conversation.brought(call.name or "", call.args or {}, known):
                            call = types.FunctionCall(id=call.id, name="refused", args={})
                    parts.append(types.Part(function_call=call, thought_signature=part.thought_signature))
                elif part.function_response is not None:
                    parts.append(self._told(conversation, known, calls, part.function_response))
                elif (piece := adk.piece_of(part, sender)) is not None:
                    said.append(piece)
            step = conversation.history(said, known, None, of_model=sender == "model", is_new=at > last) if said else Admitted([])
            if isinstance(step, Admitted):
                parts = [*map(adk.part_of, step.pieces), *parts] if sender == "model" else [*parts, *map(adk.part_of, step.pieces)]
            else:
                parts.append(types.Part(text=REFUSED))
                stopped = stopped or ((step.text if isinstance(step, Stopped) else KEPT) if at > last else None)
            if parts:
                contents.append(types.Content(role=content.role, parts=parts))
        for late in (found for event in events for part in (event.content.parts if event.content else None) or () if (found := adk.kept(part))):
            if str(late.get("id")) not in shown:
                step = self._joined(conversation, late)
                if isinstance(step, Stopped):
                    stopped = stopped or step.text
                contents += [types.Content(role="user", parts=[*map(adk.part_of, step.pieces)])] if isinstance(step, Admitted) else []
        request.contents = contents
        return None if stopped is None else _answer(conversation, stopped)

    def _joined(self, conversation: Conversation, late: dict[str, Any]) -> Admitted | Stopped | Kept:
        """What has come of a message that was kept. It is asked once: the task tells of it until the next turn."""
        id, given = str(late.get("id")), [text_piece(str(late.get("text")))]
        known = conversation.joined.get(id)
        step = known if known is not None else conversation.kept(id, given)
        if not isinstance(step, Kept):
            conversation.joined[id] = step if isinstance(step, Admitted) else Admitted([Piece("text", REFUSED)])
        return step

    def _told(self, conversation: Conversation, known: Any, calls: dict[str | None, types.FunctionCall], response: types.FunctionResponse) -> types.Part:
        """A result in the history."""
        call, text = calls.get(response.id), adk.response_text(response)
        if call is not None and call.name in _FLOW:
            return types.Part(function_response=types.FunctionResponse(id=response.id, name=response.name, response={"result": "done"}))
        told = None
        if call is not None and call.id:
            told = conversation.told(call.id, call.name or "", as_json(dict(call.args or {})), text)
        elif call is None and response.id and conversation.is_told(response.id, text):
            told = text
        if told is None:
            step = conversation.history([text_piece(text)], known, None, of_model=False, is_new=False)
            told = "".join(piece.text or "" for piece in step.pieces) if isinstance(step, Admitted) else REFUSED
        return adk.with_text(response, told, failed=adk.is_error(response))

    async def after_model_callback(self, *, callback_context: CallbackContext, llm_response: LlmResponse) -> LlmResponse | None:
        if llm_response.partial:
            return LlmResponse(partial=True, content=types.Content(role="model", parts=[]))
        content = llm_response.content
        if content is None or not content.parts:
            return None  # what went wrong, or nothing
        conversation = await self._of(callback_context.session)
        return await conversation.off_loop(_judged, conversation, llm_response, content)

    # Calls

    async def before_tool_callback(self, *, tool: BaseTool, tool_args: dict[str, Any], tool_context: ToolContext) -> dict[str, Any] | None:
        if isinstance(tool, (TransferToAgentTool, SetModelResponseTool)):
            return None
        id = _id(tool_context)
        conversation = await self._of(tool_context.session)
        step = await conversation.claim_on_loop(id, await conversation.call_when_free(id, tool.name, tool_args))
        match step:
            case Tell(text, failed):
                return {"error" if failed else "result": text}
            case Ask(review):
                tool_context.request_confirmation(
                    hint=review.text or f"{review.reviewer} is asked", payload={"review": review.id, "arguments": review.arguments}
                )
            case Hold(waits_for):
                tool_context.request_confirmation(
                    hint="This call waits for others: it needs no decision of its own.", payload={"waits_for": list(waits_for)}
                )
            case Run(arguments):
                tool_args.clear()
                tool_args.update(arguments)
                self._running.add(id)
                return None
        tool_context.actions.skip_summarization = True
        return {"error": "This call waits for a person."}

    async def after_tool_callback(
        self, *, tool: BaseTool, tool_args: dict[str, Any], tool_context: ToolContext, result: Any
    ) -> dict[str, Any] | None:
        id = _id(tool_context)
        if id not in self._running:
            return None
        self._running.discard(id)
        conversation = await self._of(tool_context.session)
        given = await conversation.result_and_wake(id, result)
        if isinstance(given, Given):
            if result is None and given.told is None:
                return None  # a long-running tool that has no result yet
            return given.told if isinstance(given.told, dict) else {"result": given.told}
        return {"error": given.text}

    async def on_tool_error_callback(
        self, *, tool: BaseTool, tool_args: dict[str, Any], tool_context: ToolContext, error: Any
    ) -> dict[str, Any] | None:
        id = _id(tool_context)
        if id not in self._running:
            return None
        self._running.discard(id)
        conversation = await self._of(tool_context.session)
        if isinstance(error, Exception):
            await conversation.result_and_wake(id, type(error).__name__, failed=True)
        else:
            conversation.cancelled(id)
        return None


def tools(tools: Iterable[BaseTool]) -> list[Tool]:
    """Tools of the ADK as `celador.agent_for` takes them."""
    found: list[Tool] = []
    for tool in tools:
        declared = tool._get_declaration()
        if declared is None:
            raise ValueError(f"the tool {tool.name} declares no function")
        schema = declared.parameters_json_schema
        if schema is None:
            schema = declared.parameters.json_schema.model_dump(mode="json", exclude_none=True) if declared.parameters else {"type": "object"}
        found.append({"name": tool.name, "description": tool.description, "inputSchema": schema})
    return found


def _judged(conversation: Conversation, response: LlmResponse, content: types.Content) -> LlmResponse:
    """Reports a turn. What comes back is made from what was decided of it."""
    calls: list[types.Part] = []
    pieces: list[Piece] = []
    for part in content.parts or ():
        adk.kind_of(part, "model")
        if part.function_call is not None:
            calls.append(types.Part(function_call=adk.call_of(part), thought_signature=part.thought_signature))
        elif (piece := adk.piece_of(part, "model")) is not None:
            pieces.append(piece)
    asked = [part.function_call for part in calls if part.function_call]
    typed = [Piece("structured", as_text(call.args)) for call in asked if call.name == "set_model_response"]
    reported = [(call.id or "", call.name or "", call.args or {}) for call in asked if call.name not in _FLOW]
    usage = response.usage_metadata
    used = ((usage and usage.prompt_token_count) or 0, (usage and usage.candidates_token_count) or 0)
    ended = None if reported else conversation.turn([], *used)
    given = [*joined(pieces), *typed]
    decided = conversation.response(given) if ended is None else Stopped(for_user(ended))
    if reported:
        ended = conversation.turn([] if isinstance(decided, Stopped) else reported, *used)
        decided = decided if ended is None else Stopped(for_user(ended))
    if isinstance(decided, Stopped):
        return _answer(conversation, decided.text)
    if [piece.key() for piece in decided.pieces if piece.kind == "structured"] != [piece.key() for piece in typed]:
        raise ValueError("a policy rewrites responses of this agent, and they have a type: it can only refuse them")
    parts = [adk.part_of(piece) for piece in decided.pieces if piece.kind != "structured"]
    update = {"content": types.Content(role="model", parts=[*parts, *calls]), "grounding_metadata": None, "citation_metadata": None}
    return response.model_copy(update=update)


def _answer(conversation: Conversation, text: str) -> LlmResponse:
    return LlmResponse(content=types.ModelContent(conversation.own(text)))


def _pass_on(conversation: Conversation, answers: dict[str, dict[str, Any]]) -> None:
    """Tells the task what people have answered. All of it, ahead of the first call that goes on."""
    for call, review in conversation.open_reviews(answers).items():
        confirmation = ToolConfirmation.from_response_dict(answers[call])
        payload = confirmation.payload if isinstance(confirmation.payload, dict) else {}
        if not confirmation.confirmed:
            conversation.answer(review, "deny", note=payload.get("note"))
        elif "arguments" in payload and payload["arguments"] != review.arguments:
            conversation.answer(review, "edit", arguments=payload["arguments"])
        else:
            conversation.answer(review, "approve")


_KEPT_PLACE = "(A message that is kept until the open reviews are answered.)"
"""What stands in the history of the ADK in the place of a message that is judged later."""


_NOTED = "The answer is noted. The call runs once the other reviews are answered."
"""What the user reads where an approved call has to wait."""


def _confirmations(events: Iterable[Any]) -> tuple[dict[str | None, str], set[str | None]]:
    """The calls of the model, by the ids of the confirmations that were asked for them; and the ids that a user has answered."""
    asked: dict[str | None, str] = {}
    answered: set[str | None] = set()
    for event in events:
        for call in event.get_function_calls():
            if call.name == adk.CONFIRMATION:
                asked[call.id] = str((call.args or {}).get("originalFunctionCall", {}).get("id"))
        if event.author == "user":
            answered |= {response.id for response in event.get_function_responses()}
    return asked, answered


def _reported(contents: list[types.Content]) -> list[str]:
    """The calls whose results stand at the end: those of the turn before."""
    parts = contents[-1].parts if contents else None
    return [part.function_response.id for part in parts or () if part.function_response and part.function_response.id]


def _id(context: ToolContext) -> str:
    if not context.function_call_id:
        raise ValueError("a call has no id")
    return context.function_call_id


__all__ = ["FORMS", "Plugin", "tools"]
