//! Comments of authors that allow findings: `# celador: allow(unknown_match) the reason`.
//!
//! In: the comments of manifest files that speak to celador, and findings. Out: the findings with their standing, and an
//! error for each comment that is malformed, names no warning, gives no reason, or allows nothing. One comment allows one
//! finding: another of the same code that comes to stand beside it later is refused, and so is the same finding for another value of a parameter. A finding that
//! a value causes can be allowed at the value. Linear in the findings times the comments of their file.

use super::messages;
use super::table::{Class, Found, WARNINGS, class, warning};
use crate::diagnostic::{Diagnostic, Standing};
use crate::source::{Place, Source, Span};
use std::collections::HashMap;
use std::sync::Arc;

/// The comments of one file that speak to celador, and where its texts stand.
#[derive(Clone, Debug)]
pub struct Comments {
    /// The file.
    pub source: Source,
    /// The comments, in order.
    pub comments: Vec<Comment>,
    /// The scalars that do not begin and end on the line of their key: the characters, and that line. A comment cannot
    /// stand inside a block scalar, so it stands where the key does.
    pub scalars: Vec<(Span, usize)>,
}

/// A comment that begins with `celador:`.
#[derive(Clone, Debug)]
pub struct Comment {
    /// All of it.
    pub place: Place,
    /// The text of the comment after `celador:`.
    pub text: Box<str>,
    /// The line that it speaks of, from 1: its own behind something, else the next one that is no comment.
    pub line: usize,
}

/// The comments in some files that allow warnings, and whether each has allowed one.
#[derive(Clone, Debug, Default)]
pub struct Allowances {
    files: Vec<File>,
}

#[derive(Clone, Debug)]
struct File {
    source: Source,
    scalars: Vec<(Span, usize)>,
    allowances: Vec<Allowance>,
    /// Their positions, by the code of the warning that they allow and the line that they stand for.
    by_line: HashMap<(&'static str, usize), Stack>,
    /// The problems of comments that cannot allow anything.
    refused: Vec<Diagnostic>,
}

/// The comments of one code that speak of one line: the first ones are used first.
#[derive(Clone, Debug, Default)]
struct Stack {
    allowances: Vec<usize>,
    used: usize,
    /// The findings that were allowed, and by which comment.
    allowed: HashMap<Subject, usize>,
}

#[derive(Clone, Debug)]
struct Allowance {
    place: Place,
    code: &'static str,
    reason: Arc<str>,
    used: bool,
}

/// The characters of a finding, with the places of the values that cause it: each use of a library has values of its own.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Subject {
    span: Span,
    values: Vec<(String, Span)>,
}

impl Subject {
    fn of(finding: &Diagnostic) -> Self {
        let values = finding.related.iter().filter(|label| label.is_value);
        let values = values.map(|label| (label.place.source.name().to_owned(), label.place.span));
        Self { span: finding.place.span, values: values.collect() }
    }
}

/// A reason is repeated in logs and answers up to so many characters.
const MAX_REASON: usize = 400;

impl Allowances {
    /// Reads the comments of some files.
    #[must_use]
    pub fn new(files: impl IntoIterator<Item = Comments>) -> Self {
        let files = files.into_iter().map(|Comments { source, comments, scalars }| {
            let mut file = File {
                source,
                scalars,
                allowances: Vec::new(),
                by_line: HashMap::new(),
                refused: Vec::new(),
            };
            for comment in comments {
                match Allowance::read(&comment) {
                    Ok((allowance, line)) => {
                        let stack = file.by_line.entry((allowance.code, line)).or_default();
                        stack.allowances.push(file.allowances.len());
                        file.allowances.push(allowance);
                    }
                    Err(refusal) => file.refused.push(*refusal),
                }
            }
            file
        });
        Self { files: files.collect() }
    }

    /// Gives each warning its standing: refused if it may lose a rule, unless a comment allows it. A comment that has
    /// been used up by an earlier call stays used.
    pub fn judge(&mut self, findings: &mut [Diagnostic]) {
        for finding in findings.iter_mut().filter(|finding| !finding.is_error()) {
            let allowed = self.allow(finding);
            finding.standing = match allowed {
                Some(reason) => Standing::Allowed(reason),
                None if class(finding.code) == Class::MayLoseARule => Standing::Refused,
                None => Standing::Told,
            };
        }
    }

    fn allow(&mut self, finding: &Diagnostic) -> Option<Arc<str>> {
        let subject = Subject::of(finding);
        let values = finding.related.iter().filter(|label| label.is_value).map(|label| &label.place);
        // a comment of a library is left to the uses that have none
        let lines: Vec<(usize, usize)> =
            values.chain([&finding.place]).flat_map(|place| self.lines(place)).collect();
        let key = |line: usize| (finding.code, line);
        // the same finding is judged once for each function that shares a step
        let again = lines.iter().find_map(|(file, line)| {
            let at = self.files.get(*file)?.by_line.get(&key(*line))?.allowed.get(&subject)?;
            Some((*file, *at))
        });
        let (file, at) = again.or_else(|| {
            lines.iter().find_map(|(file, line)| {
                let stack = self.files.get_mut(*file)?.by_line.get_mut(&key(*line))?;
                Some((*file, stack.take(&subject)?))
            })
        })?;
        let allowance = self.files.get_mut(file)?.allowances.get_mut(at)?;
        allowance.used = true;
        Some(allowance.reason.clone())
    }

    /// The lines for which a comment about a place can stand, each with the position of its file: its own line, and that of the key of its scalar.
    fn lines(&self, Place { source, span }: &Place) -> Vec<(usize, usize)> {
        let Some(at) = self.files.iter().position(|file| file.source.same(source)) else { return Vec::new() };
        let Some(file) = self.files.get(at) else { return Vec::new() };
        let line = source.position(span.start).line;
        let behind = file.scalars.partition_point(|(scalar, _)| scalar.start <= span.start);
        let scalar = behind.checked_sub(1).and_then(|at| file.scalars.get(at));
        let key_line = scalar.filter(|(scalar, _)| span.start < scalar.end).map(|(_, line)| *line);
        [Some(line), key_line.filter(|key_line| *key_line != line)]
            .into_iter()
            .flatten()
            .map(|line| (at, line))
            .collect()
    }

    /// The problems of the comments themselves: those that cannot be read, and, where `is_judged` says that all
    /// findings of a file have been judged, those that allowed nothing. `judged` are these findings, which were `found` in one of these ways.
    #[must_use]
    pub fn problems(
        &self,
        found: &[Found],
        judged: &[&Diagnostic],
        is_judged: impl Fn(&Source) -> bool,
    ) -> Vec<Diagnostic> {
        let mut problems = Vec::new();
        for file in &self.files {
            problems.extend(file.refused.iter().cloned());
            if !is_judged(&file.source) {
                continue;
            }
            let is_about = |allowance: &&Allowance| {
                warning(allowance.code).is_some_and(|warning| found.contains(&warning.found))
            };
            for allowance in file.allowances.iter().filter(|it| !it.used).filter(is_about) {
                let elsewhere = judged.iter().find(|finding| {
                    finding.code == allowance.code
                        && finding.place.source.same(&file.source)
                        && finding.standing == Standing::Refused
                });
                let line = elsewhere.map(|finding| finding.place.position().line);
                problems.push(messages::allow_stale(allowance.place.clone(), allowance.code, line));
            }
        }
        problems
    }
}

impl Stack {
    /// The next comment that is not used, for a finding about this.
    fn take(&mut self, subject: &Subject) -> Option<usize> {
        let at = *self.allowances.get(self.used)?;
        self.used = self.used.saturating_add(1);
        self.allowed.insert(subject.clone(), at);
        Some(at)
    }
}

impl Allowance {
    /// What a comment allows, and the line that it speaks of.
    fn read(comment: &Comment) -> Result<(Self, usize), Box<Diagnostic>> {
        let place = || comment.place.clone();
        let parts = comment.text.trim().strip_prefix("allow").and_then(|rest| {
            let (code, reason) = rest.trim_start().strip_prefix('(')?.split_once(')')?;
            Some((code.trim(), reason.trim_start_matches([':', '-', '–', '—', ',', ' ', '\t']).trim_end()))
        });
        let Some((code, reason)) = parts else { return Err(messages::allow_malformed(place()).into()) };
        // what is hidden is not known, so nobody can mean it
        let known = warning(code).filter(|warning| warning.code != "too_many_findings");
        let Some(known) = known else {
            let codes = WARNINGS.iter().map(|warning| warning.code);
            return Err(messages::allow_unknown(place(), &shown(code), codes).into());
        };
        if !reason.contains(char::is_alphanumeric) {
            return Err(messages::allow_without_reason(place(), known.code).into());
        }
        let reason = shown(reason).into();
        Ok((Self { place: place(), code: known.code, reason, used: false }, comment.line))
    }
}

/// A text of an author in one line that fits a log: no control characters, and not without end.
fn shown(text: &str) -> String {
    let mut line: String = text.chars().take(MAX_REASON).filter(|c| !c.is_control()).collect();
    if text.chars().nth(MAX_REASON).is_some() {
        line.push('…');
    }
    line
}
