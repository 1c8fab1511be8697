//! Compresses the tokenizer's table, which is a megabyte of the program otherwise.

use std::path::PathBuf;
use std::{env, fs};

fn main() {
    const TABLE: &str = "tables/cl100k_base.bin";
    println!("cargo::rerun-if-changed={TABLE}");
    let table = fs::read(TABLE).expect("the tokenizer's table is checked in");
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("Cargo sets OUT_DIR"));
    let compressed = miniz_oxide::deflate::compress_to_vec_zlib(&table, 9);
    fs::write(out.join("cl100k_base.bin.z"), compressed).expect("OUT_DIR is writable");
}
