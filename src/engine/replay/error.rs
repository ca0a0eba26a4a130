//! What is wrong with a line that should be a step of a recorded task. No value of the line stands in it.

/// Why a line is no step.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RecordError {
    /// a line of more bytes than `max_json_bytes`
    #[error("the line has more than {0} bytes (`max_json_bytes`)")]
    TooLong(usize),
    /// `{"task": `
    #[error("the line is no step of a recorded task: {0}")]
    Json(String),
    /// `{"task": "t", "at": "noon", "input": {}}`
    #[error("`at` is no time of RFC 3339")]
    Time,
    /// `{"task": "t"}`
    #[error("a line has exactly one of `input`, `llm`, `call`, `result`, `withdraw`, `review` and `output`")]
    OneStep,
    /// `{"task": "t", "result": {}}`
    #[error("`result` names the call by its `id`")]
    NoId,
}
