//! URLs in HTML: of every attribute, of style sheets, of text, and of HTML inside comments, declarations and attributes.

use super::{Links, style, text};
use crate::cel::Fault;
use html5gum::emitters::default::DefaultEmitter;
use html5gum::{HtmlString, StartTag, Token, Tokenizer};
use std::borrow::Cow;
use std::iter;

/// HTML in HTML (`srcdoc`, comments) that is followed.
const MAX_NESTING: usize = 4;

/// The value of an attribute.
#[derive(Clone, Copy)]
enum Attribute {
    /// A URL.
    Url,
    /// URLs with sizes: `a.png 1x, b.png 2x`.
    UrlSet,
    /// Several URLs with blanks or commas between them.
    UrlList,
    /// Declarations of a style sheet.
    Style,
    /// A page.
    Html,
    /// A text for people.
    Text,
}

/// The attributes whose values are known. Those that are not known are searched for URLs, which count as fetched.
const ATTRIBUTES: &[(&str, Attribute)] = &[
    ("action", Attribute::Url),
    ("alt", Attribute::Text),
    ("archive", Attribute::UrlList),
    ("aria-label", Attribute::Text),
    ("background", Attribute::Url),
    ("cite", Attribute::Url),
    ("classid", Attribute::Url),
    ("code", Attribute::Url),
    ("codebase", Attribute::Url),
    ("data", Attribute::Url),
    ("dynsrc", Attribute::Url),
    ("formaction", Attribute::Url),
    ("href", Attribute::Url),
    ("icon", Attribute::Url),
    ("imagesrcset", Attribute::UrlSet),
    ("label", Attribute::Text),
    ("longdesc", Attribute::Url),
    ("lowsrc", Attribute::Url),
    ("manifest", Attribute::Url),
    ("ping", Attribute::UrlList),
    ("placeholder", Attribute::Text),
    ("poster", Attribute::Url),
    ("profile", Attribute::Url),
    ("src", Attribute::Url),
    ("srcdoc", Attribute::Html),
    ("srcset", Attribute::UrlSet),
    ("style", Attribute::Style),
    ("title", Attribute::Text),
    ("usemap", Attribute::Url),
    ("xlink:href", Attribute::Url),
    ("xml:base", Attribute::Url),
];

/// Reads a page twice: with elements whose content is raw text (`<style>`, `<textarea>`), and without, as inside of SVG and where a
/// sanitizer removes such an element but not its content.
pub(super) fn read(page: &str, links: &mut Links) -> Result<(), Fault> {
    read_nested(page, links, 0)
}

fn read_nested(page: &str, links: &mut Links, depth: usize) -> Result<(), Fault> {
    if depth > MAX_NESTING {
        return Err(Fault::refused("HTML that is not nested in attributes and comments again and again"));
    }
    tokens(page, links, depth)?;
    // a tag at the end that nothing closes: what the text is put into may close it
    let unclosed = page.rfind('<').and_then(|at| page.get(at..)).filter(|tag| !tag.contains('>'));
    let closed = unclosed.into_iter().flat_map(|tag| [">", "'>", "\">"].map(|end| format!("{tag}{end}")));
    closed.into_iter().try_for_each(|tag| tokens(&tag, links, depth))?;
    // An XML parser sees elements in CDATA sections and entities, where HTML has a comment up to the first `>`.
    if !DECLARATIONS.iter().any(|start| page.contains(start)) {
        return Ok(());
    }
    for (at, _) in page.match_indices("<?") {
        let instruction = page.get(at..).and_then(|rest| rest.split('>').next()).unwrap_or_default();
        text::read(instruction, "instruction", true, links)?;
    }
    let content = DECLARATIONS.iter().fold(page.to_owned(), |page, start| page.replace(start, " "));
    tokens(&content, links, depth)
}

/// Starts of processing instructions, CDATA sections, comments and document types.
const DECLARATIONS: [&str; 2] = ["<!", "<?"];

fn tokens(page: &str, links: &mut Links, depth: usize) -> Result<(), Fault> {
    for has_raw_text in [true, false] {
        let mut emitter = DefaultEmitter::default();
        emitter.naively_switch_states(has_raw_text);
        let mut is_style = false;
        for token in Tokenizer::new_with_emitter(page, emitter).flatten() {
            match token {
                Token::StartTag(tag) => {
                    is_style = **tag.name == *b"style";
                    element(&tag, links, depth)?;
                }
                Token::EndTag(_) => is_style = false,
                Token::String(content) if is_style => style::read(&utf8(&content), links)?,
                Token::String(content) => text::read(&utf8(&content), "text", false, links)?,
                // some programs read the content of a comment (`<!--[if mso]>`)
                Token::Comment(content) => read_nested(&utf8(&content), links, depth.saturating_add(1))?,
                _ => {}
            }
        }
    }
    Ok(())
}

fn utf8(text: &HtmlString) -> Cow<'_, str> {
    String::from_utf8_lossy(text)
}

fn element(tag: &StartTag<()>, links: &mut Links, depth: usize) -> Result<(), Fault> {
    let name = utf8(&tag.name);
    if name == "script" || name.ends_with(":script") {
        links.script("script")?;
    }
    for (key, value) in &tag.attributes {
        let (key, value) = (utf8(key), utf8(value));
        let from = format!("{name}.{key}");
        if key.len() > 2 && key.starts_with("on") {
            links.script(&from)?;
            continue;
        }
        let is_fetched = is_fetched(&name, &key);
        match ATTRIBUTES.iter().find(|(known, _)| *known == key).map(|(_, attribute)| *attribute) {
            Some(Attribute::Url) => links.resolve(&value, &from, is_fetched)?,
            Some(Attribute::UrlSet) => {
                srcset(&value).into_iter().try_for_each(|url| links.resolve(url, &from, true))?;
                // a reader that splits at every comma
                let candidates = value.split(',').filter_map(|candidate| candidate.split_whitespace().next());
                candidates.into_iter().try_for_each(|url| links.resolve(url, &from, true))?;
            }
            Some(Attribute::UrlList) => {
                let urls = value.split(|letter: char| letter.is_whitespace() || letter == ',');
                urls.into_iter().try_for_each(|url| links.resolve(url, &from, is_fetched))?;
            }
            Some(Attribute::Style) => style::read(&value, links)?,
            Some(Attribute::Html) => read_nested(&value, links, depth.saturating_add(1))?,
            Some(Attribute::Text) => text::read(&value, &from, false, links)?,
            None if name == "meta" && key == "content" => {
                links_of_refresh(&value).map_or(Ok(()), |url| links.resolve(url, &from, true))?;
                text::read(&value, &from, true, links)?;
            }
            None => unknown(&value, &from, links)?,
        }
    }
    Ok(())
}

/// Whether a renderer may fetch the URL of an attribute without a click.
fn is_fetched(element: &str, attribute: &str) -> bool {
    match attribute {
        "href" | "xlink:href" | "ping" => !matches!(element, "a" | "area"),
        "action" | "formaction" | "cite" | "longdesc" => false,
        _ => true,
    }
}

/// Starts of URLs that renderers act on, without blanks.
const URL_STARTS: [&str; 9] =
    ["javascript:", "vbscript:", "data:", "http:", "https:", "//", "/\\", "\\\\", "\\/"];

/// An attribute whose meaning is not known: its value as a URL, each element of a list (`values="a.png;//evil.test/b"`) as a URL, and every
/// URL in its text.
fn unknown(value: &str, from: &str, links: &mut Links) -> Result<(), Fault> {
    for url in iter::once(value).chain(value.split([';', ','])) {
        let is_shown = |letter: &char| !letter.is_whitespace() && !letter.is_control();
        let start: String = url.chars().filter(is_shown).take(MAX_START_LETTERS).collect();
        let start = start.to_ascii_lowercase();
        if URL_STARTS.iter().any(|known| start.starts_with(known)) {
            links.resolve(url, from, true)?;
        }
    }
    text::read(value, from, true, links)
}

/// Letters of the longest of the starts.
const MAX_START_LETTERS: usize = 11;

/// The URLs of a `srcset`: up to a blank, or to a comma at the end.
fn srcset(value: &str) -> Vec<&str> {
    let mut urls = Vec::new();
    let mut rest = value;
    loop {
        rest = rest.trim_start_matches(|letter: char| letter.is_ascii_whitespace() || letter == ',');
        let end = rest.find(|letter: char| letter.is_ascii_whitespace()).unwrap_or(rest.len());
        let (url, after) = rest.split_at_checked(end).unwrap_or((rest, ""));
        if url.is_empty() {
            return urls;
        }
        let bare = url.trim_end_matches(',');
        urls.push(bare);
        // sizes up to the next comma belong to this URL
        rest =
            if bare.len() < url.len() { after } else { after.split_once(',').map_or("", |(_, next)| next) };
    }
}

/// The URL of `<meta http-equiv=refresh content="0; url=…">`.
fn links_of_refresh(value: &str) -> Option<&str> {
    let rest = value.trim_start().trim_start_matches(|letter: char| letter.is_ascii_digit() || letter == '.');
    let rest = rest.trim_start().strip_prefix([';', ',']).unwrap_or(rest).trim_start();
    let start = rest.get(..3).filter(|start| start.eq_ignore_ascii_case("url"))?;
    let rest = rest.get(start.len()..)?.trim_start().strip_prefix('=')?.trim_start();
    Some(rest.trim_matches(['"', '\'']))
}
