"""The protocols between coding agents and their models: what is asked, and how to answer it.

Each is written down as far as the agents use it, from what they were seen to send.
"""

from __future__ import annotations

import json
import re
import secrets
from collections.abc import Iterable
from typing import Any, Protocol

from tests.agents.script import SHELL, Asked, Call, Say

Json = dict[str, Any]


class Dialect(Protocol):
    def read(self, request: Json) -> Asked: ...

    def write(self, request: Json, reply: Say | Call) -> tuple[bytes, str]:
        """The body of the answer, and its content type."""


def dialect_of(path: str) -> Dialect | None:
    """The protocol of a request by its path, or None if the request asks no model."""
    path = path.partition("?")[0]
    return next((spoken for end, spoken in _DIALECTS.items() if path.endswith(end)), None)


class _Reading:
    """Gathers a conversation message by message."""

    def __init__(self) -> None:
        self.turns: list[str] = []
        self.results: list[str] = []
        self.since = 0

    def turn(self, text: str) -> None:
        if not text.startswith(_NOT_FROM_THE_USER):
            # Claude Code separates turns that it has merged by a line feed.
            self.turns.append(text.removesuffix("\n"))
            self.since = 0

    def result(self, content: Any) -> None:
        self.results.append(_text(content))
        self.since += 1

    def asked(self) -> Asked:
        return Asked(tuple(self.turns), tuple(self.results), self.since)


# Agents put texts of their own into the mouth of the user.
_NOT_FROM_THE_USER = (
    "<system-reminder>",
    "<environment_context>",
    "<permissions",
    "<turn_aborted>",
    "# AGENTS.md",
    "Base directory for this skill:",
    "[Request interrupted by user",
)

# How Claude Code passes on what its user has queued before a tool call has ended.
_QUEUED = re.compile(
    r"The user sent a new message while you were working:\n(?P<text>.*?)\n\nIMPORTANT: .*",
    re.DOTALL,
)


def _text(content: Any) -> str:
    """The text of a message's content, which is a string or a list of parts."""
    if isinstance(content, str):
        return content
    return "\n".join(part["text"] for part in content or () if isinstance(part.get("text"), str))


class _Messages:
    """Anthropic's Messages, as Claude Code speaks it."""

    def read(self, request: Json) -> Asked:
        if not request.get("tools"):
            return Asked()
        reading = _Reading()
        for message in request["messages"]:
            content = message["content"]
            if message["role"] == "system":
                queued = _QUEUED.fullmatch(_text(content))
                if queued is not None:
                    reading.turn(queued["text"])
            if message["role"] != "user":
                continue
            parts = [{"type": "text", "text": content}] if isinstance(content, str) else content
            for part in parts:
                if part["type"] == "tool_result":
                    reading.result(part.get("content"))
                elif part["type"] == "text":
                    reading.turn(part["text"])
        return reading.asked()

    def write(self, request: Json, reply: Say | Call) -> tuple[bytes, str]:
        head = {
            # Claude Code takes answers of one id for one.
            "id": _new_id("msg"),
            "type": "message",
            "role": "assistant",
            "model": request["model"],
            "stop_sequence": None,
            "usage": {"input_tokens": _tokens(reply), "output_tokens": 5},
        }
        block, empty, deltas, reason = self._block(reply)
        if not request.get("stream"):
            return _json({**head, "content": [block], "stop_reason": reason})
        events: list[Json] = [
            {"type": "message_start", "message": {**head, "content": [], "stop_reason": None}},
            {"type": "content_block_start", "index": 0, "content_block": empty},
            *({"type": "content_block_delta", "index": 0, "delta": each} for each in deltas),
            {"type": "content_block_stop", "index": 0},
            {
                "type": "message_delta",
                "delta": {"stop_reason": reason, "stop_sequence": None},
                "usage": {"output_tokens": 5},
            },
            {"type": "message_stop"},
        ]
        return _stream(events)

    def _block(self, reply: Say | Call) -> tuple[Json, Json, list[Json], str]:
        """The one block of an answer: whole, as it begins, what is added to it, why it stops."""
        if isinstance(reply, Say):
            block: Json = {"type": "text", "text": reply.text}
            deltas = [{"type": "text_delta", "text": piece} for piece in reply.pieces]
            return block, block | {"text": ""}, deltas, "end_turn"
        arguments = {**reply.arguments}
        if reply.tool == SHELL:
            arguments["description"] = "Run a command"
        name = "Bash" if reply.tool == SHELL else reply.tool
        block = {"type": "tool_use", "id": _new_id("call"), "name": name, "input": arguments}
        delta = {"type": "input_json_delta", "partial_json": json.dumps(arguments)}
        return block, block | {"input": {}}, [delta], "tool_use"


class _Completions:
    """OpenAI's Chat Completions, as opencode speaks it."""

    def read(self, request: Json) -> Asked:
        if not request.get("tools"):
            return Asked()
        reading = _Reading()
        for message in request["messages"]:
            if message["role"] == "tool":
                reading.result(message["content"])
            elif message["role"] == "user":
                reading.turn(_text(message["content"]))
        return reading.asked()

    def write(self, request: Json, reply: Say | Call) -> tuple[bytes, str]:
        message: Json = {"role": "assistant", "content": None}
        if isinstance(reply, Say):
            message["content"] = reply.text
        else:
            message["tool_calls"] = [{"index": 0, "id": _new_id("call"), **self._call(reply)}]
        reason = "stop" if isinstance(reply, Say) else "tool_calls"
        head = {"id": "chatcmpl-1", "created": 1, "model": request["model"]}
        asked = _tokens(reply)
        usage = {"prompt_tokens": asked, "completion_tokens": 5, "total_tokens": asked + 5}
        if not request.get("stream"):
            choice = {"index": 0, "message": message, "finish_reason": reason}
            return _json({**head, "object": "chat.completion", "choices": [choice], "usage": usage})
        chunk = {**head, "object": "chat.completion.chunk"}
        deltas: list[Json] = [message]
        if isinstance(reply, Say):
            deltas = [{"role": "assistant", "content": piece} for piece in reply.pieces]
            if reply.thought:
                deltas.insert(0, {"role": "assistant", "reasoning_content": reply.thought})
        events = [
            *(
                {**chunk, "choices": [{"index": 0, "delta": each, "finish_reason": None}]}
                for each in deltas
            ),
            {
                **chunk,
                "choices": [{"index": 0, "delta": {}, "finish_reason": reason}],
                "usage": usage,
            },
        ]
        return _stream(events, end="data: [DONE]\n\n")

    def _call(self, call: Call) -> Json:
        arguments = {**call.arguments}
        if call.tool == SHELL:
            arguments["description"] = "Run a command"
        name = "bash" if call.tool == SHELL else call.tool
        return {"type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}


class _Responses:
    """OpenAI's Responses, as Codex speaks it."""

    def read(self, request: Json) -> Asked:
        reading = _Reading()
        for item in request["input"]:
            if item["type"] == "function_call_output":
                reading.result(item["output"])
            elif item["type"] == "message" and item["role"] == "user":
                reading.turn(_text(item["content"]))
        return reading.asked()

    def write(self, request: Json, reply: Say | Call) -> tuple[bytes, str]:
        item: Json
        if isinstance(reply, Say):
            content = {"type": "output_text", "text": reply.text, "annotations": []}
            item = {"type": "message", "id": "msg_1", "role": "assistant", "content": [content]}
        else:
            item = {"type": "function_call", "id": "fc_1", "call_id": _new_id("call")}
            item |= self._call(request, reply)
        response = {
            "id": "resp_1",
            "object": "response",
            "created_at": 1,
            "model": request["model"],
        }
        asked = _tokens(reply)
        tokens = {"input_tokens": asked, "output_tokens": 5, "total_tokens": asked + 5}
        done = {**response, "status": "completed", "output": [item], "usage": tokens}
        events: list[Json] = [
            {"type": "response.created", "response": {**response, "status": "in_progress"}},
            *self._beginning(item, reply),
            {"type": "response.output_item.done", "output_index": 0, "item": item},
            {"type": "response.completed", "response": done},
        ]
        return _stream(events)

    def _beginning(self, item: Json, reply: Say | Call) -> Iterable[Json]:
        """What comes before the whole item: a thought, that the item begins, its words one by one."""
        if isinstance(reply, Say) and reply.thought:
            yield from _thinking(reply.thought)
        slow = isinstance(reply, Say) and bool(reply.pause)
        begun = {**item, "content": []} if slow else item
        yield {"type": "response.output_item.added", "output_index": 0, "item": begun}
        if isinstance(reply, Say) and reply.pause:
            place = {"item_id": "msg_1", "output_index": 0, "content_index": 0}
            for piece in reply.pieces:
                yield {"type": "response.output_text.delta", **place, "delta": piece}

    def _call(self, request: Json, call: Call) -> Json:
        if call.tool != SHELL:
            space, _, name = call.tool.rpartition(".")
            named = {"namespace": space, "name": name} if space else {"name": name}
            return {**named, "arguments": json.dumps(call.arguments)}
        offered = {tool.get("name") for tool in request["tools"]}
        command = call.arguments["command"]
        others = {name: value for name, value in call.arguments.items() if name != "command"}
        if "exec_command" in offered:
            return {"name": "exec_command", "arguments": json.dumps({"cmd": command, **others})}
        return {"name": "shell_command", "arguments": json.dumps({"command": command, **others})}


def _thinking(thought: str) -> Iterable[Json]:
    """A thought as Responses has it: an item of its own, whose summary Codex shows."""
    place = {"item_id": "rs_1", "output_index": 0, "summary_index": 0}
    item: Json = {"type": "reasoning", "id": "rs_1", "summary": []}
    part = {"type": "summary_text", "text": ""}
    yield {"type": "response.output_item.added", "output_index": 0, "item": item}
    yield {"type": "response.reasoning_summary_part.added", **place, "part": part}
    yield {"type": "response.reasoning_summary_text.delta", **place, "delta": thought}
    said = {**item, "summary": [part | {"text": thought}]}
    yield {"type": "response.output_item.done", "output_index": 0, "item": said}


_DIALECTS: dict[str, Dialect] = {
    "/messages": _Messages(),
    "/chat/completions": _Completions(),
    "/responses": _Responses(),
}


def _tokens(reply: Say | Call) -> int:
    """How many tokens the question is said to have had."""
    return reply.tokens if isinstance(reply, Say) else 5


def _new_id(kind: str) -> str:
    return f"{kind}_{secrets.token_hex(8)}"


def _json(value: Json) -> tuple[bytes, str]:
    return json.dumps(value).encode(), "application/json"


def _stream(events: Iterable[Json], *, end: str = "") -> tuple[bytes, str]:
    """Server-sent events, each named by its type if it has one."""
    texts = []
    for event in events:
        name = f"event: {event['type']}\n" if "type" in event else ""
        texts.append(f"{name}data: {json.dumps(event)}\n\n")
    return ("".join(texts) + end).encode(), "text/event-stream"
