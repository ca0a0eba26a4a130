//! Scripts of the model (SCR): one expression that may name the active capabilities, `file`, and nothing else.
//!
//! In: a text that nobody vouches for. Out: its program, or every reason why it must not run, each with what a script may
//! name. The scope lets no variable and no function of the library in; here fall the macros that are no standard ones,
//! types as values, optional syntax, and calls that are no call of one argument. Nothing is evaluated.

use super::{Policy, messages};
use crate::cel::{Cache, Code, Comprehension, ComprehensionKind, Env, Expr, ExprKind, Issue, Program};
use crate::context::Scope;
use crate::source::Span;
use std::sync::Arc;

impl Policy {
    /// Compiles a script.
    ///
    /// # Errors
    /// All issues of the script (SCR-01, SCR-03, SCR-05, SCR-09, SCR-10); their help lists what is allowed.
    ///
    /// # Cost
    /// Linear in the text; compiled scripts are cached like any expression.
    pub fn script(&self, text: &str, cache: &Cache) -> Result<Arc<Program>, Vec<Issue>> {
        let scope = self.trial_scope(Scope::Script);
        let allowed = allowed(scope.env());
        let program = cache.compile(scope.env(), text).map_err(|issues| {
            issues.iter().map(|issue| with_help(issue.clone(), &allowed)).collect::<Vec<_>>()
        })?;
        let mut inspection = Inspection {
            env: scope.env(),
            warnings: program.issues(),
            allowed: &allowed,
            locals: Vec::new(),
            refused: Vec::new(),
        };
        inspection.expr(program.expr());
        if inspection.refused.is_empty() { Ok(program.clone()) } else { Err(inspection.refused) }
    }
}

/// What a script of the scope may name, in words.
fn allowed(env: &Env) -> String {
    let functions = env.functions().filter(|declaration| matches!(declaration.function.code, Code::Host));
    let mut names: Vec<&str> = functions.map(|declaration| &*declaration.name).collect();
    names.sort_unstable();
    messages::allowed_in_scripts(&names)
}

/// An issue about a name says besides what may be named.
fn with_help(issue: Issue, allowed: &str) -> Issue {
    if !issue.code.starts_with("undeclared") {
        return issue;
    }
    let help = issue.help.map_or_else(|| allowed.to_owned(), |help| format!("{help} {allowed}"));
    Issue { help: Some(help), ..issue }
}

/// A walk over a checked script.
struct Inspection<'s> {
    env: &'s Env,
    /// The warnings of the checker.
    warnings: &'s [Issue],
    allowed: &'s str,
    /// The variables of macros that are known here.
    locals: Vec<&'s str>,
    refused: Vec<Issue>,
}

impl<'s> Inspection<'s> {
    /// Recurses as deep as the tree, which `max_depth` bounds.
    fn expr(&mut self, expr: &'s Expr) {
        match &expr.kind {
            // all else that the scope knows by a name alone are types
            ExprKind::Ident { name, absolute } if *absolute || !self.locals.contains(&name.as_str()) => {
                self.refuse(name, expr.span);
            }
            ExprKind::HasVariable(name) => self.refuse("has", name.span),
            ExprKind::Select { optional: true, .. } | ExprKind::Index { optional: true, .. } => {
                self.refuse("?", expr.span);
            }
            ExprKind::List(elements) if elements.iter().any(|element| element.optional) => {
                self.refuse("?", expr.span);
            }
            ExprKind::Map(entries) if entries.iter().any(|entry| entry.optional) => {
                self.refuse("?", expr.span);
            }
            ExprKind::Bind { .. } => self.refuse("cel.bind", expr.span),
            ExprKind::Block { .. } => self.refuse("cel.block", expr.span),
            ExprKind::OptMap { .. } => self.refuse("optMap", expr.span),
            ExprKind::Call { function, target, args } => {
                self.call(expr.span, &function.text, target.is_some(), args.len());
                expr.for_each_part(&mut |part| self.expr(part));
            }
            ExprKind::Comprehension(comprehension) => self.comprehension(comprehension),
            _ => expr.for_each_part(&mut |part| self.expr(part)),
        }
    }

    /// A capability or `file` is called by its name, with one argument that is not known to be of a wrong type.
    fn call(&mut self, span: Span, function: &str, method: bool, arguments: usize) {
        let function = function.strip_prefix('.').unwrap_or(function);
        let declaration = self.env.function(function);
        let Some(declaration) = declaration.filter(|it| matches!(it.function.code, Code::Host)) else {
            return;
        };
        let misfit = |issue: &Issue| issue.code == "no_matching_overload" && issue.span == span;
        if method || arguments != 1 || self.warnings.iter().any(misfit) {
            let of_path = declaration.name == declaration.function.name;
            let argument = if of_path { "path" } else { "map of arguments" };
            self.refused.push(messages::one_argument(function, argument, span, self.allowed));
        }
    }

    fn comprehension(&mut self, comprehension: &'s Comprehension) {
        let standard = matches!(
            comprehension.kind,
            ComprehensionKind::All
                | ComprehensionKind::Exists
                | ComprehensionKind::ExistsOne
                | ComprehensionKind::Filter
                | ComprehensionKind::Map
        );
        // `cel.iterVar(0, 0)` and its kin are written where a variable stands, and are no identifiers
        let named = !comprehension.variable.text.contains('(');
        if !standard || !named || comprehension.second.is_some() {
            return self.refuse(&comprehension.name.text, comprehension.name.span);
        }
        self.expr(&comprehension.range);
        self.locals.push(&comprehension.variable.text);
        for part in comprehension.filter.iter().chain([&comprehension.body]) {
            self.expr(part);
        }
        self.locals.pop();
    }

    fn refuse(&mut self, what: &str, span: Span) {
        self.refused.push(messages::not_in_scripts(what, span, self.allowed));
    }
}
