//! Markdown as the HTML that renderers make of it.

use super::Links;
use crate::cel::Fault;
use pulldown_cmark::{Options, Parser, html};
use regex::Regex;
use std::sync::LazyLock;

/// An image in spellings of single renderers: with a size (`![a](b.png =10x10)`), a blank in the URL, or no bracket at the end.
static IMAGE: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"(?s)!\[.{0,500}?\]\s?\(\s*<?([^\s)>]+)").ok());

/// Adds the images that CommonMark leaves as text.
pub(super) fn read_images(text: &str, links: &mut Links) -> Result<(), Fault> {
    let found = IMAGE.iter().flat_map(|image| image.captures_iter(text));
    found
        .filter_map(|captures| captures.get(1))
        .try_for_each(|url| links.resolve(url.as_str(), "img.src", true))
}

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
