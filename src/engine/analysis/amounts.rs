//! Comparisons of sums, such as `paid + double(input.amount) <= 2500.0`, as inequalities between what they are made of.
//!
//! In: comparisons of expressions. Out: for each one that can be read so, which inequality it is when it is true, and which when it is false. The numbers are those of mathematics. So what is proved
//! of sums of doubles is proved but for their rounding, of which whoever asks is told.

use super::compared::{Compared, Order, Read, Rounding, Terms};
use super::derived::{Derived, derived};
use super::facts::is_number;
use super::inequality::{Inequality, Linear};
use super::path::{asks_host, function, is_of_result, is_path, key, part, sized};
use super::questions::{Clause, Questions};
use super::range::Range;
use super::reach::Reach;
use super::sample::{Sample, constant};
use super::tally::Tally;
use crate::cel::{Checked, Expr, ExprKind, Numbers, Type};
use crate::policy::Policy;
use serde_json::Value;

/// A number that is not looked into.
pub(super) struct Term {
    /// Its name; what may have changed has another one.
    pub(super) name: String,
    pub(super) tally: Option<Tally>,
    /// When it was read: how often what passes had changed, or nothing if it lasts.
    pub(super) time: (Option<usize>, usize),
    /// Whether the calls that count are among those that the call at hand has read, so that none is added while it waits.
    pub(super) is_kept: bool,
    is_whole: bool,
    /// Whether it is a number wherever it is there, and no NaN.
    is_number: bool,
    /// Whether it is always there.
    is_sure: bool,
    /// Where it lies.
    range: Option<Range>,
    /// If it is the size of a list, the names of the sizes of those that this is taken from.
    wholes: Vec<String>,
}

/// What holds whatever is asked, and the limit of the task that says so.
pub(super) struct Fact {
    pub(super) says: Inequality,
    pub(super) limit: Option<&'static str>,
}

/// Sums, and what they are made of.
#[derive(Default)]
pub(super) struct Amounts<'p> {
    /// Whose calls are tallied, if any are.
    policy: Option<&'p Policy>,
    /// Whether arguments are as their schemas say.
    with_schemas: bool,
    pub(super) terms: Vec<Term>,
    pub(super) compared: Vec<Compared>,
    /// Numbers, each with the double that `double` makes of it, which is there where the number is.
    pub(super) doubles: Vec<(usize, usize)>,
}

impl<'p> Amounts<'p> {
    pub(super) fn new(policy: Option<&'p Policy>, with_schemas: bool) -> Self {
        Self { policy, with_schemas, ..Self::default() }
    }

    /// Reads the clauses of an expression from this one on, as they stand at this time.
    pub(super) fn read(&mut self, checked: &Checked, questions: &Questions, first: usize) {
        for (at, Clause { id, .. }) in questions.clauses.iter().enumerate().skip(first) {
            let compared =
                part(&checked.expr, *id).and_then(|it| self.comparison(at, (checked, it), questions));
            self.compared.extend(compared);
        }
    }

    fn comparison(
        &mut self,
        clause: usize,
        (checked, expr): (&Checked, &Expr),
        questions: &Questions,
    ) -> Option<Compared> {
        let ExprKind::Call { target: None, args, .. } = &expr.kind else { return None };
        let [left, right] = args.as_slice() else { return None };
        let (order, is_swapped) = match function(checked, expr)?.0 {
            "_<_" => (Order::Less, false),
            "_<=_" => (Order::AtMost, false),
            "_>_" => (Order::Less, true),
            "_>=_" => (Order::AtMost, true),
            "_==_" => (Order::Equal, false),
            "_!=_" => (Order::Different, false),
            _ => return None,
        };
        let (less, more) = if is_swapped { (right, left) } else { (left, right) };
        let (less, more) = (self.amount(checked, less, questions)?, self.amount(checked, more, questions)?);
        let is_number_of = |at: usize| self.terms.get(at).is_some_and(|term| term.is_number);
        let mut terms = less.sum.terms.keys().chain(more.sum.terms.keys());
        let is_known = |side: &Expr| {
            constant(side).is_some() || is_number(checked, side) || self.tally(checked, side).is_some()
        };
        let is_text = |side: &Expr| *checked.type_of(side.id) == Type::String;
        let are_texts = matches!(order, Order::Equal | Order::Different) && is_text(left) && is_text(right);
        // of two other paths nobody knows whether they are numbers: a text that is a time has the order of times beside one
        if !terms.all(|at| is_number_of(*at)) && !is_known(left) && !is_known(right) && !are_texts {
            return None;
        }
        let of = Terms { is_whole: &|at| self.is_whole(at), is_number: &is_number_of };
        Compared::of(clause, order, &less, &more, of)
    }

    /// What is counted or added up of calls.
    fn tally(&self, checked: &Checked, expr: &Expr) -> Option<Tally> {
        Tally::read(self.policy?, checked, expr)
    }

    fn amount(&mut self, checked: &Checked, expr: &Expr, questions: &Questions) -> Option<Read> {
        #[expect(clippy::cast_precision_loss, reason = "greater ones are left out")]
        let number = |value: i64| (value.unsigned_abs() < 1 << 53).then_some(value as f64);
        let of_constant = |value: f64, kind| Read {
            sum: Linear::of_constant(value),
            kind: Some(kind),
            rounding: Rounding::Never,
        };
        match constant(expr) {
            Some(Sample::Int(value)) => return Some(of_constant(number(value)?, Type::Int)),
            Some(Sample::UInt(value)) => {
                return Some(of_constant(number(value.try_into().ok()?)?, Type::Dyn));
            }
            Some(Sample::Double(value)) if value.is_finite() => {
                return Some(of_constant(value, Type::Double));
            }
            Some(_) => return None,
            None => {}
        }
        if let ExprKind::Call { target: None, args, .. } = &expr.kind
            && let Some((name, _)) = function(checked, expr)
        {
            match (name, args.as_slice()) {
                ("_+_" | "_-_", [left, right]) if is_number(checked, left) && is_number(checked, right) => {
                    let times = if name == "_+_" { 1.0 } else { -1.0 };
                    let [left, right] = [left, right].map(|part| self.amount(checked, part, questions));
                    let (left, right) = (left?, right?);
                    let kind =
                        left.kind.filter(|kind| right.kind.as_ref() == Some(kind) && *kind != Type::Dyn);
                    let rounding = left.rounding.max(right.rounding);
                    let is_exact = self.is_whole_and_bounded(checked, expr, [&left.sum, &right.sum]);
                    let rounding = if is_exact { rounding } else { rounding.behind(kind.as_ref()) };
                    return Some(Read { sum: left.sum.plus(&right.sum, times)?, kind, rounding });
                }
                ("_*_", [left, right]) => {
                    let (by, of) = match (constant(left), constant(right)) {
                        (Some(_), None) => (left, right),
                        (None, Some(_)) => (right, left),
                        _ => return self.term(checked, expr, questions),
                    };
                    let [by, of] = [by, of].map(|part| self.amount(checked, part, questions));
                    let (by, of) = (by?, of?);
                    let kind = by.kind.filter(|kind| of.kind.as_ref() == Some(kind) && *kind != Type::Dyn);
                    let rounding = of.rounding.behind(kind.as_ref());
                    let sum = Linear::default().plus(&of.sum, by.sum.constant)?;
                    return Some(Read { sum, kind, rounding });
                }
                // the same number in another form, above 2^53 the nearest
                ("double", [of]) if is_number(checked, of) => {
                    let read = self.amount(checked, of, questions)?;
                    let kind = read.kind.as_ref().map(|_| Type::Double);
                    if self.is_exact_as_double(checked, of) {
                        return Some(Read { kind, ..read });
                    }
                    let Some(number) = read.sum.is_term() else {
                        let rounding = read.rounding.behind(None);
                        return Some(Read { kind, rounding, ..read });
                    };
                    let double = self.term(checked, expr, questions)?;
                    if let Some(at) = double.sum.is_term() {
                        self.is_double_of(at, number);
                    }
                    return Some(double);
                }
                _ => {}
            }
        }
        self.term(checked, expr, questions)
    }

    /// Whether a sum of whole numbers is below 2^53, where a double holds each.
    fn is_whole_and_bounded(&self, checked: &Checked, sum: &Expr, parts: [&Linear; 2]) -> bool {
        let is_whole = |part: &&Linear| {
            part.constant.fract() == 0.0
                && part.terms.iter().all(|(term, factor)| factor.fract() == 0.0 && self.is_whole(*term))
        };
        parts.iter().all(is_whole)
            && Range::of(checked, sum, self.with_schemas).is_some_and(Range::is_bounded)
    }

    /// Whether a number is below 2^53, or a double anyway. Nobody counts further than that.
    fn is_exact_as_double(&self, checked: &Checked, number: &Expr) -> bool {
        let domain = checked.domain_of(number.id).and_then(|domain| domain.numbers);
        Range::of(checked, number, self.with_schemas).is_some_and(Range::is_bounded)
            || *checked.type_of(number.id) == Type::Double
            || domain == Some(Numbers::Counts)
            || sized(checked, number).is_some()
            || self.tally(checked, number).is_some_and(|tally| tally.is_count())
    }

    /// A number as a double is the same number, or the nearest double of one above 2^53: so it stands to constants as the number does.
    fn is_double_of(&mut self, double: usize, number: usize) {
        let is_whole = self.is_whole(number);
        if let Some(term) = self.terms.get_mut(double) {
            term.is_whole = is_whole;
        }
        if !self.doubles.contains(&(number, double)) {
            self.doubles.push((number, double));
        }
    }

    /// The comparisons; what each says of a number alone it says of the double that is made of it, too, and the other way round.
    pub(super) fn into_compared(mut self) -> Vec<Compared> {
        for says in self.compared.iter_mut().flat_map(|it| [&mut it.yes, &mut it.no]) {
            let twin = |inequality: &Inequality| {
                let of = inequality.is_of_one()?;
                let (number, double) =
                    self.doubles.iter().find(|(one, other)| [*one, *other].contains(&of))?;
                Some(inequality.about(if of == *number { *double } else { *number }))
            };
            let more: Vec<Inequality> = says.all.iter().filter_map(twin).collect();
            says.all.extend(more);
        }
        self.compared
    }

    fn term(&mut self, checked: &Checked, expr: &Expr, questions: &Questions) -> Option<Read> {
        if asks_host(checked, expr) {
            return None;
        }
        let reach = Reach::of(checked, expr);
        let tally = self.tally(checked, expr);
        let key = tally.as_ref().map_or_else(|| key(checked, expr), Tally::name);
        let lasts = match &tally {
            Some(tally) if tally.is_of_successful() => questions.lasts_for(tally.functions()),
            Some(_) => false,
            None => questions.lasts(&reach),
        };
        let name = questions.named(&key, &reach, lasts);
        let ty = checked.type_of(expr.id);
        let domain = checked.domain_of(expr.id);
        let numbers = domain.and_then(|domain| domain.numbers);
        let is_count = tally.as_ref().is_some_and(Tally::is_count);
        let kind = if is_count { Some(Type::Int) } else { Some(ty.clone()).filter(|ty| *ty == Type::Double) };
        let rounding = if tally.is_some() && !is_count { Rounding::Often } else { Rounding::Never };
        let range = Range::of(checked, expr, self.with_schemas);
        let known = self.terms.iter().position(|term| term.name == name);
        let at = known.unwrap_or_else(|| {
            // a call that failed gives what it likes
            let of_result = is_of_result(checked, expr);
            let path = is_path(checked, expr) && !of_result;
            // a double that is no JSON is one of the engine's own, and no NaN
            let is_number = path && (numbers.is_some() || *ty == Type::Double)
                || range.is_some_and(Range::is_ordered)
                || kind.is_some() && tally.as_ref().is_some_and(|tally| self.adds_numbers(checked, tally));
            self.terms.push(Term {
                name,
                is_kept: tally.as_ref().is_some_and(|tally| questions.keeps(tally.functions())),
                time: (Some(questions.state_of(&reach, lasts)).filter(|_| !lasts), questions.lasting_state()),
                is_whole: is_count
                    || *ty == Type::Int && !of_result
                    || path && matches!(numbers, Some(Numbers::Whole | Numbers::Counts)),
                is_number,
                range,
                wholes: wholes(checked, expr).iter().map(|key| questions.named(key, &reach, lasts)).collect(),
                is_sure: tally.as_ref().is_some_and(Tally::is_sure)
                    || path && is_number && questions.given.contains(&key),
                tally,
            });
            self.terms.len().saturating_sub(1)
        });
        // an argument is compared as a number of any kind, and added up as one of its kind
        let is_path = self.terms.get(at).is_some_and(|term| term.is_number && term.tally.is_none());
        let kind = kind.or_else(|| is_path.then_some(Type::Dyn));
        Some(Read { sum: Linear::of_term(at), kind, rounding })
    }

    pub(super) fn is_whole(&self, term: usize) -> bool {
        self.terms.get(term).is_some_and(|term| term.is_whole)
    }

    /// By term: whether it is a whole number.
    pub(super) fn whole(&self) -> impl Iterator<Item = bool> {
        self.terms.iter().map(|term| term.is_whole)
    }

    /// Whether some comparison is one of several numbers: what is asked of each by itself is answered without inequalities.
    pub(super) fn are_of_several(&self) -> bool {
        let is_taken = |term: &Term| self.terms.iter().any(|whole| term.wholes.contains(&whole.name));
        self.compared.iter().any(|compared| compared.terms.len() > 1) || self.terms.iter().any(is_taken)
    }

    /// How many terms there are, and which of them are always there.
    pub(super) fn sure(&self) -> impl Iterator<Item = bool> {
        self.terms.iter().map(|term| term.is_sure)
    }

    /// Where the terms lie, whatever is asked: between two numbers, and a size below that of the list which a list is taken from.
    pub(super) fn ranges(&self) -> Vec<Fact> {
        let mut facts = Vec::new();
        for (own, term) in self.terms.iter().enumerate() {
            let wholes = self.terms.iter().enumerate().filter(|(_, whole)| term.wholes.contains(&whole.name));
            facts.extend(
                wholes.map(|(whole, _)| Linear { terms: [(own, 1.0), (whole, -1.0)].into(), constant: 0.0 }),
            );
        }
        for (at, term) in self.terms.iter().enumerate() {
            // a NaN lies nowhere
            let Some(range) = term.range.filter(|_| term.is_number) else { continue };
            let of = |factor: f64, constant: f64| Linear { terms: [(at, factor)].into(), constant };
            let least = range.least.is_finite().then(|| of(-1.0, range.least));
            let most = range.most.is_finite().then(|| of(1.0, -range.most));
            facts.extend(least.into_iter().chain(most));
        }
        let is_whole = |at| self.is_whole(at);
        let says = facts.into_iter().filter_map(|sum| Inequality::at_most_zero(&sum, false, &is_whole));
        says.map(|says| Fact { says, limit: None }).collect()
    }

    /// Whether all that is added are numbers of JSON, of which none is a NaN.
    fn adds_numbers(&self, checked: &Checked, tally: &Tally) -> bool {
        let is_argument = |argument: &str| {
            let Some(policy) = self.policy else { return false };
            let mut functions = tally.functions();
            functions.all(|function| number_schema(policy, function, argument).is_some())
        };
        tally.each().is_none_or(|each| is_plain(checked, each)) || tally.argument().is_some_and(is_argument)
    }
}

/// The schema of an argument that is a number.
pub(super) fn number_schema<'p>(policy: &'p Policy, function: usize, argument: &str) -> Option<&'p Value> {
    let schema = policy.function(function)?.schema().get("properties")?.get(argument)?;
    let kind = schema.get("type").and_then(Value::as_str)?;
    matches!(kind, "number" | "integer").then_some(schema)
}

/// Of the size of a list, the sizes of those that this is taken from.
fn wholes(checked: &Checked, expr: &Expr) -> Vec<String> {
    let mut found = Vec::new();
    let mut at = sized(checked, expr);
    while let Some(Derived { of, .. }) = at.and_then(|list| derived(checked, list)) {
        found.push(format!("size({})", key(checked, of)));
        at = Some(of);
    }
    found
}

/// Whether an expression is a number of JSON, or made of some by `double`, sums and products: never a NaN.
fn is_plain(checked: &Checked, expr: &Expr) -> bool {
    let of_domain = checked.domain_of(expr.id).is_some_and(|domain| domain.numbers.is_some());
    match &expr.kind {
        _ if constant(expr).is_some_and(|it| it.is_number()) => true,
        ExprKind::Call { target: None, args, .. } => {
            let name = function(checked, expr).map(|(name, _)| name);
            matches!(name, Some("double" | "_+_" | "_-_" | "_*_"))
                && args.iter().all(|it| is_plain(checked, it))
        }
        _ => of_domain && is_path(checked, expr),
    }
}
