//! Fields of records: which there are, and which it is fair to ask for.
//!
//! A field can be selected (`a.b`, `a['b']`), or it can be asked whether it is there: `has(a.b)`, `a.?b`, `a[?'b']`,
//! `'b' in a`. A name that no value has is a slip in each of these forms.

use super::infer::Checker;
use super::messages;
use crate::source::Span;
use crate::syntax::{Expr, ExprKind, Literal, Name};
use crate::types::{RecordType, Storage, Type};

impl<'e> Checker<'e> {
    /// The type of a field; that it may be absent is no problem where it is asked for as an optional.
    pub(super) fn field(&mut self, on: &Type, field: &str, span: Span, asked: bool) -> Type {
        match on {
            Type::Dyn | Type::Param(_) => Type::Dyn,
            Type::Map(entry) => {
                if !self.substitution.unify(&Type::String, &entry.0) {
                    self.report(messages::not_selectable(span, field, &self.substitution.settle(on)));
                }
                entry.1.clone()
            }
            Type::Record(record) | Type::Singleton(record) => self.record_field(record, field, span, asked),
            other => {
                self.report(messages::not_selectable(span, field, &self.substitution.settle(other)));
                Type::Dyn
            }
        }
    }

    pub(super) fn record_field(&mut self, record: &RecordType, field: &str, span: Span, asked: bool) -> Type {
        let declared = record.slot(field).and_then(|slot| record.fields.get_index(slot));
        match declared {
            Some((_, field)) => field.ty.clone(),
            None => {
                let was_asked = record.storage == Storage::Unsaid && self.has_asked(record, field);
                let fair = match asked {
                    true => may_be_asked(record, field),
                    false => record.storage == Storage::Open || was_asked,
                };
                if asked && record.storage == Storage::Unsaid {
                    self.ask(record, field);
                }
                if !fair {
                    self.report(messages::unknown_field(span, field, record));
                } else if matches!(record.storage, Storage::Open | Storage::Unsaid) {
                    self.look_near(span, field, record);
                }
                Type::Dyn
            }
        }
    }

    /// A field that an open record does not list may be there all the same; nearly the name of one that it lists, it is mostly a slip.
    fn look_near(&mut self, span: Span, field: &str, record: &RecordType) {
        if let Some(near) = messages::slip_of_field(field, record) {
            self.report(messages::near_field(span, field, near, record));
        }
    }

    /// `has(a.b)`
    pub(super) fn has(&mut self, expr: &Expr, operand: &'e Expr, field: &Name) -> Type {
        let on = self.expr(operand);
        let on = match self.substitution.head(&on) {
            Type::Optional(value) => self.substitution.head(&value),
            other => other,
        };
        match &on {
            Type::Record(record) | Type::Singleton(record) => {
                match record.slot(&field.text).and_then(|slot| record.fields.get_index(slot)) {
                    Some((_, declared)) if declared.required => {
                        self.report(messages::always_has(expr.span, &field.text, record));
                    }
                    None if !matches!(record.storage, Storage::Open | Storage::Unsaid) => {
                        self.report(messages::never_has(field.span, &field.text, record));
                    }
                    None => {
                        self.ask(record, &field.text);
                        self.look_near(field.span, &field.text, record);
                    }
                    _ => {}
                }
            }
            _ => {
                self.field(&on, &field.text, field.span, false);
            }
        }
        Type::Bool
    }

    /// `'b' in a`
    pub(super) fn key_in(&mut self, args: &[Expr], types: &[Type]) {
        let ([key, _], [_, of]) = (args, types) else { return };
        let ExprKind::Literal(Literal::String(name)) = &key.kind else { return };
        if let Type::Record(record) = self.substitution.head(of)
            && record.slot(name).is_none()
        {
            self.ask(&record, name);
            if !may_be_asked(&record, name) {
                self.report(messages::never_has(key.span, name, &record));
            } else if matches!(record.storage, Storage::Open | Storage::Unsaid) {
                self.look_near(key.span, name, &record);
            }
        }
    }

    /// Notes that the expression asks whether a key is there, so that it may select it.
    fn ask(&mut self, record: &RecordType, key: &str) {
        self.asked.insert((record.name.clone(), key.to_owned()));
    }

    fn has_asked(&self, record: &RecordType, key: &str) -> bool {
        self.asked.contains(&(record.name.clone(), key.to_owned()))
    }
}

/// Whether a value may have this key, which is none of its fields.
fn may_be_asked(record: &RecordType, key: &str) -> bool {
    match record.storage {
        Storage::Live | Storage::Closed => false,
        Storage::ClosedUnlessFailed { .. } => record.slip(key).is_none(),
        Storage::Unsaid | Storage::Open => true,
    }
}
