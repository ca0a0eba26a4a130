//! The keys that a transform puts beside those of the record that it was given.
//!
//! In: the expression of a transform. Out: each such key. `output.put('ibna', '***')` was to hide `iban`, and leaves it as it
//! is; `output.put('masked', true)` adds a field that the action does not declare. An object without a declaration has the fields that the expression
//! reads. Linear in the expression for each key.

use super::expression::Expression;
use crate::cel::{Checked, ComprehensionKind, Expr, ExprKind, Literal, Storage, Type};
use crate::diagnostic::slip;
use crate::source::Span;
use std::collections::BTreeSet;
use std::sync::Arc;

/// A key that a transform adds.
pub(super) struct AddedKey {
    pub(super) span: Span,
    pub(super) key: String,
    /// The record that it is added to.
    pub(super) record: String,
    /// The field that was surely meant.
    pub(super) near: Option<String>,
    /// Whether that record is the result of a call.
    pub(super) to_result: bool,
    /// Whether the record may have undeclared fields.
    pub(super) is_open: bool,
}

/// The keys that a transform adds to closed records in what it gives.
pub(super) fn added_keys(transform: &Expression) -> Vec<AddedKey> {
    let mut added = Vec::new();
    if let Some(checked) = transform.checked() {
        find(&checked, &checked.expr, &mut added);
    }
    added
}

/// A key of `redact` that the value does not have at any depth.
pub(super) struct MissedKey {
    pub(super) span: Span,
    pub(super) key: String,
    /// The key that was surely meant.
    pub(super) near: String,
}

/// The keys of `redact` that are nearly keys of a declared value.
pub(super) fn missed_keys(transform: &Expression) -> Vec<MissedKey> {
    let mut missed = Vec::new();
    if let Some(checked) = transform.checked() {
        find_redactions(&checked, &checked.expr, &mut missed);
    }
    missed
}

fn find_redactions(checked: &Checked, expr: &Expr, missed: &mut Vec<MissedKey>) {
    if let ExprKind::Call { function, target: None, args } = &expr.kind
        && function.text == "redact"
        && let [value, Expr { kind: ExprKind::List(keys), .. }] = args.as_slice()
    {
        let mut known = BTreeSet::new();
        keys_below(checked.type_of(value.id), MAX_DEPTH, &mut known);
        for key in keys.iter().map(|key| &key.value) {
            let ExprKind::Literal(Literal::String(name)) = &key.kind else { continue };
            let is_known = known.iter().any(|field| plain(field) == plain(name));
            if let Some(near) = meant_field(name, known.iter().map(|field| &**field)).filter(|_| !is_known) {
                missed.push(MissedKey { span: key.span, key: name.clone(), near: near.to_owned() });
            }
        }
    }
    expr.for_each_part(&mut |part| find_redactions(checked, part, missed));
}

/// The field that a key which is masked or replaced was surely meant to be. Of three letters, one may be another one: `snn` for `ssn`.
fn meant_field<'f>(key: &str, fields: impl Iterator<Item = &'f str> + Clone) -> Option<&'f str> {
    let is_near = |field: &&str| {
        let changed = key.chars().zip(field.chars()).filter(|(one, other)| one != other).count();
        key.chars().count() == 3
            && field.chars().count() == 3
            && key.chars().next() == field.chars().next()
            && changed == 1
    };
    slip(key, fields.clone()).or_else(|| fields.clone().find(is_near))
}

/// How deep records are looked into.
const MAX_DEPTH: usize = 16;

/// Collects the fields of a type at each depth.
fn keys_below(ty: &Type, depth: usize, known: &mut BTreeSet<Arc<str>>) {
    let Some(depth) = depth.checked_sub(1) else { return };
    match ty {
        Type::Record(record) | Type::Singleton(record) => {
            for (name, field) in &record.fields {
                known.insert(name.clone());
                keys_below(&field.ty, depth, known);
            }
        }
        Type::List(inner) | Type::Optional(inner) => keys_below(inner, depth, known),
        Type::Map(entry) => keys_below(&entry.1, depth, known),
        _ => {}
    }
}

/// A key as `redact` compares it: letters and digits, in small letters.
fn plain(key: &str) -> String {
    key.chars().filter(|char| char.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

/// Goes through the parts that the result is made of.
fn find(checked: &Checked, expr: &Expr, added: &mut Vec<AddedKey>) {
    match &expr.kind {
        ExprKind::Call { function, target: None, args } if function.text == "_?_:_" => {
            args.iter().skip(1).for_each(|branch| find(checked, branch, added));
        }
        ExprKind::Call { function, target: Some(map), args } if function.text == "put" => {
            find(checked, map, added);
            if let [key, value] = args.as_slice() {
                added.extend(added_key(checked, map, key));
                find(checked, value, added);
            }
        }
        ExprKind::Comprehension(comprehension) if comprehension.kind == ComprehensionKind::Map => {
            find(checked, &comprehension.body, added);
        }
        ExprKind::List(elements) => elements.iter().for_each(|it| find(checked, &it.value, added)),
        ExprKind::Map(entries) => entries.iter().for_each(|it| find(checked, &it.value, added)),
        ExprKind::Bind { body, .. } => find(checked, body, added),
        _ => {}
    }
}

fn added_key(checked: &Checked, map: &Expr, key: &Expr) -> Option<AddedKey> {
    let ExprKind::Literal(Literal::String(name)) = &key.kind else { return None };
    let begin = origin(map);
    let read = || {
        let mut read = Vec::new();
        fields_read(&checked.expr, &begin.to_string(), &mut read);
        // what is read under this very name is there
        let near = if read.contains(&name.as_str()) { None } else { slip(name, read) };
        near.map(str::to_owned)
    };
    let Type::Record(record) = checked.type_of(begin.id) else {
        let (span, key, record) = (key.span, name.clone(), begin.to_string());
        return read().map(|near| AddedKey {
            span,
            key,
            record,
            near: Some(near),
            to_result: false,
            is_open: true,
        });
    };
    if record.slot(name).is_some() {
        return None;
    }
    let is_open = matches!(record.storage, Storage::Open | Storage::Unsaid);
    let fields = || record.fields.keys().map(|field| &**field);
    let near = record.slip(name).or_else(|| meant_field(name, fields())).map(str::to_owned);
    let near = near.or_else(|| if is_open { read() } else { None });
    if is_open && near.is_none() {
        return None;
    }
    Some(AddedKey {
        span: key.span,
        key: name.clone(),
        record: record.name.clone(),
        near,
        to_result: matches!(record.storage, Storage::ClosedUnlessFailed { .. }),
        is_open,
    })
}

/// Collects the fields of `of` that an expression reads or asks for.
fn fields_read<'e>(expr: &'e Expr, of: &str, found: &mut Vec<&'e str>) {
    match &expr.kind {
        ExprKind::Select { operand, field, .. } | ExprKind::Has { operand, field }
            if operand.to_string() == of =>
        {
            found.push(&field.text);
        }
        ExprKind::Index { operand, index, .. } if operand.to_string() == of => {
            if let ExprKind::Literal(Literal::String(name)) = &index.kind {
                found.push(name);
            }
        }
        _ => {}
    }
    expr.for_each_part(&mut |part| fields_read(part, of, found));
}

/// What a chain of `put` begins with.
fn origin(mut map: &Expr) -> &Expr {
    while let ExprKind::Call { function, target: Some(inner), .. } = &map.kind
        && function.text == "put"
    {
        map = inner;
    }
    map
}
