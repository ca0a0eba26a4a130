//! Markdown as the HTML that renderers make of it.

use pulldown_cmark::{Options, Parser, html};

/// The extensions that renderers have. None that hides text from a renderer without it: formulas and front matter stay text.
const EXTENSIONS: [Options; 2] = [
    Options::empty(),
    Options::ENABLE_TABLES
        .union(Options::ENABLE_FOOTNOTES)
        .union(Options::ENABLE_STRIKETHROUGH)
        .union(Options::ENABLE_TASKLISTS)
        .union(Options::ENABLE_GFM)
        .union(Options::ENABLE_DEFINITION_LIST)
        .union(Options::ENABLE_WIKILINKS),
];

/// The text as HTML, once for each set of extensions.
pub(super) fn renderings(text: &str) -> impl Iterator<Item = String> {
    EXTENSIONS.into_iter().map(|extensions| {
        let mut rendered = String::with_capacity(text.len());
        html::push_html(&mut rendered, Parser::new_ext(text, extensions));
        rendered
    })
}
