//! Requests that are about nothing held: what authors ask of manifests, policies, cases and recordings.
//!
//! In: the name of the request and its body. Out: the answer, or nothing if there is no such request here.

use super::body::{Alone, Answered, Cases, Sources, Told, files_of, read, shown, sources_of, told, told_as};
use crate::cases::CaseWishes;
use crate::{Clock, Error, check, evaluate, evaluate_on_case};
use celador::cel::Json;
use celador::manifest::given::{Files, GivenFiles};
use std::path::Path;

pub(super) fn answer(what: &str, body: &str, clock: &Clock) -> Option<Answered> {
    Some(match what {
        "check" => checked(body),
        "test" => test(body),
        "evaluate_alone" => evaluated(body),
        _ => return of_authors(what, body, clock),
    })
}

fn checked(body: &str) -> Answered {
    let Sources { sources } = read(body)?;
    told_as("diagnostics", &shown(&check(&sources_of(sources))?))
}

fn evaluated(body: &str) -> Answered {
    let Alone { expression, variables, case, texts, step } = read(body)?;
    let value = match case {
        Some(case) => evaluate_on_case(&expression, &files_of(texts), Path::new(&case), step)?,
        None => evaluate(&expression, &variables.into_iter().collect::<Vec<(String, Json)>>())?,
    };
    told_as("value", &value)
}

/// Runs cases: of the disk, or among the texts that are given, of which those below some paths are cases.
fn test(body: &str) -> Answered {
    // what stands beside each other is read twice: serde would keep a copy of all texts to read it once
    let Cases { sources, below } = read(body)?;
    let wishes: CaseWishes = read(body)?;
    let (mut paths, mut texts) = (Vec::new(), Vec::new());
    for source in sources {
        match source {
            Told::Path(path) => paths.push(path),
            Told::Text { name, text } => texts.push((name, text)),
        }
    }
    let tested = match (paths.is_empty(), texts.is_empty()) {
        (_, true) => crate::run_cases(&paths, wishes)?,
        (true, false) => {
            let below = if below.is_empty() { vec![String::new()] } else { below };
            crate::run_cases_among(&Files::Given(GivenFiles::new(texts)), &below, wishes)?
        }
        (false, false) => {
            return Err(Error::misuse(
                "bad_request",
                "expected paths or texts: cases of both at once have no common folder",
            ));
        }
    };
    told(&tested)
}

#[cfg(not(feature = "authoring"))]
fn of_authors(what: &str, _: &str, _: &Clock) -> Option<Answered> {
    let words = ["analysis", "diff", "prove", "explain_file", "fmt", "replay", "replay_begin", "add_replays"];
    words.contains(&what).then(|| Err(Error::not_here()))
}

#[cfg(feature = "authoring")]
fn of_authors(what: &str, body: &str, clock: &Clock) -> Option<Answered> {
    use super::body::authoring::{Diff, ExplainFile, Prove, Tallies, Text};
    Some(match what {
        "analysis" => {
            read(body).and_then(|Sources { sources }| told(&crate::analysis(&sources_of(sources))?))
        }
        "diff" => {
            read(body).and_then(|Diff { old, new }| told(&crate::diff(&sources_of(old), &sources_of(new))?))
        }
        "prove" => read(body).and_then(|Prove { policies, invariants }| {
            told(&crate::prove(&sources_of(policies), &invariants.into(), &read(body)?, clock)?)
        }),
        "explain_file" => read(body).and_then(|ExplainFile { subject, texts, manifests, case, step }| {
            let wishes = crate::ExplainWishes { manifests: sources_of(manifests), case, step };
            told(&crate::explain(&files_of(texts), Path::new(&subject), &wishes)?)
        }),
        "fmt" => read(body).and_then(|Text { text }| told_as("text", &crate::fmt(&text))),
        "add_replays" => read(body).and_then(|Tallies { tallies }| {
            let texts: Vec<String> = tallies.iter().map(ToString::to_string).collect();
            told(&crate::add_tallies(texts.iter().map(String::as_str))?)
        }),
        _ => return None,
    })
}
