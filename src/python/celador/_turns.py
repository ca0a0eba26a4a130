"""What all adapters share: one conversation of a framework, held to one task.

In: what the hooks of a framework see (a message, a turn of the model, a call by its id, a result). Out: what an adapter has to do next, one of
four things for a call: `Run` it, `Tell` the model something in the place of a result, `Ask` a person, or `Hold` it until others are over.

The id of a call is the id that the model gave it, so that whatever a framework runs again (a node after an interrupt, a whole run in a new
process) finds the call where it was. Nothing is kept here that a new process would miss: the task knows it all.

An adapter runs a tool only with a `Run` that `claim` has returned: the task gives each call to one claimant, whichever process or thread asks first.
Whatever goes wrong raises, and an exception is no `Run`.
"""

from __future__ import annotations

import asyncio
import collections
import contextlib
import dataclasses
import functools
import json
import secrets
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from celador import CeladorError, MisuseError
from celador._messages import Piece, Unjudged, as_json, as_text, decided, joined, log, reading
from celador._steps import REFUSED, REFUSED_KEY, Admitted, Ask, Given, Hold, Kept, Known, Late, Next, Obligations, Run, Stopped, Tell, Whom, for_user

if TYPE_CHECKING:
    from celador import Agent, Decision, Review, Task, User

T = TypeVar("T")


class Conversation:
    """One conversation and its task. May be used from many threads and event loops."""

    MOST_TOLD = 4096
    """Of so many calls it is at hand what the model was told. The task is asked about others."""

    def __init__(self, task: Task, obligations: Obligations, unjudged: Unjudged | None = None) -> None:
        self.task = task
        self._unjudged = unjudged
        self._obligations = obligations
        self._let_through: set[str] = set()
        self._running: set[str] = set()
        """Calls that this conversation has claimed and that have no result."""
        self._asked: set[str] = set()
        self._in_question: set[str] = set()
        """Calls of which the task is being asked, whose answers are on their way."""
        self._ended = 0
        """How often a call has ended, or a person has answered."""
        # Each waits on the loop that it was started on: runs of one conversation may have loops of their own, one after the other.
        self._waiters: set[tuple[asyncio.AbstractEventLoop, asyncio.Event]] = set()
        self._told: dict[str, str] = {}
        """What the model was told of calls in this process."""
        self._made: dict[str, str] = {}
        """The functions and arguments of calls, as the model made them."""
        self._judged: tuple[collections.Counter[str], collections.Counter[str]] | None = None
        """The parts of the inputs and the responses that the task has judged."""
        self._own = (collections.Counter[str](), collections.Counter[str]())
        """Those that are not the task's: of the developer, the framework, or Celador."""
        self.joined: dict[str, Admitted] = {}
        """What was admitted of messages that were kept, by their ids."""
        self._admitted: dict[str, list[Piece]] = {}
        """What was admitted of messages whose history keeps what came."""
        self._late: list[Late] | None = None
        self.left: list[str] | None = None
        """The ids of messages that are left over, once they were looked for."""
        self._here = _kept_of(task)
        self.waiting = self._here.waiting
        """Messages that are kept for later, by what an adapter tells them by: the id in the task (none if it was not asked yet), and the message."""

    def said(self, pieces: Iterable[Piece]) -> Admitted | Stopped | Kept:
        """Hands over a message that others than the model have written. One that has to wait keeps its place in the task: `kept` tells later."""
        given = joined(pieces)
        if not given:
            return Admitted([])
        decision = self.task.input([piece.part() for piece in given])
        if decision.pending and decision.call:
            return Kept(decision.call)
        return self._message(decision, given, 0)

    def kept(self, id: str, pieces: Iterable[Piece]) -> Admitted | Stopped | Kept:
        """What has come of a message that was kept; to be asked ahead of the next turn of the model."""
        given = joined(pieces)
        decision = self._kept(id)
        if decision is None:
            return self.said(given)
        if decision.pending:
            return Kept(id)
        step = self._message(decision, given, 0)
        self._judged = None  # it was judged when the reviews were answered, and stands among the inputs of the task since
        return step

    def take_up(self, key: str, pieces: Iterable[Piece]) -> Admitted | Stopped | Kept | None:
        """What has come of one of the messages in `waiting`, which leaves it if it is decided. Nothing of one that the model has read."""
        id, message = self.waiting.pop(key)
        if self._kept(id) is None:
            return None
        step = self.kept(id, pieces)
        if isinstance(step, Kept):
            self.waiting[key] = (id, message)
        else:
            self._admitted[key] = step.pieces if isinstance(step, Admitted) else [Piece("text", REFUSED)]
        return step

    def left_over(self) -> Iterator[tuple[str, Admitted | Stopped | Kept]]:
        """Messages that another process has kept, or another guard of this one, with what has come of each. One is left over until it is taken from
        `left`, and until the model has had a turn since it was decided."""
        if self.left is None:
            # a task in memory keeps no events, and no other process has it
            events = () if self.task.place == "memory" else self.task.events()
            decisions = [event["decision"] or {} for event in events if event["operation"] == "input"]
            waited = [decision["call"] for decision in decisions if decision["verdict"] == "wait"]
            here = {id for id, _ in self.waiting.values()}
            self.left = [id for id in dict.fromkeys(waited) if id and id not in here]
        for id in [*self.left]:
            decision = self._kept(id)
            if decision is None:
                self.left.remove(id)
                continue
            yield id, Kept(id) if decision.pending else self._left(decision)

    def late(self, *, is_new_run: bool) -> list[Late]:
        """Messages that were kept and admitted since, for a history that may not have them: those of this process and, if a store has the task, of others."""
        if self.task.place == "memory":
            return self._here.late
        if self._late is None or is_new_run:
            self._late = _late_of(self.task.events())
        return self._late

    def note_late(self, late: Late) -> None:
        """Notes a message of a task in memory, which keeps no events, for other guards of the task."""
        if self.task.place == "memory":
            self._here.late.append(late)

    def _kept(self, id: str) -> Decision | None:
        """What has come of a message that was kept. Nothing, once the model has had a turn after it was decided."""
        try:
            decision = self.task.standing(id)
        except MisuseError:
            return None
        return None if decision.verdict == "rejected" else decision

    def _left(self, decision: Decision) -> Admitted | Stopped:
        if not decision.allowed:
            return Stopped(for_user(decision), decision)
        return Admitted(_pieces(decision.value["message"]))

    def history(self, pieces: Iterable[Piece], known: Known, message: Any, *, of_model: bool, is_new: bool) -> Admitted | Stopped | Kept:
        """What has come of one message of a history, for frameworks whose history goes on to have a message as it came. It is judged if it was not
        yet; one that `is_new` and was refused is refused again."""
        given = joined(pieces)
        key = str([piece.key() for piece in given])
        admitted = self._admitted.get(key, given)
        again = is_new and [piece.key() for piece in admitted] == [REFUSED_KEY]
        # the same words may stand ahead of those that are kept
        if not again and known.covers(admitted, of_model=of_model):
            return Admitted(admitted)
        step = (self.take_up(key, given) if key in self.waiting else None) or self.said(given)
        if isinstance(step, Kept):
            self.waiting[key] = (step.id, message)
        else:
            self._admitted[key] = step.pieces if isinstance(step, Admitted) else [Piece("text", REFUSED)]
        return step

    def response(self, pieces: Iterable[Piece]) -> Admitted | Stopped:
        """Hands over what the model says, final or beside calls, ahead of the turn with these calls."""
        given = joined(pieces)
        if not given:
            return Admitted([])
        decision = self.task.output([piece.part() for piece in given])
        if decision.pending and decision.call:
            self.task.withdraw(decision.call)
            return Stopped(for_user(decision))
        return self._message(decision, given, 1)

    def _message(self, decision: Decision, given: list[Piece], side: int) -> Admitted | Stopped:
        if not decision.allowed:
            return Stopped(for_user(decision), decision)
        pieces = decided(decision.value["message"], given)
        judged = self._judged
        if judged is not None:
            judged[side].update(piece.key() for piece in pieces)
        return Admitted(pieces)

    def known(self) -> Known:
        """What the task has judged by now, in this process or another one."""
        judged = self._judged
        if judged is None:
            context = self.task.context("input", "output")
            inputs, outputs = (
                collections.Counter(Piece(part.get("kind", "text"), part.get("text"), part.get("mimeType", "")).key() for part in _parts(context, name))
                for name in ("input", "output")
            )
            judged = self._judged = (inputs, outputs)
        return Known(judged[0] + self._own[0], judged[1] + self._own[1])

    def told(self, id: str, function: str, arguments: Mapping[str, Any], text: str) -> str | None:
        """What stands in the history as the result of a call: what the model was told of it. A call that was let through and never reported, as the
        framework has answered itself, is reported now. Nothing of a call that the task does not know."""
        if self.is_told(id, text):
            return text
        try:
            standing = self.task.standing(id)
        except MisuseError:
            return None
        if standing.pending:
            log.warning("dropped: the result of a call that still waits (%s)", id)
            self.task.withdraw(id)
            return self._remember(id, "The call did not run.")
        try:
            step = self.call(id, function, arguments)
        except MisuseError:
            return None  # another call than the one of this id
        if isinstance(step, Run):
            step = self._claimed(id, step, secrets.token_hex(16))
        if isinstance(step, Run):
            given = self.last_result(id, text, failed=True)
            return as_text(given.told) if isinstance(given, Given) else given.text
        return self._remember(id, step.text) if isinstance(step, Tell) else None

    def is_told(self, id: str, text: str) -> bool:
        """Whether this is what the model was told of a call, in this process."""
        return bool(text) and self._told.get(id) == text

    def was_told(self, text: str) -> bool:
        """Whether the model was told this of some call in this process: for frameworks whose results have no id."""
        return text in self._told.values()

    def own(self, text: str) -> str:
        """A text of Celador's own in the history, in the place of a response."""
        self._own[1].update([Piece("text", text).key()])
        return text

    def own_input(self, text: str) -> None:
        """A text of the developer's, or of the framework, in the history."""
        self._own[0].update([Piece("text", text).key()])

    def knows_call(self, id: str, function: str, arguments: Mapping[str, Any]) -> bool:
        """Whether a call in the history is one of the task as the model made it, or one that the framework has answered itself. One with another name
        or other arguments under its id is the word of whoever wrote the history."""
        made = _made(function, arguments)
        known = self._made.get(id)
        if known is None:
            try:
                self.task.standing(id)
            except MisuseError:
                return id in self._told  # one of the framework's own
            try:
                self.task.before(function, as_json(arguments), id=id)  # decides nothing anew
            except MisuseError:
                return False  # the call of this id is another one
            known = self._remember_made(id, made)
        return made == known

    def _remember_made(self, id: str, made: str) -> str:
        self._made[id] = made
        while len(self._made) > self.MOST_TOLD:
            del self._made[next(iter(self._made))]
        return made

    def knows(self, id: str) -> bool:
        """Whether the task knows a call of this id, or the framework has answered it itself."""
        if id in self._told or id in self._let_through:
            return True
        try:
            self.task.standing(id)
        except MisuseError:
            return False
        self._remember(id, "")
        return True

    def brought(self, function: str, arguments: Mapping[str, Any], known: Known) -> bool:
        """Whether a call that a caller's history has, and the task does not know, may go on: the model reads its arguments, so they are an input."""
        pieces = [Piece("text", f"{function} {as_text(as_json(arguments))}")]
        if known.covers(pieces, of_model=False):
            return True
        step = self.said(pieces)
        return isinstance(step, Admitted) and [piece.key() for piece in step.pieces] == [piece.key() for piece in pieces]

    def is_open(self, id: str) -> bool:
        """Whether a call was let through in this process and has no result."""
        return id in self._let_through

    def own_result(self, id: str, text: str) -> str:
        """A result that the framework has made itself of what was judged."""
        return self._remember(id, text)

    def _remember(self, id: str, text: str) -> str:
        self._told[id] = text
        while len(self._told) > self.MOST_TOLD:
            del self._told[next(iter(self._told))]
        return text

    async def off_loop(self, function: Callable[..., T], /, *arguments: Any, **named: Any) -> T:
        """Calls a function that asks the task. In memory that takes microseconds; a store or a server is asked on another thread, so that the
        event loop goes on."""
        if self.task.place == "memory":
            return self.step(function, *arguments, **named)
        return await asyncio.to_thread(self.step, function, *arguments, **named)

    def step(self, function: Callable[..., T], /, *arguments: Any, **named: Any) -> T:
        """Calls a function that reads messages. Forms that are not known are refused, or where the adapter observes passed on."""
        with reading(self._unjudged):
            return function(*arguments, **named)

    def turn(self, calls: Sequence[tuple[str, str, Mapping[str, Any]]], prompt_tokens: int, completion_tokens: int) -> Decision | None:
        """Reports a turn with all of its calls. What comes back is the decision that ends the run, where a limit does."""
        turn = self.task.turn(
            [(id, function, as_json(arguments)) for id, function, arguments in calls],
            prompt_tokens=prompt_tokens,
            completion_tokens=completion_tokens,
        )
        if not turn.limits.allowed:
            return turn.limits
        for id, function, arguments in calls:
            self._remember_made(id, _made(function, arguments))
        self._let_through.update(id for (id, _, _), decision in zip(calls, turn.calls, strict=True) if decision.allowed)
        return None

    def call(self, id: str, function: str, arguments: Mapping[str, Any]) -> Next:
        """What is to be done with a call now. The same call may be asked for again at any time, and counts once."""
        return self._recorded(id, self._next(id, self.task.before(function, as_json(arguments), id=id)))

    def call_as_it_is(self, id: str) -> Next:
        """As `call`, for a call whose arguments a reviewer has changed: the framework has the new ones, the task knows both."""
        return self._recorded(id, self._next(id, self.task.standing(id)))

    def _recorded(self, id: str, step: Next) -> Next:
        if isinstance(step, Tell):
            self._remember(id, step.text)
        return step

    def _next(self, id: str, decision: Decision) -> Next:
        if decision.allowed:
            return self._run(id, decision)
        if decision.verdict == "rejected":
            return self._over(id, decision)
        return self._standing(id, decision)

    def _over(self, id: str, decision: Decision) -> Next:
        """A call that is asked for again once its result was reported: what the model is told of it, if the task knows that still."""
        try:
            told = self.task.standing(id)
        except MisuseError:
            told = decision
        return Tell(as_text(told.value), failed=False) if told.allowed else self._standing(id, told)

    def _run(self, id: str, decision: Decision) -> Next:
        handlers = [(self._obligations.get(owed.id), owed) for owed in decision.obligations]
        unknown = [f"the obligation {owed.id}" for handler, owed in handlers if handler is None]
        unknown += [f"a credential for {wanted.audience}" for wanted in decision.credentials]
        if unknown:
            self.task.withdraw(id)
            return Tell(f"The call did not run: nobody here answers for {' and '.join(unknown)}.")
        self._let_through.add(id)
        beside = tuple(functools.partial(handler, owed.values) for handler, owed in handlers if handler is not None)
        return Run(decision.arguments, decision.delay or 0.0, beside)

    def _standing(self, id: str, decision: Decision) -> Next:
        if decision.verdict == "wait":
            return Hold(decision.waits_for)
        if decision.verdict == "suspend":
            review = decision.review
            if review is not None:
                return Ask(review)
            self.task.withdraw(id)
            return Tell("The call did not run: a step of its policy asks for something that only a runtime can do.")
        if decision.verdict == "respond":
            return Tell(as_text(decision.value), failed=False)
        return Tell(decision.message or f"The call did not run ({decision.verdict}).")

    def claim(self, id: str, step: Next) -> Next:
        """Claims a call that may run, waits as long as policies have it wait, and meets their obligations. A `Run` that comes back is the only one there
        is. Any other step comes back as it is.

        Raises `MisuseError` (`call_claimed`) for a call that another process, or another run of this one, has claimed."""
        if not isinstance(step, Run):
            return step
        claimant = secrets.token_hex(16)
        try:
            step = self._claimed(id, step, claimant)
            if isinstance(step, Run):
                time.sleep(step.delay)
                step.meet()
        except BaseException:
            self.release(id, claimant)
            raise
        return step

    async def claim_on_loop(self, id: str, step: Next) -> Next:
        """As `claim`, on an event loop."""
        if not isinstance(step, Run):
            return step
        claimant, is_cancelled = secrets.token_hex(16), threading.Event()
        try:
            step = await self.off_loop(self._claimed, id, step, claimant, is_cancelled)
            if isinstance(step, Run):
                if step.delay:
                    await asyncio.sleep(step.delay)
                if step.beside:
                    await asyncio.to_thread(step.meet)
        except BaseException:
            # a thread may be about to claim the call all the same
            is_cancelled.set()
            self.release(id, claimant)
            raise
        return step

    def _claimed(self, id: str, step: Run, claimant: str, is_cancelled: threading.Event | None = None) -> Next:
        try:
            decision = self.task.claim(id, claimant)
        except MisuseError:
            if id not in self._running:
                self._end(id)
            raise
        if not decision.allowed:
            self._end(id)
            other = self._standing(id, decision)
            return Tell("The call did not run.") if isinstance(other, Run) else self._recorded(id, other)
        self._running.add(id)
        if is_cancelled is not None and is_cancelled.is_set():
            self.release(id, claimant)
            raise asyncio.CancelledError
        return dataclasses.replace(step, claimant=claimant)

    def release(self, id: str, claimant: str) -> None:
        """Gives the claim on a call back that was not run, or that runs again from its beginning. The claim of another one stays."""
        with contextlib.suppress(CeladorError):
            self.task.release(id, claimant)
            self._running.discard(id)

    async def call_when_free(self, id: str, function: str, arguments: Mapping[str, Any]) -> Next:
        """As `call`, for frameworks that start all calls of a turn at once: a call that others are ahead of waits as long as one of these runs, or
        somebody is being asked about one. An answer may be out of date when it is heard, so a call is held only if nothing has ended since it was asked."""
        woken = (asyncio.get_running_loop(), asyncio.Event())
        self._waiters.add(woken)
        try:
            while True:
                woken[1].clear()
                ended = self._ended
                self._in_question.add(id)
                try:
                    step = await self.off_loop(self.call, id, function, arguments)
                finally:
                    self._in_question.discard(id)
                if not isinstance(step, Hold):
                    return step
                if not (self._let_through | self._asked | self._in_question) - {id}:
                    if self._ended == ended:
                        return step
                    continue
                try:
                    await asyncio.wait_for(woken[1].wait(), timeout=1.0)
                except asyncio.TimeoutError:
                    continue  # the task refuses a call that has waited for too long, when it is asked
        finally:
            self._waiters.discard(woken)
            # those that have waited for this answer alone
            self._wake()

    def result(self, id: str, output: Any, *, failed: bool = False) -> Given | Tell | Ask:
        """Reports what a call came to. `Ask` is for frameworks that can ask about a result."""
        reported = as_json(output)
        decision = self.task.after(id, reported, status="errored" if failed else "successful")
        self._end(id)
        if decision.allowed:
            given = Given(decision.value, tuple(getattr(decision, "notes", ())))
            self._remember(id, as_text(given.told))
            return given
        step = self._standing(id, decision)
        if isinstance(step, (Run, Hold)):
            step = Tell(f"The result is withheld ({decision.verdict}).")
        if isinstance(step, Tell):
            self._remember(id, step.text)
        return step

    def last_result(self, id: str, output: Any, *, failed: bool = False) -> Given | Tell:
        """As `result`, for frameworks that ask about nothing once a tool has run: a result that somebody would have to see first stays withheld."""
        given = self.result(id, output, failed=failed)
        if not isinstance(given, Ask):
            return given
        self.task.withdraw(id, ran="unknown")
        text = f"The result is withheld: {given.review.reviewer} would have to see it first, and is not asked here."
        return Tell(self._remember(id, text))

    async def result_and_wake(self, id: str, output: Any, *, failed: bool = False) -> Given | Tell:
        """As `last_result`; calls that wait in `call_when_free` look again."""
        try:
            return await self.off_loop(self.last_result, id, output, failed=failed)
        finally:
            self._end(id)
            self._wake()

    def asking(self, id: str) -> None:
        """Somebody is being asked about the call, while it keeps its place in the framework."""
        self._asked.add(id)

    async def answer_and_wake(self, review: Review, answer: str) -> None:
        """As `answer`, to a question that `asking` told of."""
        try:
            await self.off_loop(self.answer, review, answer)
        finally:
            # counted first, as in `_end`
            self._ended += 1
            self._asked.discard(review.call or "")
            self._wake()

    def _end(self, id: str) -> None:
        # counted first: who sees that the call is gone sees that one has ended
        self._ended += 1
        self._let_through.discard(id)
        self._running.discard(id)

    def _wake(self) -> None:
        for loop, event in tuple(self._waiters):
            if not loop.is_closed():
                loop.call_soon_threadsafe(event.set)

    def withdraw_stuck(self, calls: Iterable[str]) -> None:
        """Takes back which of these calls still wait, once nothing that they could wait for is under way and nobody is asked: what they wait for
        was begun elsewhere and may never be reported. One that a person has let through is never taken back while others are asked."""
        if self.task.reviews():
            return
        for id in calls:
            try:
                waits = self.task.standing(id).pending
            except MisuseError:
                continue  # no call of this task, such as one to another agent
            if waits:
                self.task.withdraw(id)

    def cancelled(self, id: str) -> None:
        """The call was let through and broke off: nobody knows whether it ran."""
        self._end(id)
        self.task.withdraw(id, ran="unknown")

    def open_reviews(self, calls: Iterable[str]) -> dict[str, Review]:
        """The open reviews of these calls, by call."""
        wanted = set(calls)
        return {review.call: review for review in self.task.reviews() if review.call in wanted}

    def answer(
        self,
        review: Review,
        answer: str,
        *,
        arguments: Mapping[str, Any] | None = None,
        result: Any = None,
        note: str | None = None,
        by: str | None = None,
    ) -> None:
        """Passes a person's answer on. Who was first counts: an answer that comes after another one, or too late, changes nothing."""
        try:
            if answer == "approve":
                review.approve(note=note, by=by)
            elif answer == "edit":
                review.edit(as_json(arguments or {}), note=note, by=by)
            elif answer == "respond":
                review.respond(as_json(result), note=note, by=by)
            else:
                review.deny(note=note, by=by)
        except MisuseError as error:
            if error.code.replace("-", "_") != "review_closed":
                raise


class Tasks:
    """The tasks of an agent, by the ids that a framework has for its conversations."""

    MOST_OPEN = 1024
    """So many conversations are at hand; another one is looked up again in its store."""

    def __init__(self, agent: Agent, user: Whom, obligations: Obligations | None, *, observe: bool = False) -> None:
        self._agent = agent
        self.unjudged = Unjudged() if observe else None
        """What was passed on, where the adapter observes."""
        self._user = user
        self._obligations: Obligations = obligations or {}
        self._open: dict[str, Conversation] = {}
        self._lock = threading.Lock()

    def whom(self, run: Any) -> str | User | None:
        """For whom the task of a run is."""
        return self._user(run) if callable(self._user) else self._user

    async def find(self, conversation: str, run: Any) -> Conversation:
        """As `of`, on an event loop."""
        known = self._open.get(conversation)
        return known if known is not None else await asyncio.to_thread(self.of, conversation, run)

    def of(self, conversation: str, run: Any) -> Conversation:
        """The conversation of this id. `run` is what the framework knows of the run, for a `user` that is a function."""
        with self._lock:
            known = self._open.pop(conversation, None)
        if known is None:
            known = Conversation(self._agent.task(conversation, self.whom(run)), self._obligations, self.unjudged)
        with self._lock:
            known = self._open.setdefault(conversation, known)
            while len(self._open) > self.MOST_OPEN:
                del self._open[next(iter(self._open))]
        return known


class _KeptMessages:
    """The messages of a task that were kept, for all guards of the task in this process."""

    MOST = 1024
    """Tasks that are known here, beside those that have such messages."""

    def __init__(self) -> None:
        self.waiting: dict[str, tuple[str, Any]] = {}
        self.late: list[Late] = []


_kept_messages: dict[Task, _KeptMessages] = {}
_kept_lock = threading.Lock()


def _kept_of(task: Task) -> _KeptMessages:
    with _kept_lock:
        kept = _kept_messages.pop(task, None) or _KeptMessages()
        _kept_messages[task] = kept
        if len(_kept_messages) > _KeptMessages.MOST:
            oldest = next((task for task, other in _kept_messages.items() if not other.waiting and not other.late), task)
            if oldest != task:
                del _kept_messages[oldest]
    return kept


def _late_of(events: Iterable[Mapping[str, Any]]) -> list[Late]:
    late: list[Late] = []
    waited, calls = set[str](), set[str]()
    for event in events:
        decision = event["decision"] or {}
        if event["operation"] == "input" and decision["verdict"] == "wait":
            waited.add(decision["call"])
        for other in decision.get("decided", ()):
            if other.get("kind", "call") == "call":
                calls.add(other["call"])
            elif other["call"] in waited and other["decision"]["verdict"] == "allow":
                pieces = _pieces(other["decision"]["value"]["message"])
                late.append(Late(tuple(pieces), frozenset(calls)))
    return late


def _pieces(parts: Iterable[Mapping[str, Any]]) -> list[Piece]:
    """The texts of a message as the task has it. What has no text is in the history of the framework alone."""
    if any(not isinstance(part.get("text"), str) for part in parts):
        log.warning("dropped: a part without text of a message that another process has kept")
    return [Piece("text", part["text"]) for part in parts if isinstance(part.get("text"), str)]


def _made(function: str, arguments: Mapping[str, Any]) -> str:
    return json.dumps([function, as_json(arguments)], sort_keys=True)


def _parts(context: Mapping[str, Any], name: str) -> list[dict[str, Any]]:
    return [part for entry in context.get(name) or () for part in entry.get("message") or ()]


__all__ = ["Conversation", "Tasks"]
