//! YAML text into trees: every document of a file, with places, within bounds.
//!
//! In: a source. Out: its documents that hold something, and a diagnostic for each problem of the text. The schema is the
//! core schema of YAML 1.2. Depth, nodes (aliases written out) and length are bounded; nothing here recurses. A document
//! that breaks off is left out, and the next one is read. Linear in the text and the written-out nodes.

use super::messages;
use super::node::{Data, Entry, Node};
use super::scalar;
use super::yaml_cause::{Cause, cause, unknown_escape};
use crate::diagnostic::Diagnostic;
use crate::limits::EngineLimits;
use crate::source::{Embedded, Place, Source, Span};
use granit_parser::{ErrorKind, Event, Marker, Parser, ScalarStyle, ScanError, StructureStyle, Tag};
use std::collections::HashMap;
use std::sync::Arc;

/// A document of a file.
#[derive(Clone, Debug)]
pub struct YamlDocument {
    /// The value.
    pub node: Node,
    /// Whether the tree is what was written: no key was dropped, no alias left empty.
    pub sound: bool,
}

/// The documents of a source, in order. Empty ones are left out, and so are those that cannot be read to their end.
pub fn parse(source: &Source, limits: &EngineLimits, findings: &mut Vec<Diagnostic>) -> Vec<YamlDocument> {
    if source.text().len() > limits.max_manifest_bytes {
        let place = Place::new(source, Span::new(0, 0));
        findings.push(messages::manifest_too_large(place, "max_manifest_bytes", limits.max_manifest_bytes));
        return Vec::new();
    }
    let nesting = limits.max_yaml_depth.saturating_add(1);
    let options = granit_parser::options! {
        emit_comments: false,
        emit_unresolved_aliases: true,
        flow_nesting_limit: nesting,
        block_nesting_limit: nesting,
    };
    let mut parser = Parser::new_from_str_with_options(source.text(), options);
    let mut tree = Tree::new(source, limits, findings);
    let mut documents = Vec::new();
    while let Some(event) = parser.next_event() {
        let stop = match event {
            Ok((Event::DocumentEnd, _)) => {
                let node = tree.document.take().filter(|node| !node.is_null());
                documents.extend(node.map(|node| YamlDocument { node, sound: tree.sound }));
                tree.begin();
                None
            }
            Ok((event, span)) => tree.add(event, span).err(),
            Err(error) => Some(tree.syntax(&error)),
        };
        match stop {
            None => {}
            Some(Stop::File) => break,
            Some(Stop::Document) => {
                tree.begin();
                if !parser.proceed_next_document().unwrap_or(false) {
                    break;
                }
            }
        }
    }
    documents
}

/// What cannot be read any further.
enum Stop {
    Document,
    File,
}

/// A finished node, with what its use as a key or by an alias needs to know.
#[derive(Clone)]
struct Built {
    node: Node,
    /// The characters of a scalar, whatever its type.
    text: Option<Embedded>,
    /// Nodes in it, aliases written out.
    size: usize,
    /// Collections in it, one in another.
    height: usize,
}

/// A collection that is not finished.
struct Open {
    kind: OpenKind,
    anchor: usize,
    start: Span,
    style: StructureStyle,
    size: usize,
    height: usize,
}

enum OpenKind {
    Sequence(Vec<Node>),
    /// `known` is for [`entry_of`].
    Mapping {
        entries: Vec<Entry>,
        key: Key,
        known: HashMap<Arc<str>, usize>,
    },
}

/// The most keys of a mapping that are compared one by one.
const FEW_KEYS: usize = 8;

/// The key whose value comes next.
enum Key {
    /// None yet: the next node is one.
    Awaited,
    /// This one.
    Read(Embedded),
    /// One that was refused, and its value with it.
    Refused,
}

/// One document as it grows.
struct Tree<'a> {
    source: &'a Source,
    limits: &'a EngineLimits,
    findings: &'a mut Vec<Diagnostic>,
    open: Vec<Open>,
    anchors: HashMap<usize, Built>,
    document: Option<Node>,
    /// Whether nothing in the document has been reported.
    sound: bool,
    /// Nodes of the file so far, aliases written out.
    nodes: usize,
}

impl<'a> Tree<'a> {
    fn new(source: &'a Source, limits: &'a EngineLimits, findings: &'a mut Vec<Diagnostic>) -> Self {
        Self {
            source,
            limits,
            findings,
            open: Vec::new(),
            anchors: HashMap::new(),
            document: None,
            sound: true,
            nodes: 0,
        }
    }

    /// Makes ready for the next document.
    fn begin(&mut self) {
        self.open.clear();
        self.anchors.clear();
        self.document = None;
        self.sound = true;
    }

    fn report(&mut self, finding: Diagnostic) {
        self.sound = false;
        self.findings.push(messages::on_one_line(finding));
    }

    fn place(&self, span: Span) -> Place {
        Place::new(self.source, span)
    }

    fn syntax(&mut self, error: &ScanError) -> Stop {
        let at = offset(error.marker());
        let length =
            self.source.text().get(at..).and_then(|rest| rest.chars().next()).map_or(0, char::len_utf8);
        let place = self.place(Span::new(at, at.saturating_add(length)));
        let finding = match error.kind() {
            ErrorKind::RecursionLimitExceeded => messages::yaml_too_deep(place, self.limits.max_yaml_depth),
            ErrorKind::UnexpectedCharacter { character } => messages::yaml_character(place, *character),
            kind => {
                let cause = cause(self.source.text(), at, kind);
                let escape = cause.filter(|cause| *cause == Cause::Escape);
                let escape = escape.and_then(|_| unknown_escape(self.source.text(), at));
                let place = escape.map_or(place, |span| self.place(span));
                messages::yaml_syntax(place, &error.info(), cause)
            }
        };
        self.report(finding);
        Stop::Document
    }

    fn add(&mut self, event: Event<'_>, at: granit_parser::Span) -> Result<(), Stop> {
        let span = Span::new(offset(&at.start), offset(&at.end));
        match event {
            Event::Scalar(value, style, anchor, tag) => {
                self.count(1, span)?;
                let built = self.scalar(&value, style, tag.as_deref(), span);
                self.finish(built, anchor);
                Ok(())
            }
            Event::SequenceStart(style, anchor, tag) => {
                self.collection_tag(tag.as_deref(), "seq", span);
                self.start(OpenKind::Sequence(Vec::new()), style, anchor, span)
            }
            Event::MappingStart(style, anchor, tag) => {
                self.collection_tag(tag.as_deref(), "map", span);
                let kind =
                    OpenKind::Mapping { entries: Vec::new(), key: Key::Awaited, known: HashMap::new() };
                self.start(kind, style, anchor, span)
            }
            Event::SequenceEnd | Event::MappingEnd => {
                self.end(span);
                Ok(())
            }
            Event::Alias(anchor) => self.alias(anchor, span),
            Event::UnresolvedAlias(name) => {
                self.report(messages::unknown_alias(self.place(span), &name));
                self.nothing(span)
            }
            _ => Ok(()),
        }
    }

    fn scalar(&mut self, value: &str, style: ScalarStyle, tag: Option<&Tag>, span: Span) -> Built {
        let omitted = style == ScalarStyle::Plain && span.start == span.end;
        let text = scalar::embed(self.source, style, if omitted { "" } else { value }, span);
        let data = match tag.map(|tag| (tag, tag.core_suffix())) {
            None if style == ScalarStyle::Plain => scalar::resolve(text.clone()),
            None | Some((_, Some("str"))) => Data::String(text.clone()),
            Some((tag, _)) if spelt(tag) == "!" => Data::String(text.clone()),
            Some((tag, Some(word))) => {
                let data = scalar::resolve(text.clone());
                let data = if word == "float" { as_float(data) } else { data };
                let fits = matches!(
                    (word, &data),
                    ("int", Data::Int(_))
                        | ("float", Data::Float(_))
                        | ("bool", Data::Bool(_))
                        | ("null", Data::Null)
                );
                if !fits {
                    self.report(messages::wrong_tag(text.place.clone(), &spelt(tag)));
                }
                data
            }
            Some((tag, None)) => {
                self.report(messages::unknown_tag(text.place.clone(), &spelt(tag)));
                Data::String(text.clone())
            }
        };
        let node = Node { place: text.place.clone(), data };
        Built { node, text: Some(text), size: 1, height: 0 }
    }

    fn collection_tag(&mut self, tag: Option<&Tag>, wanted: &str, span: Span) {
        let Some(tag) = tag else { return };
        let place = self.place(span);
        match tag.core_suffix() {
            Some(word) if word == wanted => {}
            None if spelt(tag) == "!" => {}
            Some(_) => self.report(messages::wrong_tag(place, &spelt(tag))),
            None => self.report(messages::unknown_tag(place, &spelt(tag))),
        }
    }

    fn start(
        &mut self,
        kind: OpenKind,
        style: StructureStyle,
        anchor: usize,
        start: Span,
    ) -> Result<(), Stop> {
        self.count(1, start)?;
        self.open.push(Open { kind, anchor, start, style, size: 1, height: 1 });
        self.deep_enough(0, start)
    }

    /// Whether something `height` collections high may stand here.
    fn deep_enough(&mut self, height: usize, span: Span) -> Result<(), Stop> {
        if self.open.len().saturating_add(height) <= self.limits.max_yaml_depth {
            return Ok(());
        }
        self.report(messages::yaml_too_deep(self.place(span), self.limits.max_yaml_depth));
        Err(Stop::Document)
    }

    fn end(&mut self, span: Span) {
        let Some(open) = self.open.pop() else { return };
        let place = self.place(match open.style {
            StructureStyle::Block => open.start,
            StructureStyle::Flow => brackets(self.source, open.start, span),
        });
        let (first, data) = match open.kind {
            OpenKind::Sequence(items) => {
                (items.first().map(|item| item.place.clone()), Data::Sequence(items.into()))
            }
            OpenKind::Mapping { entries, .. } => {
                (entries.first().map(|entry| entry.key.place.clone()), Data::Mapping(entries.into()))
            }
        };
        let place = match (open.style, first) {
            (StructureStyle::Block, Some(first)) => first,
            _ => place,
        };
        let built = Built { node: Node { place, data }, text: None, size: open.size, height: open.height };
        self.finish(built, open.anchor);
    }

    fn alias(&mut self, anchor: usize, span: Span) -> Result<(), Stop> {
        let Some(built) = self.anchors.get(&anchor).cloned() else {
            self.report(messages::recursive_alias(self.place(span)));
            return self.nothing(span);
        };
        self.count(built.size, span)?;
        self.deep_enough(built.height, span)?;
        self.finish(built, 0);
        Ok(())
    }

    /// Null in the stead of an alias that means nothing.
    fn nothing(&mut self, span: Span) -> Result<(), Stop> {
        self.count(1, span)?;
        let node = Node { place: self.place(span), data: Data::Null };
        self.finish(Built { node, text: None, size: 1, height: 0 }, 0);
        Ok(())
    }

    /// Counts nodes, aliases written out.
    fn count(&mut self, nodes: usize, span: Span) -> Result<(), Stop> {
        self.nodes = self.nodes.saturating_add(nodes);
        if self.nodes <= self.limits.max_yaml_nodes {
            return Ok(());
        }
        self.report(messages::yaml_too_large(self.place(span), self.limits.max_yaml_nodes));
        Err(Stop::File)
    }

    /// Puts a node where it belongs: under its anchor, and into the collection that is open or as the document.
    fn finish(&mut self, built: Built, anchor: usize) {
        if anchor != 0 {
            self.anchors.insert(anchor, built.clone());
        }
        let Some(open) = self.open.last_mut() else {
            self.document = Some(built.node);
            return;
        };
        open.size = open.size.saturating_add(built.size);
        open.height = open.height.max(built.height.saturating_add(1));
        let finding = match &mut open.kind {
            OpenKind::Sequence(items) => {
                items.push(built.node);
                None
            }
            OpenKind::Mapping { entries, key, known } => match std::mem::replace(key, Key::Awaited) {
                Key::Awaited => {
                    let (read, finding) = as_key(built);
                    *key = read;
                    finding
                }
                Key::Refused => None,
                Key::Read(key) => match entry_of(entries, known, &key.text) {
                    Some(first) => Some(messages::duplicate_key(&key, first.key.place.clone())),
                    None => {
                        entries.push(Entry { key, value: built.node });
                        None
                    }
                },
            },
        };
        if let Some(finding) = finding {
            self.report(finding);
        }
    }
}

/// The entry of a key, if there is one. `known` comes to hold the positions of all keys where they are many; a few are compared one by
/// one, which takes less than to hash them.
fn entry_of<'e>(entries: &'e [Entry], known: &mut HashMap<Arc<str>, usize>, key: &str) -> Option<&'e Entry> {
    if entries.len() <= FEW_KEYS {
        return entries.iter().find(|entry| *entry.key.text == *key);
    }
    let unknown = entries.iter().enumerate().skip(known.len());
    known.extend(unknown.map(|(at, entry)| (entry.key.text.clone(), at)));
    entries.get(*known.get(key)?)
}

/// A node that stands as a key, and what is wrong with it.
fn as_key(built: Built) -> (Key, Option<Diagnostic>) {
    let place = built.node.place;
    let is_merge = place.source.slice(place.span) == "<<";
    match built.text {
        Some(_) if is_merge => (Key::Refused, Some(messages::merge_key(place))),
        Some(text) => (Key::Read(text), None),
        None => (Key::Refused, Some(messages::key_not_scalar(place))),
    }
}

/// A whole number as the float that its tag asks for.
#[expect(
    clippy::cast_precision_loss,
    clippy::as_conversions,
    reason = "the tag `!!float` asks for the nearest float"
)]
fn as_float(data: Data) -> Data {
    match data {
        Data::Int(value) => Data::Float(value as f64),
        data => data,
    }
}

/// A tag as it was written.
fn spelt(tag: &Tag) -> String {
    format!("{}{}", tag.original_handle(), tag.suffix())
}

/// What to underline of a collection in brackets: all of it if it stands on one line, else the first bracket.
fn brackets(source: &Source, start: Span, end: Span) -> Span {
    let whole = start.to(end);
    if source.slice(whole).contains(['\n', '\r']) { start } else { whole }
}

/// The byte offset of a marker; a parser of a `&str` always knows it.
fn offset(marker: &Marker) -> usize {
    marker.byte_offset().unwrap_or_default()
}
