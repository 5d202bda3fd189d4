"""What the clients on both Python SDKs do alike; `types` is the SDK's own module."""

import asyncio
import json
from collections.abc import Callable
from typing import Any

__all__ = ["Asking"]

ROOT = {"uri": "file:///nowhere", "name": "root"}
ANSWER = {"name": "Ann", "check": True, "integer": 7}
METHODS = {
    "listTools": "list_tools",
    "listResources": "list_resources",
    "listResourceTemplates": "list_resource_templates",
    "listPrompts": "list_prompts",
    "ping": "send_ping",
}


class Asking:
    """Does what is read, and answers what a server asks for."""

    def __init__(self, types: Any, address: Callable[[str], Any] = str) -> None:
        """`address` makes what the SDK calls the address of a resource."""
        self._types = types
        self._address = address

    async def sample(self, _: Any, params: Any) -> Any:
        said = params.messages[-1].model_dump(mode="json")
        text = f"sampled: {json.dumps(said)}"
        content = self._types.TextContent(type="text", text=text)
        return self._types.CreateMessageResult(
            role="assistant", content=content, model="none"
        )

    async def elicit(self, _: Any, params: Any) -> Any:
        assert params.message
        return self._types.ElicitResult(action="accept", content=ANSWER)

    async def roots(self, _: Any) -> Any:
        return self._types.ListRootsResult.model_validate({"roots": [ROOT]})

    async def ask(self, client: Any, case: dict[str, Any]) -> Any:
        """The result of one case."""
        given = case.get("with", {})
        match case["do"]:
            case "callTool":
                return await _called(client, given, case.get("progress", 0))
            case "readResource":
                result = await client.read_resource(self._address(given["uri"]))
            case "getPrompt":
                result = await client.get_prompt(given["name"], given.get("arguments"))
            case "complete":
                ref = self._types.PromptReference.model_validate(given["ref"])
                result = await client.complete(ref, given["argument"])
            case "together":
                each = [self.ask(client, one) for one in case["cases"]]
                return await asyncio.gather(*each)
            case other:
                result = await getattr(client, METHODS[other])()
        return result.model_dump(mode="json", by_alias=True)


async def _called(client: Any, given: dict[str, Any], wanted: int) -> Any:
    """The result of a tool, and as many of its steps as every SDK tells in time."""
    progress: list[Any] = []

    async def note(*heard: Any) -> None:
        progress.append(heard)

    result = await client.call_tool(
        given["name"],
        given.get("arguments"),
        progress_callback=note if wanted else None,
    )
    return [result.model_dump(mode="json", by_alias=True), progress[:wanted]]
