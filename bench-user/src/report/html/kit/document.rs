//! The page around its sections: head, style, script, navigation, what is switched on. One file
//! that asks nobody for anything: its policy forbids every request.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use maud::{DOCTYPE, Markup, PreEscaped, html};
use sha2::{Digest as _, Sha256};

use super::plot;
use super::words::{plain, words};

const STYLE: &str = include_str!("../assets/page.css");
const SCRIPT: &str = include_str!("../assets/page.js");

/// A part of the page with a place in its navigation.
pub(in crate::report::html) struct Section {
    pub(in crate::report::html) id: &'static str,
    pub(in crate::report::html) title: String,
    pub(in crate::report::html) body: Markup,
}

/// A whole page.
pub(in crate::report::html) struct Document<'a> {
    pub(in crate::report::html) title: &'a str,
    /// Facts below the title.
    pub(in crate::report::html) about: Vec<String>,
    /// What can be switched on and off.
    pub(in crate::report::html) targets: Vec<&'a str>,
    pub(in crate::report::html) sections: Vec<Section>,
    /// What holds for all of it.
    pub(in crate::report::html) footer: Markup,
}

impl Section {
    pub(in crate::report::html) fn new(
        id: &'static str,
        title: impl Into<String>,
        body: Markup,
    ) -> Self {
        Self { id, title: title.into(), body }
    }

    /// Nothing is in it.
    pub(in crate::report::html) fn is_empty(&self) -> bool {
        self.body.0.is_empty()
    }
}

/// Only this style and this script may act, and nothing may be loaded from anywhere.
fn policy() -> String {
    let hash = |text: &str| STANDARD.encode(Sha256::digest(text));
    format!(
        "default-src 'none'; style-src 'sha256-{}'; script-src 'sha256-{}'; base-uri 'none'; \
         form-action 'none'",
        hash(STYLE),
        hash(SCRIPT)
    )
}

impl Document<'_> {
    pub(in crate::report::html) fn draw(&self) -> Markup {
        html! {
            (DOCTYPE)
            html lang="en" {
                head {
                    meta charset="utf-8";
                    meta http-equiv="Content-Security-Policy" content=(policy());
                    meta name="viewport" content="width=device-width, initial-scale=1";
                    meta name="color-scheme" content="light dark";
                    meta name="generator" content="bench-user";
                    title { (plain(self.title)) }
                    style { (PreEscaped(STYLE)) }
                }
                body {
                    a.skip href="#main" { "Skip to the report" }
                    header {
                        h1 { (words(self.title)) }
                        p { @for fact in &self.about { span { (words(fact)) } " " } }
                    }
                    (self.navigation())
                    main id="main" tabindex="-1" {
                        (self.switches())
                        @for section in &self.sections { (section.draw()) }
                    }
                    footer { (self.footer) }
                    div id="tip" role="status" aria-live="polite" hidden {}
                    script { (PreEscaped(SCRIPT)) }
                }
            }
        }
    }

    fn navigation(&self) -> Markup {
        html! {
            nav aria-label="Sections" {
                ul { @for s in &self.sections { li { a href=(format!("#{}", s.id)) { (s.title) } } } }
            }
        }
    }

    /// Without a script there is nothing to switch, so that the script shows them.
    fn switches(&self) -> Markup {
        html! {
            @if self.targets.len() > 1 {
                fieldset.switches hidden {
                    legend { "Targets" }
                    @for (i, name) in self.targets.iter().enumerate() {
                        label class=(plot::ink(i)) {
                            input type="checkbox" checked data-switch=(i);
                            svg width="28" height="14" viewBox="0 0 28 14" aria-hidden="true" {
                                path.line d="M1 7H27" {} (plot::point(i, 14.0, 7.0))
                            }
                            (words(name))
                        }
                    }
                }
            }
        }
    }
}

impl Section {
    fn draw(&self) -> Markup {
        let heading = format!("{}-heading", self.id);
        html! {
            section id=(self.id) aria-labelledby=(heading) {
                h2 id=(heading) { (words(&self.title)) }
                (self.body)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_in_the_assets_ends_them_early() {
        assert!(!STYLE.contains("</") && !SCRIPT.contains("</"));
        assert!(!STYLE.contains("url(") && !STYLE.contains("@import"));
    }

    #[test]
    fn the_policy_names_the_style_and_the_script_by_their_digest() {
        // `printf '' | openssl dgst -sha256 -binary | base64`
        let empty = "47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=";
        assert_eq!(STANDARD.encode(Sha256::digest("")), empty);
        let policy = policy();
        assert!(
            policy.starts_with("default-src 'none';") && !policy.contains("unsafe"),
            "{policy}"
        );
    }
}
