//! What a task lacks that keeps only what is needed, once other policies read more.
//!
//! In: what the policy reads of calls on record, and what was dropped of each function. Out: the values that cannot be read, so that whoever
//! serves new rules learns of it before a step fails.

use super::task::Task;
use crate::context::{FunctionId, KeptPart};

/// Values that rules read and that a task did not keep of earlier calls, because its policy was another one.
///
/// ```
/// use celador::{Call, Engine, Retain, StartTask, User};
///
/// let agent = |rule: &str| format!(r#"
/// kind: commonagents.info/v1beta2/tool
/// namespace: desk
/// name: refund
/// description: Pays money back.
/// actions:
/// - name: run
///   description: Pays.
///   parameters: {{properties: {{amount: {{type: integer}}}}}}
///   execute: {{stateless_http: {{method: POST, url: "https://pay.example.com"}}}}
/// ---
/// kind: commonagents.info/v1beta2/agent
/// namespace: desk
/// name: clerk
/// description: Answers customers.
/// prompt: You are a careful clerk.
/// capabilities: {{refund: {{before: [{{assert: "{rule}"}}]}}}}
/// "#);
/// let engine = Engine::parse("desk.yaml", &agent("input.amount < 100"))?;
/// # let now = std::time::SystemTime::UNIX_EPOCH;
/// let start = StartTask { retain: Retain::Needed, ..StartTask::new("t-1", "desk", "clerk", User::default(), now) };
/// let mut task = engine.start(start)?;
/// assert!(!task.before(&Call::new("refund", serde_json::json!({"amount": 700}).into()), now)?.outcome().is_allowed());
/// assert_eq!(task.values_lacking().count(), 0);
///
/// // a new rule looks back at arguments that nobody had read
/// let engine = Engine::parse("desk.yaml", &agent("c.cap.refund.inputs.all(i, i.amount < 500)"))?;
/// let task = engine.restore(task.save())?;
/// let lacking = task.values_lacking().next().ok_or("there was a refund")?;
/// assert_eq!((&*lacking.function, lacking.part.as_str(), lacking.calls), ("refund", "input", 1));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LackingValues {
    /// The key of the function.
    pub function: String,
    /// Which value of its calls.
    pub part: KeptPart,
    /// Of how many calls the task did not keep it.
    pub calls: u32,
}

impl Task {
    /// The values that rules of its policy read and that it did not keep of earlier calls. A step that reads one of them fails until the task has
    /// ended: under the policies that it began with there are none.
    ///
    /// # Cost
    /// Linear in the functions.
    pub fn values_lacking(&self) -> impl Iterator<Item = LackingValues> {
        self.policy.functions().iter().zip(0_u32..).flat_map(move |(function, at)| {
            [KeptPart::Input, KeptPart::Output].into_iter().filter_map(move |part| {
                let calls = self.context.dropped_of(FunctionId(at), part);
                let is_read = self.policy.values_read(at as usize).has(part);
                (calls > 0 && is_read).then(|| LackingValues {
                    function: function.key.to_string(),
                    part,
                    calls,
                })
            })
        })
    }
}
