//! What the person at the command line wants to have measured.

use crate::engines::ENGINES;
use crate::kind::Kind;
use crate::measure::Patience;
use std::collections::BTreeSet;
use std::time::Duration;

pub const USAGE: &str = "\
Celador beside its peers. Without options everything is measured, and a table of ratios is printed.

  --json              one line of JSON for each figure instead of the table
  --svg FILE          also draw what E12 costs as a task gets longer
  --quick             fewer rounds
  --engine NAMES      only these, separated by commas: celador, native, cel, cel-resident, …
  --expression NAMES  only these: E1, E12, …; `before` for the decision
  --kind NAMES        only these: eval, step+eval, bind+eval, first, next, compile, compile-cached, decision";

/// All of it if a list is empty.
#[derive(Default)]
pub struct Wanted {
    pub json: bool,
    pub svg: Option<String>,
    quick: bool,
    engines: Vec<String>,
    expressions: Vec<String>,
    kinds: Vec<String>,
}

impl Wanted {
    /// Reads the arguments behind the program's name.
    ///
    /// # Errors
    /// What is not understood.
    pub fn read(mut arguments: impl Iterator<Item = String>) -> Result<Self, String> {
        let mut wanted = Self::default();
        while let Some(argument) = arguments.next() {
            let mut value = || arguments.next().ok_or(format!("{argument} needs a value"));
            match argument.as_str() {
                "--json" => wanted.json = true,
                "--quick" => wanted.quick = true,
                "--svg" => wanted.svg = Some(value()?),
                "--engine" => wanted.engines = known(&value()?, ENGINES.iter().map(|(name, _)| *name))?,
                "--kind" => wanted.kinds = known(&value()?, Kind::ALL.into_iter().map(Kind::name))?,
                "--expression" => {
                    let all = all().into_iter().map(|(_, expression, _)| expression);
                    wanted.expressions = known(&value()?, all)?;
                }
                _ => return Err(format!("{argument} is no option")),
            }
        }
        Ok(wanted)
    }

    pub fn engine(&self, name: &str) -> bool {
        among(&self.engines, name)
    }

    pub fn question(&self, kind: Kind, expression: &str, n: usize) -> bool {
        self.questions().any(|(wanted, name, size)| (wanted, name, size) == (kind, expression, n))
    }

    /// The lengths of tasks that something is wanted of, ascending.
    pub fn sizes(&self) -> BTreeSet<usize> {
        self.questions().map(|(_, _, n)| n).collect()
    }

    /// The expressions that are wanted of a task of this length, in the order of the workload.
    pub fn expressions(&self, n: usize) -> Vec<&'static str> {
        let mut expressions = Vec::new();
        for (_, expression, _) in self.questions().filter(|(_, _, size)| *size == n) {
            if !expressions.contains(&expression) {
                expressions.push(expression);
            }
        }
        expressions
    }

    pub fn patience(&self) -> Patience {
        if self.quick {
            Patience { rounds: 20, budget: Duration::from_millis(300) }
        } else {
            Patience { rounds: 300, budget: Duration::from_secs(4) }
        }
    }

    fn questions(&self) -> impl Iterator<Item = (Kind, &'static str, usize)> {
        let wanted = move |(kind, expression, _): &(Kind, &'static str, usize)| {
            among(&self.kinds, kind.name()) && among(&self.expressions, expression)
        };
        all().into_iter().filter(wanted)
    }
}

fn all() -> Vec<(Kind, &'static str, usize)> {
    let of_kind = |kind: Kind| kind.questions().into_iter().map(move |(expression, n)| (kind, expression, n));
    Kind::ALL.into_iter().flat_map(of_kind).collect()
}

fn among(names: &[String], name: &str) -> bool {
    names.is_empty() || names.iter().any(|wanted| wanted == name)
}

/// The names in a list, all of which have to be among these.
fn known<'a>(list: &str, names: impl Iterator<Item = &'a str>) -> Result<Vec<String>, String> {
    let names: BTreeSet<&str> = names.collect();
    let name = |name: &str| match names.get(name) {
        Some(known) => Ok((*known).to_owned()),
        None => {
            let names: Vec<_> = names.iter().copied().collect();
            Err(format!("{name} is none of {}", names.join(", ")))
        }
    };
    list.split(',').map(name).collect()
}
