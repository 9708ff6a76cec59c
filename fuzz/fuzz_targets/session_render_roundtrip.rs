//! Loaded sessions can be written: all turns of the only session of a file are the file again, all
//! turns of one of several sessions load to the same turns, and any half of them is written without
//! a panic.

#![no_main]

use context::{Heuristic, Provenance, Role, Turn, TurnDraft, TurnId};
use libfuzzer_sys::fuzz_target;
use wire::session::{load, load_as};

fuzz_target!(|data: &[u8]| {
    let Ok(document) = load(data, "fuzz", &Heuristic) else {
        return;
    };
    let summary = TurnDraft::text(Role::User, "summary")
        .from_provenance(Provenance::Summary)
        .after(TurnId::ROOT, &Heuristic);
    for (index, session) in document.sessions.iter().enumerate() {
        let whole = document.render(index, &session.turns).expect("a session");
        if document.sessions.len() == 1 {
            assert_eq!(whole, data);
        }
        let half: Vec<Turn> = session.turns.iter().step_by(2).cloned().collect();
        let shown: Vec<Turn> = [summary.clone()].into_iter().chain(half).collect();
        let written = document.render(index, &shown).expect("a session");
        // In its own format: a file that mixes two is taken for the one whose line comes first.
        assert!(load_as(session.format, &written, "again", &Heuristic).is_ok());
    }
});
