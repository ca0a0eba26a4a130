"""One conversation over each of the clients that people use: `say` and `report` answer with the text and the calls of the model.

The classes differ in what they send and read, as the APIs do; the tests are written once for all of them.
"""

import json

import anthropic
import openai

TOOLS = {
    "get_order": {"type": "object", "properties": {"order": {"type": "string"}}, "required": ["order"]},
    "refund": {
        "type": "object",
        "properties": {"order": {"type": "string"}, "amount": {"type": "number"}},
        "required": ["order", "amount"],
    },
    "note": {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]},
    "delete_all": {"type": "object", "properties": {}},
    "unheard_of": {"type": "object", "properties": {}},
}


class Answer:
    def __init__(self, text, calls, headers=None):
        self.text, self.calls, self.headers = text, calls, headers or {}

    def names(self):
        return [name for _, name, _ in self.calls]


class Agent:
    """What the agents have in common: messages that grow."""

    def __init__(self, address, stream, headers=None, model="small-1", retries=0):
        self.stream, self.model, self.headers = stream, model, headers or {}
        self.messages = []
        self.client = self.connect(address, retries)

    def say(self, text):
        self.messages.append({"role": "user", "content": text})
        return self.ask()


class ChatAgent(Agent):
    name = "chat"

    def connect(self, address, retries):
        return openai.OpenAI(base_url=f"{address}/v1", api_key="key-of-the-client", max_retries=retries)

    def report(self, results):
        for id, output in results:
            self.messages.append({"role": "tool", "tool_call_id": id, "content": output})
        return self.ask()

    def ask(self):
        tools = [{"type": "function", "function": {"name": name, "parameters": schema}} for name, schema in TOOLS.items()]
        asked = dict(model=self.model, messages=[{"role": "system", "content": "You are a careful clerk."}, *self.messages],
                     tools=tools, extra_headers=self.headers)
        if self.stream:
            with self.client.chat.completions.stream(**asked) as stream:
                self.events = list(stream)
                completion = stream.get_final_completion()
                headers = stream._response.headers
        else:
            raw = self.client.chat.completions.with_raw_response.create(**asked)
            completion, headers = raw.parse(), raw.headers
        message = completion.choices[0].message
        self.completion = completion
        calls = [(it.id, it.function.name, json.loads(it.function.arguments)) for it in message.tool_calls or []]
        assert completion.choices[0].finish_reason == ("tool_calls" if calls else "stop")
        kept = {"role": "assistant", "content": message.content}
        if calls:
            kept["tool_calls"] = [
                {"id": it.id, "type": "function", "function": {"name": it.function.name, "arguments": it.function.arguments}}
                for it in message.tool_calls
            ]
        self.messages.append(kept)
        return Answer(message.content or "", calls, headers)

    def seen(self, request):
        """What the model was sent: (role, text) and the ids of calls."""
        said = []
        for message in request["messages"]:
            for call in message.get("tool_calls") or []:
                said.append(("call", call["function"]["name"]))
            content = message.get("content")
            if isinstance(content, list):
                content = "".join(part.get("text", "") for part in content)
            if content:
                said.append((message["role"], content))
        return said


class ResponsesAgent(Agent):
    name = "responses"
    keeps = False

    def connect(self, address, retries):
        return openai.OpenAI(base_url=f"{address}/v1", api_key="key-of-the-client", max_retries=retries)

    previous = None

    def report(self, results):
        for id, output in results:
            self.messages.append({"type": "function_call_output", "call_id": id, "output": output})
        return self.ask()

    def ask(self):
        tools = [{"type": "function", "name": name, "parameters": schema, "strict": False} for name, schema in TOOLS.items()]
        asked = dict(model=self.model, input=self.messages, instructions="You are a careful clerk.", tools=tools,
                     extra_headers=self.headers)
        if self.previous:
            asked["previous_response_id"] = self.previous
        if self.stream:
            with self.client.responses.stream(**asked) as stream:
                self.events = list(stream)
                response = stream.get_final_response()
                headers = stream._response.headers
        else:
            raw = self.client.responses.with_raw_response.create(**asked)
            response, headers = raw.parse(), raw.headers
        calls = [(it.call_id, it.name, json.loads(it.arguments)) for it in response.output if it.type == "function_call"]
        if self.keeps:
            self.previous, self.messages = response.id, []
        else:
            self.messages = [*self.messages, *(it.model_dump(exclude_none=True, exclude={"parsed_arguments"}) for it in response.output)]
        return Answer(response.output_text, calls, headers)

    def seen(self, request):
        said = [("system", request["instructions"])]
        given = request["input"]
        for item in [{"role": "user", "content": given}] if isinstance(given, str) else given:
            if item.get("type") == "function_call":
                said.append(("call", item["name"]))
            elif item.get("type") == "function_call_output":
                output = item["output"]
                said.append(("tool", output if isinstance(output, str) else output[0]["text"]))
            elif "content" in item:
                content = item["content"]
                said.append((item["role"], content if isinstance(content, str) else "".join(it.get("text", "") for it in content)))
        return said


class KeptAgent(ResponsesAgent):
    name = "kept"
    keeps = True


class MessagesAgent(Agent):
    name = "messages"
    thinking = False

    def connect(self, address, retries):
        return anthropic.Anthropic(base_url=address, api_key="key-of-the-client", max_retries=retries)

    def report(self, results):
        blocks = [{"type": "tool_result", "tool_use_id": id, "content": output} for id, output in results]
        self.messages.append({"role": "user", "content": blocks})
        return self.ask()

    def ask(self):
        tools = [{"name": name, "input_schema": schema} for name, schema in TOOLS.items()]
        asked = dict(model=self.model, max_tokens=2048, system="You are a careful clerk.", messages=self.messages, tools=tools,
                     extra_headers=self.headers)
        if self.thinking:
            asked["thinking"] = {"type": "enabled", "budget_tokens": 1024}
        if self.stream:
            with self.client.messages.stream(**asked) as stream:
                self.events = list(stream)
                message = stream.get_final_message()
                headers = stream.response.headers
        else:
            raw = self.client.messages.with_raw_response.create(**asked)
            message, headers = raw.parse(), raw.headers
        self.completion = message
        calls = [(it.id, it.name, it.input) for it in message.content if it.type == "tool_use"]
        assert message.stop_reason == ("tool_use" if calls else "end_turn")
        content = [it.model_dump(exclude_none=True, include={"type", "text", "thinking", "signature", "id", "name", "input"})
                   for it in message.content]
        self.messages.append({"role": "assistant", "content": content})
        return Answer("".join(it.text for it in message.content if it.type == "text"), calls, headers)

    def seen(self, request):
        said = [("system", request["system"])]
        for message in request["messages"]:
            content = message["content"]
            for block in [{"type": "text", "text": content}] if isinstance(content, str) else content:
                if block["type"] == "text":
                    said.append((message["role"], block["text"]))
                elif block["type"] == "tool_use":
                    said.append(("call", block["name"]))
                elif block["type"] == "tool_result":
                    content = block["content"]
                    said.append(("tool", content if isinstance(content, str) else content[0]["text"]))
        return said


class ThinkingAgent(MessagesAgent):
    name = "thinking"
    thinking = True


KINDS = [ChatAgent, ResponsesAgent, KeptAgent, MessagesAgent, ThinkingAgent]
