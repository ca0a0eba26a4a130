//! One figure, with all that says what it is.

use crate::kind::Kind;
use crate::measure::Figure;

/// What one call of an engine costs at one question.
pub struct Row {
    pub kind: Kind,
    pub expression: &'static str,
    /// How many invocations the task had; 0 where there is no task.
    pub n: usize,
    pub figure: Figure,
}

impl Row {
    pub fn json(&self) -> serde_json::Value {
        serde_json::json!({
            "engine": self.figure.engine,
            "expression": self.expression,
            "n": self.n,
            "kind": self.kind.name(),
            "ns": (self.figure.ns * 10.0).round() / 10.0,
            "allocs": self.figure.allocations,
        })
    }
}

/// Nanoseconds as people say them.
pub fn time(ns: f64) -> String {
    match ns {
        ..100.0 => format!("{ns:.1} ns"),
        100.0..1e4 => format!("{ns:.0} ns"),
        1e4..1e6 => format!("{:.1} µs", ns / 1e3),
        _ => format!("{:.1} ms", ns / 1e6),
    }
}
