//! Redaction: nothing panics, a known secret never passes, and the result does not depend on how the output was cut.
#![no_main]

use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use windlass_redact::secrets::{KnownSecret, Redactor, Rules};

const SECRET: &str = "hunter2-correct-horse";

static RULES: LazyLock<Rules> =
    LazyLock::new(|| Rules::new(&[KnownSecret::new("PASSWORD", SECRET).expect("long enough for a secret")]));

// The first byte says how the output is cut; a byte 0xFF stands for the whole secret, so that the fuzzer need not guess it.
fuzz_target!(|data: &[u8]| {
    let [cut, data @ ..] = data else { return };
    let mut output = Vec::new();
    for byte in data {
        match byte {
            0xFF => output.extend_from_slice(SECRET.as_bytes()),
            byte => output.push(*byte),
        }
    }
    let whole = redacted(&output, output.len().max(1));
    assert!(!contains(&whole, SECRET.as_bytes()), "a secret passed");
    assert_eq!(whole, redacted(&output, usize::from(*cut) % 37 + 1), "redaction depends on where the output was cut");
});

fn redacted(output: &[u8], piece: usize) -> Vec<u8> {
    let mut redactor = Redactor::new(RULES.clone());
    let mut out = Vec::new();
    for part in output.chunks(piece) {
        out.extend_from_slice(redactor.push(part));
    }
    out.extend_from_slice(redactor.finish());
    out
}

fn contains(text: &[u8], part: &[u8]) -> bool {
    text.windows(part.len()).any(|window| window == part)
}
