//! The error codes of this crate.

use context::coded::{self, CodeEntry, ErrorCode};

context::error_codes! {
    /// The codes of the outer half.
    pub(crate) CODES:
    BODY_TOO_LARGE = "E0801", "a request body is larger than the limit",
        "Send less, or raise `limits.body`; providers accept 32 MB.";
    TOO_SLOW = "E0802", "a request did not arrive in time",
        "Send it again; for slow connections raise `limits.read`.";
    UNREACHABLE = "E0803", "the gateway cannot reach the provider",
        "Check the network and the upstream URL (`--anthropic-url`, `--openai-url` or the section \
         `upstream`); the request was not sent.";
    SILENT = "E0804", "the provider sent nothing for too long",
        "Send it again; for slow models raise `limits.silence`.";
    BUSY = "E0805", "the gateway is serving as many requests as it may",
        "Send it again shortly, or raise `limits.requests`.";
    FULL = "E0806", "the gateway is holding as many bytes of requests as it may",
        "Send it again shortly, or raise `limits.bodies`.";
    NO_UPGRADE = "E0807", "a client asked for a WebSocket at an endpoint that the gateway inspects",
        "Use HTTP there; clients fall back to it automatically.";
    BROKEN_BODY = "E0808", "a request body was cut off or is malformed",
        "Send it again.";
    BROKEN_ANSWER = "E0809", "the provider closed the connection before it answered",
        "Send it again.";
    NO_START = "E0810", "the gateway cannot start",
        "Check the listen address, and that the system has root certificates.";
    BAD_UPSTREAM = "E0811", "an upstream URL is invalid",
        "Use a URL such as https://api.anthropic.com, with a path if the provider has one.";
    NOT_TOML = "E0812", "the configuration file is not valid TOML",
        "Fix the line shown; strings need quotes.";
    UNKNOWN_KEY = "E0813", "the configuration has an unknown key",
        "docs/settings.md lists every key.";
    BAD_VALUE = "E0814", "the configuration has an invalid value",
        "`ebbtide config` shows the effective values; docs/settings.md lists every key.";
    CONTRADICTION = "E0815", "two configuration values contradict each other",
        "Change one of the two values.";
    EXPOSED = "E0816", "the gateway would be reachable from other machines without an admin token",
        "Set EBBTIDE_ADMIN_TOKEN to at least 16 characters, or listen on 127.0.0.1.";
    NO_CONVERSATION = "E0820", "the conversation does not exist, or you may not see it",
        "`GET /ebbtide/api/overview` lists the conversations you may see.";
    NO_MARK = "E0821", "the conversation has no such summary",
        "`GET /ebbtide/api/conversations/ID` lists its summaries.";
    STORE = "E0822", "the gateway's store failed",
        "Run `ebbtide doctor`. If records are damaged, stop the gateway and run `ebbtide store repair`; \
         otherwise check the disk. The gateway keeps forwarding requests.";
    UNAUTHENTICATED = "E0823", "the request carries no credentials",
        "Send the admin token or your provider key as a bearer token.";
    FOREIGN = "E0824", "the request came from another site's page, or names another host",
        "Use the gateway's own address, or name the host in `hosts` or the page's origin in `origins`.";
    BAD_REQUEST = "E0825", "the control API does not understand the request",
        "docs/gateway.md describes each address.";
    NOTHING_HERE = "E0826", "the gateway has nothing at this address",
        "docs/gateway.md lists the addresses under /ebbtide/.";
    NO_GATEWAY = "E0827", "no gateway answers at the URL",
        "Start one with `ebbtide serve`, or pass its URL with --url.";
    AT_REST = "E0828", "an order was given to a conversation without recent requests",
        "The next request carries out an order: give it again after that request.";
    PIN_NOT_KEPT = "E0829", "the strategy has no room for the pin",
        "Remove another pin first, or pin less; the strategy's program sets the limit.";
    WRONG_METHOD = "E0830", "this address of the gateway does not accept the method",
        "The answer's `allow` header lists the accepted methods.";
    WHICH = "E0831", "several conversations may be meant",
        "Use one of the IDs; a tool takes it as `conversation`.";
    UNHEARD = "E0832", "an answer is longer than the gateway watches",
        "It is passed on whole, but not recorded before the next request brings it.";
    UNDER_WAY = "E0833", "a conversation has a request or a summary under way, so it cannot be deleted",
        "Try again when its client waits for its user.";
}

/// The codes of this crate and of those whose rules may cause a refusal.
pub(crate) const TABLES: [&[CodeEntry]; 4] = [
    CODES,
    context::CODES,
    conversation::homunculus::CODES,
    history::CODES,
];

/// Returns the remedy for a code.
pub(crate) fn remedy(code: ErrorCode) -> Option<String> {
    TABLES.iter().find_map(|table| coded::remedy(table, code))
}

/// Returns the meaning of one of these codes.
pub(crate) fn meaning(code: ErrorCode) -> &'static str {
    let entry = CODES.iter().find(|entry| entry.code == code);
    entry.map_or("", |entry| entry.meaning)
}

#[cfg(test)]
mod tests {
    use super::CODES;

    #[test]
    fn codes_are_in_order_and_unique() {
        assert!(CODES.is_sorted_by(|a, b| a.code < b.code));
    }
}
