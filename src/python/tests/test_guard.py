"""The forms that run a tool themselves, in functions and coroutines, in threads and tasks of asyncio."""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import celador
import shop


def test_a_call_as_a_block(agent: celador.Agent) -> None:
    task = agent.task()
    with task.call("get_order", {"order_id": "o1"}, id="c0") as call:
        assert call.id == "c0"
        call.result = shop.get_order(**call.arguments)
    assert call.value == shop.get_order("o1")
    with task.call("refund", {"order_id": "o1", "amount": 5}) as call:
        call.result = shop.refund(**call.arguments)
    assert call.value == {"paid": 5}

    with pytest.raises(celador.Denied, match="not worth 100") as denied:
        with task.call("refund", {"order_id": "o1", "amount": 100}):
            pytest.fail("it must not run")
    assert denied.value.decision.verdict == "block"

    with pytest.raises(ZeroDivisionError):
        with task.call("get_order", {"order_id": "o2"}, id="c3"):
            raise ZeroDivisionError("no order")
    assert task.evaluate("context.capabilities.get_order.outputs[0]") != shop.ORDER
    assert task.evaluate("context.capabilities.get_order.count_successful") == 1

    with pytest.raises(KeyboardInterrupt):
        with task.call("get_order", {"order_id": "o2"}, id="c4"):
            raise KeyboardInterrupt
    assert task.standing("c4").verdict == "block"


def test_a_guarded_function(agent: celador.Agent) -> None:
    task = agent.task()
    ran: list[dict[str, Any]] = []

    @task.guard
    def get_order(order_id: str) -> dict[str, object]:
        """Finds an order."""
        return shop.get_order(order_id)

    @task.guard(name="refund")
    def give_back(order_id: str, amount: float = 5, **more: Any) -> dict[str, object]:
        ran.append({"order_id": order_id, "amount": amount, **more})
        return shop.refund(order_id, amount)

    assert get_order.__doc__ == "Finds an order." and get_order.__name__ == "get_order"
    assert get_order("o1")["total"] == 60
    assert give_back("o1", amount=6) == {"paid": 6}
    assert give_back(order_id="o1", note="x") == {"paid": 5}
    assert ran == [{"order_id": "o1", "amount": 6, "note": "checked"}, {"order_id": "o1", "amount": 5, "note": "checked"}]
    with pytest.raises(celador.Denied, match="not worth 100"):
        give_back("o1", 100)
    with pytest.raises(celador.Denied) as asked:
        give_back("o1", 20)
    assert asked.value.decision.verdict == "suspend" and len(ran) == 2
    with pytest.raises(TypeError):
        give_back()  # type: ignore[call-arg]


async def test_a_guarded_coroutine(agent: celador.Agent) -> None:
    @celador.guard
    async def get_order(order_id: str) -> dict[str, object]:
        await asyncio.sleep(0)
        return shop.get_order(order_id)

    @celador.guard(name="refund")
    async def give_back(order_id: str, amount: float, note: str = "") -> dict[str, object]:
        await asyncio.sleep(0.001)
        return shop.refund(order_id, amount, note)

    with pytest.raises(celador.MisuseError, match="no task is open here"):
        await get_order("o1")

    async def conversation(user: str) -> str:
        async with agent.task(f"thread-{user}", user=user) as task:
            assert celador.current_task() is task
            await get_order("o1")
            assert await give_back("o1", 5) == {"paid": 5}
            with pytest.raises(celador.Denied):
                await give_back("o1", 100)
            assert task.evaluate("context.user.id") == user
            return celador.current_task().id

    ids = await asyncio.gather(*(conversation(f"u-{number}") for number in range(20)))
    assert ids == [f"thread-u-{number}" for number in range(20)]


async def test_a_cancelled_coroutine(agent: celador.Agent) -> None:
    task = agent.task()

    @task.guard
    async def get_order(order_id: str) -> None:
        await asyncio.sleep(60)

    running = asyncio.ensure_future(get_order("o1"))
    await asyncio.sleep(0.01)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    # nobody knows how far it came
    assert task.evaluate("context.capabilities.get_order.count_errored") == 1


def test_tasks_in_blocks(agent: celador.Agent) -> None:
    with agent.task("outer") as outer, agent.task("inner") as inner:
        assert celador.current_task() is inner
    with outer:
        assert celador.current_task().id == "outer"
    with pytest.raises(celador.MisuseError):
        celador.current_task()


@pytest.mark.parametrize("place", ["memory", "sqlite"])
def test_threads(place: str, tmp_path: Path) -> None:
    store = None if place == "memory" else tmp_path / "tasks.db"
    agent = celador.load({"shop.yaml": shop.MANIFESTS}, store=store).agent()
    barrier = threading.Barrier(8)

    def work(number: int) -> int:
        barrier.wait()
        allowed = 0
        for round in range(20):
            task = agent.task(f"t-{round % 3}")
            decision = task.before("get_order", {"order_id": "o1"}, id=f"{number}-{round}")
            allowed += bool(decision)
            task.after(f"{number}-{round}", {"total": number})
        return allowed

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(work, range(8))) == 160
    counts = [agent.task(f"t-{n}").evaluate("context.capabilities.get_order.count_successful") for n in range(3)]
    assert sum(counts) == 160
