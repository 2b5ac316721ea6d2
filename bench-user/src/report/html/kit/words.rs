//! Text of records in a page: escaped by the templates, without control characters, and with what
//! stands between backticks as code.

use maud::{Markup, html};

/// Names of threads and messages of servers come from outside; what a page cannot show is marked.
pub(in crate::report::html) fn plain(text: &str) -> String {
    text.chars().map(|c| if c.is_control() && c != '\n' { '\u{fffd}' } else { c }).collect()
}

/// A sentence.
pub(in crate::report::html) fn words(text: &str) -> Markup {
    let text = plain(text);
    let parts: Vec<&str> = text.split('`').collect();
    // A backtick without its partner is one that a name holds.
    if parts.len().is_multiple_of(2) {
        return html! { (text) };
    }
    html! {
        @for (i, part) in parts.iter().enumerate() {
            @if i % 2 == 0 { (part) } @else { code { (part) } }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_is_marked_and_everything_is_escaped() {
        let shown = |text: &str| words(text).into_string();
        assert_eq!(shown("`a<b` is \"1\""), "<code>a&lt;b</code> is &quot;1&quot;");
        assert_eq!(shown("one ` alone <i>"), "one ` alone &lt;i&gt;");
        assert_eq!(shown("a\u{1b}[2J"), "a\u{fffd}[2J");
    }
}
