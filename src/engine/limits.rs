//! The bounds of the engine, one row each: what manifests, schemas and tasks may cost, over the bounds of the language.
//!
//! The limits of a task (`max_turns`, …) belong to its manifest.

use crate::cel::bounds;
pub use crate::cel::{EvalLimits, LimitRow};

bounds! {
    /// The bounds of the engine. Start from [`EngineLimits::default`] and change what must differ.
    EngineLimits over
    /// Those of the language.
    eval: EvalLimits;
    /// Names of deliveries of signed webhooks that one task keeps, to know those that come again; the oldest make room.
    max_deliveries: usize = 1_024, "names";
    /// Questions of one expression to its host: reviews, files.
    max_questions: usize = 256, "questions";
    /// One manifest file.
    max_manifest_bytes: usize = 2_097_152, "bytes";
    /// A bundle that somebody hands over.
    max_uploaded_bundle_bytes: usize = 2_097_152, "bytes";
    /// A bundle that is fetched from an address.
    max_fetched_bundle_bytes: usize = 10_485_760, "bytes";
    /// Documents of one bundle that are not empty.
    max_bundle_documents: usize = 200, "documents";
    /// One document of a bundle.
    max_document_bytes: usize = 524_288, "bytes";
    /// Nesting of a YAML document.
    max_yaml_depth: usize = 64, "levels";
    /// Nodes of a YAML file once its aliases are written out.
    max_yaml_nodes: usize = 100_000, "nodes";
    /// Schemas that one value is held to, references written out, and definitions that one schema refers to.
    max_schema_nodes: usize = 2_048, "schemas";
    /// How deep the schemas that one value is held to stand in one another.
    max_schema_depth: usize = 16, "levels";
    /// What the schemas of one document weigh together, references written out and patterns compiled.
    max_schema_bytes: usize = 33_554_432, "bytes";
    /// Steps of policies that the functions of one agent have, each counted for each function.
    max_rule_matches: usize = 100_000, "steps";
    /// How long a step of a policy may have a call wait before it is carried out.
    max_delay_ms: u64 = 3_600_000, "milliseconds";
    /// What the obligations and credentials of one call hold together; a step that would exceed it fails.
    max_terms_bytes: u64 = 65_536, "bytes";
    /// Tools that one task brings.
    max_brought_tools: usize = 512, "tools";
    /// The tools that one task brings, as JSON.
    max_brought_bytes: usize = 1_048_576, "bytes";
    /// Sets of tools that tasks bring whose policies stay compiled, for each set of manifests; those that were not used lately
    /// are compiled again.
    max_brought_sets: usize = 64, "sets";
    /// Diagnostics reported for one file; the rest are counted.
    max_diagnostics: usize = 100, "diagnostics";
    /// What a task keeps in memory: messages, arguments, results, and what an operation holds that waits. A step that would
    /// exceed it ends the task.
    max_task_bytes: u64 = 268_435_456, "bytes";
    /// One result that a task keeps whole; of a larger one it keeps the digest.
    max_kept_value_bytes: usize = 16_777_216, "bytes";
    /// Calls of a task that wait for other calls at once; one more is turned away.
    max_queued_calls: usize = 1_000, "calls";
    /// Inputs and events of a task that wait for calls or reviews at once; one more is turned away.
    max_queued_inputs: usize = 100, "inputs";
    /// What the inputs and events of a task that wait hold together; one that exceeds it is turned away.
    max_queued_input_bytes: usize = 1_048_576, "bytes";
    /// The texts of the results and inputs of a task in which rules look for copies; with more, who asks for labels gets an error.
    max_label_bytes: usize = 16_777_216, "bytes";
    /// Values of a task that have a pseudonym; a step that needs one more fails.
    max_pseudonyms: usize = 10_000, "pseudonyms";
    /// Total size of the values with pseudonyms, in bytes; a step that would exceed it fails.
    max_pseudonym_bytes: usize = 4_194_304, "bytes";
    /// Labels that one step gives.
    max_labels: usize = 64, "labels";
    /// How long a call waits for other calls; after that it is refused. Most tools answer in less, and a model that is told that a call was not reported can do something else.
    max_queued_ms: u64 = 600_000, "milliseconds";
    /// How long a claimed call may take; after that another claim of it takes it back, as a call that may have run.
    max_claim_ms: u64 = 900_000, "milliseconds";
    /// How long a review waits for its answer; after that it counts as denied.
    max_review_ms: u64 = 2_592_000_000, "milliseconds";
    /// The id of a call or of a task, as whoever makes it gives it.
    max_id_bytes: usize = 256, "bytes";
    /// Calls of a task that are over and that it still knows by their ids; the oldest make room.
    max_known_calls: usize = 1_024, "calls";
    /// What whoever begins a task may write on it, to find it by.
    max_metadata_entries: usize = 32, "entries";
    /// The name of one entry of a task's metadata.
    max_metadata_key_bytes: usize = 64, "bytes";
    /// The text of one entry of a task's metadata.
    max_metadata_value_bytes: usize = 512, "bytes";
    /// The claims of a task's user that it is begun with, as JSON.
    max_claims_bytes: usize = 16_384, "bytes";
    /// Why somebody ended or purged a task or turned a switch, in their own words.
    max_reason_bytes: usize = 1_000, "bytes";
}

impl EngineLimits {
    /// The bounds of what a model writes itself: those of the language, with a fraction of the length, the work and the growth. Each of its calls has the
    /// script evaluated anew, so that the work of all is bounded by `max_questions` times `max_cost`.
    #[must_use]
    pub fn of_scripts(self) -> EvalLimits {
        EvalLimits {
            max_source_bytes: self.eval.max_source_bytes.min(16_384),
            max_cost: self.eval.max_cost.min(100_000),
            max_built_bytes: self.eval.max_built_bytes.min(1_048_576),
            ..self.eval
        }
    }
}
