//! Bytes that a script writes down as text: hex, base64, Shift-JIS.
//!
//! Invariant: what cannot be encoded is an error; nothing is replaced.

use windlass_testkit::script::{Chunk, Encoded};

pub(crate) fn decode(encoded: &Encoded) -> Result<Vec<u8>, String> {
    match encoded {
        Encoded::Hex(text) => hex(text),
        Encoded::Base64(text) => base64(text),
    }
}

pub(crate) fn chunk(chunk: &Chunk) -> Result<Vec<u8>, String> {
    match chunk {
        Chunk::Text(text) => Ok(text.as_bytes().to_vec()),
        Chunk::Encoded(encoded) => decode(encoded),
    }
}

fn hex(text: &str) -> Result<Vec<u8>, String> {
    let digits: Vec<u32> = text
        .chars()
        .filter(|c| !c.is_whitespace())
        .map(|c| c.to_digit(16).ok_or_else(|| format!("not a hex digit: {c:?}")))
        .collect::<Result<_, _>>()?;
    if digits.len() % 2 == 1 {
        return Err("an odd number of hex digits".to_owned());
    }
    digits.chunks(2).map(|d| u8::try_from(d[0] * 16 + d[1]).map_err(|e| e.to_string())).collect()
}

fn base64(text: &str) -> Result<Vec<u8>, String> {
    const ALPHABET: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut bytes = Vec::new();
    let (mut bits, mut count) = (0_u32, 0_u32);
    for c in text.bytes().filter(|c| !c.is_ascii_whitespace() && *c != b'=') {
        let value = ALPHABET.iter().position(|&a| a == c);
        let value = value.ok_or_else(|| format!("not a base64 digit: {:?}", char::from(c)))?;
        bits = (bits << 6) | u32::try_from(value).map_err(|e| e.to_string())?;
        count += 6;
        if count >= 8 {
            count -= 8;
            bytes.push(u8::try_from((bits >> count) & 0xff).map_err(|e| e.to_string())?);
        }
    }
    Ok(bytes)
}

/// ASCII, kana and a few kanji; among them 表, whose second byte is a backslash.
pub(crate) fn shift_jis(text: &str) -> Result<Vec<u8>, String> {
    const KANJI: [(char, u16); 12] = [
        ('日', 0x93fa),
        ('本', 0x967b),
        ('語', 0x8cea),
        ('表', 0x955c),
        ('示', 0x8ea6),
        ('完', 0x8aae),
        ('了', 0x97b9),
        ('能', 0x945c),
        ('文', 0x95b6),
        ('字', 0x8e9a),
        ('、', 0x8141),
        ('。', 0x8142),
    ];
    let mut bytes = Vec::new();
    for c in text.chars() {
        let offset = |from: char| u16::try_from(u32::from(c) - u32::from(from)).unwrap_or(0);
        let code = match c {
            '\0'..='\x7f' => {
                bytes.push(u8::try_from(c).unwrap_or(b'?'));
                continue;
            }
            'ぁ'..='ん' => 0x829f + offset('ぁ'),
            // 0x7f is not a trail byte, so the row has a hole.
            'ァ'..='ヶ' => 0x8340 + offset('ァ') + u16::from(c >= 'ム'),
            'ー' => 0x815b,
            _ => KANJI
                .iter()
                .find(|(k, _)| *k == c)
                .map(|(_, code)| *code)
                .ok_or_else(|| format!("no Shift-JIS known for {c:?}: use kana or `bytes`"))?,
        };
        bytes.extend_from_slice(&code.to_be_bytes());
    }
    Ok(bytes)
}
