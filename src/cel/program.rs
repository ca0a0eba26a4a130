//! The door: a text and its scope to a [`Program`] that can be run any number of times, from any thread.

use super::check::{Checked, CostEstimate, check, messages, resolve};
use super::env::{Env, EnvId, Slot};
use super::eval::{
    Activation, Guards, HostFunctions, Recording, Remembered, Stop, fold, guarded, holds, recorded, run,
};
use super::issue::Issue;
use super::plan::{Node, Plan, plan};
use super::syntax::{Expr, parse, parse_rewritten};
use super::types::Type;
use super::value::{Value, ZONES, nearest_zone};
use crate::diagnostic::Severity;
use crate::limits::EvalLimits;
use crate::source::Span;

/// A compiled expression.
///
/// ```
/// use celador_cel::{Activation, Env, Program, STANDARD, Type, Value};
///
/// let mut scope = Env::builder().variable("amount", Type::Int);
/// for library in STANDARD {
///     scope = scope.library(library);
/// }
/// let env = scope.build();
/// let program = Program::compile(&env, "amount > 100 && amount % 2 == 0").unwrap();
/// let activation = Activation::new(&env).with(&env, "amount", Value::Int(250));
/// assert!(program.holds(&activation, None).unwrap());
/// ```
#[derive(Debug)]
pub struct Program {
    source: Box<str>,
    expr: Expr,
    result: Type,
    cost: CostEstimate,
    issues: Vec<Issue>,
    limits: EvalLimits,
    /// The number of expressions in the tree.
    parts: usize,
    plan: Plan,
    guards: Guards,
}

impl Program {
    /// Compiles an expression in a scope: parsed, checked and planned, within the scope's bounds.
    ///
    /// # Errors
    /// All issues, with spans of the text: the text cannot be read, names something that the scope does not know, or is
    /// over a bound. A part that can only fail when it runs is no error here but one of [`Program::issues`].
    ///
    /// # Cost
    /// Linear in the text, apart from the regular expressions in it.
    pub fn compile(env: &Env, text: &str) -> Result<Self, Vec<Issue>> {
        Self::compile_rewritten(env, text, |_| {})
    }

    /// The same for a scope that gives parts of the text a meaning of its own: `rewrite` replaces those parts of the tree,
    /// and the result must keep to the scope and the bounds like any text. A part that was put in keeps the span of the replaced one.
    ///
    /// # Errors
    /// As [`Program::compile`].
    ///
    /// # Cost
    /// As [`Program::compile`], and that of `rewrite`.
    pub fn compile_rewritten(
        env: &Env,
        text: &str,
        rewrite: impl FnOnce(&mut Expr),
    ) -> Result<Self, Vec<Issue>> {
        let expr = parse_rewritten(text, env.limits(), rewrite)?;
        let (checked, issues) = check(expr, env);
        let Some(checked) = checked else { return Err(issues) };
        Self::planned(env, text, checked, issues)
    }

    /// Compiles an expression without checking it against its scope: a name that the scope does not declare fails with `unbound` or
    /// `no_matching_overload` when it is reached, so `x || true` is true. For hosts that take expressions written for
    /// other scopes; never for policies, whose misspelt names must be refused before they run (`CEL-23`).
    ///
    /// # Errors
    /// The expression cannot be read or is over a bound. All else is one of [`Program::issues`].
    ///
    /// # Cost
    /// As [`Program::compile`].
    pub fn compile_unchecked(env: &Env, text: &str) -> Result<Self, Vec<Issue>> {
        let (checked, mut issues) = resolve(parse(text, env.limits())?, env);
        issues.iter_mut().for_each(|issue| issue.severity = Severity::Warning);
        Self::planned(env, text, checked, issues)
    }

    fn planned(env: &Env, text: &str, checked: Checked, mut issues: Vec<Issue>) -> Result<Self, Vec<Issue>> {
        let plan = plan(&checked, env, fold);
        let limits = env.limits();
        for (name, held, bound) in [
            ("max_plan_nodes", plan.nodes.len(), limits.max_plan_nodes),
            ("max_patterns_bytes", plan.pattern_bytes, limits.max_patterns_bytes),
        ] {
            if held > bound {
                return Err(vec![Issue::bound(name, bound, checked.expr.span)]);
            }
        }
        let patterns = plan.bad_patterns();
        issues.extend(patterns.map(|(span, pattern)| messages::bad_pattern(text, span, pattern)));
        let refused = plan.refused_constants(limits);
        let bad = plan.bad_arguments.iter().map(|&(span, name)| (span, name, None));
        issues.extend(refused.chain(bad).map(|(span, name, expected)| {
            let written = text.get(span.range()).unwrap_or_default();
            let near =
                (expected == Some(ZONES)).then(|| nearest_zone(written.trim_matches(['\'', '"']))).flatten();
            messages::refused_constant(span, name, written, expected, near.as_deref())
        }));
        let result = checked.type_of(checked.expr.id).clone();
        Ok(Self {
            source: text.into(),
            expr: checked.expr,
            result,
            cost: checked.cost,
            issues,
            limits: *limits,
            parts: checked.types.len(),
            guards: Guards::of(&plan),
            plan,
        })
    }

    /// The same program without its guards: every step is walked. For tests, which compare the results of the two.
    #[doc(hidden)]
    #[must_use]
    pub fn unguarded(self) -> Self {
        Self { guards: Guards::default(), ..self }
    }

    /// Runs the program.
    ///
    /// # Errors
    /// [`Stop::Failed`] with a code and the span that failed, never with a value; [`Stop::Asked`] if the host must
    /// find an answer first.
    ///
    /// # Cost
    /// At most the scope's `max_cost`; a program that builds nothing allocates nothing.
    pub fn run<'a>(
        &'a self,
        activation: &Activation<'a>,
        host: Option<&mut dyn HostFunctions>,
    ) -> Result<Value<'a>, Stop> {
        self.run_metered(activation, host).0
    }

    /// Runs the program for the truth of its result (`CEL-14`), as asserts and conditions do.
    ///
    /// # Errors
    /// As [`Program::run`].
    #[inline]
    pub fn holds<'a>(
        &'a self,
        activation: &Activation<'a>,
        host: Option<&mut dyn HostFunctions>,
    ) -> Result<bool, Stop> {
        match self.guarded(activation) {
            Some((truth, _)) => Ok(truth),
            None => self.holds_at_length(activation, host),
        }
    }

    /// The same, with how many cost units it spent.
    ///
    /// # Errors
    /// As [`Program::run`], in the first part.
    #[inline]
    pub fn holds_metered<'a>(
        &'a self,
        activation: &Activation<'a>,
        host: Option<&mut dyn HostFunctions>,
    ) -> (Result<bool, Stop>, u64) {
        self.holds_remembering(activation, host, &mut Remembered::default())
    }

    /// The same with what the names of the host came to in programs before, which the program adds to.
    ///
    /// # Errors
    /// As [`Program::run`], in the first part.
    #[inline]
    pub fn holds_remembering<'a>(
        &'a self,
        activation: &Activation<'a>,
        host: Option<&mut dyn HostFunctions>,
        remembered: &mut Remembered<'a>,
    ) -> (Result<bool, Stop>, u64) {
        match self.guarded(activation) {
            Some((truth, cost)) => (Ok(truth), cost),
            None => holds((&self.plan, &self.guards), activation, &self.limits, (host, remembered)),
        }
    }

    /// The truth and what it cost, if the whole is a guard that can tell. Kept out of its callers, so that they set up no
    /// frame for the long way before it is needed.
    #[inline(never)]
    fn guarded<'a>(&'a self, activation: &Activation<'a>) -> Option<(bool, u64)> {
        guarded((&self.plan, &self.guards), activation, &self.limits)
    }

    #[inline(never)]
    fn holds_at_length<'a>(
        &'a self,
        activation: &Activation<'a>,
        host: Option<&mut dyn HostFunctions>,
    ) -> Result<bool, Stop> {
        let remembered = &mut Remembered::default();
        holds((&self.plan, &self.guards), activation, &self.limits, (host, remembered)).0
    }

    /// Runs the program and says how many cost units it spent, whether it gave a value or not.
    ///
    /// # Errors
    /// As [`Program::run`], in the first part.
    #[inline]
    pub fn run_metered<'a>(
        &'a self,
        activation: &Activation<'a>,
        host: Option<&mut dyn HostFunctions>,
    ) -> (Result<Value<'a>, Stop>, u64) {
        self.run_remembering(activation, host, &mut Remembered::default())
    }

    /// The same with what the names of the host came to in programs before, which the program adds to.
    ///
    /// # Errors
    /// As [`Program::run`], in the first part.
    #[inline]
    pub fn run_remembering<'a>(
        &'a self,
        activation: &Activation<'a>,
        host: Option<&mut dyn HostFunctions>,
        remembered: &mut Remembered<'a>,
    ) -> (Result<Value<'a>, Stop>, u64) {
        run((&self.plan, &self.guards), activation, &self.limits, (host, remembered))
    }

    /// The same with what each part came to, as the evaluation tells it on its way: there is one order of evaluation, and result and cost
    /// are those of any other run.
    ///
    /// # Errors
    /// As [`Program::run`], in the first part.
    ///
    /// # Cost
    /// Several times that of a run, and an allocation for each part.
    pub fn run_recorded<'a>(
        &'a self,
        activation: &Activation<'a>,
        host: Option<&mut dyn HostFunctions>,
        remembered: &mut Remembered<'a>,
    ) -> (Result<Value<'a>, Stop>, u64, Recording<'a>) {
        recorded((&self.plan, &self.guards), activation, &self.limits, (host, remembered))
    }

    /// The clauses: the parts that are true or false, and of which the rest is made. `is_judged` says whether the result is taken as a
    /// truth. These are the clauses of a [`Recording`], in the same order.
    #[must_use]
    pub fn clauses(&self, is_judged: bool) -> Vec<Span> {
        self.plan.clauses(is_judged).into_iter().map(|step| self.plan.span(step)).collect()
    }

    /// The text.
    #[must_use]
    pub fn source(&self) -> &str {
        &self.source
    }

    /// The tree.
    #[must_use]
    pub fn expr(&self) -> &Expr {
        &self.expr
    }

    /// The type of the result, as far as it is known before it runs.
    #[must_use]
    pub fn result_type(&self) -> &Type {
        &self.result
    }

    /// The cost of one run, as far as it is known before it runs.
    #[must_use]
    pub fn cost(&self) -> CostEstimate {
        self.cost
    }

    /// Whether it calls a function that the host carries out.
    #[must_use]
    pub fn asks_host(&self) -> bool {
        self.plan.nodes.iter().any(|node| matches!(node, Node::Host { .. }))
    }

    /// The result, if it is the same whenever it runs.
    #[must_use]
    pub fn constant(&self) -> Option<Value<'_>> {
        self.plan.constant().map(Value::borrowed)
    }

    /// The truth of the result, if it is the same whenever it runs.
    #[must_use]
    pub fn constant_truth(&self) -> Option<bool> {
        self.plan.constant().map(Value::is_truthy)
    }

    /// The warnings of the checker about it.
    #[must_use]
    pub fn issues(&self) -> &[Issue] {
        &self.issues
    }

    /// The variables that it reads, if it reads all that it may: those that an activation has to have values of.
    #[must_use]
    pub fn variables(&self) -> &[Slot] {
        &self.plan.variables
    }

    /// The scope that it was compiled in and that its activations must belong to.
    #[must_use]
    pub fn env(&self) -> EnvId {
        self.plan.env
    }

    /// An estimate of the bytes that it holds.
    #[must_use]
    pub fn heap_bytes(&self) -> usize {
        // each part of the tree is held by another one, with its name or text
        let tree = self.parts.saturating_mul(size_of::<Expr>().saturating_mul(2));
        let text = self.source.len().saturating_mul(2);
        self.plan
            .heap_bytes()
            .saturating_add(self.guards.heap_bytes())
            .saturating_add(tree)
            .saturating_add(text)
            .saturating_add(size_of::<Self>())
    }
}
