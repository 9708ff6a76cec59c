//! The codes of this crate.

use context::coded::{CodeEntry, ErrorCode};

/// A request's body is larger than the limit.
pub(crate) const BODY_TOO_LARGE: ErrorCode = ErrorCode::new("E0801");
/// A request did not come in time.
pub(crate) const TOO_SLOW: ErrorCode = ErrorCode::new("E0802");
/// The provider cannot be reached.
pub(crate) const UNREACHABLE: ErrorCode = ErrorCode::new("E0803");
/// The provider was silent for too long.
pub(crate) const SILENT: ErrorCode = ErrorCode::new("E0804");
/// Too many requests at the same time.
pub(crate) const BUSY: ErrorCode = ErrorCode::new("E0805");
/// Too many bytes of bodies at the same time.
pub(crate) const FULL: ErrorCode = ErrorCode::new("E0806");
/// A WebSocket was asked for where requests have to be read.
pub(crate) const NO_UPGRADE: ErrorCode = ErrorCode::new("E0807");
/// A request's body broke off or was malformed.
pub(crate) const BROKEN_BODY: ErrorCode = ErrorCode::new("E0808");
/// The provider broke the connection before it answered.
pub(crate) const BROKEN_ANSWER: ErrorCode = ErrorCode::new("E0809");
/// The gateway cannot start.
pub(crate) const NO_START: ErrorCode = ErrorCode::new("E0810");
/// An upstream's URL cannot be used.
pub(crate) const BAD_UPSTREAM: ErrorCode = ErrorCode::new("E0811");
/// The configuration is not TOML.
pub(crate) const NOT_TOML: ErrorCode = ErrorCode::new("E0812");
/// A key of the configuration is not known.
pub(crate) const UNKNOWN_KEY: ErrorCode = ErrorCode::new("E0813");
/// A value of the configuration cannot be used.
pub(crate) const BAD_VALUE: ErrorCode = ErrorCode::new("E0814");
/// Values of the configuration do not go together.
pub(crate) const CONTRADICTION: ErrorCode = ErrorCode::new("E0815");
/// The gateway is to listen beyond this machine without an admin token.
pub(crate) const EXPOSED: ErrorCode = ErrorCode::new("E0816");
/// There is no such conversation.
pub(crate) const NO_CONVERSATION: ErrorCode = ErrorCode::new("E0820");
/// There is no such summary.
pub(crate) const NO_MARK: ErrorCode = ErrorCode::new("E0821");
/// The store failed.
pub(crate) const STORE: ErrorCode = ErrorCode::new("E0822");
/// The request does not say who asks.
pub(crate) const UNKNOWN_ASKER: ErrorCode = ErrorCode::new("E0823");
/// The request was sent by a page of another site.
pub(crate) const FOREIGN: ErrorCode = ErrorCode::new("E0824");
/// A request to the control interface cannot be understood.
pub(crate) const BAD_REQUEST: ErrorCode = ErrorCode::new("E0825");
/// There is nothing at this address.
pub(crate) const NOTHING_HERE: ErrorCode = ErrorCode::new("E0826");
/// No gateway answers.
pub(crate) const NO_GATEWAY: ErrorCode = ErrorCode::new("E0827");
/// An order for a conversation that is not in memory.
pub(crate) const AT_REST: ErrorCode = ErrorCode::new("E0828");
/// The strategy does not keep a pin.
pub(crate) const PIN_NOT_KEPT: ErrorCode = ErrorCode::new("E0829");
/// The address takes another method.
pub(crate) const WRONG_METHOD: ErrorCode = ErrorCode::new("E0830");

/// The codes of the outer half.
pub(crate) const CODES: &[CodeEntry] = &[
    entry(
        BODY_TOO_LARGE,
        "a request's body is larger than the gateway takes",
        "Send less, or raise `limits.body`; providers take 32 MB.",
    ),
    entry(
        TOO_SLOW,
        "a request did not come whole in time",
        "Send it again; for slow lines raise `limits.read`.",
    ),
    entry(
        UNREACHABLE,
        "the provider cannot be reached from the gateway",
        "Check the upstream's URL and the network; the request was not sent.",
    ),
    entry(
        SILENT,
        "the provider was silent for too long",
        "Send it again; for slow models raise `limits.silence`.",
    ),
    entry(
        BUSY,
        "the gateway has as many requests under way as it may",
        "Send it again a little later, or raise `limits.requests`.",
    ),
    entry(
        FULL,
        "the gateway holds as many bytes of requests as it may",
        "Send it again a little later, or raise `limits.bodies`.",
    ),
    entry(
        NO_UPGRADE,
        "a WebSocket was asked for at an endpoint that the gateway has to read",
        "Use HTTP there; clients fall back to it by themselves.",
    ),
    entry(
        BROKEN_BODY,
        "a request's body broke off or was malformed",
        "Send it again.",
    ),
    entry(
        BROKEN_ANSWER,
        "the provider closed the connection before it answered",
        "Send it again.",
    ),
    entry(
        NO_START,
        "the gateway cannot start",
        "Check the address it is to listen on and that the system has root certificates.",
    ),
    entry(
        BAD_UPSTREAM,
        "an upstream's URL cannot be used",
        "Give a URL such as https://api.anthropic.com, with a path where the provider has one.",
    ),
    entry(
        NOT_TOML,
        "the configuration file is not TOML",
        "Mend the named line; texts stand in quotes.",
    ),
    entry(
        UNKNOWN_KEY,
        "a key of the configuration is not known",
        "docs/settings.md lists every key.",
    ),
    entry(
        BAD_VALUE,
        "a value of the configuration cannot be used",
        "`ebbtide config` shows what is in effect; docs/settings.md lists every key.",
    ),
    entry(
        CONTRADICTION,
        "values of the configuration do not go together",
        "Change one of the named values.",
    ),
    entry(
        EXPOSED,
        "the gateway is to listen beyond this machine without an admin token",
        "Set EBBTIDE_ADMIN_TOKEN to 16 characters or more, or listen on 127.0.0.1.",
    ),
    entry(
        NO_CONVERSATION,
        "there is no such conversation, or it is not yours",
        "`GET /ebbtide/api/overview` lists those you may see.",
    ),
    entry(
        NO_MARK,
        "there is no such summary in the conversation",
        "`GET /ebbtide/api/conversations/ID` lists its summaries.",
    ),
    entry(
        STORE,
        "the gateway's store failed",
        "Check the disk it lies on; requests are passed on meanwhile.",
    ),
    entry(
        UNKNOWN_ASKER,
        "the request does not say who asks",
        "Send the admin token or your provider key as a bearer token.",
    ),
    entry(
        FOREIGN,
        "the request was sent by a page of another site, or for another host",
        "Use the gateway's own address, or set an admin token and send it.",
    ),
    entry(
        BAD_REQUEST,
        "a request to the control interface cannot be understood",
        "docs/gateway.md says what each address takes.",
    ),
    entry(
        NOTHING_HERE,
        "there is nothing at this address of the gateway",
        "docs/gateway.md lists the addresses under /ebbtide/.",
    ),
    entry(
        NO_GATEWAY,
        "no gateway answers at the URL",
        "Start one with `ebbtide serve`, or name its URL with --url.",
    ),
    entry(
        AT_REST,
        "an order for a conversation that has had no request for a while",
        "Orders are carried out with a request: give it again after the next one.",
    ),
    entry(
        PIN_NOT_KEPT,
        "the strategy does not keep a pin",
        "Remove another pin first, or pin less; the strategy's text says how much it keeps.",
    ),
    entry(
        WRONG_METHOD,
        "this address of the gateway takes another method",
        "The header `allow` of the answer names those that it takes.",
    ),
];

const fn entry(code: ErrorCode, meaning: &'static str, remedy: &'static str) -> CodeEntry {
    CodeEntry {
        code,
        meaning,
        remedy,
    }
}

#[cfg(test)]
mod tests {
    use super::CODES;

    #[test]
    fn codes_are_in_order_and_unique() {
        assert!(CODES.is_sorted_by(|a, b| a.code < b.code));
    }
}
