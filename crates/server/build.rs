//! Compresses the API's document, which is ten times larger as text.

use std::path::PathBuf;
use std::{env, fs};

fn main() {
    const DOCUMENT: &str = "../../schemas/openapi.json";
    println!("cargo::rerun-if-changed={DOCUMENT}");
    let text = fs::read(DOCUMENT).expect("the API's document is checked in");
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("Cargo sets OUT_DIR"));
    let compressed = miniz_oxide::deflate::compress_to_vec_zlib(&text, 9);
    fs::write(out.join("openapi.json.z"), compressed).expect("OUT_DIR is writable");
}
