//! The arguments of a call being put together, member by member, without copying what is right already.
//!
//! In: values that were offered, bound or stand in as defaults. Out: a [`Resolution`], which is one packed object and what is
//! wrong with what was offered. Linear in the values, times the logarithm of their number where their order changes.

use super::expression::JsonValue;
use super::messages;
use super::parameter::{Missing, Parameter, ParameterSource};
use crate::cel::{Json, JsonRef, Keys, Part};
use crate::limits::EvalLimits;
use smallvec::SmallVec;
use std::mem::take;
use std::sync::Arc;

/// The arguments of a call, resolved, and the faults that were found on the way.
#[derive(Debug)]
pub struct Resolution {
    /// The resolved arguments. Where something is wrong, those that are right.
    pub arguments: Json,
    /// The faults of the model's arguments, in words for the model; empty if there are no faults.
    pub faults: Vec<String>,
    /// Bound parameters whose binding gave no value, or a value that does not fit.
    pub unbound: SmallVec<[Arc<str>; 2]>,
    /// Bound parameters that the model tried to set (KV-15).
    pub ignored: SmallVec<[Arc<str>; 2]>,
}

/// What the model wrote, asked for in the order of the declarations, in which most of it comes.
pub(super) struct Arguments<'g> {
    object: JsonRef<'g>,
    /// How many were asked for.
    found: usize,
    pub(super) in_order: bool,
}

impl<'g> Arguments<'g> {
    pub(super) fn of(object: JsonRef<'g>) -> Self {
        Self { object, found: 0, in_order: object.is_object() }
    }

    /// Whether each argument was asked for.
    pub(super) fn is_taken(&self) -> bool {
        self.found == self.object.len()
    }

    /// The argument of this name, which nobody has asked for before.
    pub(super) fn take(&mut self, name: &str) -> Option<JsonRef<'g>> {
        if self.is_taken() {
            return None;
        }
        let next = self.object.get_at(self.found, name);
        let value = next.or_else(|| self.object.get(name))?;
        self.in_order &= next.is_some();
        self.found = self.found.saturating_add(1);
        Some(value)
    }
}

/// Arguments being put together.
pub(super) struct Forming<'f> {
    /// The names of all members, if no others can come.
    keys: Option<&'f Keys>,
    limits: &'f EvalLimits,
    pub(super) members: SmallVec<[(&'f str, Part<'f>); 8]>,
    /// Whether some of them are of bindings or defaults.
    added: bool,
    pub(super) faults: Vec<String>,
    unbound: SmallVec<[Arc<str>; 2]>,
    pub(super) ignored: SmallVec<[Arc<str>; 2]>,
}

impl<'f> Forming<'f> {
    /// Nothing yet, of a call whose arguments have these names, or any others too.
    pub(super) fn of(keys: Option<&'f Keys>, limits: &'f EvalLimits) -> Self {
        Self {
            limits,
            keys,
            members: SmallVec::new(),
            added: false,
            faults: Vec::new(),
            unbound: SmallVec::new(),
            ignored: SmallVec::new(),
        }
    }

    /// The value of a binding, if it gave one that fits. Nothing else ever stands in for it (BND-08).
    pub(super) fn bind(&mut self, parameter: &'f Parameter, value: Option<&'f JsonValue<'f>>) {
        match value.map(JsonValue::part).filter(|value| parameter.shape.check_part(*value).is_ok()) {
            Some(value) => self.add(parameter, value),
            None => self.unbound.push(parameter.name.clone()),
        }
    }

    /// A value that was offered, or what stands in for it.
    pub(super) fn take(&mut self, parameter: &'f Parameter, offered: Option<JsonRef<'f>>) {
        match (offered.map(Part::Json), &parameter.missing) {
            (Some(value), _) => match parameter.shape.check_part(value) {
                Ok(()) => self.members.push((&parameter.name, value)),
                Err(misfit) => self.faults.push(messages::misfit(&parameter.name, &misfit)),
            },
            (None, Missing::Default(default)) => self.add(parameter, Part::Json(default.root())),
            (None, Missing::LeftOut) => {}
            (None, Missing::Fault) if parameter.source == ParameterSource::Nobody => {
                self.faults.push(messages::not_settable());
            }
            (None, Missing::Fault) => self.faults.push(messages::missing_parameter(&parameter.name)),
        }
    }

    #[inline]
    pub(super) fn add(&mut self, parameter: &'f Parameter, value: Part<'f>) {
        self.added = true;
        self.members.push((&parameter.name, value));
    }

    /// Whether the members are all of the arguments and nothing else, and no deeper than they may.
    pub(super) fn is_just(&self, arguments: &Arguments<'_>) -> bool {
        let object = arguments.object;
        !self.added
            && object.is_object()
            && self.members.len() == object.len()
            && object.is_within(self.limits.max_json_depth)
    }

    /// Puts the members that were given into the order in which they came, in the places that they have among the others.
    /// Linear in the members, times the logarithm of their number.
    pub(super) fn keep_order(&mut self, given: JsonRef<'f>, of_sender: impl Fn(&str) -> bool) {
        let position = |(name, _): &(&str, Part<'_>)| given.position(name).filter(|_| of_sender(name));
        let places = self.members.iter().enumerate().filter_map(|(place, it)| Some((place, position(it)?)));
        let places: SmallVec<[(usize, usize); 8]> = places.collect();
        if places.is_sorted_by_key(|&(_, came)| came) {
            return;
        }
        let mut members = self.members.clone();
        let mut sorted = places.clone();
        sorted.sort_unstable_by_key(|&(_, came)| came);
        for (&(to, _), &(from, _)) in places.iter().zip(&sorted) {
            if let (Some(place), Some(member)) = (members.get_mut(to), self.members.get(from)) {
                *place = *member;
            }
        }
        self.members = members;
        self.keys = None;
    }

    pub(super) fn finish(&mut self) -> Resolution {
        // as many members as there can be are all of them, in the order of the manifest
        let packed = match self.keys.filter(|keys| keys.len() == self.members.len()) {
            Some(keys) => keys.object(self.members.iter().map(|(_, value)| *value), self.limits),
            None => Json::from_members(&self.members, self.limits),
        };
        // every member is JSON already, but together they may be too much of it
        let arguments = packed.unwrap_or_else(|_| {
            self.faults.push(messages::nested_too_deeply(self.limits.max_json_depth));
            Json::object([])
        });
        self.resolution(arguments)
    }

    pub(super) fn resolution(&mut self, arguments: Json) -> Resolution {
        let Self { faults, unbound, ignored, .. } = self;
        let (faults, unbound, ignored) = (take(faults), take(unbound), take(ignored));
        Resolution { arguments, faults, unbound, ignored }
    }
}
