//! The search for the promise: nothing panics, and a claim does not depend on how the text was cut.
#![no_main]

use libfuzzer_sys::fuzz_target;
use windlass_core::promise::ClaimDetector;

const PROMISE: &str = "<promise>COMPLETE</promise>";

// Everything before the first NUL is the prompt, the rest the agent's text.
fuzz_target!(|data: &[u8]| {
    let [cut, data @ ..] = data else { return };
    let text = String::from_utf8_lossy(data);
    let (prompt, answer) = text.split_once('\0').unwrap_or(("", &text));
    let whole = claims(prompt, [answer]);
    let piece = usize::from(*cut) % 17 + 1;
    let chars: Vec<char> = answer.chars().collect();
    let pieces = chars.chunks(piece).map(|part| part.iter().collect::<String>());
    assert_eq!(whole, claims(prompt, pieces), "a claim depends on where the text was cut");
});

fn claims(prompt: &str, parts: impl IntoIterator<Item = impl AsRef<str>>) -> bool {
    let mut scanner = ClaimDetector::new(PROMISE, prompt);
    for part in parts {
        scanner.push(part.as_ref());
    }
    scanner.finish()
}
