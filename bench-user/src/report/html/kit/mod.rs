//! What any page is made of: the document around its sections, blocks, tables, figures and the
//! drawings in them. It knows nothing of runs.

pub(super) mod blocks;
pub(super) mod document;
pub(super) mod figure;
mod order;
pub(super) mod plot;
pub(super) mod scale;
pub(super) mod table;
pub(super) mod words;
