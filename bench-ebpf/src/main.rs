//! x
#![allow(missing_docs, reason = "t")]
fn main() {}
