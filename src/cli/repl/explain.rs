//! An expression as the tree of its parts, each with the value that it has: what `:explain` shows.
//!
//! In: a checked expression, its scope and the values of its variables. Out: [`Node`]s in the order of evaluation. Each
//! part is compiled and run as an expression of its own in the same scope, so the evaluator knows nothing of this and
//! no value can differ from what a run would see. Parts that a run does not come to are there and say so; of a loop
//! there are the first few rounds and those that decide. The number of nodes is bounded, and so is the work.

use super::messages;
use super::rounds::{answer, held, round_of, turn};
use super::session::{Ended, rebound, run};
use super::tree::{Node, Outcome};
use celador::cel::{
    Activation, BlockBinding, Checked, Comprehension, Env, Expr, ExprKind, Program, Reference, Type, Value,
};
use std::collections::HashSet;

/// Nodes of one explanation.
const MAX_NODES: usize = 400;
/// Rounds of a loop that are shown, those that decide not counted.
const FIRST_ROUNDS: usize = 3;
/// Characters of a part's text, and of its value.
const MAX_TEXT: usize = 100;

/// Explains an expression.
pub(super) fn explain(source: &str, checked: &Checked, env: &Env, activation: &Activation<'_>) -> Node {
    Walk { source, checked, left: MAX_NODES, reached: HashSet::new() }.expr(&checked.expr, env, activation)
}

struct Walk<'w> {
    source: &'w str,
    checked: &'w Checked,
    left: usize,
    /// The variables of macros that something came to.
    reached: HashSet<String>,
}

impl<'w> Walk<'w> {
    /// A part, its value and its parts.
    fn expr(&mut self, expr: &Expr, env: &Env, activation: &Activation<'_>) -> Node {
        let Some(left) = self.left.checked_sub(1) else {
            self.reach(expr);
            return Node::new("", Outcome::Cut);
        };
        self.left = left;
        let text = self.text(expr);
        let outcome = self.outcome(text, env, activation);
        // a path that has a value says all by itself
        if matches!(outcome, Outcome::Value { .. }) && is_path(expr) {
            self.reach(expr);
            return Node::new(one_line(text), outcome);
        }
        let parts = self.parts(expr, env, activation);
        let passed = matches!(outcome, Outcome::Failed(_)) && parts.iter().any(Node::failed);
        Node { text: one_line(text), outcome: if passed { Outcome::Passed } else { outcome }, parts }
    }

    fn text(&self, expr: &Expr) -> &'w str {
        self.source.get(expr.span.range()).unwrap_or_default()
    }

    /// The same for a part that nothing comes to.
    fn skipped(&self, expr: &Expr) -> Node {
        Node::new(one_line(self.text(expr)), Outcome::Skipped)
    }

    fn outcome(&self, text: &str, env: &Env, activation: &Activation<'_>) -> Outcome {
        let program = match Program::compile(env, text) {
            Ok(program) => program,
            Err(issues) => {
                return Outcome::Failed(
                    issues.first().map(|issue| issue.message.clone()).unwrap_or_default(),
                );
            }
        };
        let activation = rebound(env, activation, []);
        let (ended, _) = run(&program, &activation);
        match ended {
            Ended::Value(value) => Outcome::Value { text: value.shown(MAX_TEXT), answer: answer(&value) },
            Ended::Failed(error) => Outcome::Failed(error.to_string()),
            Ended::Asks(question) => Outcome::Asks(messages::asks(&question)),
        }
    }

    fn parts(&mut self, expr: &Expr, env: &Env, activation: &Activation<'_>) -> Vec<Node> {
        match &expr.kind {
            ExprKind::Call { function, target: None, args } => {
                match (function.text.as_str(), args.as_slice()) {
                    (name @ ("_&&_" | "_||_"), [_, _]) => {
                        self.logic(&chain(expr, name), name == "_||_", env, activation)
                    }
                    ("_?_:_", [condition, yes, no]) => {
                        self.conditional([condition, yes, no], env, activation)
                    }
                    (_, args) => self.strict(args, env, activation),
                }
            }
            ExprKind::Call { function, target: Some(target), args } => {
                let qualified = matches!(
                    self.checked.reference(expr.id),
                    Some(Reference::Function { qualified: true, .. })
                );
                match (function.text.as_str(), args.as_slice()) {
                    ("or" | "orValue", [other]) if !qualified => {
                        let first = self.expr(target, env, activation);
                        let come = first.answer() == Some(false);
                        let other =
                            if come { self.expr(other, env, activation) } else { self.skipped(other) };
                        vec![first, other]
                    }
                    (_, args) if qualified => self.strict(args, env, activation),
                    (_, args) => self.strict(std::iter::once(&**target).chain(args), env, activation),
                }
            }
            // a name of several words has no parts
            ExprKind::Select { .. }
                if matches!(
                    self.checked.reference(expr.id),
                    Some(Reference::Variable(_) | Reference::Type(_))
                ) =>
            {
                Vec::new()
            }
            ExprKind::Comprehension(comprehension) => self.comprehension(comprehension, env, activation),
            ExprKind::Bind { variable, value, body } => {
                self.with_variable((&variable.text, value), |value| Some(value), body, env, activation)
            }
            ExprKind::OptMap { operand, variable, body, .. } => {
                self.with_variable((&variable.text, operand), held, body, env, activation)
            }
            ExprKind::Block { bindings, body } => self.block(bindings, body, env, activation),
            _ => {
                let mut parts = Vec::new();
                expr.for_each_part(&mut |part| parts.push(part));
                self.strict(parts, env, activation)
            }
        }
    }

    /// Parts that are all needed: behind one that fails none is evaluated.
    fn strict<'e>(
        &mut self,
        parts: impl IntoIterator<Item = &'e Expr>,
        env: &Env,
        activation: &Activation<'_>,
    ) -> Vec<Node> {
        let mut nodes: Vec<Node> = Vec::new();
        for part in parts {
            let stopped = nodes.last().is_some_and(|node| !node.has_value());
            match (stopped, self.is_plain(part)) {
                (true, true) => {}
                (false, true) => self.reach(part),
                (true, false) => nodes.push(self.skipped(part)),
                (false, false) => nodes.push(self.expr(part, env, activation)),
            }
        }
        nodes
    }

    /// The operands of `&&` or `||`: whichever has the deciding value decides, whatever others do.
    fn logic(
        &mut self,
        operands: &[&Expr],
        deciding: bool,
        env: &Env,
        activation: &Activation<'_>,
    ) -> Vec<Node> {
        let mut decided = false;
        let mut nodes = Vec::new();
        for operand in operands {
            let node = if decided { self.skipped(operand) } else { self.expr(operand, env, activation) };
            decided = decided || node.answer() == Some(deciding) || node.is_open();
            nodes.push(node);
        }
        nodes
    }

    fn conditional(&mut self, parts: [&Expr; 3], env: &Env, activation: &Activation<'_>) -> Vec<Node> {
        let [condition, yes, no] = parts;
        let condition = self.expr(condition, env, activation);
        let answer = condition.answer();
        let mut branch = |branch: &Expr, taken: bool| {
            if taken { self.expr(branch, env, activation) } else { self.skipped(branch) }
        };
        let (yes, no) = (branch(yes, answer == Some(true)), branch(no, answer == Some(false)));
        vec![condition, yes, no]
    }

    /// `cel.bind` and `optMap`: a value, and where what the variable takes of it has a name.
    fn with_variable(
        &mut self,
        (name, value): (&str, &Expr),
        takes: for<'a> fn(Value<'a>) -> Option<Value<'a>>,
        body: &Expr,
        env: &Env,
        activation: &Activation<'_>,
    ) -> Vec<Node> {
        let first = self.expr(value, env, activation);
        let Ok(program) = Program::compile(env, self.text(value)) else { return vec![first] };
        let outer = rebound(env, activation, []);
        let taken = match run(&program, &outer).0 {
            Ended::Value(value) => takes(value),
            Ended::Failed(_) | Ended::Asks(_) => None,
        };
        let body = match taken {
            Some(value) => {
                let inner = env.extend().variable(name, Type::Dyn).build();
                self.round(&[(name, value)], &[body], &inner, &outer)
            }
            None => self.skipped(body),
        };
        vec![first, body]
    }

    /// Notes the variables that a part names, all of which a run comes to, or may come to where it is not followed.
    fn reach(&mut self, expr: &Expr) {
        if let ExprKind::Ident { name, .. } = &expr.kind {
            self.reached.insert(name.clone());
        }
        expr.for_each_part(&mut |part| self.reach(part));
    }

    /// The bindings of a block and its body. A run computes a binding when its variable is first asked for, so the body is
    /// explained first, and a binding that nothing came to is skipped. Behind one that fails its variable has no value.
    fn block(
        &mut self,
        bindings: &[BlockBinding],
        body: &Expr,
        env: &Env,
        activation: &Activation<'_>,
    ) -> Vec<Node> {
        let variables = bindings.iter();
        let inner = variables.fold(env.extend(), |env, it| env.variable(&it.variable, Type::Dyn)).build();
        let compiled =
            bindings.iter().map(|binding| Program::compile(&inner, self.text(&binding.value)).ok());
        let compiled: Vec<Option<Program>> = compiled.collect();
        let mut activation = rebound(&inner, activation, []);
        for (binding, program) in bindings.iter().zip(&compiled) {
            if let Some(Ended::Value(value)) = program.as_ref().map(|program| run(program, &activation).0) {
                activation = activation.with(&inner, &binding.variable, value);
            }
        }
        let outside = std::mem::take(&mut self.reached);
        let mut nodes = vec![self.expr(body, &inner, &activation)];
        self.reach_if_plain(body);
        // a binding names only those before it
        for binding in bindings.iter().rev() {
            nodes.push(if self.reached.contains(&binding.variable) {
                self.reach_if_plain(&binding.value);
                self.expr(&binding.value, &inner, &activation)
            } else {
                self.skipped(&binding.value)
            });
        }
        nodes.reverse();
        self.reached.extend(outside);
        nodes
    }

    fn reach_if_plain(&mut self, expr: &Expr) {
        if self.is_plain(expr) {
            self.reach(expr);
        }
    }

    /// The range, and the rounds.
    fn comprehension(
        &mut self,
        comprehension: &Comprehension,
        env: &Env,
        activation: &Activation<'_>,
    ) -> Vec<Node> {
        let mut nodes: Vec<Node> = Vec::new();
        if self.is_plain(&comprehension.range) {
            self.reach(&comprehension.range);
        } else {
            nodes.push(self.expr(&comprehension.range, env, activation));
        }
        let Ok(range) = Program::compile(env, self.text(&comprehension.range)) else { return nodes };
        let outer = rebound(env, activation, []);
        let Ended::Value(range) = run(&range, &outer).0 else { return nodes };
        let names: Vec<&str> = std::iter::once(&comprehension.variable)
            .chain(&comprehension.second)
            .map(|name| name.text.as_str())
            .collect();
        let inner = names.iter().fold(env.extend(), |env, name| env.variable(name, Type::Dyn)).build();
        nodes.extend(self.rounds(comprehension, &names, &range, &inner, &outer));
        nodes
    }

    fn rounds<'a>(
        &mut self,
        comprehension: &Comprehension,
        names: &[&str],
        range: &Value<'a>,
        env: &Env,
        outer: &Activation<'a>,
    ) -> Vec<Node> {
        let body: Vec<&Expr> = comprehension.filter.iter().chain([&comprehension.body]).collect();
        let quick: Option<Vec<Program>> =
            body.iter().map(|part| Program::compile(env, self.text(part)).ok()).collect();
        let Some(quick) = quick else { return Vec::new() };
        let mut work = env.limits().max_cost;
        let (mut nodes, mut hidden, mut failed) = (Vec::new(), 0_usize, false);
        for index in 0.. {
            let Some(variables) = round_of(range, index, names) else { break };
            let (ends, fails, cost) = turn(comprehension.kind, &quick, env, outer, &variables);
            work = work.saturating_sub(cost);
            if index < FIRST_ROUNDS || ends || (fails && !failed) {
                if hidden > 0 {
                    nodes.push(Node::new("", Outcome::Rounds(hidden)));
                    hidden = 0;
                }
                nodes.push(self.round(&variables, &body, env, outer));
            } else {
                hidden = hidden.saturating_add(1);
                body.iter().for_each(|part| self.reach(part));
            }
            failed = failed || fails;
            if ends {
                break;
            }
            if work == 0 || self.left == 0 {
                nodes.push(Node::new("", Outcome::Cut));
                return nodes;
            }
        }
        if hidden > 0 {
            nodes.push(Node::new("", Outcome::Rounds(hidden)));
        }
        nodes
    }

    /// The parts of a body under variables with values. A part is passed over if the one before it says no.
    fn round<'a>(
        &mut self,
        variables: &[(&str, Value<'a>)],
        body: &[&Expr],
        env: &Env,
        outer: &Activation<'a>,
    ) -> Node {
        let named = variables.iter().map(|(name, value)| format!("{name} = {}", value.shown(MAX_TEXT)));
        let text = named.collect::<Vec<_>>().join(", ");
        let activation = rebound(env, outer, variables.iter().cloned());
        let mut parts: Vec<Node> = Vec::new();
        for part in body {
            let come = parts.last().is_none_or(|before| before.answer() == Some(true));
            if come {
                self.reach_if_plain(part);
            }
            parts.push(if come { self.expr(part, env, &activation) } else { self.skipped(part) });
        }
        Node { text, outcome: Outcome::Round, parts }
    }

    /// Whether a part is not worth a line: a constant, or a variable whose value the round has shown.
    fn is_plain(&self, expr: &Expr) -> bool {
        match &expr.kind {
            ExprKind::Ident { .. } => matches!(self.checked.reference(expr.id), Some(Reference::Local(_))),
            _ => is_constant(expr),
        }
    }
}

/// The operands of a chain of `&&` or `||`, however the parser has put it together.
fn chain<'e>(expr: &'e Expr, name: &str) -> Vec<&'e Expr> {
    match &expr.kind {
        ExprKind::Call { function, target: None, args } if function.text == name => {
            args.iter().flat_map(|arg| chain(arg, name)).collect()
        }
        _ => vec![expr],
    }
}

/// A variable, or what is selected on one by names and constants.
fn is_path(expr: &Expr) -> bool {
    match &expr.kind {
        ExprKind::Ident { .. } => true,
        ExprKind::Select { operand, .. } => is_path(operand),
        ExprKind::Index { operand, index, .. } => is_path(operand) && is_constant(index),
        _ => false,
    }
}

fn is_constant(expr: &Expr) -> bool {
    match &expr.kind {
        ExprKind::Literal(_) => true,
        ExprKind::List(_) | ExprKind::Map(_) => {
            let mut constant = true;
            expr.for_each_part(&mut |part| constant = constant && is_constant(part));
            constant
        }
        _ => false,
    }
}

/// Text without its line breaks, cut where it is too long.
fn one_line(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    let line = words.join(" ");
    match line.char_indices().nth(MAX_TEXT) {
        Some((end, _)) => format!("{}…", line.get(..end).unwrap_or_default()),
        None => line,
    }
}
