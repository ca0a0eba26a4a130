//! The schemas of the types on the wire, by their names.
//!
//! In: types, each as what a request is read as or an answer is written as. Out: a reference to its schema, and all schemas at the
//! end, in the part of JSON Schema that generators of clients know: closed objects, enumerations of words, alternatives of whole
//! objects.

use super::texts::plain;
use celador::task::Operation;
use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

/// Where the document has its schemas.
const PLACE: &str = "/components/schemas";

/// What makes the schema of a type.
pub(super) type Of = fn(&mut SchemaGenerator) -> Schema;

/// The schema of a type, or a reference to it.
pub(super) fn of<T: JsonSchema>(generator: &mut SchemaGenerator) -> Schema {
    generator.subschema_for::<T>()
}

/// The schema of a type, with its members, and with references to those of other types.
pub(super) fn members_of<T: JsonSchema>(generator: &mut SchemaGenerator) -> Schema {
    T::json_schema(generator)
}

/// The schemas that were made so far.
pub(super) struct Schemas {
    requests: SchemaGenerator,
    answers: SchemaGenerator,
    /// Those of requests that are a type without some of its members.
    parts: BTreeMap<String, Value>,
}

impl Default for Schemas {
    fn default() -> Self {
        let settings = SchemaSettings::draft2020_12().with(|settings| {
            settings.definitions_path = PLACE.into();
            settings.meta_schema = None;
        });
        let answers = settings.clone().for_serialize().into_generator();
        Self { requests: settings.into_generator(), answers, parts: BTreeMap::new() }
    }
}

impl Schemas {
    /// The schema of the body of a request.
    pub(super) fn request(&mut self, of: Of) -> Value {
        of(&mut self.requests).into()
    }

    /// The schema of an answer.
    pub(super) fn answer(&mut self, of: Of) -> Value {
        of(&mut self.answers).into()
    }

    /// The schema of the body of a request that refuses some members of its type.
    pub(super) fn request_without(&mut self, name: &str, of: Of, left_out: &[&str]) -> Value {
        let mut schema = Value::from(of(&mut self.requests));
        if let Some(properties) = schema.get_mut("properties").and_then(Value::as_object_mut) {
            properties.retain(|name, _| !left_out.contains(&&**name));
        }
        self.parts.insert(name.to_owned(), schema);
        json!({ "$ref": format!("#{PLACE}/{name}") })
    }

    /// The schema of the body of an operation. One that has a type of its own has the name of that, all others the operation's.
    ///
    /// # Errors
    /// A name of no operation.
    pub(super) fn operation(&mut self, name: &str) -> Result<Value, String> {
        let all = Value::from(members_of::<Operation>(&mut self.requests));
        let variants = all.get("oneOf").and_then(Value::as_array).into_iter().flatten();
        let found = variants.into_iter().find_map(|variant| {
            let body = variant.get("properties")?.get(name)?.clone();
            Some((body, variant.get("description").cloned()))
        });
        let unknown = || format!("`{name}` is the name of no operation with a schema");
        let (mut body, description) = found.ok_or_else(unknown)?;
        let members = body.as_object_mut().ok_or_else(unknown)?;
        members.extend(description.map(|text| ("description".to_owned(), text)));
        if members.contains_key("$ref") {
            refine(&mut body, Side::Request);
            return Ok(body);
        }
        let in_words = name.split('_').map(|word| {
            let mut letters = word.chars();
            let first = letters.next().map(|letter| letter.to_ascii_uppercase());
            first.into_iter().chain(letters).collect::<String>()
        });
        let name: String = in_words.collect();
        self.parts.insert(name.clone(), body);
        Ok(json!({ "$ref": format!("#{PLACE}/{name}") }))
    }

    /// The parameters of a query, which are the members of a type.
    pub(super) fn parameters(&mut self, of: Of) -> Vec<Value> {
        // no body has this type, so it is no schema of the document
        let mut generator = self.requests.settings().clone().into_generator();
        let schema = of(&mut generator);
        let required = schema.get("required").and_then(Value::as_array).cloned().unwrap_or_default();
        let properties = schema.get("properties").and_then(Value::as_object).cloned().unwrap_or_default();
        let parameter = |(name, mut schema): (String, Value)| {
            refine(&mut schema, Side::Request);
            let description = schema.as_object_mut().and_then(|schema| schema.shift_remove("description"));
            without_null(&mut schema);
            let required = required.contains(&name.as_str().into());
            json!({ "name": name, "in": "query", "required": required, "description": description, "schema": schema })
        };
        properties.into_iter().map(parameter).collect()
    }

    /// All schemas, by their names.
    ///
    /// # Errors
    /// A type that requests and answers have, with members that only one of them needs.
    pub(super) fn components(mut self) -> Result<Map<String, Value>, String> {
        let requests = self.requests.take_definitions(false).into_iter().chain(self.parts);
        let mut schemas: BTreeMap<String, Value> = requests.collect();
        schemas.values_mut().for_each(|schema| refine(schema, Side::Request));
        for (name, mut schema) in self.answers.take_definitions(false) {
            let asked = schemas.get(&name);
            refine(&mut schema, if asked.is_some() { Side::Both } else { Side::Answer });
            if asked.is_some_and(|asked| asked.get("required") != schema.get("required")) {
                return Err(format!("requests and answers need different members of `{name}`"));
            }
            schemas.insert(name, schema);
        }
        Ok(schemas.into_iter().collect())
    }
}

/// Who writes a value of a type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Side {
    Request,
    Answer,
    Both,
}

/// Brings a schema that was derived into the form of the document. That of an answer is closed, because all of its members are
/// known; those of a request are closed by their types. A member that an answer may leave out is never null there.
fn refine(schema: &mut Value, side: Side) {
    if schema == &Value::Bool(true) {
        *schema = json!({});
    }
    let Value::Object(members) = schema else { return };
    if let Some(Value::String(text)) = members.get_mut("description") {
        *text = plain(text);
    }
    alternatives(members);
    words(members);
    if members.get("format").is_some_and(|format| format == "uint") {
        members.insert("format".to_owned(), "uint64".into());
    }
    if members.get("default").is_some_and(Value::is_null) {
        members.shift_remove("default");
    }
    for (name, value) in members.iter_mut() {
        match (&**name, value) {
            ("properties", Value::Object(properties)) => {
                properties.values_mut().for_each(|schema| refine(schema, side));
            }
            ("oneOf" | "anyOf" | "prefixItems", Value::Array(schemas)) => {
                schemas.iter_mut().for_each(|schema| refine(schema, side));
            }
            ("items" | "additionalProperties", value) if value.is_object() => refine(value, side),
            _ => {}
        }
    }
    if side != Side::Request && members.contains_key("properties") {
        let required = members.get("required").and_then(Value::as_array).cloned().unwrap_or_default();
        let properties = members.get_mut("properties").and_then(Value::as_object_mut);
        if let Some(properties) = properties.filter(|_| side == Side::Answer) {
            let optional =
                properties.iter_mut().filter(|(name, _)| !required.contains(&name.as_str().into()));
            optional.for_each(|(_, schema)| without_null(schema));
        }
        members.insert("additionalProperties".to_owned(), false.into());
    }
}

/// An object with members of its own and those of one of several others becomes one of several whole objects.
fn alternatives(members: &mut Map<String, Value>) {
    let Some(Value::Object(common)) = members.get("properties").cloned() else { return };
    let of = if members.contains_key("anyOf") { "anyOf" } else { "oneOf" };
    let Some(Value::Array(others)) = members.shift_remove(of) else { return };
    let list = |value: Option<&Value>| value.and_then(Value::as_array).cloned().unwrap_or_default();
    let required = list(members.get("required"));
    let whole = |other: Value| {
        let mut properties = common.clone();
        properties.extend(other.get("properties").and_then(Value::as_object).cloned().unwrap_or_default());
        let required: Vec<Value> = required.iter().cloned().chain(list(other.get("required"))).collect();
        let mut whole = Map::new();
        whole.extend(other.get("description").map(|text| ("description".to_owned(), text.clone())));
        whole.insert("type".to_owned(), "object".into());
        whole.insert("properties".to_owned(), properties.into());
        whole.insert("required".to_owned(), required.into());
        Value::Object(whole)
    };
    let alternatives: Vec<Value> = others.into_iter().map(whole).collect();
    members.retain(|name, _| name == "description");
    members.insert("oneOf".to_owned(), alternatives.into());
}

/// Alternatives that are all words become an enumeration, whose description says what each word means.
fn words(members: &mut Map<String, Value>) {
    let Some(alternatives) = members.get("oneOf").and_then(Value::as_array) else { return };
    let mut words = Vec::new();
    let mut meanings = Vec::new();
    for alternative in alternatives {
        if let Some(constant) = alternative.get("const") {
            words.push(constant.clone());
            let meaning = alternative.get("description").and_then(Value::as_str).map(plain);
            let word = constant.as_str().unwrap_or_default();
            let meaning = meaning.filter(|meaning| *meaning != format!("`{word}`"));
            meanings.extend(meaning.map(|meaning| format!("- `{word}`: {meaning}")));
        } else if let Some(several) = alternative.get("enum").and_then(Value::as_array) {
            words.extend(several.iter().cloned());
        } else {
            return;
        }
    }
    members.shift_remove("oneOf");
    let about = members.get("description").and_then(Value::as_str).map(str::to_owned);
    let about: Vec<String> =
        about.into_iter().chain((!meanings.is_empty()).then(|| meanings.join("\n"))).collect();
    members.extend((!about.is_empty()).then(|| ("description".to_owned(), about.join("\n\n").into())));
    members.insert("type".to_owned(), "string".into());
    members.insert("enum".to_owned(), words.into());
}

/// The same schema without null.
fn without_null(schema: &mut Value) {
    let Value::Object(members) = schema else { return };
    if let Some(Value::Array(types)) = members.get_mut("type") {
        types.retain(|name| name != "null");
        if let [one] = types.as_slice() {
            let one = one.clone();
            members.insert("type".to_owned(), one);
        }
    }
    if let Some(Value::Array(words)) = members.get_mut("enum") {
        words.retain(|word| !word.is_null());
    }
    if let Some(Value::Array(schemas)) = members.get_mut("anyOf") {
        schemas.retain(|schema| schema.get("type").is_none_or(|name| name != "null"));
        if let [Value::Object(one)] = schemas.as_slice() {
            let one = one.clone();
            members.shift_remove("anyOf");
            // a description of the member says more than that of the type
            let description = members.shift_remove("description");
            members.extend(one);
            members.extend(description.map(|text| ("description".to_owned(), text)));
        }
    }
}
