//! The lines that cut a plan into parts.

/// The line that starts a section.
pub(super) const SECTION: &str = "<!-- windlass-section -->";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Marker {
    Section,
    PlanStart,
    PlanEnd,
}

/// The marker that a line is, if it is nothing else.
pub(super) fn read(line: &str) -> Option<Marker> {
    let inside = line.trim().strip_prefix("<!--")?.strip_suffix("-->")?.trim().to_ascii_lowercase();
    let name = inside.strip_prefix("windlass-").or_else(|| inside.strip_prefix("forge-"))?;
    match name.split_once(':').map(|(kind, which)| (kind.trim(), which.trim())) {
        None if name == "section" => Some(Marker::Section),
        Some(("plan", "start")) => Some(Marker::PlanStart),
        Some(("plan", "end")) => Some(Marker::PlanEnd),
        None | Some(_) => None,
    }
}

/// Whether a line that is not a marker looks as if it was meant as one.
pub(super) fn resembles(line: &str) -> bool {
    let line = line.to_ascii_lowercase();
    line.match_indices("<!--").any(|(at, open)| {
        let inside = line[at + open.len()..].trim_start();
        ["windlass-section", "forge-section", "windlass-plan", "forge-plan"].iter().any(|name| inside.starts_with(name))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_prefixes_and_any_spacing_are_markers() {
        assert_eq!(read(SECTION), Some(Marker::Section));
        assert_eq!(read("  <!--forge-section-->\r"), Some(Marker::Section));
        assert_eq!(read("<!--  FORGE-Plan : start -->"), Some(Marker::PlanStart));
        assert_eq!(read("<!-- windlass-plan:end -->"), Some(Marker::PlanEnd));
        for other in
            ["", "windlass-section", "<!-- section -->", "a <!-- forge-section -->", "<!-- forge-plan:none -->"]
        {
            assert_eq!(read(other), None, "{other}");
        }
        assert!(resembles("## One <!-- forge-section -->"));
        assert!(resembles("<!-- windlass-section: One -->"));
        assert!(!resembles("the windlass-section marker"));
    }
}
