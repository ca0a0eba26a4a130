//! Rego by `regorus`: a rule for each expression, compiled for its bytecode machine, with the state as `input`.

use super::Engine;
use crate::kind::Kind;
use crate::measure::Case;
use crate::questions::expected;
use crate::roots::Roots;
use regorus::Value;
use regorus::languages::rego::compiler::Compiler;
use regorus::rvm::program::Program;
use regorus::rvm::vm::RegoVM;
use serde::Deserialize;
use std::hint::black_box;
use std::sync::Arc;

pub const NAME: &str = "regorus";

const ENTRY: &str = "data.guard.allow";

struct Regorus {
    roots: &'static Roots,
    bound: Value,
}

pub fn make(_: usize, roots: &'static Roots) -> Box<dyn Engine> {
    Box::new(Regorus { roots, bound: bind(roots) })
}

fn bind(roots: &Roots) -> Value {
    Value::deserialize(&roots.0).expect("JSON is a value")
}

/// The body of the rule that says what an expression says.
fn body(name: &str) -> Option<&'static str> {
    let body = match name {
        "E1" => "input.context.llm.tokens.total > 5000\n input.context._history.turn_count > 8",
        "E2" => {
            r#"endswith(input.context.user.email, "@example.com")
 startswith(input.context.agent.namespace, "prod-")"#
        }
        "E3" => "input.context.capabilities.github_file_read_chunk.count_successful > 0",
        "E4" => "input.output.status_code >= 200\n input.output.status_code < 300",
        "E5" => "count(input.input.message) < 50000",
        "E6" => r#"input.context.capabilities.zendesk_fetch_ticket.outputs[0].status == "open""#,
        "E7" => {
            r#"count([f | some f in input.context.capabilities._meta.invocations; f == "delete_repo"]) < 3"#
        }
        "E8" => r#"regex.match(`^/srv/[a-z0-9_/-]+\.md$`, input.input.path)"#,
        "E10" => r#"some k, _ in input.context.capabilities; startswith(k, "delete_")"#,
        "E11" => "every t in input.context.input { every p in t.message { count(p.text) < 50000 } }",
        "E13" => "every o in input.context.capabilities.db_query.outputs { o.bytes < 1000000 }",
        _ => return None,
    };
    Some(body)
}

/// A module that asks one expression; those of many clauses ask the others.
fn module(name: &str) -> String {
    let rule = |rule: &str, body: &str| format!("{rule} if {{\n {body}\n}}\n");
    let clause = |name: &str| body(name).unwrap_or_default();
    let most = || {
        let straight = ["E1", "E2", "E3", "E5"].map(clause).join("\n ");
        let rules = [
            rule("fine", clause("E4")),
            rule("fine", r#"input.output.status == "ok""#),
            rule("opened", clause("E6")),
            rule("opened", r#"input.context.user.id == "u-admin""#),
            rule("deletes", clause("E10")),
        ];
        (format!("{straight}\n fine\n opened\n not deletes"), rules.concat())
    };
    let (body, rules) = match name {
        "E12" => {
            let (body, rules) = most();
            (format!("{body}\n {}", clause("E8")), rules)
        }
        "E12n" => {
            let (body, rules) = most();
            (format!("{body}\n input.context.capabilities._meta.count < 1000000"), rules)
        }
        _ => (clause(name).to_owned(), String::new()),
    };
    format!("package guard\nimport rego.v1\ndefault allow := false\n{}{rules}", rule("allow", &body))
}

fn compile(module: &str) -> Result<Arc<Program>, Box<dyn std::error::Error>> {
    let mut engine = regorus::Engine::new();
    engine.add_policy("guard.rego".to_owned(), module.to_owned())?;
    let policy = engine.compile_with_entrypoint(&ENTRY.into())?;
    Ok(Compiler::compile_from_policy(&policy, &[ENTRY])?)
}

fn machine(module: &str) -> RegoVM {
    let mut machine = RegoVM::new();
    machine.load_program(compile(module).expect("the workload compiles"));
    machine.set_max_instructions(usize::MAX);
    machine.set_data(Value::new_object()).expect("no data is no conflict");
    machine
}

fn answer(machine: &mut RegoVM) -> bool {
    matches!(machine.execute_entry_point_by_index(0), Ok(Value::Bool(true)))
}

impl Engine for Regorus {
    fn case(&self, kind: Kind, name: &'static str) -> Option<Case> {
        let (module, roots, expected) = (module(name), self.roots, expected(name));
        match kind {
            Kind::Compile => Some(Case::repeated(NAME, move || compile(black_box(&module)).is_ok())),
            Kind::Eval => {
                let mut machine = machine(&module);
                machine.set_input(self.bound.clone());
                Some(Case::repeated(NAME, move || answer(black_box(&mut machine)) == expected))
            }
            Kind::BindEval => {
                let mut machine = machine(&module);
                Some(Case::repeated(NAME, move || {
                    machine.set_input(bind(black_box(roots)));
                    answer(&mut machine) == expected
                }))
            }
            _ => None,
        }
    }
}
