//! The events of a group as JSON lines, one object each.

use windlass_app::Problem;
use windlass_engine::engine::Engine;

use crate::style::json_line;
use crate::terminal::print;

/// Prints the events of a group after `seq`, and moves it behind the last one.
pub(super) async fn print_new(engine: &Engine, id: &str, seq: &mut u64) -> Result<(), Problem> {
    const PAGE: usize = 1_000;
    loop {
        let page = engine.store.read(id, *seq, PAGE).await?;
        let Some(last) = page.last() else { return Ok(()) };
        *seq = last.seq;
        for event in page {
            let mut item = serde_json::json!({ "seq": event.seq, "at": event.at.to_string() });
            if let (Some(item), Ok(serde_json::Value::Object(body))) =
                (item.as_object_mut(), serde_json::from_str(&event.body))
            {
                item.extend(body.into_iter().filter(|(key, _)| key != "v"));
            }
            print(&json_line(&item));
        }
    }
}
