//! A figure: pictures with what is seen in them as a sentence, what their inks mean, and their
//! data as a table. Where there is no data, a sentence says why.

use maud::{Markup, html};

use super::plot;
use super::table::{self, Caption};
use super::words::words;
use crate::report::page::Table;

/// A table of data with more rows is not printed.
const LONG: usize = 60;

/// A figure.
pub(in crate::report::html) struct Figure<'a> {
    /// Its name in addresses; one of its own.
    pub(in crate::report::html) id: &'a str,
    pub(in crate::report::html) title: String,
    /// What is seen, with the main figures.
    pub(in crate::report::html) says: String,
    pub(in crate::report::html) keys: Vec<Key>,
    pub(in crate::report::html) pictures: Vec<Markup>,
    /// As it is in the record, to the last digit.
    pub(in crate::report::html) data: Table,
}

/// What an ink, a line or a sign means.
pub(in crate::report::html) struct Key {
    sample: Markup,
    means: String,
    target: Option<usize>,
}

impl Key {
    /// The ink and the points of a target.
    pub(in crate::report::html) fn target(place: usize, name: &str) -> Self {
        let sample = html! {
            path.line d="M1 7H27" {} (plot::point(place, 14.0, 7.0))
        };
        Self { sample, means: name.to_owned(), target: Some(place) }
    }

    /// Any other sign, drawn in a box of 28 by 14.
    pub(in crate::report::html) fn sign(sample: Markup, means: impl Into<String>) -> Self {
        Self { sample, means: means.into(), target: None }
    }

    /// An area of a class.
    pub(in crate::report::html) fn area(class: &str, means: impl Into<String>) -> Self {
        Self::sign(html! { rect class=(class) x="2" y="1" width="24" height="12" {} }, means)
    }

    fn draw(&self) -> Markup {
        html! {
            li class=[self.target.map(plot::ink)] data-t=[self.target] {
                svg width="28" height="14" viewBox="0 0 28 14" aria-hidden="true" { (self.sample) }
                (words(&self.means))
            }
        }
    }
}

impl Figure<'_> {
    /// The id of the sentence, which describes the pictures.
    pub(in crate::report::html) fn says_id(id: &str) -> String {
        format!("{id}-says")
    }

    pub(in crate::report::html) fn draw(&self) -> Markup {
        let Self { id, title, says, keys, pictures, data } = self;
        let caption = format!("{id}-caption");
        html! {
            figure id=(id) aria-labelledby=(caption) {
                figcaption {
                    h3 id=(caption) { (words(title)) }
                    p id=(Self::says_id(id)) { (words(says)) }
                }
                @if !keys.is_empty() { ul.keys { @for key in keys { (key.draw()) } } }
                div.pictures { @for picture in pictures { (picture) } }
                @let is_long = data.rows.len() > LONG;
                details.data.long[is_long] {
                    summary { "Data" span.unseen { " of the figure: " (words(title)) } }
                    (table::table(data, Caption::Hidden(&format!("Data: {title}"))))
                    @if is_long {
                        p.on-paper { "Its data has " (data.rows.len()) " rows, which are on the screen alone." }
                    }
                }
            }
        }
    }
}

/// What stands in place of a figure that has no data.
pub(in crate::report::html) fn missing(title: &str, why: &str) -> Markup {
    html! {
        h3 { (words(title)) }
        p.missing { (words(why)) }
    }
}
