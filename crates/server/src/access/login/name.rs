//! What a session is called.

const LONGEST: usize = 80;

/// A name that a client gave, fit to be printed on a terminal.
pub(super) fn shown(given: &str) -> String {
    let name: String = given.chars().filter(|one| !one.is_control()).take(LONGEST).collect();
    let name = name.trim();
    if name.is_empty() { "unnamed".to_owned() } else { name.to_owned() }
}

/// Browsers by the word in their `User-Agent`, the special ones before those that they claim to be.
const BROWSERS: [(&str, &str); 8] = [
    ("Edg/", "Edge"),
    ("OPR/", "Opera"),
    ("SamsungBrowser/", "Samsung Internet"),
    ("Firefox/", "Firefox"),
    ("FxiOS/", "Firefox"),
    ("CriOS/", "Chrome"),
    ("Chrome/", "Chrome"),
    ("Safari/", "Safari"),
];
const SYSTEMS: [(&str, &str); 7] = [
    ("Android", "Android"),
    ("iPhone", "iPhone"),
    ("iPad", "iPad"),
    ("Windows", "Windows"),
    ("Mac OS X", "macOS"),
    ("CrOS", "ChromeOS"),
    ("Linux", "Linux"),
];

/// Such as `Firefox on Linux`; the first word of what no browser sends.
pub(super) fn of_browser(agent: &str) -> String {
    let find =
        |known: &[(&str, &'static str)]| known.iter().find(|(word, _)| agent.contains(word)).map(|(_, name)| *name);
    match (find(&BROWSERS), find(&SYSTEMS)) {
        (Some(browser), Some(system)) => format!("{browser} on {system}"),
        (Some(browser), None) => browser.to_owned(),
        (None, _) => shown(agent.split_whitespace().next().unwrap_or_default()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn browser_name_comes_from_the_user_agent() {
        let chrome =
            "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Safari/537.36";
        let phone = "Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) AppleWebKit/605.1 Version/18.0 Mobile/15E148 Safari/604.1";
        let named = [chrome, &format!("{chrome} Edg/140.0"), phone, "curl/8.5.0", ""].map(of_browser);
        assert_eq!(named, ["Chrome on Linux", "Edge on Linux", "Safari on iPhone", "curl/8.5.0", "unnamed"]);
    }

    #[test]
    fn given_name_loses_control_characters_and_length() {
        assert_eq!(shown("a\u{1b}[31m\nb"), "a[31mb");
        assert_eq!(shown(&"x".repeat(500)).len(), LONGEST);
        assert_eq!(shown(" \n "), "unnamed");
    }
}
