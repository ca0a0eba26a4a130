//! Values that stand for many: a sample of a cell is run through the evaluator, and what it does, all values of the cell do.
//!
//! In: nothing. Out: [`Sample`]s, which own what they are and lend it as a [`Value`].

use crate::cel::{Constant, Duration, Expr, ExprKind, Json, Literal, Timestamp, Value};
use std::sync::{Arc, LazyLock};

/// A value that stands for its cell.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Sample {
    Null,
    Bool(bool),
    Int(i64),
    UInt(u64),
    Double(f64),
    Text(Arc<str>),
    Time(Timestamp),
    Span(Duration),
    EmptyList,
    List,
    EmptyMap,
    Map,
}

impl Sample {
    /// The constant of an expression, if it is one of those that are compared cell by cell.
    pub(super) fn of_literal(literal: &Literal) -> Option<Self> {
        Some(match literal {
            Literal::Null => Self::Null,
            Literal::Bool(value) => Self::Bool(*value),
            Literal::Int(value) => Self::Int(*value),
            Literal::UInt(value) => Self::UInt(*value),
            Literal::Double(value) => Self::Double(*value),
            Literal::String(text) => Self::Text(text.as_str().into()),
            Literal::Bytes(_) => return None,
        })
    }

    /// The values that a constant of a schema allows: of a number the int and the double.
    pub(super) fn of_constant(constant: &Constant) -> Vec<Self> {
        match constant {
            Constant::Null => vec![Self::Null],
            Constant::Bool(value) => vec![Self::Bool(*value)],
            Constant::Text(text) => vec![Self::Text(text.clone())],
            Constant::Number(value) => {
                let whole = whole(*value).map(Self::Int);
                whole.into_iter().chain([Self::Double(*value)]).collect()
            }
        }
    }

    /// The value.
    pub(super) fn value(&self) -> Value<'_> {
        static DOCUMENTS: LazyLock<[Json; 4]> =
            LazyLock::new(|| ["[]", "[0]", "{}", r#"{"x":0}"#].map(|text| Json::from(&read(text))));
        let document = |at: usize| DOCUMENTS.get(at).map_or(Value::Null, Json::value);
        match self {
            Self::Null => Value::Null,
            Self::Bool(value) => Value::Bool(*value),
            Self::Int(value) => Value::Int(*value),
            Self::UInt(value) => Value::UInt(*value),
            Self::Double(value) => Value::Double(*value),
            Self::Text(text) => Value::text(text),
            Self::Time(time) => Value::Timestamp(*time),
            Self::Span(span) => Value::Duration(*span),
            Self::EmptyList => document(0),
            Self::List => document(1),
            Self::EmptyMap => document(2),
            Self::Map => document(3),
        }
    }

    /// The number that it is, or the double next to that.
    #[expect(
        clippy::cast_precision_loss,
        reason = "whoever asks gives up what is not exact, or compares the nearest double"
    )]
    pub(super) fn number(&self) -> Option<f64> {
        match self {
            Self::Int(value) => Some(*value as f64),
            Self::UInt(value) => Some(*value as f64),
            Self::Double(value) => Some(*value),
            _ => None,
        }
    }

    /// Whether it is a number of any kind.
    pub(super) fn is_number(&self) -> bool {
        matches!(self, Self::Int(_) | Self::UInt(_) | Self::Double(_))
    }
}

/// Above this, an int and the double next to it are no longer told apart, and comparisons follow the double.
pub(super) const EXACT: f64 = 9_007_199_254_740_992.0;

/// The int that a double is, if it is one that doubles hold exactly.
#[expect(clippy::cast_possible_truncation, reason = "the number is whole and below 2^53")]
pub(super) fn whole(value: f64) -> Option<i64> {
    (value.fract() == 0.0 && value.abs() < EXACT).then_some(value as i64)
}

/// The constant that an expression is: a literal, a number with a sign, a list without elements, a time or a span of time.
pub(super) fn constant(expr: &Expr) -> Option<Sample> {
    match &expr.kind {
        ExprKind::Literal(literal) => Sample::of_literal(literal),
        ExprKind::List(elements) if elements.is_empty() => Some(Sample::EmptyList),
        ExprKind::Call { function, target: None, args } if function.text == "-_" => match args.as_slice() {
            [Expr { kind: ExprKind::Literal(Literal::Int(value)), .. }] => {
                value.checked_neg().map(Sample::Int)
            }
            [Expr { kind: ExprKind::Literal(Literal::Double(value)), .. }] => Some(Sample::Double(-value)),
            _ => None,
        },
        ExprKind::Call { function, target: None, args } => match (function.text.as_str(), args.as_slice()) {
            ("timestamp", [Expr { kind: ExprKind::Literal(Literal::String(text)), .. }]) => {
                text.parse().ok().map(Sample::Time)
            }
            ("duration", [Expr { kind: ExprKind::Literal(Literal::String(text)), .. }]) => {
                Duration::parse(text).ok().map(Sample::Span)
            }
            _ => None,
        },
        _ => None,
    }
}

fn read(text: &str) -> serde_json::Value {
    serde_json::from_str(text).unwrap_or_default()
}
