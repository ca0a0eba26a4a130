//! Which values of a task are secret, and how views show them.
//!
//! In: what schemas mark with `secret: true`, as rules. Out: for each value, whether it is secret, whether a part of it may
//! be, and the value as JSON with [`MASK`] in the place of whatever is. Values are told by where they stand, never by what
//! they are: a text that happens to be like a secret is shown, and one that stands in a marked place never is.
//!
//! Rules that several schemas make for one value add up: if one of them says secret, the value is. So a mark in a branch
//! (`anyOf`, `if`, `not`) holds whether or not the branch does. Linear in a value and in the rules that are about it.

use crate::cel::{Json, JsonRef, Kind};
use serde::ser::{SerializeMap, SerializeSeq};
use serde::{Serialize, Serializer};
use smallvec::SmallVec;
use std::sync::Arc;

/// The text that views show in the place of a secret.
pub const MASK: &str = "***";

/// The most places of one value that are told apart. A value with more of them is secret as a whole: what is kept of each
/// decision stays small, and nothing is shown that was marked.
const MAX_PLACES: usize = 64;

/// The places of a value that are secret, by rules that refer to each other.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Secrets {
    /// The first rule is about the value itself; empty if nothing is secret.
    rules: Arc<[SecretRule]>,
}

/// The rule of one schema. The numbers are positions of other rules.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SecretRule {
    /// Whether the value is secret, whatever it holds.
    pub whole: bool,
    /// Further rules about the same value.
    pub same: Vec<usize>,
    /// The rule of each named member.
    pub members: Vec<(Box<str>, usize)>,
    /// The rules of all other members.
    pub others: Vec<usize>,
    /// The rules of the first items, one each.
    pub items: Vec<usize>,
    /// The rules of the items after these.
    pub rest: Vec<usize>,
    /// The rules of every member and item.
    pub parts: Vec<usize>,
    /// Whether there must be no other members: those that are there all the same are secret if any is.
    pub closed: bool,
}

/// The number of no rule.
const NOWHERE: usize = usize::MAX;

/// The rule of a value of which nothing is known but that it may be secret.
static WHOLE: [SecretRule; 1] = [SecretRule {
    whole: true,
    same: Vec::new(),
    members: Vec::new(),
    others: Vec::new(),
    items: Vec::new(),
    rest: Vec::new(),
    parts: Vec::new(),
    closed: false,
}];

/// The secret places of one value within another.
#[derive(Clone, Debug)]
pub struct SecretView<'s> {
    rules: &'s [SecretRule],
    /// The rules about the value; empty if nothing of it is secret.
    at: SmallVec<[usize; 4]>,
}

/// A step from a value to a part of it, as far as it is known before there is a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Selector {
    /// To the member of this name.
    Name(String),
    /// To the item at this position.
    Index(usize),
    /// To some member or item.
    Any,
    /// To each item, in whatever order they stand.
    Each,
}

impl Secrets {
    /// What rules say of the value that the first of them is about. Linear in the rules.
    #[must_use]
    pub fn new(mut rules: Vec<SecretRule>) -> Self {
        let leads: Vec<bool> = leading(&rules);
        if leads.first() != Some(&true) {
            return Self::default();
        }
        let whole = rules.len();
        for (rule, _) in rules.iter_mut().zip(&leads).filter(|(_, leads)| **leads) {
            let leads = |to: &usize| leads.get(*to) == Some(&true);
            for list in [&mut rule.same, &mut rule.others, &mut rule.rest, &mut rule.parts] {
                list.retain(leads);
            }
            // names and positions stay: they say for which parts `others` and `rest` do not count
            let own = rule.members.iter_mut().map(|(_, to)| to).chain(&mut rule.items);
            own.filter(|to| !leads(to)).for_each(|to| *to = NOWHERE);
            if rule.closed {
                rule.others.push(whole);
            }
        }
        rules.extend_from_slice(&WHOLE);
        Self { rules: rules.into() }
    }

    /// An object whose members these are.
    #[must_use]
    pub fn of_members<'m>(members: impl IntoIterator<Item = (&'m str, Self)>) -> Self {
        let mut rules = vec![SecretRule::default()];
        for (name, secrets) in members.into_iter().filter(|(_, secrets)| !secrets.is_empty()) {
            let first = rules.len();
            rules.extend(secrets.rules.iter().map(|rule| rule.moved(first)));
            if let Some(object) = rules.first_mut() {
                object.members.push((name.into(), first));
            }
        }
        Self::new(rules)
    }

    /// A value that is secret as a whole.
    #[must_use]
    pub fn whole() -> Self {
        Self { rules: WHOLE.to_vec().into() }
    }

    /// Whether nothing is secret.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.rules.is_empty()
    }

    /// The rules; the first is about the value itself.
    #[must_use]
    pub fn rules(&self) -> &[SecretRule] {
        &self.rules
    }

    /// The secret places of the value itself.
    #[must_use]
    pub fn view(&self) -> SecretView<'_> {
        SecretView::of(&self.rules, if self.rules.is_empty() { &[] } else { &[0] })
    }
}

impl SecretRule {
    fn moved(&self, by: usize) -> Self {
        let moved = |list: &[usize]| list.iter().map(|to| to.saturating_add(by)).collect();
        let member = |(name, to): &(Box<str>, usize)| (name.clone(), to.saturating_add(by));
        Self {
            whole: self.whole,
            same: moved(&self.same),
            members: self.members.iter().map(member).collect(),
            others: moved(&self.others),
            items: moved(&self.items),
            rest: moved(&self.rest),
            parts: moved(&self.parts),
            closed: false,
        }
    }

    fn all(&self) -> impl Iterator<Item = usize> {
        let lists = [&self.same, &self.others, &self.items, &self.rest, &self.parts];
        lists.into_iter().flatten().copied().chain(self.members.iter().map(|(_, to)| *to))
    }
}

/// Which rules lead to a secret: their own or one behind them. Linear in the rules and in what they name.
fn leading(rules: &[SecretRule]) -> Vec<bool> {
    let mut named_by: Vec<Vec<usize>> = vec![Vec::new(); rules.len()];
    for (from, rule) in rules.iter().enumerate() {
        for to in rule.all() {
            if let Some(names) = named_by.get_mut(to) {
                names.push(from);
            }
        }
    }
    let mut leads = vec![false; rules.len()];
    let whole = rules.iter().enumerate().filter(|(_, rule)| rule.whole);
    let mut waiting: Vec<usize> = whole.map(|(at, _)| at).collect();
    while let Some(next) = waiting.pop() {
        if let Some(known @ false) = leads.get_mut(next) {
            *known = true;
            waiting.extend(named_by.get(next).into_iter().flatten());
        }
    }
    leads
}

impl<'s> SecretView<'s> {
    /// Nothing is secret.
    #[must_use]
    pub fn nothing() -> Self {
        Self { rules: &[], at: SmallVec::new() }
    }

    /// All of it is.
    #[must_use]
    pub fn whole() -> Self {
        Self { rules: &WHOLE, at: SmallVec::from_slice(&[0]) }
    }

    fn of(rules: &'s [SecretRule], first: &[usize]) -> Self {
        let mut at: SmallVec<[usize; 4]> = SmallVec::new();
        let mut waiting: SmallVec<[usize; 4]> = SmallVec::from_slice(first);
        while let Some(next) = waiting.pop() {
            if !at.contains(&next)
                && let Some(rule) = rules.get(next)
            {
                at.push(next);
                waiting.extend_from_slice(&rule.same);
            }
        }
        Self { rules, at }
    }

    /// Whether nothing of the value is secret.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.at.is_empty()
    }

    /// Whether all of the value is.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        self.rules().any(|rule| rule.whole)
    }

    fn rules(&self) -> impl Iterator<Item = &'s SecretRule> {
        self.at.iter().filter_map(|at| self.rules.get(*at))
    }

    /// The secret places of the member of this name.
    #[must_use]
    pub fn member(&self, name: &str) -> Self {
        let mut to: SmallVec<[usize; 4]> = SmallVec::new();
        for rule in self.rules() {
            to.extend_from_slice(&rule.parts);
            match rule.members.iter().find(|(known, _)| **known == *name) {
                Some((_, own)) => to.push(*own),
                None => to.extend_from_slice(&rule.others),
            }
        }
        self.below(&to)
    }

    /// The secret places of the item at this position.
    #[must_use]
    pub fn item(&self, position: usize) -> Self {
        let mut to: SmallVec<[usize; 4]> = SmallVec::new();
        for rule in self.rules() {
            to.extend_from_slice(&rule.parts);
            match rule.items.get(position) {
                Some(own) => to.push(*own),
                None => to.extend_from_slice(&rule.rest),
            }
        }
        self.below(&to)
    }

    /// What is secret of some member or item.
    fn any(&self) -> Self {
        let of_rule = |rule: &'s SecretRule| {
            let items = rule.items.iter().chain(&rule.rest).chain(&rule.parts).chain(&rule.others);
            items.copied().chain(rule.members.iter().map(|(_, to)| *to))
        };
        self.below(&self.rules().flat_map(of_rule).collect::<Vec<_>>())
    }

    fn below(&self, to: &[usize]) -> Self {
        // what is within a secret is secret
        if self.is_whole() { self.clone() } else { Self::of(self.rules, to) }
    }

    /// Whether the value at the end of a path is a secret, holds one, or is a part of one.
    #[must_use]
    pub fn meets(&self, path: &[Selector]) -> bool {
        let end = path.iter().fold(self.clone(), |view, step| match step {
            Selector::Name(name) => view.member(name),
            Selector::Index(position) => view.item(*position),
            Selector::Any | Selector::Each => view.any(),
        });
        end.holds()
    }

    /// Whether the value is none that the rules are about: they mark parts that it does not have. It may then be the
    /// secret itself, at the wrong place.
    fn is_misplaced(&self, value: JsonRef<'_>) -> bool {
        let has_members = |rule: &SecretRule| !rule.members.is_empty() || !rule.others.is_empty();
        let has_items = |rule: &SecretRule| !rule.items.is_empty() || !rule.rest.is_empty();
        let is_about =
            |has: &dyn Fn(&SecretRule) -> bool| self.rules().any(|it| has(it) || !it.parts.is_empty());
        match value.kind() {
            Kind::Map => !is_about(&has_members),
            Kind::List => !is_about(&has_items),
            Kind::Null => false,
            _ => true,
        }
    }

    /// Whether a value is shown as [`MASK`] from here on.
    fn hides(&self, value: JsonRef<'_>) -> bool {
        !self.is_empty() && (self.is_whole() || self.is_misplaced(value))
    }

    /// Whether a rule about the value, or about a part of it, says secret.
    fn holds(&self) -> bool {
        // rules that lead to none are named by no other
        !self.at.is_empty()
    }

    /// A value as views show it.
    #[must_use]
    pub fn masked<'v>(&self, value: JsonRef<'v>) -> Masked<'s, 'v> {
        Masked { value, view: self.clone() }
    }

    /// The same as a document of its own. Linear in the value.
    #[must_use]
    pub fn mask(&self, value: &Json) -> Json {
        if self.is_empty() {
            return value.clone();
        }
        // what cannot be written is not shown
        serde_json::to_value(self.masked(value.root())).map_or_else(|_| Json::string(MASK), Json::from)
    }

    /// Where a value is secret, as JSON pointers; one to all of it if there are too many. Nothing if nowhere.
    #[must_use]
    pub fn places(&self, value: JsonRef<'_>) -> Vec<String> {
        let mut places = Vec::new();
        self.collect(value, String::new(), &mut places);
        if places.len() > MAX_PLACES { vec![String::new()] } else { places }
    }

    /// Recurses as deep as the value, which `max_json_depth` bounds.
    fn collect(&self, value: JsonRef<'_>, pointer: String, places: &mut Vec<String>) {
        if self.is_empty() || places.len() > MAX_PLACES {
            return;
        }
        if self.hides(value) {
            places.push(pointer);
        } else if value.is_object() {
            for (name, member) in value.entries() {
                let below = format!("{pointer}/{}", name.replace('~', "~0").replace('/', "~1"));
                self.member(name).collect(member, below, places);
            }
        } else if value.is_array() {
            for (position, item) in value.items().enumerate() {
                self.item(position).collect(item, format!("{pointer}/{position}"), places);
            }
        }
    }
}

/// A value as views show it: with [`MASK`] in the place of each secret. A shortened value is masked whole where
/// any part of it is secret, because its contents are not known any more.
#[derive(Clone)]
pub struct Masked<'s, 'v> {
    value: JsonRef<'v>,
    view: SecretView<'s>,
}

impl Serialize for Masked<'_, '_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self { value, view } = self;
        if view.is_empty() {
            return value.serialize(serializer);
        }
        if view.hides(*value) {
            return serializer.serialize_str(MASK);
        }
        if value.is_object() {
            let mut object = serializer.serialize_map(Some(value.len()))?;
            for (name, member) in value.entries() {
                object.serialize_entry(name, &view.member(name).masked(member))?;
            }
            return object.end();
        }
        if value.is_array() {
            let mut array = serializer.serialize_seq(Some(value.len()))?;
            for (position, item) in value.items().enumerate() {
                array.serialize_element(&view.item(position).masked(item))?;
            }
            return array.end();
        }
        value.serialize(serializer)
    }
}

/// A document with [`MASK`] at these places. One that is not there masks all of it: then it is not the document that the
/// places are of.
#[must_use]
pub fn mask_places(value: &Json, places: &[String]) -> Json {
    if places.is_empty() {
        return value.clone();
    }
    let mut shown = match serde_json::to_value(value) {
        Ok(shown) => shown,
        Err(_) => return Json::string(MASK),
    };
    for place in places {
        match shown.pointer_mut(place) {
            Some(secret) => *secret = MASK.into(),
            None => return Json::string(MASK),
        }
    }
    shown.into()
}
