"""Errors of the provider reach the clients as they are, so that the SDKs' own handling works."""

import anthropic
import openai
import pytest

from conversation import GATEWAY, KEY, PATIENCE, PROVIDER, refusal_expected

HELLO = [{"role": "user", "content": "hello"}]
WHERE = pytest.mark.parametrize("where", [PROVIDER, GATEWAY], ids=["direct", "gateway"])


def once(fault: str):
    """A hook that asks the provider to fail the first attempt of a request."""

    def ask(request):
        if request.headers.get("x-stainless-retry-count") == "0":
            request.headers["x-sim-fault"] = fault

    return {"request": [ask]}


def anthropic_client(where: str, fault: str | None = None) -> anthropic.Anthropic:
    hooks = once(fault) if fault else {}
    http = anthropic.DefaultHttpxClient(event_hooks=hooks)
    return anthropic.Anthropic(base_url=where, api_key=KEY, timeout=PATIENCE, http_client=http)


def openai_client(where: str, fault: str | None = None) -> openai.OpenAI:
    hooks = once(fault) if fault else {}
    http = openai.DefaultHttpxClient(event_hooks=hooks)
    return openai.OpenAI(base_url=f"{where}/v1", api_key=KEY, timeout=PATIENCE, http_client=http)


@WHERE
@pytest.mark.parametrize("fault", ["429:1", "500", "529", "reset"])
def test_anthropic_tries_again(where, fault):
    # A broken connection is no refusal.
    if fault != "reset":
        refusal_expected()
    with anthropic_client(where, fault) as it:
        raw = it.messages.with_raw_response.create(
            model="claude-opus-5-5", max_tokens=100, messages=HELLO
        )
    assert raw.retries_taken == 1
    assert raw.parse().content[0].text == "You said: hello"


@WHERE
@pytest.mark.parametrize("fault", ["429:1", "500", "reset"])
def test_openai_tries_again(where, fault):
    if fault != "reset":
        refusal_expected()
    with openai_client(where, fault) as it:
        raw = it.chat.completions.with_raw_response.create(model="gpt-5.5", messages=HELLO)
    assert raw.retries_taken == 1
    assert raw.parse().choices[0].message.content == "You said: hello"


@WHERE
def test_anthropic_says_how_long_to_wait(where):
    refusal_expected()
    with anthropic_client(where, "429:7") as it:
        with pytest.raises(anthropic.RateLimitError) as caught:
            it.with_options(max_retries=0).messages.create(
                model="claude-opus-5-5", max_tokens=100, messages=HELLO
            )
    assert caught.value.response.headers["retry-after"] == "7"
    assert caught.value.response.headers["request-id"] == caught.value.request_id
    assert caught.value.body["error"]["type"] == "rate_limit_error"


@WHERE
def test_anthropic_refuses_in_its_own_words(where):
    refusal_expected()
    with anthropic_client(where) as it, pytest.raises(anthropic.BadRequestError) as caught:
        it.messages.create(
            model="claude-opus-5-5",
            max_tokens=100,
            messages=HELLO,
            extra_body={"nonsense": True},
        )
    error = caught.value.body["error"]
    assert error["type"] == "invalid_request_error"
    assert error["message"] == "nonsense: Extra inputs are not permitted"


@WHERE
def test_openai_refuses_in_its_own_words(where):
    refusal_expected()
    lost = {"role": "tool", "tool_call_id": "call_none", "content": "x"}
    with openai_client(where) as it, pytest.raises(openai.BadRequestError) as caught:
        it.chat.completions.create(model="gpt-5.5", messages=[*HELLO, lost])
    assert caught.value.type == "invalid_request_error"
    assert "must be a response to a preceeding message with 'tool_calls'" in str(caught.value)


@WHERE
def test_a_stream_breaks_where_it_breaks(where):
    """The pieces that came before are there, and the client sees that the rest is missing."""
    heard = ""
    with anthropic_client(where, "cut:3") as it, pytest.raises(Exception) as caught:
        with it.messages.stream(model="claude-opus-5-5", max_tokens=100, messages=HELLO) as stream:
            for event in stream:
                heard += event.type + " "
    assert heard.startswith("message_start content_block_start")
    assert type(caught.value).__name__ == "RemoteProtocolError"
