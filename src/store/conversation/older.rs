//! Messages and artifacts in the shapes of A2A 0.3 (section 6, O2).
//!
//! In: what is stored, which is A2A 1.0. Out: the same said in the older way, member by member. Values that are only
//! passed on stay their text. What the older shape has no place for (`mediaType` of a text, members that are no one's) is
//! dropped, as A2A's own conversion drops it.

use super::history::{Artifact, Message};
use super::members::{Members, is_empty, is_object};
use serde::Serialize;
use serde_json::value::{RawValue, to_raw_value};
use std::collections::BTreeMap;

/// An object on its way out.
type Object<'n> = BTreeMap<&'n str, Box<RawValue>>;

/// The message with `kind` and the older roles; optional members that are empty are left out.
pub(super) fn message(message: &Message) -> Box<RawValue> {
    let members = Members::of(message.json()).unwrap_or_default();
    let role = if members.text("role").as_deref() == Some("ROLE_USER") { "user" } else { "agent" };
    let mut older = Object::from([
        ("kind", raw("message")),
        ("messageId", id(&members, "messageId")),
        ("role", raw(role)),
        ("parts", parts(&members)),
    ]);
    copy(&members, &["contextId", "taskId", "metadata", "extensions", "referenceTaskIds"], &mut older);
    raw(&older)
}

/// The artifact with an id, if only an empty one.
pub(super) fn artifact(artifact: &Artifact) -> Box<RawValue> {
    let members = Members::of(artifact.json()).unwrap_or_default();
    let mut older = Object::from([("artifactId", id(&members, "artifactId")), ("parts", parts(&members))]);
    copy(&members, &["name", "description", "metadata", "extensions"], &mut older);
    raw(&older)
}

/// An id, or an empty one.
fn id(members: &Members<'_>, name: &str) -> Box<RawValue> {
    members.present(name).map_or_else(|| raw(""), ToOwned::to_owned)
}

/// The parts of a message or an artifact.
fn parts(members: &Members<'_>) -> Box<RawValue> {
    let parts =
        members.get("parts").and_then(|parts| serde_json::from_str::<Vec<&RawValue>>(parts.get()).ok());
    raw(&parts.unwrap_or_default().into_iter().map(part).collect::<Vec<_>>())
}

/// One part: a text, a file, or data, which the older shape wants to be an object.
fn part(part: &RawValue) -> Box<RawValue> {
    let members = Members::of(part).unwrap_or_default();
    let metadata = members.get("metadata").and_then(Members::of).unwrap_or_default();
    let mut metadata: BTreeMap<&str, &RawValue> = metadata.iter().collect();
    let mut older = if let Some(text) = members.present("text") {
        Object::from([("kind", raw("text")), ("text", text.to_owned())])
    } else if let Some(bytes) = members.present("raw") {
        Object::from([("kind", raw("file")), ("file", file(&members, "bytes", bytes))])
    } else if let Some(uri) = members.present("url") {
        Object::from([("kind", raw("file")), ("file", file(&members, "uri", uri))])
    } else if let Some(data) = members.get("data").filter(|data| is_object(data)) {
        Object::from([("kind", raw("data")), ("data", data.to_owned())])
    } else if let Some(data) = members.get("data") {
        metadata.insert("data_part_compat", RawValue::TRUE);
        Object::from([("kind", raw("data")), ("data", raw(&BTreeMap::from([("value", data)])))])
    } else {
        // a part without content, which A2A's JSON writes for an empty text
        Object::from([("kind", raw("text")), ("text", raw(""))])
    };
    if !metadata.is_empty() {
        older.insert("metadata", raw(&metadata));
    }
    raw(&older)
}

/// The file of a part, under the older names.
fn file(part: &Members<'_>, content: &'static str, value: &RawValue) -> Box<RawValue> {
    let mut file = Object::from([(content, value.to_owned())]);
    for (name, older) in [("mediaType", "mimeType"), ("filename", "name")] {
        if let Some(value) = part.get(name).filter(|value| !is_empty(value)) {
            file.insert(older, value.to_owned());
        }
    }
    raw(&file)
}

/// Takes the optional members over that are not empty.
fn copy(members: &Members<'_>, names: &[&'static str], into: &mut Object<'static>) {
    for name in names {
        if let Some(value) = members.get(name).filter(|value| !is_empty(value)) {
            into.insert(name, value.to_owned());
        }
    }
}

/// The value as JSON. Strings and maps of strings always have one.
fn raw<T: Serialize + ?Sized>(value: &T) -> Box<RawValue> {
    to_raw_value(value).unwrap_or_else(|_| RawValue::NULL.to_owned())
}
