"""Crosses a window several times with the wheel alone, in any supported Python."""

from __future__ import annotations

import json

from ebbtide import Engine, View

WINDOW = 8_000
RULE = "Never touch the files in /srv/hr."

engine = Engine(window=WINDOW, notes=False)
messages: list[dict[str, str]] = []
swaps = 0
for number in range(60):
    rule = RULE if number == 0 else ""
    messages.append({"role": "user", "content": f"Question {number}. {rule} {'Look at the next part. ' * 20}"})
    body = {"model": "claude-opus-4-5", "max_tokens": 99, "messages": messages}
    view = engine.view(json.dumps(body).encode())
    assert isinstance(view, View)
    shown = view.body.decode()
    assert RULE in shown, f"request {number} has lost the rule"
    assert engine.count(view.body) < WINDOW, f"request {number} is too long"
    swaps += "swapped" in view.did
    text = f"Answer {number}. {'The part is mended now. ' * 20}"
    said = {"type": "message", "role": "assistant", "content": [{"type": "text", "text": text}]}
    engine.observe(view, json.dumps(said).encode())
    messages.append({"role": "assistant", "content": text})
assert swaps >= 2, f"{swaps} swaps"
