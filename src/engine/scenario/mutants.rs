//! The mutants of some policies: small changes, each of which some case ought to notice.
//!
//! In: linked documents. Out: for each step that it is not there, comes later, fails with milder consequences, or is for more than it says; for each expression
//! that a clause is negated, a constant or a comparison moved; for each limit that it is another number. Nothing is run here: [`Runner::mutate`](super::Runner::mutate)
//! tries them.

use super::coverage::{file_name, limits_of};
use crate::cel::{ComprehensionKind, Expr, ExprKind, Literal, parse};
use crate::limits::EngineLimits;
use crate::manifest::Catalog;
use crate::manifest::capability_key::sanitise;
use crate::manifest::edit::{Edit, Endings, LimitValue, StepsOf};
use crate::manifest::step::{DeclaredAction, DeclaredStep, OnFail};
use crate::source::{Embedded, Place, Span};
use std::collections::HashSet;

/// One change.
#[derive(Clone, Debug)]
pub struct Mutant {
    /// What is changed, by its path in the manifest.
    pub path: String,
    /// Where it stands.
    pub place: Place,
    /// The kind of change, as a word for programs.
    pub kind: &'static str,
    /// The change, for people.
    pub about: String,
    pub(super) change: Change,
}

/// What is changed.
#[derive(Clone, Debug)]
pub(super) enum Change {
    /// The step at a place. Only cases that come to it, or to the step behind it, can notice.
    Step(Place, Edit, Option<Place>),
    /// A limit, by so many units.
    Limit(&'static str, i64),
}

impl Mutant {
    /// The name of the file.
    #[must_use]
    pub fn file(&self) -> String {
        file_name(&self.place)
    }

    /// The documents with the change; nothing if there is nothing to change.
    pub(super) fn apply(&self, catalog: &Catalog) -> Option<Catalog> {
        match &self.change {
            Change::Step(place, edit, _) => Some(catalog.with_edit(place, edit)),
            Change::Limit(name, by) => catalog.with_limit(name, *by),
        }
    }

    /// The limit that it is about, and what it lets by today.
    pub(super) fn limit(&self, catalog: &Catalog) -> Option<(&'static str, LimitValue)> {
        let Change::Limit(name, _) = self.change else { return None };
        Some((name, catalog.limit(name)?))
    }

    /// The step that it is about, and the one behind that if their order is changed.
    pub(super) fn steps(&self) -> impl Iterator<Item = &Place> {
        let (step, next) = match &self.change {
            Change::Step(place, _, next) => (Some(place), next.as_ref()),
            Change::Limit(..) => (None, None),
        };
        step.into_iter().chain(next)
    }

    /// Whether only cases that come to its steps can notice.
    pub(super) fn is_local(&self) -> bool {
        !matches!(&self.change, Change::Limit(..) | Change::Step(_, Edit::AnyMatch, _))
    }
}

/// All mutants of some documents, in the order in which they stand.
pub(super) fn mutants(catalog: &Catalog, limits: &EngineLimits) -> Vec<Mutant> {
    let mut seen = HashSet::new();
    let mut found = Vec::new();
    for StepsOf { steps, endings, selected } in catalog.step_lists() {
        for (position, step) in steps.iter().enumerate() {
            let is_new = seen.insert((step.place.source.name().to_owned(), step.place.span));
            if is_new {
                let next = steps.get(position.saturating_add(1));
                let selects_all =
                    step.match_name.as_ref().is_some_and(|name| selects_all(&selected, &name.text));
                of_step(step, next, (endings, selects_all), limits, &mut found);
            }
        }
    }
    for resolved in catalog.agents() {
        let policies =
            resolved.policies.iter().map(|applied| (&applied.policy.place, &applied.policy.limits));
        let all = std::iter::once((&resolved.agent.place, &resolved.agent.limits)).chain(policies);
        for (place, own) in all {
            for name in limits_of(own) {
                if !seen.insert((format!("{} {name}", place.source.name()), place.span)) {
                    continue;
                }
                let unit = if name == "max_age" { "a second" } else { "one" };
                for (by, word) in [(1, "greater"), (-1, "smaller")] {
                    found.push(Mutant {
                        path: format!("limits.{name}"),
                        place: limit_place(place, name),
                        kind: "limit",
                        about: format!("`{name}` is {word} by {unit}"),
                        change: Change::Limit(name, by),
                    });
                }
            }
        }
    }
    found.retain(|mutant| match mutant.change {
        Change::Limit(name, by) => catalog.limit(name).and_then(|limit| limit.moved(by)).is_some(),
        Change::Step(..) => true,
    });
    found
}

/// Whether a `match` is that of everything that passes its list, so that it leaves nothing out.
fn selects_all(selected: &[&str], name: &str) -> bool {
    !selected.is_empty() && selected.iter().all(|known| sanitise(known) == sanitise(name))
}

/// The key of a limit in its document, or the document.
fn limit_place(document: &Place, name: &str) -> Place {
    let text = document.source.text().get(document.span.start as usize..).unwrap_or_default();
    let found = text.find(&format!("{name}:"));
    found.map_or_else(
        || document.clone(),
        |at| {
            let start = (document.span.start as usize).saturating_add(at);
            Place::new(&document.source, Span::new(start, start.saturating_add(name.len())))
        },
    )
}

fn of_step(
    step: &DeclaredStep,
    next: Option<&DeclaredStep>,
    (endings, selects_all): (Endings, bool),
    limits: &EngineLimits,
    found: &mut Vec<Mutant>,
) {
    let mut add = |kind, about: String, edit, next: Option<&DeclaredStep>| {
        found.push(Mutant {
            path: step.path.clone(),
            place: step.place.clone(),
            kind,
            about,
            change: Change::Step(step.place.clone(), edit, next.map(|next| next.place.clone())),
        });
    };
    add("step_dropped", "the step is not there".to_owned(), Edit::Drop, None);
    // of steps for different actions no operation passes both
    let may_meet = |next: &&DeclaredStep| match (&step.match_name, &next.match_name) {
        (Some(own), Some(other)) => sanitise(&own.text) == sanitise(&other.text),
        _ => true,
    };
    if next.filter(may_meet).is_some() {
        add("steps_swapped", "the step comes behind the next one".to_owned(), Edit::Swap, next);
    }
    let weaker = match (step.on_fail, endings) {
        (OnFail::Continue, _) | (_, Endings::Block) => None,
        (OnFail::LockTask, Endings::All) => Some((OnFail::Block, "block")),
        (OnFail::Block | OnFail::LockTask, _) => Some((OnFail::Continue, "continue")),
    };
    if let Some((weaker, word)) = weaker {
        add("on_fail_weakened", format!("`on_fail` is `{word}`"), Edit::OnFail(weaker), None);
    }
    if step.match_name.is_some() && !selects_all {
        add("match_widened", "`match` is not there".to_owned(), Edit::AnyMatch, None);
    }
    if step.condition.is_some() {
        add("condition_dropped", "`condition` is not there".to_owned(), Edit::NoCondition, None);
    }
    let action = match &step.action {
        DeclaredAction::Assert(text) => Some((text, true, "assert")),
        DeclaredAction::Transform(text) => Some((text, false, "transform")),
        DeclaredAction::Invoke(_) | DeclaredAction::Effect(_) | DeclaredAction::Label(_) => None,
    };
    let condition = step.condition.iter().map(|text| (text, true, "condition"));
    for (text, is_judged, key) in condition.chain(action) {
        of_text(step, text, is_judged, key, limits, found);
    }
}

fn of_text(
    step: &DeclaredStep,
    text: &Embedded,
    is_judged: bool,
    key: &str,
    limits: &EngineLimits,
    found: &mut Vec<Mutant>,
) {
    let Ok(expression) = parse(&text.text, &limits.eval) else { return };
    let mut changes = Vec::new();
    find_changes(&expression, is_judged, &text.text, &mut changes);
    for TextChange { span, instead, kind } in changes {
        let Some(old) = text.text.get(span.range()) else { continue };
        let mut changed = text.text.to_string();
        changed.replace_range(span.range(), &instead);
        let edit = Edit::Text(text.place.clone(), changed.into());
        let old = old.split_whitespace().collect::<Vec<_>>().join(" ");
        found.push(Mutant {
            path: format!("{}.{key}", step.path),
            place: text.locate(span),
            kind,
            about: format!("`{old}` is `{instead}`"),
            change: Change::Step(step.place.clone(), edit, None),
        });
    }
}

/// Other characters in the place of some.
struct TextChange {
    span: Span,
    instead: String,
    kind: &'static str,
}

/// The comparisons that are moved by as little as there is.
const MOVED: [(&str, &str, &str); 4] =
    [("_<_", "<", "<="), ("_<=_", "<=", "<"), ("_>_", ">", ">="), ("_>=_", ">=", ">")];
const SWAPPED: [(&str, &str, &str); 2] = [("_&&_", "&&", "||"), ("_||_", "||", "&&")];

fn find_changes(expression: &Expr, is_judged: bool, text: &str, found: &mut Vec<TextChange>) {
    let own = text.get(expression.span.range()).unwrap_or_default();
    let mut is_junction = false;
    if let ExprKind::Call { function, target: None, args } = &expression.kind {
        let name = function.text.as_str();
        is_junction = matches!(name, "_&&_" | "_||_" | "_?_:_");
        let is_comparison = matches!(name, "_==_" | "_!=_" | "_<_" | "_<=_" | "_>_" | "_>=_" | "@in");
        if name == "!_"
            && let [operand] = args.as_slice()
            && is_judged
        {
            let inner = text.get(operand.span.range()).unwrap_or_default();
            found.push(TextChange {
                span: expression.span,
                instead: format!("({inner})"),
                kind: "clause_negated",
            });
            find_changes(operand, false, text, found);
            return;
        }
        let written = MOVED.iter().chain(&SWAPPED).find(|(known, ..)| *known == name);
        if let (Some((_, sign, other)), [a, b]) = (written, args.as_slice())
            && let Some(at) =
                text.get(a.span.end as usize..b.span.start as usize).and_then(|it| it.find(sign))
        {
            let start = (a.span.end as usize).saturating_add(at);
            let span = Span::new(start, start.saturating_add(sign.len()));
            let kind = if is_junction { "operator_swapped" } else { "comparison_moved" };
            found.push(TextChange { span, instead: (*other).to_owned(), kind });
        }
        if is_comparison && !is_judged {
            found.push(TextChange {
                span: expression.span,
                instead: format!("!({own})"),
                kind: "clause_negated",
            });
        }
    }
    if is_judged && !is_junction {
        let is_constant = matches!(expression.kind, ExprKind::Literal(_));
        if !is_constant {
            let instead = format!("!({own})");
            found.push(TextChange { span: expression.span, instead, kind: "clause_negated" });
        }
    }
    match &expression.kind {
        ExprKind::Literal(literal) => {
            for moved in moved(literal) {
                let instead = Expr { kind: ExprKind::Literal(moved), ..expression.clone() }.to_string();
                found.push(TextChange { span: expression.span, instead, kind: "constant_moved" });
            }
        }
        ExprKind::Call { function, target: None, args } => {
            let name = function.text.as_str();
            for (position, arg) in args.iter().enumerate() {
                let judged =
                    matches!(name, "_&&_" | "_||_") || (name == "_?_:_" && (position == 0 || is_judged));
                find_changes(arg, judged, text, found);
            }
        }
        ExprKind::Comprehension(comprehension) => {
            find_changes(&comprehension.range, false, text, found);
            comprehension.filter.iter().for_each(|filter| find_changes(filter, true, text, found));
            let judged = matches!(
                comprehension.kind,
                ComprehensionKind::All
                    | ComprehensionKind::Exists
                    | ComprehensionKind::ExistsOne
                    | ComprehensionKind::Filter
            );
            find_changes(&comprehension.body, judged, text, found);
        }
        _ => expression.for_each_part(&mut |part| find_changes(part, false, text, found)),
    }
}

/// Constants near to one.
fn moved(literal: &Literal) -> Vec<Literal> {
    match literal {
        Literal::Int(number) => {
            [number.checked_add(1), number.checked_sub(1)].into_iter().flatten().map(Literal::Int).collect()
        }
        Literal::UInt(number) => {
            [number.checked_add(1), number.checked_sub(1)].into_iter().flatten().map(Literal::UInt).collect()
        }
        Literal::Double(number) => vec![Literal::Double(number + 1.0)],
        Literal::String(text) => vec![Literal::String(format!("{text}~"))],
        Literal::Null | Literal::Bool(_) | Literal::Bytes(_) => Vec::new(),
    }
}
