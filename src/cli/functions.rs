//! `celador functions`: what an expression can call, read off the rows of the library.

use super::{ExitCode, Failure, Format, Screen, messages};
use celador::cel::{Function, STANDARD};
use celador::diagnostic::nearest;
use celador::scenario::Palette;
use clap::Args;
use serde_json::json;

/// List the functions of the language, or explain one
#[derive(Args)]
#[command(after_long_help = "\
Examples:
  celador functions                    all, one a line
  celador functions matches            signatures, cost and examples
  celador functions math.greatest")]
pub(crate) struct Arguments {
    /// The function to explain; an operator by its name, such as `_+_`
    name: Option<String>,
}

impl Arguments {
    pub(super) fn run(self, screen: &mut Screen) -> Result<ExitCode, Failure> {
        let all = STANDARD.iter().flat_map(|library| library.iter());
        let Some(name) = &self.name else {
            for function in all {
                list(function, screen)?;
            }
            return Ok(ExitCode::Yes);
        };
        let Some(function) = all.clone().find(|function| function.name == name) else {
            let near = nearest(name, all.map(|function| function.name));
            return Err(Failure::Unusable(messages::unknown_function(name, near)));
        };
        explain(function, screen)?;
        Ok(ExitCode::Yes)
    }
}

fn list(function: &Function, screen: &mut Screen) -> Result<(), Failure> {
    match screen.format() {
        Format::Human => {
            let Palette { bold, reset, .. } = screen.palette();
            screen.line(&format!("{bold}{:28}{reset} {}", function.name, function.doc))?;
        }
        Format::Json => explain(function, screen)?,
    }
    Ok(())
}

fn explain(function: &Function, screen: &mut Screen) -> Result<(), Failure> {
    if screen.format() == Format::Json {
        let overloads: Vec<_> = function
            .overloads
            .iter()
            .map(|(id, signature)| json!({ "id": id, "signature": signature }))
            .collect();
        let examples: Vec<_> =
            function.examples.iter().map(|(expr, gives)| json!({ "expr": expr, "gives": gives })).collect();
        let row = json!({
            "name": function.name,
            "doc": function.doc,
            "cost": function.cost,
            "overloads": overloads,
            "examples": examples,
        });
        return Ok(screen.json("function", row)?);
    }
    let Palette { bold, dim, reset, .. } = screen.palette();
    screen.line(&format!("{bold}{}{reset}  {}", function.name, function.doc))?;
    for (_, signature) in function.overloads {
        screen.line(&format!("  {signature}"))?;
    }
    screen.line(&format!("  {dim}cost:{reset} {}", function.cost))?;
    for (expr, gives) in function.examples {
        screen.line(&format!("  {expr} {dim}→{reset} {gives}"))?;
    }
    Ok(())
}
