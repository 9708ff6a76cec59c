//! Sealed summaries that clients send back: readable text takes their place.

use context::coded::Coded;
use wire::api::{Opened, Request, Sealed};

use crate::seal::{SealRefusal, Seals};

/// A request with its sealed summaries opened.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Unsealed {
    /// The body; `None` where nothing was opened or left out.
    pub body: Option<Vec<u8>>,
    /// The number of summaries that were opened.
    pub opened: usize,
    /// Why others were left out.
    pub refused: Vec<SealRefusal>,
}

/// Opens the sealed summaries in a request and leaves out those that are not believed. `is_native`: the
/// provider has seals of its own, so that one which is not ours may be its.
#[must_use]
pub fn unseal(request: &Request<'_>, seals: &Seals, is_native: bool) -> Unsealed {
    let mut unsealed = Unsealed::default();
    let mut open = |sealed: &Sealed<'_>| match seals.open(sealed) {
        Ok(texts) => {
            unsealed.opened += 1;
            Opened::Summary(texts)
        }
        Err(SealRefusal::Foreign) if is_native => Opened::Kept,
        Err(refusal) => {
            unsealed.refused.push(refusal);
            Opened::LeftOut(told(refusal))
        }
    };
    let body = request.opened(&mut open);
    unsealed.body = body;
    unsealed
}

/// The line in place of a summary that is not believed.
fn told(refusal: SealRefusal) -> String {
    let code = refusal.code();
    format!(
        "[A summary of earlier conversation stood here. It was left out, because {refusal} ({code}).]"
    )
}

#[cfg(test)]
mod tests {
    use context::coded::Coded;
    use history::Tenant;
    use serde_json::json;
    use wire::api::{Dialect, Request};

    use super::unseal;
    use crate::seal::{SealRefusal, Seals};

    #[test]
    fn what_is_not_believed_is_left_out_and_told() {
        let seals = |tenant: u8| Seals::of(&[7; 32], Tenant::from_bytes([tenant; 16]));
        let seal = seals(1).close(&["a summary".to_owned()]);
        let check = |seal: &str, tenant: u8, is_native: bool, refused: Option<SealRefusal>| {
            let item = json!({"type": "compaction", "encrypted_content": seal});
            let body = json!({"model": "m", "input": [item]}).to_string();
            let request = Request::parse(Dialect::Responses, body.as_bytes()).unwrap();
            let unsealed = unseal(&request, &seals(tenant), is_native);
            assert_eq!(unsealed.refused.first().copied(), refused, "{seal}");
            let body = unsealed.body.map(|body| String::from_utf8(body).unwrap());
            let expected = match refused {
                Some(refused) => refused.code().as_str(),
                None => "a summary",
            };
            assert!(body.is_none_or(|body| body.contains(expected)), "{seal}");
            unsealed.opened
        };
        assert_eq!(check(&seal, 1, true, None), 1);
        assert_eq!(check(&seal, 2, true, Some(SealRefusal::Changed)), 0);
        assert_eq!(check("theirs", 1, true, None), 0);
        assert_eq!(check("theirs", 1, false, Some(SealRefusal::Foreign)), 0);
    }
}
