"""A conversation longer than the model's window, from the client's side.

Every text that a client sends begins with a tag, `[SESSION N]`, N counting from 1, so that it can be
found again in the log of the provider. When a conversation has ended it is written down with
everything that was said, and `received/` compares that with what the provider received.
"""

import json
import os
import random
import uuid

# Both have ended when their log is read.
GATEWAY = os.environ.get("CLIENTS_GATEWAY", "")
PROVIDER = os.environ.get("CLIENTS_PROVIDER", "")
WINDOW = int(os.environ["CLIENTS_WINDOW"])
CONVERSATIONS = os.environ["CLIENTS_CONVERSATIONS"]
REFUSALS = os.environ["CLIENTS_REFUSALS"]

KEY = "sk-of-the-clients"
# Seconds after which a client gives up, so that a test that hangs fails.
PATIENCE = 60
# The header that tells the conversations apart in the log of the provider.
SESSION_HEADER = "x-client-session"
# As many texts of this many characters are said, two windows of them and more.
TURNS = 56
LENGTH = 2_800

SUBJECTS = ["the parser", "the scheduler", "the writer", "a worker", "the index", "our cache"]
VERBS = ["reads", "drops", "renames", "rebuilds", "holds", "flushes"]
OBJECTS = ["the journal", "a lease", "two segments", "the manifest", "an old lock", "its queue"]


class Conversation:
    """The texts of one client and the answers to them."""

    def __init__(self, client: str, dialect: str, swaps: int = 2):
        self.client = client
        self.dialect = dialect
        self.swaps = swaps
        self.session = uuid.uuid4().hex[:8]
        self.pin = f"Never write below /srv/ledger-{self.session}; ask Ines first."
        self.said: list[str] = []
        # The places in `said` of texts that went out with a compaction of the client's own only.
        self.compacted: list[int] = []
        self.did: list[list[str]] = []
        self._random = random.Random(self.session)

    @property
    def headers(self) -> dict[str, str]:
        return {SESSION_HEADER: self.session}

    @property
    def system(self) -> str:
        return f"You keep the storage engine of session {self.session} in order."

    def says(self, directive: str = "") -> str:
        """The next text of the user; the first one holds the pin. `directive` says what is answered."""
        lines = [directive] if directive else []
        if not self.said:
            lines.append(f"#pin {self.pin}")
        return self._say("Look at this.", lines)

    def result(self) -> str:
        """The next result of a tool."""
        return self._say("Contents:", [])

    def _say(self, opening: str, lines: list[str]) -> str:
        number = len(self.said) + 1
        text = "\n".join([f"[{self.session} {number}] {opening}", *lines, ""])
        while len(text) < LENGTH:
            path = f"src/part_{self._random.randrange(90)}/file_{self._random.randrange(900)}.rs"
            words = [self._random.choice(words) for words in (SUBJECTS, VERBS, OBJECTS)]
            text += f"In {path} {' '.join(words)} {self._random.randrange(1_000)} times. "
        text = text.strip()
        self.said.append(text)
        return text

    def hears(self, answer: str) -> None:
        """Checks that the answer refers to the last message."""
        said = self.said[-1]
        heard = {f"You said: {said[:80]}", f"I read the result: {said[:80]}"}
        assert answer in heard

    def was_told(self, headers) -> None:
        """Checks and records the gateway's response headers."""
        did = headers["x-ebbtide-did"].split(",")
        self.did.append([word.strip() for word in did])

    def ended(self) -> None:
        """Checks the whole conversation, and saves it for the comparison with the provider's log."""
        if self.did:
            swapped = sum("swapped" in did for did in self.did)
            assert swapped >= self.swaps, f"{swapped} swaps: {self.did}"
        with open(CONVERSATIONS, "a") as file:
            kept = ("client", "dialect", "swaps", "session", "pin", "said", "compacted")
            file.write(json.dumps({key: getattr(self, key) for key in kept}) + "\n")


def refusal_expected() -> None:
    """Records that the provider will reject one request of a test."""
    with open(REFUSALS, "a") as file:
        file.write("1\n")
