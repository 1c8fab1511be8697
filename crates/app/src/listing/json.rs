//! The list as JSON text, on this machine.
//!
//! The catalogue has what `status --json` prints as text already. Ten thousand loops are tens of megabytes, so a row is
//! passed on as it is; it is read and written again only if it would differ.

use memchr::memmem;
use windlass_engine::engine::status_word;
use windlass_store::{ListFilter, Listed};

use super::Wanted;
use crate::local::{Local, settled};
use crate::loops::{view, whole_view};
use crate::problem::Problem;
use crate::requests::ListLoops;

/// The field that came last: a row without it is of an older version, and readers expect all fields.
const NEWEST_FIELD: &[u8] = b"\"merge_refused\":";

impl ListLoops {
    /// Passes on all loops that match, newest first, each as `status --json` prints it.
    pub async fn each_as_json(&self, here: &Local, mut pass_on: impl FnMut(&str)) -> Result<(), Problem> {
        let Some(engine) = here.reader().await? else { return Ok(()) };
        let filter = ListFilter { project: self.project.clone(), summaries: true, ..ListFilter::default() };
        let wanted = Wanted::of(self);
        let mut after = None;
        loop {
            let (part, next) = engine.store.list_part(filter.clone(), after).await?;
            for listed in part {
                if !wanted.at_a_glance(&listed) {
                    continue;
                }
                let listed = settled(&engine, listed).await?;
                if wanted.reads_summaries() && !wanted.fits(&listed, &view(&listed)?) {
                    continue;
                }
                if is_current(&listed) {
                    pass_on(&listed.entry.summary);
                } else {
                    let whole = whole_view(&engine, &listed).await?;
                    let text = serde_json::to_string(&whole);
                    pass_on(&text.unwrap_or_else(|error| unreachable!("a view is plain data: {error}")));
                }
            }
            after = next;
            if after.is_none() {
                return Ok(());
            }
        }
    }
}

/// Whether the row's text is what `status --json` prints: it has its history, all fields, and the word that readers put in.
fn is_current(listed: &Listed) -> bool {
    let entry = &listed.entry;
    // Workers write their own paths, which `view` replaces.
    !entry.open
        && !listed.has_workers
        && status_word(listed) == entry.status
        && memmem::find(entry.summary.as_bytes(), NEWEST_FIELD).is_some()
}

#[cfg(test)]
mod tests {
    use windlass_engine::view::LoopView;

    /// Fails when a field is added: it is the newest then.
    #[test]
    fn the_newest_field_is_the_last_that_was_added() {
        let schema = serde_json::to_value(schemars::schema_for!(LoopView)).unwrap();
        let fields = schema["properties"].as_object().unwrap();
        let newest = std::str::from_utf8(super::NEWEST_FIELD).unwrap().trim_matches(['"', ':']);
        assert!(fields.contains_key(newest), "{newest} is no field");
        assert_eq!(fields.len(), 49, "name the new field as the newest, and count it here");
    }
}
