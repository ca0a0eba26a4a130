//! The cases of a file: one, several that share what stands beside them, or a table of values for one.
//!
//! In: the text of a file. Out: a [`Case`], or the report that it cannot be read, for each case of the file. Here it is only found out which
//! keys make which case; what they mean is said in [`read`](mod@super::read).
//!
//! ```yaml
//! manifest: {files: [../agent.yaml], agent: clerk}   # what all cases of the file share
//! cases:
//!   over-the-limit:                                  # each case by its name
//!     call: {op: before, fn: payout, args: {amount: 5000}}
//!     expect: {decision: block}
//!   amounts:
//!     each:                                          # a case for each row, by its name
//!       small: {amount: 40, decision: allow}
//!       large: {amount: 250, decision: suspend}
//!     call: {op: before, fn: payout, args: {amount: $amount}}
//!     expect: {decision: $decision}
//! ```

use super::case::Case;
use super::messages;
use super::one_document::{document, read_node};
use super::placeholder::Row as TableRow;
use super::read::{CaseKeys, OwnKeys, SharedKeys, hold_to_file, read_case, read_name, read_shared, stem};
use super::report::{Loaded, Report};
use crate::diagnostic::Diagnostic;
use crate::limits::EngineLimits;
use crate::manifest::node::{Data, Entry, Node};
use crate::manifest::reader::{Path, Reader};
use crate::manifest::shape::{
    Anything, ByName, Definitions, Mapping as _, Part, Required, Row, Shape, Text, closed,
    document as schema_document, mapping, names, shape, with,
};
use crate::source::{Embedded, Source};
use serde_json::{Map, Value, json};

mapping! {
    /// Several cases that share the keys beside them.
    SeveralKeys = "a file of cases" {
        /// The name of the file.
        name: Text,
        /// One sentence about the cases.
        about: Text,
        shared: Part<SharedKeys>,
        /// The cases, by their names. A key of a case takes the place of the same key of the file.
        cases: Required<Cases>,
    }
}

shape! {
    /// The cases of a file, by their names.
    Cases = |definitions| {
        let mut one = closed(OwnKeys::ROWS, definitions);
        one.remove("required");
        let one = json!({ "anyOf": [Value::Object(one), table(OwnKeys::ROWS)] });
        json!({ "type": "object", "minProperties": 1, "additionalProperties": one })
    };
    /// The rows of a table, by their names: names and values.
    Table = |definitions| with(<ByName<ByName<Anything>>>::schema(definitions), "minProperties", 1);
}

/// A case of which each row of a table makes one. A name of the table may stand in the place of any value.
fn table(rows: &'static [Row]) -> Value {
    let mut keys: Map<String, Value> = names(rows)
        .into_iter()
        .map(|name| (name.to_owned(), json!({ "description": "As in a case." })))
        .collect();
    let mut definitions = Definitions::default();
    let about = "A case for each row: `$name` stands for what the row has under `name`.";
    keys.insert(EACH.to_owned(), with(Table::schema(&mut definitions), "description", about));
    let needed: Vec<&str> = rows.iter().filter(|row| row.is("name")).map(|_| "name").chain([EACH]).collect();
    json!({ "type": "object", "properties": keys, "required": needed, "additionalProperties": false })
}

/// The key of a table.
const EACH: &str = "each";

/// A case as it is written: its name, and the mapping with its keys.
struct Written {
    name: Embedded,
    node: Node,
    path: Path,
}

/// The cases of a file, in their order.
#[must_use]
pub fn read(source: &Source, limits: &EngineLimits) -> Vec<Loaded> {
    let marks = ["call", "expect", "story", "cases"];
    let broken = |findings| vec![Err(Report::of_broken(source, findings))];
    match document(source, limits, CaseKeys::OWNER, &marks) {
        Ok(node) if node.get("cases").is_some() => match several(&node, limits) {
            Ok(cases) => {
                cases.into_iter().map(|case| case.and_then(|case| read_own(&case, source))).collect()
            }
            Err(findings) => broken(findings),
        },
        Ok(node) => one(&node, source, limits),
        Err(findings) => broken(findings),
    }
}

/// The one case of a file, or those of its table.
fn one(node: &Node, source: &Source, limits: &EngineLimits) -> Vec<Loaded> {
    let path = Path::document("");
    let broken = |findings| Err(Report::of_broken(source, findings));
    if node.get(EACH).is_none() {
        let broken = |findings| Report::of_broken_case(&stem(source), source, findings);
        return vec![read_whole(node, &path).map_err(broken)];
    }
    let mut reader = Reader::default();
    let name = reader.fields::<CaseKeys>(node, &path).and_then(|fields| read_name(&fields, &mut reader));
    let findings: Vec<Diagnostic> = reader.into_findings();
    let Some(name) = name.filter(|_| findings.is_empty()) else { return vec![broken(findings)] };
    let mut left = limits.max_yaml_nodes;
    match rows(&Written { name, node: without(node, "name"), path }, &mut left, limits) {
        Ok(cases) => cases.into_iter().map(|case| case.and_then(|case| read_own(&case, source))).collect(),
        Err(findings) => vec![broken(findings)],
    }
}

fn read_whole(node: &Node, path: &Path) -> Result<Case, Vec<Diagnostic>> {
    read_node::<CaseKeys, _>(node, path, |fields, reader| {
        let name = read_name(fields, reader);
        let case = read_case(node, &fields.read_as(), reader);
        Some(Case { name: name?, ..case? })
    })
}

/// A case that has its name from elsewhere.
fn read_own(written: &Written, source: &Source) -> Loaded {
    let case = read_node::<OwnKeys, _>(&written.node, &written.path, |fields, reader| {
        read_case(&written.node, fields, reader)
    });
    let case = case.map(|case| Case { name: written.name.clone(), ..case });
    case.map_err(|findings| Report::of_broken_case(&written.name.text, source, findings))
}

/// The cases of a file of several, tables taken apart. What is wrong with what they share is wrong with all of them.
fn several(node: &Node, limits: &EngineLimits) -> Result<Vec<Result<Written, Report>>, Vec<Diagnostic>> {
    let path = Path::document("");
    let cases = read_node::<SeveralKeys, _>(node, &path, |fields, reader| {
        if let Some(field) = fields.name().get() {
            let name = reader.text(field.node, &field.path)?;
            hold_to_file(&name, &field.path, reader);
        }
        fields.about().get().map(|field| reader.text(field.node, &field.path));
        read_shared(&fields.shared().part(), reader);
        let field = fields.cases().required("", reader)?.get()?;
        let cases = reader.mapping(field.node, &field.path)?;
        if cases.is_empty() {
            reader.report(&field.path, messages::no_cases(&field.node.place));
        }
        for case in cases {
            reader.mapping(&case.value, &field.path.key(&case.key.text));
        }
        Some(cases.to_vec())
    })?;
    let beside = ["name", "about", "cases"];
    let entries = node.as_mapping().unwrap_or_default();
    let shared: Vec<&Entry> = entries.iter().filter(|entry| !beside.contains(&&*entry.key.text)).collect();
    let mut left = limits.max_yaml_nodes;
    let mut written = Vec::new();
    for case in &cases {
        let name = full_name(&stem(&node.place.source), &case.key);
        let path = path.key("cases").key(&case.key.text);
        let own = Written { name, node: case.value.clone(), path };
        let parts = if case.value.get(EACH).is_some() {
            rows(&own, &mut left, limits)?
        } else {
            take(&own.node, &mut left, limits)?;
            vec![Ok(own)]
        };
        for part in parts {
            for entry in &shared {
                take(&entry.value, &mut left, limits)?;
            }
            written.push(part.map(|own| Written { node: beside_shared(&own.node, &shared), ..own }));
        }
    }
    Ok(written)
}

/// A case for each row of a table.
fn rows(
    table: &Written,
    left: &mut usize,
    limits: &EngineLimits,
) -> Result<Vec<Result<Written, Report>>, Vec<Diagnostic>> {
    let path = table.path.key(EACH);
    let mut reader = Reader::default();
    let each = table.node.get(EACH);
    let found = each.and_then(|each| reader.mapping(each, &path)).unwrap_or_default();
    if let Some(each) = each.filter(|each| each.as_mapping().is_some_and(<[Entry]>::is_empty)) {
        reader.report(&path, messages::no_rows(&each.place));
    }
    let template = without(&table.node, EACH);
    let mut cases = Vec::new();
    for row in found {
        let Some(values) = reader.mapping(&row.value, &path.key(&row.key.text)) else { continue };
        take(&template, left, limits)?;
        let mut filling = TableRow::of(values);
        let node = filling.fill(&template);
        let name = full_name(&table.name.text, &row.key);
        let findings = filling.into_findings();
        cases.push(if findings.is_empty() {
            Ok(Written { name, node, path: table.path.clone() })
        } else {
            Err(Report::of_broken_case(&name.text, &table.node.place.source, findings))
        });
    }
    let findings = reader.into_findings();
    if findings.is_empty() { Ok(cases) } else { Err(findings) }
}

/// The name of a case among others, at the place of its own part.
fn full_name(whole: &str, own: &Embedded) -> Embedded {
    Embedded::new(format!("{whole}/{}", own.text), own.place.clone(), [])
}

/// A mapping without a key.
fn without(node: &Node, key: &str) -> Node {
    let entries = node.as_mapping().unwrap_or_default().iter().filter(|entry| &*entry.key.text != key);
    Node { place: node.place.clone(), data: Data::Mapping(entries.cloned().collect()) }
}

/// The keys of a case, and those of the file that it does not have itself.
fn beside_shared(node: &Node, shared: &[&Entry]) -> Node {
    let own = node.as_mapping().unwrap_or_default();
    let has = |key: &str| own.iter().any(|entry| &*entry.key.text == key);
    let others = shared.iter().filter(|entry| !has(&entry.key.text)).map(|entry| (*entry).clone());
    Node { place: node.place.clone(), data: Data::Mapping(own.iter().cloned().chain(others).collect()) }
}

/// Counts the nodes of a case against the bound of a file: what is shared and what a table repeats is read for each case anew.
fn take(node: &Node, left: &mut usize, limits: &EngineLimits) -> Result<(), Vec<Diagnostic>> {
    match left.checked_sub(size(node)) {
        Some(fewer) => *left = fewer,
        None => return Err(vec![messages::too_many_nodes(&node.place, limits.max_yaml_nodes)]),
    }
    Ok(())
}

fn size(node: &Node) -> usize {
    let below: usize = match &node.data {
        Data::Sequence(items) => items.iter().map(size).sum(),
        Data::Mapping(entries) => entries.iter().map(|entry| size(&entry.value)).sum(),
        _ => 0,
    };
    below.saturating_add(1)
}

impl Case {
    /// The JSON Schema of a file of cases.
    #[must_use]
    pub fn json_schema() -> Value {
        schema_document(|definitions| {
            let one = CaseKeys::schema(definitions);
            let told = json!([{ "required": ["expect"] }, { "required": ["story"] }]);
            let table = with(with(table(CaseKeys::ROWS), "title", "A table of cases"), "anyOf", told);
            let several = SeveralKeys::schema(definitions);
            json!({ "title": "A file of cases", "oneOf": [one, table, several] })
        })
    }
}
