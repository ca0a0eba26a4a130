//! A part of a context as JSON: of some of its records, and of each of its lists so many entries.
//!
//! In: which paths, from which entry on, how many, and how many bytes. Out: JSON text that is written as it is read, and
//! never more of it than was asked for. What is secret stands there as [`MASK`]: no page is made without looking, as the
//! context's own schema says what is. What was shortened or dropped stands there as null, and beside the text where: a tool's result
//! can say what it likes, but not what stands beside it.

use super::TaskContext;
use super::invocation::InvocationStatus;
use super::part::Part;
use super::secret::{MASK, SecretView};
use crate::cel::{At, List, Map, Shortened, Value, View};
use serde::Serialize;
use serde::ser::{Error as _, SerializeMap, SerializeSeq, Serializer};
use std::cell::{Cell, RefCell};
use std::io::{self, Write};
use std::ops::Range;

/// The part of a context to show.
#[derive(Clone, Debug)]
pub struct PageRequest {
    /// Paths below `context`, such as `input` or `capabilities.refund`; empty for the whole context.
    pub paths: Vec<String>,
    /// The first entry of each list, in the list's own order.
    pub from: usize,
    /// Entries of each list, one at least.
    pub entries: usize,
    /// The bytes of the text. Fewer entries are given if it would be longer, but one at least.
    pub max_bytes: usize,
    /// Whether the context's schema is not that of the policy that the task is under, so that nobody knows what is secret:
    /// then every argument, result, parameter of an input and exposed value is.
    pub masks_all: bool,
}

/// A part of a context.
#[derive(Clone, Debug)]
pub struct ContextPage {
    /// The JSON text.
    pub text: String,
    /// The first entry of the next page, if a list goes on.
    pub next: Option<usize>,
    /// The values that are not kept whole, each with the JSON pointer to the null in its place.
    pub shortened: Vec<(String, Shortened)>,
    /// The values of which nothing is kept: JSON pointers to the nulls in their places.
    pub dropped: Vec<String>,
}

/// Why there is no such page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PageError {
    /// A path that the context does not have.
    UnknownPath,
    /// A document on record holds a number that JSON has no word for.
    NotJson,
}

/// One pass over the context.
struct Pass<'p> {
    context: &'p TaskContext,
    masks_all: bool,
    paths: &'p [String],
    /// Which of them were found.
    found: RefCell<Vec<bool>>,
    entries: Range<usize>,
    goes_on: Cell<bool>,
    shortened: RefCell<Vec<(String, Shortened)>>,
    dropped: RefCell<Vec<String>>,
}

/// A value at its place.
struct Seen<'s, 'a> {
    pass: &'s Pass<'s>,
    value: &'s Value<'a>,
    /// The names on the way here, with dots.
    path: &'s str,
    /// The same as a JSON pointer.
    pointer: &'s str,
    /// Whether it stands in an entry, of which nothing is left out.
    in_entry: bool,
}

/// A text that must not grow beyond a bound.
struct Bounded {
    bytes: Vec<u8>,
    most: usize,
}

impl Write for Bounded {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if bytes.len() > self.most.saturating_sub(self.bytes.len()) {
            return Err(io::ErrorKind::StorageFull.into());
        }
        self.bytes.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl TaskContext {
    /// A part of the context, in the shape that expressions see.
    ///
    /// # Errors
    /// [`PageError`].
    ///
    /// # Cost
    /// Linear in the page; it takes no more memory than `max_bytes` or one entry of each list.
    pub fn page(&self, request: &PageRequest) -> Result<ContextPage, PageError> {
        let mut entries = request.entries.max(1);
        loop {
            let most = if entries == 1 { usize::MAX } else { request.max_bytes };
            let pass = Pass {
                context: self,
                masks_all: request.masks_all,
                paths: &request.paths,
                found: RefCell::new(vec![false; request.paths.len()]),
                entries: request.from..request.from.saturating_add(entries),
                goes_on: Cell::new(false),
                shortened: RefCell::default(),
                dropped: RefCell::default(),
            };
            let mut text = Bounded { bytes: Vec::new(), most };
            let value = self.value();
            let seen = Seen { pass: &pass, value: &value, path: "", pointer: "", in_entry: false };
            match serde_json::to_writer(&mut text, &seen) {
                Ok(()) if pass.found.borrow().contains(&false) => return Err(PageError::UnknownPath),
                Ok(()) => {
                    let text = String::from_utf8(text.bytes).map_err(|_| PageError::NotJson)?;
                    let next = pass.goes_on.get().then_some(pass.entries.end);
                    let (shortened, dropped) = (pass.shortened.into_inner(), pass.dropped.into_inner());
                    return Ok(ContextPage { text, next, shortened, dropped });
                }
                Err(error) if error.is_io() && entries > 1 => {
                    // no list is longer than the history, so that this ends soon
                    let longest = self.invocations().len().max(self.turns().len()).max(self.inputs().len());
                    entries = entries.min(longest.max(self.outputs().len()).max(2)) / 2;
                }
                Err(_) => return Err(PageError::NotJson),
            }
        }
    }
}

impl Pass<'_> {
    /// What is secret of an item of one of the context's own lists.
    fn secrets_of_item(&self, at: At, index: usize) -> SecretView<'_> {
        let secrets = self.context.schema().secrets();
        let (part, record) = Part::of(at);
        if !matches!(part, Part::RecordInputs | Part::RecordOutputs) {
            return SecretView::nothing();
        }
        if self.masks_all {
            return SecretView::whole();
        }
        if secrets.is_empty() {
            return SecretView::nothing();
        }
        let call = self.context.history.newest(record, index);
        let function = call.map(|call| call.function);
        if part == Part::RecordInputs {
            return secrets.arguments(function);
        }
        secrets.outcome(function, call.is_some_and(|call| call.status == InvocationStatus::Successful))
    }

    /// What is secret of a field of an entry of inputs or responses.
    fn secrets_of_field(&self, map: &Map<'_>, name: &str) -> SecretView<'_> {
        let secrets = self.context.schema().secrets();
        let Map::Live { at, .. } = map else { return SecretView::nothing() };
        match Part::of(*at).0 {
            Part::Input | Part::Output if self.masks_all && name != "message" => SecretView::whole(),
            Part::Input => secrets.input.view().member(name),
            Part::Output => secrets.exposed(name),
            _ => SecretView::nothing(),
        }
    }
}

impl Seen<'_, '_> {
    /// Whether a path was asked for, or lies on the way to one that was.
    fn is_wanted(&self, path: &str) -> bool {
        let is_below = |below: &str, above: &str| {
            below.strip_prefix(above).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        };
        let paths = self.pass.paths;
        self.in_entry || paths.is_empty() || paths.iter().any(|it| is_below(path, it) || is_below(it, path))
    }

    fn list<S: Serializer>(&self, list: &List<'_>, serializer: S) -> Result<S::Ok, S::Error> {
        let entries = if self.in_entry { 0..list.len() } else { self.pass.entries.clone() };
        let end = entries.end.min(list.len());
        self.pass.goes_on.set(self.pass.goes_on.get() || list.len() > end);
        let mut array = serializer.serialize_seq(Some(end.saturating_sub(entries.start)))?;
        for (shown, index) in (entries.start..end).enumerate() {
            let pointer = format!("{}/{shown}", self.pointer);
            if let List::Live { of, at } = list
                && let Some(View::Json(json)) = of.item(*at, index)
            {
                let secrets = self.pass.secrets_of_item(*at, index);
                if !secrets.is_empty() {
                    array.serialize_element(&secrets.masked(json))?;
                    continue;
                }
                if let Some(shortened) = json.shortened() {
                    self.pass.shortened.borrow_mut().push((pointer, shortened));
                    array.serialize_element(&())?;
                    continue;
                }
                if json.is_dropped() {
                    self.pass.dropped.borrow_mut().push(pointer);
                    array.serialize_element(&())?;
                    continue;
                }
            }
            let Some(value) = list.get(index) else { continue };
            let entry = Seen { value: &value, pointer: &pointer, in_entry: true, ..*self };
            array.serialize_element(&entry)?;
        }
        array.end()
    }

    fn map<S: Serializer>(&self, map: &Map<'_>, serializer: S) -> Result<S::Ok, S::Error> {
        let mut object = serializer.serialize_map(None)?;
        for (key, value) in map.iter() {
            let key = key.value();
            let name = key.as_str().unwrap_or_default();
            let path = if self.path.is_empty() { name.to_owned() } else { format!("{}.{name}", self.path) };
            if !self.is_wanted(&path) {
                continue;
            }
            for (wanted, found) in self.pass.paths.iter().zip(self.pass.found.borrow_mut().iter_mut()) {
                *found |= *wanted == path;
            }
            let pointer = format!("{}/{}", self.pointer, name.replace('~', "~0").replace('/', "~1"));
            let field = Seen { value: &value, path: &path, pointer: &pointer, ..*self };
            let secrets = self.pass.secrets_of_field(map, name);
            match &value {
                _ if secrets.is_empty() => object.serialize_entry(name, &field)?,
                Value::List(List::Json(json)) | Value::Map(Map::Json(json)) => {
                    object.serialize_entry(name, &secrets.masked(*json))?;
                }
                // a mark on a part of what has none says that the author took it for something else
                _ => object.serialize_entry(name, MASK)?,
            }
        }
        object.end()
    }
}

impl Serialize for Seen<'_, '_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.value {
            Value::Null => serializer.serialize_unit(),
            Value::Bool(value) => serializer.serialize_bool(*value),
            Value::Int(value) => serializer.serialize_i64(*value),
            Value::UInt(value) => serializer.serialize_u64(*value),
            Value::Double(value) => serializer.serialize_f64(*value),
            Value::String(text) => serializer.serialize_str(text),
            Value::List(List::Json(json)) | Value::Map(Map::Json(json)) => json.serialize(serializer),
            Value::List(list) => self.list(list, serializer),
            Value::Map(map) => self.map(map, serializer),
            _ => Err(S::Error::custom("a context holds JSON only")),
        }
    }
}
