//! Which arguments and results of calls on record anything of a policy reads.
//!
//! In: all that is compiled of a policy: its expressions, the texts of its steps, its prompt, the templates of its backends. Out: for each
//! function whether the arguments of its calls are read, and whether their results. A task that keeps only what is needed drops the
//! others (`task::state::Retain`). Observed steps count: what they would have said is told as if they decided. The call at hand
//! counts for nothing, as its steps have its values until they are through. Linear in the policy; found when it is first wanted.

use super::read_path::{CONTEXT_ASKED, for_each_path};
use super::{Expression, Policy, Shown};
use crate::context::{CallValues, Root, SOURCES, Selector, ValuesOnPath};

/// The values that are read, by function.
struct Found<'p> {
    policy: &'p Policy,
    values: Box<[CallValues]>,
}

impl Policy {
    /// Which values of a call of the function at this position are read once it is on record. All of a position without a function.
    ///
    /// ```
    /// use celador::{Engine, EngineLimits, context::CallValues};
    ///
    /// let engine = Engine::parse("desk.yaml", r#"
    /// kind: commonagents.info/v1beta2/tool
    /// namespace: desk
    /// name: refund
    /// description: Pays money back.
    /// actions:
    /// - name: run
    ///   description: Pays.
    ///   parameters: {properties: {amount: {type: integer}}}
    ///   execute: {stateless_http: {method: POST, url: "https://pay.example.com"}}
    /// ---
    /// kind: commonagents.info/v1beta2/agent
    /// namespace: desk
    /// name: clerk
    /// description: Answers customers.
    /// prompt: You are a careful clerk.
    /// capabilities:
    ///   refund:
    ///     before: [{assert: "c.cap.refund.inputs.map(i, i.amount).sum() + input.amount <= 500"}]
    ///     after: [{assert: "output.paid"}]
    /// "#)?;
    /// let policy = engine.policy("desk", "clerk")?;
    /// // the result is read by the steps behind the call alone
    /// assert_eq!(policy.values_read(0), CallValues { input: true, output: false });
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn values_read(&self, function: usize) -> CallValues {
        let values = self.values_read.get_or_init(|| self.find_values_read());
        values.get(function).copied().unwrap_or(CallValues::ALL)
    }

    fn find_values_read(&self) -> Box<[CallValues]> {
        let values = vec![CallValues::NONE; self.functions.len()].into();
        let mut found = Found { policy: self, values };
        self.expressions().for_each(|expression| found.add(expression));
        for shown in self.steps().flat_map(|step| step.shows()) {
            match shown {
                Shown::Computed(expression) => found.add(expression),
                Shown::Path(placeholder) => found.add_path(&placeholder.root, &placeholder.selectors()),
            }
        }
        for placeholder in self.prompt.iter().flat_map(|prompt| prompt.placeholders()) {
            found.add_path(&placeholder.root, &placeholder.selectors());
        }
        for path in &self.backend_paths {
            found.add_path(Root::Context.name(), path);
        }
        // a labelled result is looked into whenever a text may repeat it, for a delegation too
        let result = CallValues { input: false, output: true };
        self.labelled_functions().for_each(|function| found.add_values(function, result));
        found.values
    }
}

impl Found<'_> {
    fn add(&mut self, expression: &Expression) {
        for_each_path(expression.program().expr(), &mut |root, path| self.add_path(root, path));
    }

    fn add_path(&mut self, root: &str, path: &[Selector]) {
        if root == CONTEXT_ASKED {
            // labels are looked for in what is labelled, sources in every result
            if path == [Selector::Name(SOURCES.to_owned())] {
                self.add_to_all(CallValues { input: false, output: true });
            }
            return;
        }
        let ValuesOnPath { functions, values } = self.policy.schema.values_on_path(root, path);
        match functions {
            Some(functions) => {
                functions.into_iter().for_each(|function| self.add_values(function.0 as usize, values));
            }
            None => self.add_to_all(values),
        }
    }

    fn add_to_all(&mut self, values: CallValues) {
        self.values.iter_mut().for_each(|known| *known = known.or(values));
    }

    fn add_values(&mut self, function: usize, values: CallValues) {
        if let Some(known) = self.values.get_mut(function) {
            *known = known.or(values);
        }
    }
}
