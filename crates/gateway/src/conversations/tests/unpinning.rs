//! The pin of a text that a line of its user pins too.

use context::pin::{Origin, PinId, Subject};
use history::Tenant;
use jiff::Timestamp;

use super::{arrival, core, sent};
use crate::report::{Reports as _, Viewer};

const VIEWER: Viewer = Viewer::Tenant(Tenant::from_bytes([1; 16]));

#[tokio::test]
async fn a_text_that_a_line_pins_too_is_not_told_as_removed() {
    let messages = [
        r#"{"role":"user","content":"Let us begin."}"#,
        r#"{"role":"assistant","content":"Yes."}"#,
        r##"{"role":"user","content":"#pin Be brief."}"##,
    ];
    let messages = messages.map(str::to_owned);
    for is_in_memory in [true, false] {
        let core = core();
        let (_, ticket) = sent(&core, arrival(1, &messages[..1])).await;
        ticket.finished(Timestamp::UNIX_EPOCH).await;
        let shared = core.directory.registry.all(None).pop().unwrap();
        let what = (Subject::Text("Be brief.".to_owned()), Origin::Api);
        let pin = core.pin(VIEWER, shared.id, what).await.unwrap();
        let pin = PinId::parse(&pin.id).unwrap();
        let (_, ticket) = sent(&core, arrival(1, &messages)).await;
        ticket.finished(Timestamp::UNIX_EPOCH).await;
        core.writer.flush().await;
        assert!(is_in_memory || core.directory.registry.remove(&shared));
        assert!(!core.unpin(VIEWER, shared.id, pin).await.unwrap());
        let left = core.detail(VIEWER, shared.id).await.unwrap().pins;
        assert_eq!(left.len(), 1, "{left:?}");
        assert_eq!(left[0].origin, "user");
    }
}
