//! `celador explain-code`: what a finding means, with an example that has it and one that has not.
//!
//! In: a code, and the pages of `docs/codes`, which are part of the program. Out: the section of the code. A warning takes its
//! description from the table of warnings, so that it has one. Tests check both examples of every code.

mod example;

use super::{ExitCode, Failure, Format, Screen, messages};
use celador::diagnostic::nearest;
use celador::lint::{Class, warning};
use clap::Args;
use example::{Example, sections};
use serde_json::{Value, json};

/// The pages, in the order in which codes are listed.
const PAGES: [&str; 9] = [
    include_str!("../../../docs/codes/text.md"),
    include_str!("../../../docs/codes/agents.md"),
    include_str!("../../../docs/codes/tools.md"),
    include_str!("../../../docs/codes/launches.md"),
    include_str!("../../../docs/codes/steps.md"),
    include_str!("../../../docs/codes/policies.md"),
    include_str!("../../../docs/codes/expressions.md"),
    include_str!("../../../docs/codes/rules.md"),
    include_str!("../../../docs/codes/cases.md"),
];

/// Explain the code of a finding, with a wrong and a right example
///
/// Without a code all codes are listed.
#[derive(Args)]
#[command(after_long_help = "\
Examples:
  celador explain-code                      all codes, one a line
  celador explain-code unknown_match
  celador explain-code unknown_match --format json | jq -r .wrong.file > example.yaml

Exit codes: 0 explained, 1 no finding has the code.")]
pub(crate) struct Arguments {
    /// The code, as a finding has it in brackets: `error[unknown_key]`
    #[arg(value_name = "CODE")]
    code: Option<String>,
}

/// What is said of a code.
pub(super) struct Explanation<'p> {
    code: &'p str,
    about: String,
    /// The example that has the finding, and the one that has none; absent where an example would be too long to read.
    examples: Option<(Example<'p>, Example<'p>)>,
}

impl Arguments {
    pub(super) fn run(self, screen: &mut Screen) -> Result<ExitCode, Failure> {
        let all: Vec<Explanation<'_>> = PAGES.iter().flat_map(|page| sections(page)).collect();
        let Some(code) = self.code else {
            for explanation in &all {
                match screen.format() {
                    Format::Human => {
                        let first = explanation.about.split_inclusive(". ").next().unwrap_or_default();
                        screen.line(&format!("{:26} {}", explanation.code, first.trim_end()))?;
                    }
                    Format::Json => screen.json("code", explanation.to_json())?,
                }
            }
            return Ok(ExitCode::Yes);
        };
        let Some(explanation) = all.iter().find(|explanation| explanation.code == code) else {
            let near = nearest(&code, all.iter().map(|explanation| explanation.code));
            return Err(Failure::Unusable(messages::unknown_code(&code, near)));
        };
        match screen.format() {
            Format::Human => explanation.show(screen)?,
            Format::Json => screen.json("code", explanation.to_json())?,
        }
        Ok(ExitCode::Yes)
    }
}

impl<'p> Explanation<'p> {
    fn new(code: &'p str, about: String, examples: Option<(Example<'p>, Example<'p>)>) -> Self {
        // a warning is described by its row, and a page adds to it
        let about = match warning(code) {
            Some(row) if about.is_empty() => row.about.to_owned(),
            Some(row) => format!("{} {about}", row.about),
            None => about,
        };
        Self { code, about, examples }
    }

    /// How much the finding weighs.
    fn weight(&self) -> &'static str {
        match warning(self.code).map(|row| row.class) {
            None => "an error",
            Some(Class::MayLoseARule) => "an error, unless a comment allows it",
            Some(Class::Advice) => "a warning",
        }
    }

    fn show(&self, screen: &mut Screen) -> Result<(), Failure> {
        screen.line(&format!("{}: {}\n\n{}", self.code, self.weight(), self.about))?;
        if warning(self.code).is_some() {
            screen.line(&format!("\nTo allow it at one place: `# celador: allow({}) reason`.", self.code))?;
        }
        if let Some((wrong, right)) = &self.examples {
            for (word, example) in [("Wrong", wrong), ("Right", right)] {
                screen.line(&format!("\n{word}, {}:\n", example.frame.place))?;
                for line in example.text.lines() {
                    screen.line(format!("    {line}").trim_end())?;
                }
            }
        }
        Ok(())
    }

    fn to_json(&self) -> Value {
        let example = |example: &Example<'_>| {
            let beside = Some(example.frame.beside).filter(|beside| !beside.is_empty());
            json!({
                "place": example.frame.place,
                "shown": example.text,
                "file": example.file(),
                "beside": beside,
                "command": example.frame.command,
            })
        };
        let (wrong, right) = match &self.examples {
            Some((wrong, right)) => (example(wrong), example(right)),
            None => (Value::Null, Value::Null),
        };
        json!({
            "code": self.code,
            "severity": if warning(self.code).is_some() { "warning" } else { "error" },
            "class": warning(self.code).map(|row| row.class.as_str()),
            "about": self.about,
            "wrong": wrong,
            "right": right,
        })
    }
}
