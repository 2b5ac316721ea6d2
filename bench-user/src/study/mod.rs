//! The studies that come with the tool: claims of published articles, as plans that are run on
//! real runtimes and checked.
//!
//! A study is a folder of `bench-user/studies/`, which is built into the program: a manifest
//! (`study.toml`), plans with their claims, the sources of small servers and a README. It is
//! unpacked into a folder of the user's ([`work`]), gets its runtimes and builds what it needs there
//! ([`setup`]), and its parts are run like any plan, by an engine as containers of images that are
//! made here ([`contained`]). What came out is one table, sentence by sentence
//! of the article ([`table`]), which needs nothing but the records.

pub mod contained;
pub mod files;
mod layer;
pub mod manifest;
pub mod setup;
pub mod table;
pub mod words;
pub mod work;

pub use contained::Contained;
pub use files::{RUNTIMES, Study, StudyError};
pub use manifest::{Manifest, Part, RatesOfPeak, Sentence, Size, Step};
pub use work::Work;
