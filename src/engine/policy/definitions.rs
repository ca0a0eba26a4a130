//! The names that a policy document gives to expressions and values: data, and what can be read off it.
//!
//! `define` makes it, and `expansion` puts what names stand for in their place.

use crate::cel::{Expr, Type};
use crate::context::Root;
use crate::manifest::named_expression::EXPRESSIONS;
use crate::source::{Embedded, Place, Span};
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// The names that the expressions of a policy know.
#[derive(Debug, Default)]
pub(super) struct Definitions {
    pub(super) variables: HashMap<Arc<str>, Definition>,
    pub(super) parameters: HashMap<Arc<str>, Definition>,
    pub(super) expressions: HashMap<Arc<str>, Definition>,
    /// The names of the policies that it uses, by the names of the uses; nothing for a name that several uses have.
    pub(super) libraries: HashMap<Arc<str>, Option<Arc<Self>>>,
}

/// Kind of the value of a parameter, as far as it tells what its author may have meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ValueKind {
    /// A truth, null, or an empty list or map, which switch a clause on or off.
    Switch,
    Zero,
    Number,
    EmptyText,
    Text,
    /// A list or map with elements.
    List,
}

impl ValueKind {
    /// The kind of a value.
    pub(super) fn of(json: &serde_json::Value) -> Self {
        use serde_json::Value;
        match json {
            Value::Null | Value::Bool(_) => Self::Switch,
            Value::Number(number) if number.as_f64() == Some(0.0) => Self::Zero,
            Value::Number(_) => Self::Number,
            Value::String(text) if text.is_empty() => Self::EmptyText,
            Value::String(_) => Self::Text,
            Value::Array(elements) if elements.is_empty() => Self::Switch,
            Value::Object(members) if members.is_empty() => Self::Switch,
            Value::Array(_) | Value::Object(_) => Self::List,
        }
    }
}

/// Parameter of a policy with the place of its value.
#[derive(Clone, Debug)]
pub(crate) struct ParameterValue {
    pub(crate) name: Arc<str>,
    pub(crate) place: Place,
    /// Whether the value is the default.
    pub(crate) is_default: bool,
    pub(crate) kind: ValueKind,
}

/// Part of an expression in which values of parameters are read.
#[derive(Clone, Debug)]
pub(crate) struct ValuesRead {
    pub(crate) span: Span,
    pub(crate) values: Vec<ParameterValue>,
}

/// What a name stands for.
#[derive(Debug)]
pub(super) struct Definition {
    /// The expression of a variable or a named expression, in which no other name of the policy stands, or the value of a parameter, written as
    /// one; nothing if its own text is wrong, which is told there.
    pub(super) stands_for: Option<Expr>,
    /// Where that is written.
    pub(super) place: Place,
    /// The text of a variable or a named expression.
    pub(super) text: Option<Embedded>,
    /// The parameters whose values are in it.
    pub(super) values: Vec<ParameterValue>,
    /// The parameters of a named expression.
    pub(super) parameters: Vec<(Arc<str>, Type)>,
    /// What it reads that its policy alone has.
    pub(super) reads_own: Option<Root>,
    /// Whether an expression has had it put in its place.
    read: AtomicBool,
}

impl Definition {
    pub(super) fn new(stands_for: Option<Expr>, place: &Place) -> Self {
        Self {
            stands_for,
            place: place.clone(),
            text: None,
            values: Vec::new(),
            parameters: Vec::new(),
            reads_own: None,
            read: AtomicBool::new(false),
        }
    }

    /// The definition of a variable or a named expression with this text.
    pub(super) fn of_text(stands_for: Option<Expr>, text: &Embedded) -> Self {
        Self { text: Some(text.clone()), ..Self::new(stands_for, &text.place) }
    }

    /// Adds the parameters whose values are in the definition.
    pub(super) fn with_values(self, values: Vec<ParameterValue>) -> Self {
        Self { values, ..self }
    }

    /// Notes that an expression reads it.
    pub(super) fn note_read(&self) {
        self.read.store(true, Ordering::Relaxed);
    }

    /// Whether an expression reads it.
    pub(super) fn is_read(&self) -> bool {
        self.read.load(Ordering::Relaxed)
    }
}

/// Which names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Names {
    Variables,
    Parameters,
    Expressions,
}

impl Names {
    pub(super) const ALL: [Self; 3] = [Self::Variables, Self::Parameters, Self::Expressions];

    /// The root under which expressions read them, which is also the key of the document that has them.
    pub(super) fn root(self) -> &'static str {
        match self {
            Self::Variables => "variables",
            Self::Parameters => "parameters",
            Self::Expressions => EXPRESSIONS,
        }
    }

    /// What one of them is called.
    pub(super) fn one(self) -> &'static str {
        match self {
            Self::Variables => "variable",
            Self::Parameters => "parameter",
            Self::Expressions => "named expression",
        }
    }
}

impl Definitions {
    fn of(&self, names: Names) -> &HashMap<Arc<str>, Definition> {
        match names {
            Names::Variables => &self.variables,
            Names::Parameters => &self.parameters,
            Names::Expressions => &self.expressions,
        }
    }

    /// What a name stands for.
    pub(super) fn get(&self, names: Names, name: &str) -> Option<&Definition> {
        self.of(names).get(name)
    }

    /// The names that there are.
    pub(super) fn known(&self, names: Names) -> impl Iterator<Item = &str> {
        self.of(names).keys().map(|name| &**name)
    }

    /// The names of a used policy; its own without one.
    pub(super) fn library(&self, library: Option<&str>) -> Option<&Self> {
        match library {
            None => Some(self),
            Some(name) => self.libraries.get(name)?.as_deref(),
        }
    }
}
