"""An MCP server built with the official package. It records its clean shutdown in a file."""

import sys
from contextlib import asynccontextmanager
from pathlib import Path

from mcp.server import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from pydantic import BaseModel

NOTES = {"harbour": ["the tide turns at six", "the ferry leaves at seven"], "hill": []}


class Found(BaseModel):
    """What was found."""

    place: str
    notes: int
    high: float | None = None


@asynccontextmanager
async def until_the_end(server):
    yield
    Path(sys.argv[1]).write_text("ended in order")


served = MCPServer("notes", lifespan=until_the_end)


@served.tool()
def find(place: str) -> Found:
    """Counts the notes of a place."""
    print("this goes to standard error", file=sys.stderr)
    return Found(place=place, notes=len(NOTES[place]))


@served.tool()
def read(place: str, most: int = 10) -> list[str]:
    """Reads the notes of a place."""
    return NOTES[place][:most]


@served.tool()
def count(place: str) -> int:
    """Counts them, without more words."""
    return len(NOTES[place])


@served.tool()
def describe(place: str) -> str:
    """Describes a place in words."""
    return f"{place}: ä ✓\nsecond line"


@served.tool()
def tear(place: str) -> str:
    """Tears up what was noted."""
    raise ToolError(f"nothing about {place} may be torn")


if __name__ == "__main__":
    served.run("stdio")
