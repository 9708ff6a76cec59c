//! Laws of every request that can be read: an unchanged request renders to its own bytes, also
//! when its messages are kept one by one; every message is a turn; taking cache breakpoints away
//! leaves the message the same; and the turns can be written as a request in every dialect, which
//! reads back to turns that are written the same again.

use context::{Heuristic, TurnDraft, TurnId};
use wire::api::{Conversation, Dialect, Piece, Request};

pub fn check(dialect: Dialect, body: &[u8]) {
    let Ok(request) = Request::parse(dialect, body) else {
        return;
    };
    let kept = (0..request.len()).map(|index| Piece::Kept(index..index + 1));
    assert_eq!(request.edit().render().unwrap(), body);
    assert_eq!(request.edit().messages(kept.collect()).render().unwrap(), body);
    let _ = (request.instructions(), request.breakpoints());
    for message in request.messages().filter(|message| !message.raw().starts_with('"')) {
        let bare = message.without_breakpoints();
        let list = format!(r#"{{"{}":[{bare}]}}"#, dialect.list_key());
        let again = Request::parse(dialect, list.as_bytes()).unwrap();
        let again = again.message(0).unwrap();
        assert!(again.breakpoints().is_empty());
        let readable = |draft: TurnDraft| draft.after(TurnId::ROOT, &Heuristic).readable();
        assert_eq!(readable(again.draft()), readable(message.draft()));
    }
    let turns = request.turns(&Heuristic);
    assert_eq!(turns.len(), request.len());
    for dialect in Dialect::ALL {
        let written = Conversation::from_turns(dialect, &turns).body("m", Some(1));
        let again = Request::parse(dialect, written.as_bytes()).unwrap();
        assert!(again.len() <= 1 || !dialect.facts().layout.alternates || {
            let roles: Vec<_> = again.messages().map(|message| message.role()).collect();
            roles.windows(2).all(|pair| pair[0] != pair[1])
        });
    }
}
