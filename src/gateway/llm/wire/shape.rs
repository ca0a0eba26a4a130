//! The forms of messages as tables: which members a body may have, what each of them is, and where its texts stand.
//!
//! In: a table and a JSON value. Out: the texts that rules read with the places where they stand, and whatever the table does not
//! know: members, kinds, types. A request with such a thing is refused; an answer loses the member, or is an error. The same tables
//! make the page about what happens to each form of message, so what they do not list cannot pass.

use super::text::Text;
use celador_server::traffic::Treatment;
use serde_json::{Map, Value};

/// What a place of a body may hold.
pub(crate) enum Shape {
    /// A text that rules read.
    Text,
    /// An id, a name or an option: visible ASCII characters without blanks, so that no sentence fits.
    Word,
    /// A text that no rule reads here: the application's own words, bytes of the vendor, or arguments that are judged as those of a call.
    Own,
    Bool,
    /// A whole number that is not negative, written as one.
    Count,
    Number,
    /// The bytes of a file in base64, or a URL of `data:` with them. Rules read those that are text.
    Data,
    /// Whatever JSON there is: schemas, arguments, the application's own words for itself.
    Raw,
    List(&'static Shape),
    Map(&'static Shape),
    Object(Members),
    Kinds(&'static Kinds),
    /// Another shape, which may have this one in it.
    Of(&'static Shape),
    /// The first of these whose type of JSON is that of the value.
    Either(&'static [Shape]),
}

/// The members of an object. Each of them may be absent or null.
pub(crate) type Members = &'static [(&'static str, Shape)];

/// Objects of several kinds, which a member tells apart.
pub(crate) struct Kinds {
    /// What these are, for people: `a block`.
    pub(crate) what: &'static str,
    /// The member that says the kind.
    pub(crate) tag: &'static str,
    /// The kind of an object that does not say it.
    pub(crate) absent: Option<&'static str>,
    pub(crate) rows: &'static [Row],
}

/// One kind.
pub(crate) struct Row {
    pub(crate) name: &'static str,
    pub(crate) treatment: Treatment,
    /// Why, or how.
    pub(crate) note: &'static str,
    pub(crate) members: Members,
}

/// A kind that is judged.
pub(crate) const fn judged(name: &'static str, members: Members) -> Row {
    Row { name, treatment: Treatment::Judged, note: "", members }
}

/// A kind that passes with the message that it is in.
pub(crate) const fn passed(name: &'static str, note: &'static str, members: Members) -> Row {
    Row { name, treatment: Treatment::Passed, note, members }
}

/// A kind that is known, and refused.
pub(crate) const fn refused(name: &'static str, note: &'static str) -> Row {
    Row { name, treatment: Treatment::Refused, note, members: &[] }
}

/// What was found in a value.
#[derive(Debug, Default)]
pub(crate) struct Found {
    /// Texts that rules read.
    pub(crate) texts: Vec<Text>,
    /// What no table knows, or a table refuses: words for people.
    pub(crate) unseen: Vec<String>,
    /// Values of another type than the table's.
    pub(crate) misfits: Vec<String>,
}

impl Kinds {
    /// The row of an object.
    pub(crate) fn row(&self, object: &Map<String, Value>) -> Option<&'static Row> {
        let kind = match object.get(self.tag) {
            None | Some(Value::Null) => self.absent?,
            Some(kind) => kind.as_str()?,
        };
        self.rows.iter().find(|row| row.name == kind)
    }

    /// How the kind of an object is called.
    fn name(&self, object: &Map<String, Value>) -> String {
        match object.get(self.tag).or(self.absent.map(Value::from).as_ref()) {
            None => format!("{} without `{}`", self.what, self.tag),
            Some(Value::String(kind)) => format!("{} of {} `{}`", self.what, self.tag, short(kind)),
            Some(_) => format!("{} whose `{}` is no text", self.what, self.tag),
        }
    }
}

/// The beginning of a name that somebody else chose.
pub(crate) fn short(name: &str) -> String {
    name.chars().filter(|letter| !letter.is_control()).take(64).collect()
}

impl Shape {
    /// Looks at a value that stands at a place.
    pub(crate) fn look(&self, value: &Value, at: &mut String, found: &mut Found) {
        match (self, value) {
            (Self::Text, Value::String(text)) => found.texts.push(Text::plain(at, text)),
            (Self::Data, Value::String(data)) => found.texts.extend(Text::of_data(at, data)),
            (Self::Word, Value::String(word)) if word.bytes().all(|it| it.is_ascii_graphic()) => {}
            (Self::Own, Value::String(_)) | (Self::Bool, Value::Bool(_)) | (Self::Raw, _) => {}
            (Self::Count, Value::Number(number)) if number.is_u64() => {}
            (Self::Number, Value::Number(_)) => {}
            (Self::List(of), Value::Array(values)) => {
                for (place, value) in values.iter().enumerate() {
                    within(at, &place.to_string(), |at| of.look(value, at, found));
                }
            }
            (Self::Map(of), Value::Object(members)) => {
                for (key, value) in members.iter().filter(|(_, value)| !value.is_null()) {
                    within(at, key, |at| of.look(value, at, found));
                }
            }
            (Self::Object(known), Value::Object(members)) => look_members(known, None, members, at, found),
            (Self::Kinds(kinds), Value::Object(members)) => match kinds.row(members) {
                Some(row) if row.treatment == Treatment::Refused => {
                    found.unseen.push(format!("{} ({})", kinds.name(members), row.note));
                }
                Some(row) => look_members(row.members, Some(kinds.tag), members, at, found),
                None => found.unseen.push(kinds.name(members)),
            },
            (Self::Of(shape), _) => shape.look(value, at, found),
            (Self::Either(shapes), _) => match shapes.iter().find(|shape| shape.fits(value)) {
                Some(shape) => shape.look(value, at, found),
                None => found.misfits.push(named(at)),
            },
            _ => found.misfits.push(named(at)),
        }
    }

    /// Whether a value has the type of JSON that this shape has.
    fn fits(&self, value: &Value) -> bool {
        match self {
            Self::Text | Self::Word | Self::Own | Self::Data => value.is_string(),
            Self::Bool => value.is_boolean(),
            Self::Count => value.is_u64(),
            Self::Number => value.is_number(),
            Self::Raw => true,
            Self::List(_) => value.is_array(),
            Self::Map(_) | Self::Object(_) | Self::Kinds(_) => value.is_object(),
            Self::Of(shape) => shape.fits(value),
            Self::Either(shapes) => shapes.iter().any(|shape| shape.fits(value)),
        }
    }

    /// Takes out of a value the members that the table does not know, and says which.
    pub(crate) fn prune(&self, value: &mut Value, at: &mut String, gone: &mut Vec<String>) {
        match (self, value) {
            (Self::List(of), Value::Array(values)) => {
                for (place, value) in values.iter_mut().enumerate() {
                    within(at, &place.to_string(), |at| of.prune(value, at, gone));
                }
            }
            (Self::Map(of), Value::Object(members)) => {
                for (key, value) in members {
                    within(at, key, |at| of.prune(value, at, gone));
                }
            }
            (Self::Object(known), Value::Object(members)) => prune_members(known, None, members, at, gone),
            (Self::Kinds(kinds), Value::Object(members)) => {
                if let Some(row) = kinds.row(members) {
                    prune_members(row.members, Some(kinds.tag), members, at, gone);
                }
            }
            (Self::Of(shape), value) => shape.prune(value, at, gone),
            (Self::Either(shapes), value) => {
                if let Some(shape) = shapes.iter().find(|shape| shape.fits(value)) {
                    shape.prune(value, at, gone);
                }
            }
            _ => {}
        }
    }

    /// Whether a value has this shape.
    pub(crate) fn holds(&self, value: &Value) -> bool {
        let mut found = Found::default();
        self.look(value, &mut String::new(), &mut found);
        found.unseen.is_empty() && found.misfits.is_empty()
    }

    /// The texts of a value at a place.
    pub(crate) fn texts(&self, value: Option<&Value>, at: &str) -> Vec<Text> {
        let mut found = Found::default();
        if let Some(value) = value.filter(|value| !value.is_null()) {
            self.look(value, &mut at.to_owned(), &mut found);
        }
        found.texts
    }
}

fn look_members(
    known: Members,
    tag: Option<&str>,
    members: &Map<String, Value>,
    at: &mut String,
    found: &mut Found,
) {
    for (key, value) in members {
        if known.iter().all(|(name, _)| name != key) && tag != Some(key) {
            within(at, key, |at| found.unseen.push(format!("the member {}", named(at))));
        } else if let Some((_, shape)) = known.iter().find(|(name, _)| name == key)
            && !value.is_null()
        {
            within(at, key, |at| shape.look(value, at, found));
        }
    }
}

fn prune_members(
    known: Members,
    tag: Option<&str>,
    members: &mut Map<String, Value>,
    at: &mut String,
    gone: &mut Vec<String>,
) {
    members.retain(|key, value| {
        if let Some((_, shape)) = known.iter().find(|(name, _)| name == key) {
            within(at, key, |at| shape.prune(value, at, gone));
            return true;
        }
        if tag != Some(key) {
            within(at, key, |at| gone.push(named(at)));
        }
        tag == Some(key)
    });
}

/// Does something at a place below.
fn within(at: &mut String, key: &str, what: impl FnOnce(&mut String)) {
    let length = at.len();
    at.push('/');
    at.push_str(&key.replace('~', "~0").replace('/', "~1"));
    what(at);
    at.truncate(length);
}

/// A place for people: `messages[0].content`.
fn named(at: &str) -> String {
    let mut name = String::new();
    for key in at.split('/').skip(1) {
        let key = short(&key.replace("~1", "/").replace("~0", "~"));
        if !key.is_empty() && key.bytes().all(|byte| byte.is_ascii_digit()) {
            name += &format!("[{key}]");
        } else {
            name += &format!("{}{key}", if name.is_empty() { "" } else { "." });
        }
    }
    format!("`{name}`")
}

#[cfg(test)]
pub(super) mod samples {
    //! A value for each row of a table, with all that the row has: what tests put something unknown into.

    use super::{Kinds, Members, Shape};
    use celador_server::traffic::Treatment;
    use serde_json::{Map, Value, json};

    /// Values of a shape: each kind that it may have once, and what is below it no deeper than a bound.
    pub(crate) fn of(shape: &Shape, depth: usize) -> Vec<Value> {
        if depth == 0 {
            return Vec::new();
        }
        match shape {
            Shape::Text => vec![json!("a text")],
            Shape::Word => vec![json!("word")],
            Shape::Own => vec![json!("own words")],
            Shape::Data => vec![json!("YSB0ZXh0")],
            Shape::Bool => vec![json!(false)],
            Shape::Count => vec![json!(1)],
            Shape::Number => vec![json!(0.5)],
            Shape::Raw => vec![json!({"raw": 1})],
            Shape::List(of_) => of(of_, depth.saturating_sub(1)).into_iter().map(|it| json!([it])).collect(),
            Shape::Map(of_) => {
                of(of_, depth.saturating_sub(1)).into_iter().map(|it| json!({"key": it})).collect()
            }
            Shape::Object(known) => members(known, depth).into_iter().map(Value::Object).collect(),
            Shape::Kinds(kinds) => rows(kinds, depth),
            Shape::Of(shape) => of(shape, depth),
            Shape::Either(shapes) => shapes.iter().flat_map(|shape| of(shape, depth)).collect(),
        }
    }

    fn rows(kinds: &Kinds, depth: usize) -> Vec<Value> {
        let rows = kinds.rows.iter().filter(|row| row.treatment != Treatment::Refused);
        rows.flat_map(|row| {
            members(row.members, depth.saturating_sub(1)).into_iter().map(|mut members| {
                members.insert(kinds.tag.to_owned(), json!(row.name));
                Value::Object(members)
            })
        })
        .collect()
    }

    /// All members with their first value, and then each other value of one of them.
    fn members(known: Members, depth: usize) -> Vec<Map<String, Value>> {
        let values: Vec<(&str, Vec<Value>)> =
            known.iter().map(|(name, shape)| (*name, of(shape, depth))).collect();
        let first: Map<String, Value> = values
            .iter()
            .filter_map(|(name, values)| Some(((*name).to_owned(), values.first()?.clone())))
            .collect();
        let mut all = vec![first.clone()];
        for (name, values) in &values {
            for value in values.iter().skip(1) {
                let mut other = first.clone();
                other.insert((*name).to_owned(), value.clone());
                all.push(other);
            }
        }
        all
    }
}
