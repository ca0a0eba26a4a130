//! What an input asks for, done and shown: one method a command.
//!
//! In: one input. Out: text or JSON on the screen; what is wrong goes to standard error with a caret. A failed input
//! leaves the session as it was.

use super::super::subject::SubjectArguments;
use super::super::{Failure, Format, Screen, functions, read_text};
use super::command::{self, Action, COMMANDS};
use super::session::{Ended, Held, Session, run};
use super::{explain, messages, tree};
use celador::cel::{EvalError, Fault, Issue, Json, Program, Type, Value, check};
use celador::diagnostic::{Diagnostic, nearest};
use celador::limits::EvalLimits;
use celador::scenario::{Palette, SCOPES};
use celador::source::Embedded;
use serde_json::json;
use std::path::Path;

/// Characters of a line of a value.
const WIDTH: usize = 100;

/// One input being answered.
pub(super) struct Answer<'a> {
    pub(super) session: &'a mut Session,
    pub(super) screen: &'a mut Screen,
    /// What diagnostics call the input.
    pub(super) source: &'a str,
}

/// Whether there will be another input.
pub(super) enum Flow {
    On,
    End,
}

impl Answer<'_> {
    /// Answers an input.
    pub(super) fn to(&mut self, text: &str) -> Result<Flow, Failure> {
        match command::read(text).map_err(Failure::Unusable)? {
            Action::Nothing => {}
            Action::Evaluate(expr) => self.evaluate(expr)?,
            Action::Type(expr) => self.type_of(expr)?,
            Action::Cost(expr) => self.cost(expr)?,
            Action::Explain(expr) => self.explain(expr)?,
            Action::Load(words) => self.load(&words)?,
            Action::Set(name, expr) => self.set(name, expr)?,
            Action::Bound => self.bound()?,
            Action::Scope(None) => self.scopes()?,
            Action::Scope(Some(name)) => self.enter(name)?,
            Action::Functions(name) => functions::of_scope(self.session.env(), name, self.screen)?,
            Action::Help => self.help()?,
            Action::Quit => return Ok(Flow::End),
        }
        Ok(Flow::On)
    }

    fn evaluate(&mut self, text: &str) -> Result<(), Failure> {
        self.value(text, |screen, program, value, cost| {
            let ty = type_of(program.result_type(), value);
            match screen.format() {
                Format::Human => {
                    let Palette { dim, reset, .. } = screen.palette();
                    screen.line(&format!("{}  {dim}{ty}{reset}", value.laid_out(WIDTH)))?;
                }
                Format::Json => {
                    // what JSON cannot say stands in `cel` alone
                    let json = Json::from_value(value, &EvalLimits::default()).ok();
                    let cel = value.shown(usize::MAX);
                    let truthy = value.is_truthy();
                    let row =
                        json!({ "value": json, "cel": cel, "truthy": truthy, "result_type": ty, "cost": cost });
                    screen.json("value", row)?;
                }
            }
            Ok(())
        })
    }

    fn type_of(&mut self, text: &str) -> Result<(), Failure> {
        let ty = self.compile(text)?.result_type().to_string();
        match self.screen.format() {
            Format::Human => self.screen.line(&ty)?,
            Format::Json => self.screen.json("type", json!({ "result_type": ty }))?,
        }
        Ok(())
    }

    fn cost(&mut self, text: &str) -> Result<(), Failure> {
        let program = self.compile(text)?;
        let now = self.session.now()?;
        let activation = self.session.activation(&now).map_err(unusable)?;
        let (ended, spent) = run(&program, &activation);
        let error = match ended {
            Ended::Value(_) => None,
            Ended::Failed(error) => Some(error.to_string()),
            Ended::Asks(question) => Some(messages::asks(&question)),
        };
        let estimate = program.cost();
        match self.screen.format() {
            Format::Human => {
                self.screen.line(&messages::estimate(estimate.min, estimate.max))?;
                self.screen.line(&messages::spent(spent, error.as_deref()))?;
            }
            Format::Json => {
                let row = json!({ "min": estimate.min, "max": estimate.max, "spent": spent, "error": error });
                self.screen.json("cost", row)?;
            }
        }
        Ok(())
    }

    fn explain(&mut self, text: &str) -> Result<(), Failure> {
        let program = self.compile(text)?;
        let (checked, issues) = check(program.expr().clone(), self.session.env());
        let Some(checked) = checked else { return Err(self.refuse(text, &issues)) };
        let now = self.session.now()?;
        let activation = self.session.activation(&now).map_err(unusable)?;
        let explained = explain::explain(text, &checked, self.session.env(), &activation);
        match self.screen.format() {
            Format::Human => self.screen.text(&tree::render(&explained, &self.screen.palette()))?,
            Format::Json => self.screen.json("explanation", explained.to_json())?,
        }
        Ok(())
    }

    /// Manifests, or the state of a task of the manifests that are loaded; without a path, all of it anew.
    fn load(&mut self, words: &[&str]) -> Result<(), Failure> {
        let mut words = words.iter().copied();
        let mut paths = SubjectArguments::default();
        while let Some(word) = words.next() {
            match word {
                "--agent" => paths.agent = words.next().map(str::to_owned),
                path => paths.manifests.push(path.into()),
            }
        }
        let known = self.session.paths();
        let paths = match paths.manifests.as_slice() {
            [] => SubjectArguments { agent: paths.agent.or_else(|| known.agent.clone()), ..known.clone() },
            [only] if self.is_context(only)? => {
                SubjectArguments { context: Some(only.clone()), case: None, step: None, ..known.clone() }
            }
            _ => paths,
        };
        self.session.load(paths, self.screen)?;
        let agent = self.session.agent();
        match self.screen.format() {
            Format::Human => self.screen.line(&messages::loaded(agent.as_deref()))?,
            Format::Json => self.screen.json("loaded", json!({ "agent": agent }))?,
        }
        Ok(())
    }

    /// Whether a path is the file of a context and not of manifests, which have a `kind`.
    fn is_context(&self, path: &Path) -> Result<bool, Failure> {
        if path.is_dir() {
            return Ok(false);
        }
        let text = read_text(path, self.session.limits().eval.max_json_bytes)?;
        let begins = |word: &str| text.lines().any(|line| line.starts_with(word));
        let of_case = !begins("kind:") && (begins("state:") || begins("env:"));
        Ok(of_case || text.trim_start().starts_with('{'))
    }

    fn set(&mut self, name: &str, text: &str) -> Result<(), Failure> {
        let held = match self.session.compile(text) {
            Ok(_) => self.value(text, |_, program, value, _| {
                Held::new(program.result_type(), value).map_err(unusable)
            })?,
            // JSON is CEL, but for some escapes and for texts of any length
            Err(issues) => match Json::parse(text, &self.session.limits().eval) {
                Ok(json) => Held::document(json),
                Err(_) => return Err(self.refuse(text, &issues)),
            },
        };
        if let Some(remark) = self.session.bind(name, held).map_err(Failure::Unusable)? {
            match self.screen.format() {
                Format::Human => self.screen.line(&remark)?,
                Format::Json => self.screen.json("remark", json!({ "message": remark }))?,
            }
        }
        Ok(())
    }

    fn bound(&mut self) -> Result<(), Failure> {
        for (name, ty, value) in self.session.bindings() {
            let ty = type_of(ty, &value);
            match self.screen.format() {
                Format::Human => {
                    let Palette { dim, reset, .. } = self.screen.palette();
                    let text = value.shown(WIDTH);
                    self.screen.line(&format!("{name} = {text}  {dim}{ty}{reset}"))?;
                }
                Format::Json => {
                    let cel = value.shown(usize::MAX);
                    self.screen.json("bound", json!({ "name": name, "cel": cel, "result_type": ty }))?;
                }
            }
        }
        Ok(())
    }

    fn scopes(&mut self) -> Result<(), Failure> {
        for (name, scope) in SCOPES {
            let roots: Vec<&str> = scope.roots().iter().map(|root| root.name()).collect();
            let here = scope == self.session.scope();
            match self.screen.format() {
                Format::Human => {
                    let Palette { bold, reset, .. } = self.screen.palette();
                    let mark = if here { '*' } else { ' ' };
                    self.screen.line(&format!("{mark} {bold}{name:17}{reset} {}", roots.join(", ")))?;
                }
                Format::Json => {
                    self.screen.json("scope", json!({ "name": name, "variables": roots, "here": here }))?;
                }
            }
        }
        Ok(())
    }

    fn enter(&mut self, name: &str) -> Result<(), Failure> {
        let Some((_, scope)) = SCOPES.iter().find(|(known, _)| *known == name) else {
            let near = nearest(name, SCOPES.map(|(name, _)| name));
            return Err(Failure::Unusable(messages::unknown_scope(name, near)));
        };
        self.session.enter(*scope);
        Ok(())
    }

    fn help(&mut self) -> Result<(), Failure> {
        for row in COMMANDS {
            match self.screen.format() {
                Format::Human => {
                    let Palette { bold, reset, .. } = self.screen.palette();
                    let usage = format!("{} {}", row.name, row.arguments);
                    self.screen.line(&format!("{bold}{usage:28}{reset} {}", row.about))?;
                }
                Format::Json => {
                    let row = json!({ "name": row.name, "arguments": row.arguments, "about": row.about });
                    self.screen.json("command", row)?;
                }
            }
        }
        Ok(())
    }

    /// Compiles an expression, and tells what is wrong or doubtful about it.
    fn compile(&mut self, text: &str) -> Result<Program, Failure> {
        match self.session.compile(text) {
            Ok(program) => {
                self.tell(text, program.issues());
                Ok(program)
            }
            Err(issues) => Err(self.refuse(text, &issues)),
        }
    }

    /// Hands the value of an expression on, with its program and its cost.
    fn value<T>(
        &mut self,
        text: &str,
        then: impl FnOnce(&mut Screen, &Program, &Value<'_>, u64) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        let program = self.compile(text)?;
        let now = self.session.now()?;
        let activation = self.session.activation(&now).map_err(unusable)?;
        let (ended, cost) = run(&program, &activation);
        match ended {
            Ended::Value(value) => then(self.screen, &program, &value, cost),
            Ended::Failed(error) => {
                let EvalError { code, span, .. } = error;
                let place = Embedded::alone(self.source, text).locate(span);
                let finding = Diagnostic::error(code.as_str(), error.to_string(), place);
                let finding = match messages::help(code) {
                    Some(help) => finding.help(help),
                    None => finding,
                };
                self.screen.complain(&[finding]);
                Err(Failure::Told(super::ExitCode::Unusable))
            }
            Ended::Asks(question) => Err(Failure::Unusable(messages::asks(&question))),
        }
    }

    fn refuse(&mut self, text: &str, issues: &[Issue]) -> Failure {
        self.tell(text, issues);
        Failure::Told(super::ExitCode::Unusable)
    }

    fn tell(&mut self, text: &str, issues: &[Issue]) {
        let text = Embedded::alone(self.source, text);
        let findings: Vec<Diagnostic> = issues.iter().map(|issue| issue.locate(&text)).collect();
        self.screen.complain(&findings);
    }
}

/// The type of a value: what is known of the expression, and if that is nothing, what the value turned out to be.
fn type_of(known: &Type, value: &Value<'_>) -> String {
    match (known, value) {
        (Type::Dyn | Type::Param(_), Value::Opaque(opaque)) => opaque.type_name().to_owned(),
        (Type::Dyn | Type::Param(_), value) => value.kind().to_string(),
        (known, _) => known.to_string(),
    }
}

fn unusable(fault: Fault) -> Failure {
    Failure::Unusable(fault.to_string())
}
