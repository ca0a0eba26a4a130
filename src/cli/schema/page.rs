//! A JSON Schema as a page for people: a table of keys for each mapping, in the order of the description.
//!
//! In: a document as `manifest/shape` makes it. Out: Markdown. A mapping that has a name, or that stands at several keys, has one section, to which
//! all of these lead. Headings are counted as readers of Markdown do, so that links to two of one name lead to the right one.

use serde_json::{Map, Value};
use std::collections::HashMap;
use std::fmt::Write as _;

/// Definitions that another page lists word by word.
const ELSEWHERE: [(&str, &str); 2] =
    [("parameters", "../../../schemas.md"), ("parameter", "../../../schemas.md#words")];

/// The page of a document about files of one kind. `title` is the kind, `command` what writes the page.
pub(super) fn page(document: &Value, title: &str, command: &str) -> String {
    let none = Map::new();
    let definitions = document.get("$defs").and_then(Value::as_object).unwrap_or(&none);
    let mut sections =
        Sections { definitions, all: Vec::new(), named: HashMap::new(), slugs: HashMap::new() };
    sections.slug(title);
    sections.visit(document, title);
    let mut text = format!(
        "# {title}\n\nThis page is written by `{command}`, from the description by which the file is read. Keys stand in the order in which `celador fmt` puts them.\n"
    );
    for section in &sections.all {
        section.write(&sections, &mut text);
    }
    text
}

/// A schema that has a heading of its own.
struct Section<'s> {
    heading: String,
    slug: String,
    schema: &'s Value,
}

struct Sections<'s> {
    definitions: &'s Map<String, Value>,
    all: Vec<Section<'s>>,
    /// The slugs of definitions.
    named: HashMap<&'s str, String>,
    /// How often a slug was taken.
    slugs: HashMap<String, usize>,
}

impl<'s> Sections<'s> {
    /// The address of a heading, as readers of Markdown make it.
    fn slug(&mut self, heading: &str) -> String {
        let kept = heading.to_lowercase().replace(' ', "-");
        let slug: String =
            kept.chars().filter(|it| it.is_alphanumeric() || matches!(it, '-' | '_')).collect();
        let taken = self.slugs.entry(slug.clone()).or_default();
        let number = *taken;
        *taken = taken.saturating_add(1);
        if number == 0 { slug } else { format!("{slug}-{number}") }
    }

    fn add(&mut self, heading: String, schema: &'s Value) -> String {
        let slug = self.slug(&heading);
        self.all.push(Section { heading, slug: slug.clone(), schema });
        slug
    }

    /// Gives sections to all that a schema leads to, in the order in which it is met. `key` is where it stands.
    fn visit(&mut self, schema: &'s Value, key: &str) {
        if let Some((name, definition)) = self.definition(schema) {
            if !self.named.contains_key(name) && ELSEWHERE.iter().all(|(other, _)| *other != name) {
                // it is known before what is in it is looked at, as it may lead to itself
                self.named.insert(name, String::new());
                let slug = self.add(heading(name), definition);
                self.named.insert(name, slug);
                self.inside(definition, key);
            }
            return;
        }
        let is_its_own = self
            .all
            .last()
            .is_some_and(|section| section.keys().is_some_and(|keys| std::ptr::eq(keys, schema)));
        if is_mapping(schema) && !is_its_own && self.of_mapping(schema).is_none() {
            let title = schema.get("title").and_then(Value::as_str);
            let heading = title.map_or_else(|| format!("`{key}`"), |title| capital(without_article(title)));
            self.add(heading, schema);
        }
        self.inside(schema, key);
    }

    fn inside(&mut self, schema: &'s Value, key: &str) {
        for (name, of_key) in schema.get("properties").and_then(Value::as_object).into_iter().flatten() {
            self.visit(of_key, name);
        }
        let forms = ["anyOf", "oneOf"].into_iter().filter_map(|word| schema.get(word)?.as_array()).flatten();
        let within = ["items", "additionalProperties"].into_iter().filter_map(|word| schema.get(word));
        for part in forms.chain(within) {
            self.visit(part, key);
        }
    }

    /// The definition that a schema refers to, with its name.
    fn definition(&self, schema: &'s Value) -> Option<(&'s str, &'s Value)> {
        let name = schema.get("$ref")?.as_str()?.strip_prefix("#/$defs/")?;
        Some((name, self.definitions.get(name)?))
    }

    /// The section of a mapping, or of another that says the same.
    fn of_mapping(&self, schema: &Value) -> Option<&Section<'s>> {
        let says = |schema: &Value| {
            let mut words = schema.as_object().cloned().unwrap_or_default();
            words.remove("description");
            words
        };
        self.all
            .iter()
            .find(|section| std::ptr::eq(section.schema, schema) || says(section.schema) == says(schema))
    }

    /// What may stand somewhere, in words; `many` of it in a list or under names.
    fn words(&self, schema: &Value, many: bool) -> String {
        let plural = |one: &str| match one.strip_suffix('y') {
            _ if !many => one.to_owned(),
            Some(stem) => format!("{stem}ies"),
            None => format!("{one}s"),
        };
        if let Some(name) =
            schema.get("$ref").and_then(Value::as_str).and_then(|it| it.strip_prefix("#/$defs/"))
        {
            let elsewhere = ELSEWHERE.iter().find(|(other, _)| *other == name);
            let target = elsewhere.map(|(_, page)| (*page).to_owned());
            let target = target.or_else(|| Some(format!("#{}", self.named.get(name)?)));
            let text = heading(name).to_lowercase();
            let text = if text.ends_with('s') { text } else { plural(&text) };
            return target.map_or_else(|| text.clone(), |target| format!("[{text}]({target})"));
        }
        if let Some(words) = schema.get("enum").and_then(Value::as_array) {
            return choice(words.iter().map(quoted).collect());
        }
        if let Some(word) = schema.get("const") {
            return quoted(word);
        }
        let forms = ["anyOf", "oneOf"].into_iter().find_map(|word| schema.get(word)?.as_array());
        // forms that only say which keys must be there are rules about a mapping
        let forms =
            forms.filter(|forms| forms.iter().all(|form| form.get("required").is_none() || is_mapping(form)));
        if let Some(forms) = forms.filter(|_| !is_mapping(schema)) {
            return choice(forms.iter().map(|form| self.words(form, many)).collect());
        }
        match schema.get("type") {
            Some(Value::Array(types)) => {
                let of_type = |name: &Value| {
                    let mut one = schema.clone();
                    if let Some(kind) = one.get_mut("type") {
                        *kind = name.clone();
                    }
                    self.words(&one, many)
                };
                choice(types.iter().map(of_type).collect())
            }
            Some(Value::String(name)) => match name.as_str() {
                "string" => text(schema, &plural("text")),
                "integer" => number(schema, &plural("whole number")),
                "number" => number(schema, &plural("number")),
                "boolean" => "`true` or `false`".to_owned(),
                "null" => "null".to_owned(),
                "array" => match schema.get("items") {
                    Some(items) => format!("{} of {}", plural("list"), self.words(items, true)),
                    None => plural("list"),
                },
                _ => self.mapping(schema, &plural("mapping")),
            },
            _ => "anything".to_owned(),
        }
    }

    fn mapping(&self, schema: &Value, word: &str) -> String {
        if is_mapping(schema)
            && let Some(section) = self.of_mapping(schema)
        {
            return format!("[{word}](#{})", section.slug);
        }
        match schema.get("additionalProperties").filter(|values| values.is_object()) {
            Some(values) => format!("{word} from names to {}", self.words(values, true)),
            None => word.to_owned(),
        }
    }
}

impl<'s> Section<'s> {
    /// The mapping whose keys it lists: itself, or the one mapping among its forms.
    fn keys(&self) -> Option<&'s Value> {
        if is_mapping(self.schema) {
            return Some(self.schema);
        }
        let forms = self.schema.get("anyOf").and_then(Value::as_array)?;
        let mut mappings = forms.iter().filter(|form| is_mapping(form));
        mappings.next().filter(|_| mappings.next().is_none())
    }

    fn write(&self, sections: &Sections<'_>, text: &mut String) {
        let _ = writeln!(text, "\n## {}", self.heading);
        let about = self.schema.get("description").and_then(Value::as_str).unwrap_or_default();
        if !about.is_empty() {
            let _ = writeln!(text, "\n{about}");
        }
        let Some(keys) = self.keys() else {
            let _ = writeln!(text, "\nIt is {}.", article(&sections.words(self.schema, false)));
            return;
        };
        if !is_mapping(self.schema) {
            let forms = self.schema.get("anyOf").and_then(Value::as_array).into_iter().flatten();
            let others = forms.filter(|form| !is_mapping(form)).map(|form| sections.words(form, false));
            let _ = writeln!(text, "\nIt is {}, or a mapping with these keys.", choice(others.collect()));
        }
        for rule in rules(keys) {
            let _ = writeln!(text, "\n{rule}");
        }
        let _ = writeln!(text, "\n| key | value | what it says |\n|---|---|---|");
        let required = keys.get("required").and_then(Value::as_array);
        for (key, schema) in keys.get("properties").and_then(Value::as_object).into_iter().flatten() {
            if schema.get("not").is_some() {
                continue;
            }
            let mut value = sections.words(schema, false);
            if required.is_some_and(|keys| keys.iter().any(|one| one == key)) {
                value.push_str("; must be there");
            }
            if let Some(default) = schema.get("default") {
                let _ = write!(value, "; without it {}", quoted(default));
            }
            let about = schema.get("description").and_then(Value::as_str).unwrap_or_default();
            let _ = writeln!(text, "| `{key}` | {} | {} |", cell(&value), cell(about));
        }
        if let Some(others) = keys.get("additionalProperties").filter(|others| others.is_object()) {
            let _ = writeln!(text, "| any other | {} | |", cell(&sections.words(others, false)));
        }
    }
}

/// What a mapping is held to beside its keys, in sentences.
fn rules(schema: &Value) -> Vec<String> {
    let mut rules = Vec::new();
    let keys = |word: &str| -> Option<Vec<String>> {
        let forms = schema.get(word)?.as_array()?;
        forms.iter().map(|form| form.get("required")?.as_array()?.first().map(quoted)).collect()
    };
    if let Some(keys) = keys("oneOf") {
        rules.push(format!("Exactly one of {} is there.", all(&keys)));
    }
    if let Some(keys) = keys("anyOf") {
        rules.push(format!("At least one of {} is there.", all(&keys)));
    }
    if let Some(keys) = schema.pointer("/not/required").and_then(Value::as_array) {
        rules.push(format!("{} are not there together.", all(&keys.iter().map(quoted).collect::<Vec<_>>())));
    }
    for (key, others) in schema.get("dependentRequired").and_then(Value::as_object).into_iter().flatten() {
        let others: Vec<String> = others.as_array().into_iter().flatten().map(quoted).collect();
        rules.push(format!("`{key}` goes with {}.", all(&others)));
    }
    let bound = |word: &str| schema.get(word).and_then(Value::as_u64);
    match (bound("minProperties"), bound("maxProperties")) {
        (Some(1), Some(1)) => rules.push("Exactly one key is there.".to_owned()),
        (Some(1), _) => rules.push("At least one key is there.".to_owned()),
        _ => {}
    }
    rules
}

fn is_mapping(schema: &Value) -> bool {
    schema.get("properties").is_some()
}

/// The heading of a definition: `policyBeforeStep` is `Policy before step`.
fn heading(name: &str) -> String {
    let mut words = String::new();
    for letter in name.chars() {
        if letter.is_uppercase() {
            words.push(' ');
        }
        words.extend(letter.to_lowercase());
    }
    capital(&words.replace('-', " "))
}

fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().into_iter().flat_map(char::to_uppercase).chain(letters).collect()
}

fn without_article(text: &str) -> &str {
    text.strip_prefix("A ").or_else(|| text.strip_prefix("An ")).unwrap_or(text)
}

fn article(text: &str) -> String {
    if text.starts_with(['`', '[']) || text.starts_with("anything") {
        text.to_owned()
    } else {
        format!("a {text}")
    }
}

fn text(schema: &Value, word: &str) -> String {
    match schema.get("pattern").and_then(Value::as_str) {
        Some(pattern) => format!("{word} like `{pattern}`"),
        None if schema.get("minLength").is_some() => format!("{word} (not empty)"),
        None => word.to_owned(),
    }
}

fn number(schema: &Value, word: &str) -> String {
    match (schema.get("minimum"), schema.get("maximum")) {
        (Some(least), Some(most)) => format!("{word} ({least} to {most})"),
        (Some(least), None) => format!("{word} ({least} or more)"),
        _ => word.to_owned(),
    }
}

/// A value as YAML has it.
fn quoted(value: &Value) -> String {
    match value {
        Value::String(text) => format!("`{text}`"),
        other => format!("`{other}`"),
    }
}

fn choice(mut words: Vec<String>) -> String {
    words.dedup();
    joined(&words, "or")
}

fn all(words: &[String]) -> String {
    joined(words, "and")
}

fn joined(words: &[String], last: &str) -> String {
    match words {
        [] => String::new(),
        [one] => one.clone(),
        [before @ .., end] => format!("{} {last} {end}", before.join(", ")),
    }
}

/// A text in a cell of a table.
fn cell(text: &str) -> String {
    text.replace('|', r"\|").replace('\n', " ")
}
