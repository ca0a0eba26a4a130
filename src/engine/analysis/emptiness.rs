//! Whether a list is empty: what the list itself, its size, a macro over it and an element of it say of each other.
//!
//! In: an expression of a checked tree. Out: an [`Emptiness`] for each list that it says something of, and what each of its values says. Texts and maps have
//! sizes, and maps are walked by macros, so both are lists here. Linear in the expression, times the macros that stand within each other.

use super::derived::{Derived, Keeps, derived};
use super::path::{is_path, key, sized};
use super::predicate::Predicate;
use super::reach::Reach;
use super::sample::Sample;
use super::written::{as_exists, with};
use crate::cel::{Checked, Comprehension, ComprehensionKind, Expr, ExprKind, Literal, Name};
use std::collections::HashMap;

/// What the values of a subject say of a list.
#[derive(Clone, Debug)]
pub(super) struct Emptiness {
    /// The list, and behind it those that it is taken from, the nearest one first.
    pub(super) lists: Vec<List>,
    saying: Saying,
}

/// A list, by its name.
#[derive(Clone, Debug)]
pub(super) struct List {
    pub(super) key: String,
    pub(super) reach: Reach,
    /// What is so of its elements, each of which is one of the list that stands so many places behind it, or is made of one: of a list that macros take from another one.
    pub(super) predicates: Vec<Predicate>,
    /// Whether something is so of elements that are made of those of another list.
    pub(super) is_made: bool,
}

/// Lists of which one is not filled where the others are empty, because of what is so of their elements.
pub(super) struct Apart {
    pub(super) filled: String,
    pub(super) empty: Vec<String>,
}

/// What the subject is to the list.
#[derive(Clone, Copy, Debug)]
enum Saying {
    /// The list, which is there or not.
    Path,
    SizeOfPath,
    /// The list, which is computed.
    Computed,
    SizeOfComputed,
    /// Whether it has an element, as the `exists` says that a macro is.
    Exists,
    /// Whether it has one element.
    ExistsOne,
    /// An element of it.
    Element,
}

/// What a list may be. What a macro finds is filled as soon as one element is found, though the macro may fail at another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Filling {
    pub(super) empty: bool,
    pub(super) filled: bool,
    /// Whether it may be no list, or one that cannot be computed.
    pub(super) no_list: bool,
}

impl Filling {
    pub(super) const ANY: Self = Self { empty: true, filled: true, no_list: true };
    const EMPTY: Self = Self { filled: false, no_list: false, ..Self::ANY };
    const FILLED: Self = Self { empty: false, no_list: false, ..Self::ANY };
    const NO_LIST: Self = Self { empty: false, filled: false, ..Self::ANY };
    const NOT_EMPTY: Self = Self { empty: false, ..Self::ANY };

    const fn of(is_empty: bool) -> Self {
        if is_empty { Self::EMPTY } else { Self::FILLED }
    }

    /// What it may be if it is one of these.
    pub(super) const fn or(self, other: Self) -> Self {
        Self {
            empty: self.empty || other.empty,
            filled: self.filled || other.filled,
            no_list: self.no_list || other.no_list,
        }
    }

    /// What it may be if both hold.
    const fn and(self, other: Self) -> Self {
        Self {
            empty: self.empty && other.empty,
            filled: self.filled && other.filled,
            no_list: self.no_list && other.no_list,
        }
    }

    /// What a list may be of which a macro takes one that is this.
    const fn of_whole(self) -> Self {
        // of an empty list nothing is taken, and no macro fails
        Self { filled: true, ..self }
    }

    /// Whether there is nothing left that it may be.
    const fn is_impossible(self) -> bool {
        !(self.empty || self.filled || self.no_list)
    }
}

impl Emptiness {
    /// What an expression says of lists.
    pub(super) fn of(checked: &Checked, expr: &Expr) -> Vec<Self> {
        if is_path(checked, expr) {
            return Self::of_path(checked, expr);
        }
        let about = |of: &Expr, saying| Self { lists: lists(checked, of), saying };
        let said = match &expr.kind {
            ExprKind::Comprehension(comprehension) => match comprehension.kind {
                ComprehensionKind::Exists | ComprehensionKind::All => {
                    Self { lists: searched(checked, expr, comprehension), saying: Saying::Exists }
                }
                ComprehensionKind::ExistsOne => about(&found(expr, comprehension), Saying::ExistsOne),
                _ => about(expr, Saying::Computed),
            },
            _ => match sized(checked, expr) {
                Some(of) if is_path(checked, of) => about(of, Saying::SizeOfPath),
                Some(of) => about(of, Saying::SizeOfComputed),
                None => about(expr, Saying::Computed),
            },
        };
        if said.lists.is_empty() { Vec::new() } else { vec![said] }
    }

    /// What a path says: of what it leads to, and of each list of which it takes an element.
    pub(super) fn of_path(checked: &Checked, path: &Expr) -> Vec<Self> {
        let mut said = vec![Self { lists: lists(checked, path), saying: Saying::Path }];
        let mut at = path;
        while let ExprKind::Select { operand, .. } | ExprKind::Index { operand, .. } = &at.kind {
            if let ExprKind::Index { index, .. } = &at.kind
                && matches!(index.kind, ExprKind::Literal(Literal::Int(_)))
            {
                said.push(Self { lists: lists(checked, operand), saying: Saying::Element });
            }
            at = operand;
        }
        said
    }

    /// What the list may be where the subject is this.
    pub(super) fn with(&self, sample: &Sample) -> Filling {
        match (self.saying, sample) {
            (Saying::Path | Saying::Computed, Sample::EmptyList | Sample::EmptyMap) => Filling::EMPTY,
            (Saying::Path | Saying::Computed, Sample::List | Sample::Map) => Filling::FILLED,
            (Saying::Path, Sample::Text(text)) => Filling::of(text.is_empty()),
            (Saying::Path, _) => Filling::NO_LIST,
            (Saying::SizeOfPath | Saying::SizeOfComputed, Sample::Int(size)) => Filling::of(*size == 0),
            (Saying::Exists, Sample::Bool(exists)) => Filling::of(!exists),
            (Saying::ExistsOne, Sample::Bool(true)) | (Saying::Element, _) => Filling::FILLED,
            _ => Filling::ANY,
        }
    }

    /// What it may be where the subject has no value.
    pub(super) fn without_value(&self) -> Filling {
        match self.saying {
            Saying::Path | Saying::SizeOfPath => Filling::NO_LIST,
            // no macro fails without an element
            Saying::Computed | Saying::SizeOfComputed | Saying::Exists | Saying::ExistsOne => {
                Filling::NOT_EMPTY
            }
            Saying::Element => Filling::ANY,
        }
    }
}

/// What is known of lists, by their names.
#[derive(Default)]
pub(super) struct Fillings<'e> {
    known: HashMap<&'e str, Filling>,
}

impl<'e> Fillings<'e> {
    /// Takes what is said of a list, ahead of those that it is taken from; says whether that goes together with what is known.
    pub(super) fn take(&mut self, lists: impl Iterator<Item = &'e str>, mut filling: Filling) -> bool {
        for list in lists {
            let known = self.known.entry(list).or_insert(Filling::ANY);
            *known = known.and(filling);
            if known.is_impossible() {
                return false;
            }
            filling = filling.of_whole();
        }
        true
    }

    /// Takes that a list has no such element, of which the list `own` is, where it is a list at all.
    pub(super) fn take_lack(&mut self, own: &'e str, whole: &'e str) {
        if self.known.get(whole).is_some_and(|whole| !whole.no_list) {
            self.known.insert(own, Filling::EMPTY);
        }
    }

    /// Whether lists that are apart are known to be so.
    pub(super) fn go_with(&self, apart: &[Apart]) -> bool {
        let is = |list: &str, filling| self.known.get(list) == Some(&filling);
        !apart.iter().any(|Apart { filled, empty }| {
            is(filled, Filling::FILLED) && empty.iter().all(|list| is(list, Filling::EMPTY))
        })
    }
}

/// The list that an expression gives, and those that this is taken from; none if it is neither taken nor there.
fn lists(checked: &Checked, expr: &Expr) -> Vec<List> {
    taken(checked, expr, None)
}

/// The same, where another predicate is known of the first list than the one that it is written with.
fn taken(checked: &Checked, expr: &Expr, mut first: Option<Predicate>) -> Vec<List> {
    let mut lists: Vec<List> = Vec::new();
    let mut at = expr;
    while !is_path(checked, at) {
        let Some(Derived { of, keeps, are_others }) = derived(checked, at) else { return lists };
        if are_others && let ExprKind::Comprehension(comprehension) = &at.kind {
            // what is so of an element that is made of another one is asked of what makes it
            let made = Predicate::made(comprehension);
            for own in told_so_far(&mut lists) {
                let is_asked =
                    |predicate: &mut Predicate| made.as_ref().is_some_and(|made| predicate.ask(made));
                if !own.predicates.iter_mut().all(is_asked) {
                    own.predicates.clear();
                }
                own.is_made = true;
            }
        }
        if let (Keeps::Chosen, ExprKind::Comprehension(comprehension)) = (keeps, &at.kind) {
            let predicate = first.take().or_else(|| Predicate::of(comprehension, true));
            // whatever is taken of this list is so, too
            told_so_far(&mut lists).for_each(|own| own.predicates.extend(predicate.clone()));
            let predicates = predicate.into_iter().collect();
            lists.push(List { predicates, ..list(checked, &found(at, comprehension)) });
        }
        at = of;
    }
    lists.push(list(checked, at));
    lists
}

/// The lists of which all is known that is so of their elements, up to the list that comes next.
fn told_so_far(lists: &mut [List]) -> impl Iterator<Item = &mut List> {
    let all = lists.len();
    let is_told = move |(at, own): &(usize, &mut List)| own.predicates.len() == all.saturating_sub(*at);
    lists.iter_mut().enumerate().filter(is_told).map(|(_, own)| own)
}

/// The elements that `exists` finds, and that `all` finds none of, with the lists that they are taken from.
fn searched(checked: &Checked, expr: &Expr, comprehension: &Comprehension) -> Vec<List> {
    let Some((exists, is_negated)) = as_exists(expr) else { return Vec::new() };
    let ExprKind::Comprehension(of) = &exists.kind else { return Vec::new() };
    // what is put together has no function of its own in the tree: the predicate is read as it is written
    taken(checked, &found(&exists, of), Predicate::of(comprehension, !is_negated))
}

fn list(checked: &Checked, expr: &Expr) -> List {
    List { key: key(checked, expr), reach: Reach::of(checked, expr), predicates: Vec::new(), is_made: false }
}

/// The elements that a macro finds, as the `filter` that keeps them.
fn found(expr: &Expr, comprehension: &Comprehension) -> Expr {
    let Comprehension { filter, body, name, .. } = comprehension;
    let filter = Comprehension {
        kind: ComprehensionKind::Filter,
        name: Name { text: "filter".to_owned(), span: name.span },
        body: filter.as_ref().unwrap_or(body).clone(),
        filter: None,
        ..comprehension.clone()
    };
    with(expr, ExprKind::Comprehension(Box::new(filter)))
}
