//! `html.urls`: every URL that a renderer would find in a text, and where it leads.
//!
//! The program that shows a text is not known here, so a text is read in each usual way: as Markdown (CommonMark, and with the extensions of
//! GitHub) and as HTML (with and without elements whose content is raw text). The URLs of all readings are returned. An attribute that
//! is not known counts as one that a renderer fetches. URLs are resolved as the WHATWG's URL standard says, which browsers follow: `https:/\evil.test`
//! has the host `evil.test`.

mod html;
mod markdown;
mod resolve;
mod style;
#[cfg(test)]
mod tests;
mod text;

use super::{Lists, check_size, each_string, string_map};
use crate::cel::{Code, Fault, Function, List, Meter, Value};
use indexmap::IndexSet;

/// Cost units for each byte: the readings of a text.
const UNITS_PER_BYTE: u64 = 4;

/// Number of URLs of one value.
const MAX_LINKS: usize = 1_000;

/// The row of `html.urls`.
pub(super) const URLS: Function = Function {
    name: "html.urls",
    doc: "every URL in the texts of a value, read as Markdown and as HTML: its `url` and `scheme` and `host` as browsers resolve them, both empty for a relative one; \
          `from`, where it stands (`img.src`, `a.href`, `style`, `text`); and whether a renderer may have it `fetched` without a click. \
          Scripts and event handlers count as URLs of the scheme `javascript`. Texts of a list are read one by one and as one text",
    cost: "1 for each part, 4 for each byte of the texts, and what is built",
    overloads: &[("html_urls", "html.urls(dyn) -> list(map(string, dyn))")],
    examples: &[
        (
            "html.urls('See [plan](https://example.com/a) ![x](//evil.test/?d=1)').filter(l, l.from != 'text').map(l, [l.from, l.scheme, l.host, l.fetched])",
            "[['a.href', 'https', 'example.com', false], ['img.src', 'https', 'evil.test', true]]",
        ),
        (
            "html.urls('<svg><![CDATA[<image href=//evil.test/x>]]></svg>').exists(l, l.fetched && l.host == 'evil.test')",
            "true",
        ),
        (r#"html.urls('<img src="https:/\\evil.test">').map(l, l.host)"#, "['evil.test']"),
        (
            "html.urls('<img srcset=\"a.png 1x, https:&#47;/evil.test/b 2x\">').map(l, l.host)",
            "['', 'evil.test']",
        ),
        (
            "html.urls('![plan][1]\\n\\n[1]: https://evil.test/x').exists(l, l.fetched && l.host == 'evil.test')",
            "true",
        ),
        (
            "html.urls('<p style=\"background: u\\\\72l(//evil.test/x)\">').map(l, [l.from, l.host])",
            "[['style', 'evil.test']]",
        ),
        ("html.urls('<x/onclick=alert(1)>').map(l, [l.from, l.scheme])", "[['x.onclick', 'javascript']]"),
        (
            "html.urls('see www.evil.test/a').map(l, [l.from, l.host, l.fetched])",
            "[['text', 'www.evil.test', false]]",
        ),
        (
            "html.urls([{'text': '![a](https:'}, {'text': '//evil.test/x)'}]).exists(l, l.fetched && l.host == 'evil.test')",
            "true",
        ),
        ("html.urls('no link, and [one](#below) to this page')", "[]"),
    ],
    code: Code::Pure(|meter, args| match args {
        [value] => find(meter, value),
        _ => Err(Fault::no_overload(args.iter().map(|arg| arg.kind()))),
    }),
};

/// A URL and where it stands.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Link {
    url: String,
    scheme: String,
    host: String,
    from: String,
    is_fetched: bool,
}

/// The links of one value, each once.
#[derive(Default)]
struct Links(IndexSet<Link>);

impl Links {
    fn add(&mut self, link: Link) -> Result<(), Fault> {
        if self.0.len() >= MAX_LINKS {
            return Err(Fault::refused("texts with fewer URLs"));
        }
        self.0.insert(link);
        Ok(())
    }

    /// Adds the URL of an attribute or of a text.
    fn resolve(&mut self, url: &str, from: &str, is_fetched: bool) -> Result<(), Fault> {
        resolve::resolve(url).map_or(Ok(()), |(url, scheme, host)| {
            self.add(Link { url, scheme, host, from: from.to_owned(), is_fetched })
        })
    }

    /// Adds code that a renderer would run.
    fn script(&mut self, from: &str) -> Result<(), Fault> {
        self.add(Link {
            url: "javascript:".to_owned(),
            scheme: "javascript".to_owned(),
            host: String::new(),
            from: from.to_owned(),
            is_fetched: true,
        })
    }
}

fn find<'a>(meter: &mut Meter<'_>, value: &Value<'a>) -> Result<Value<'a>, Fault> {
    let mut links = Links::default();
    each_string(meter, value, Lists::Joined, &mut |meter, text| read(meter, text, &mut links))?;
    List::charge(meter, links.0.len())?;
    let shown = |link: Link| {
        let Link { url, scheme, host, from, is_fetched } = link;
        meter.charge_built(url.len().saturating_add(host.len()).saturating_add(from.len()))?;
        let texts = [("url", url), ("scheme", scheme), ("host", host), ("from", from)];
        let mut entries: Vec<_> =
            texts.into_iter().map(|(key, text)| (key, Value::owned_text(text))).collect();
        entries.push(("fetched", Value::Bool(is_fetched)));
        string_map(meter, entries)
    };
    links.0.into_iter().map(shown).collect::<Result<_, _>>().map(Value::list)
}

/// Reads one text in each way.
fn read(meter: &mut Meter<'_>, text: &str, links: &mut Links) -> Result<(), Fault> {
    check_size(meter, text)?;
    // no URL and no element is without one of these signs
    if !text.contains(['<', '[', ':', '/', '\\', '.', '&']) {
        return Ok(());
    }
    meter.charge((text.len() as u64).saturating_mul(UNITS_PER_BYTE))?;
    for rendered in markdown::renderings(text) {
        meter.charge_text(rendered.len())?;
        html::read(&rendered, links)?;
    }
    markdown::read_images(text, links)?;
    html::read(text, links)
}
