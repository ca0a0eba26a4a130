//! The parameter pipeline (PAR): what a call runs with, out of bindings, the model's arguments and defaults.
//!
//! In: the parameters of a function, the values of its bindings, and what the model gave. Out: one packed object, or what
//! is wrong with the model's arguments. A binding always wins (BND-02): nothing that the model gives reaches a bound
//! parameter, not even where its binding fails (BND-08). What no schema declares is dropped (PAR-07). Linear in the values.

use super::messages;
use super::shape::Shape;
use crate::cel::{Field, Json, JsonRef, RecordType, Storage, Type, Value};
use crate::manifest::catalog::Parameter as Declared;
use crate::manifest::schema::Property;
use indexmap::IndexMap;
use smallvec::SmallVec;
use std::sync::Arc;

/// The parameter that carries what is said (KV-16).
const MESSAGE: &str = "message";

/// The parameters of a function.
#[derive(Clone, Debug, Default)]
pub struct Parameters {
    list: Vec<Parameter>,
    /// Whether arguments that are not declared go through: the declarations lie elsewhere (PAR-12).
    open: bool,
}

/// One parameter.
#[derive(Clone, Debug)]
pub struct Parameter {
    /// Its name.
    pub name: Arc<str>,
    /// What its values look like.
    pub shape: Shape,
    /// What stands in for a missing value (PAR-03).
    pub default: Option<Json>,
    /// Who supplies it.
    pub source: ParameterSource,
}

/// Who supplies a parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ParameterSource {
    /// The model, else the default.
    Model,
    /// A binding, and nobody else.
    Binding,
    /// Nobody but the default: the `message`-only sub-agent's other parameters (DEL-01).
    Default,
    /// Only a binding may, and there is none: every call fails (KV-11).
    Nobody,
}

/// The value of a binding, or nothing if it could not be had.
pub type Bound<'b> = (&'b str, Option<&'b Json>);

/// What came of a call's parameters.
#[derive(Debug)]
pub struct Resolution {
    /// The resolved arguments. Where something is wrong, those that are right.
    pub arguments: Json,
    /// What is wrong with the model's arguments, in words for the model; empty if nothing is.
    pub faults: Vec<String>,
    /// Bound parameters whose binding gave no value, or one that does not fit.
    pub unbound: SmallVec<[Arc<str>; 2]>,
    /// Bound parameters that the model tried to set.
    pub ignored: SmallVec<[Arc<str>; 2]>,
}

impl Parameters {
    /// The parameters of a function that takes what it declares. That a sub-agent's `message` is text does not depend on
    /// what the agent declares (DEL-01).
    #[must_use]
    pub fn closed(declared: &[Declared], delegation: bool) -> Self {
        let mut list: Vec<_> = declared.iter().map(Parameter::of).collect();
        for message in list.iter_mut().filter(|parameter| delegation && *parameter.name == *MESSAGE) {
            message.shape = Shape::text();
        }
        Self { list, open: false }
    }

    /// The parameters of a function whose declarations lie elsewhere: what is declared, what is bound, and whatever else
    /// comes (PAR-12).
    pub fn open<'b>(declared: &[Declared], bound: impl Iterator<Item = &'b Arc<str>>) -> Self {
        let mut list: Vec<_> = declared.iter().map(Parameter::of).collect();
        for name in bound {
            if !list.iter().any(|parameter| parameter.name == *name) {
                let source = ParameterSource::Binding;
                list.push(Parameter { name: name.clone(), shape: Shape::default(), default: None, source });
            }
        }
        Self { list, open: true }
    }

    /// All parameters, in the order of the manifest.
    pub fn iter(&self) -> impl Iterator<Item = &Parameter> {
        self.list.iter()
    }

    /// Whether undeclared arguments go through.
    #[must_use]
    pub fn is_open(&self) -> bool {
        self.open
    }

    /// Works out the arguments of a call. `given` is what the model wrote: an object, or null for none.
    ///
    /// # Cost
    /// Linear in the values; a call with nothing wrong allocates the packed object and no more.
    #[must_use]
    pub fn resolve(&self, bound: &[Bound<'_>], given: JsonRef<'_>) -> Resolution {
        let mut faults = Vec::new();
        let mut unbound = SmallVec::new();
        let mut ignored = SmallVec::new();
        if !given.is_object() && !given.is_null() {
            faults.push(messages::arguments_not_an_object(given.value().kind()));
        }
        let mut members: SmallVec<[(&str, Value<'_>); 16]> = SmallVec::new();
        for parameter in &self.list {
            let offered = given.get(&parameter.name);
            let value = match parameter.source {
                ParameterSource::Binding => {
                    if offered.is_some() {
                        ignored.push(parameter.name.clone());
                    }
                    let bound = bound.iter().find(|(name, _)| **name == *parameter.name);
                    let value = bound.and_then(|&(_, value)| value).map(Json::root);
                    let fitting = value.filter(|&value| parameter.shape.check(value).is_ok());
                    if fitting.is_none() {
                        unbound.push(parameter.name.clone());
                    }
                    fitting
                }
                ParameterSource::Model => match offered {
                    Some(value) => match parameter.shape.check(value) {
                        Ok(()) => Some(value),
                        Err(misfit) => {
                            faults.push(messages::misfit(&parameter.name, &misfit));
                            None
                        }
                    },
                    None => parameter.or_default(&mut faults),
                },
                ParameterSource::Default => parameter.or_default(&mut faults),
                ParameterSource::Nobody => {
                    faults.push(messages::not_settable());
                    None
                }
            };
            members.extend(value.map(|value| (&*parameter.name, value.value())));
        }
        if self.open {
            let declared = |key: &str| self.list.iter().any(|parameter| *parameter.name == *key);
            let others = given.entries().filter(|(key, _)| !declared(key));
            members.extend(others.map(|(key, value)| (key, value.value())));
        }
        // every member is JSON already
        let arguments = Json::from_members(members).unwrap_or_else(|_| Json::object([]));
        Resolution { arguments, faults, unbound, ignored }
    }

    /// Works out the arguments of an invoke step: what the step binds, else what the agent binds, else the default
    /// (BND-16); nothing of the model's (BND-17).
    #[must_use]
    pub fn resolve_invoke(&self, step: &[Bound<'_>], agent: &[Bound<'_>]) -> Resolution {
        let mut resolution = Resolution {
            arguments: Json::null(),
            faults: Vec::new(),
            unbound: SmallVec::new(),
            ignored: SmallVec::new(),
        };
        let mut members: SmallVec<[(&str, Value<'_>); 16]> = SmallVec::new();
        for parameter in &self.list {
            let supplied = step.iter().chain(agent).find(|(name, _)| **name == *parameter.name);
            let value = match (supplied, &parameter.default) {
                (Some(&(_, value)), _) => {
                    let fitting = value.map(Json::root).filter(|&value| parameter.shape.check(value).is_ok());
                    if fitting.is_none() {
                        resolution.unbound.push(parameter.name.clone());
                    }
                    fitting
                }
                (None, Some(default)) => Some(default.root()),
                (None, None) => {
                    resolution.faults.push(messages::missing_parameter(&parameter.name));
                    None
                }
            };
            members.extend(value.map(|value| (&*parameter.name, value.value())));
        }
        if self.open {
            let declared = |key: &str| self.list.iter().any(|parameter| *parameter.name == *key);
            let others = step.iter().filter(|(name, _)| !declared(name));
            members.extend(others.filter_map(|&(name, value)| Some((name, value?.value()))));
        }
        // every member is JSON already
        resolution.arguments = Json::from_members(members).unwrap_or_else(|_| Json::object([]));
        resolution
    }

    /// Works out the parameters of an agent's input but for its message: what is given, else what the input before had,
    /// else the default. An entry that is not declared is dropped.
    ///
    /// # Errors
    /// What is wrong, in words for the sender.
    pub fn admit(&self, given: JsonRef<'_>, previous: Option<JsonRef<'_>>) -> Result<Json, Vec<String>> {
        let mut faults = Vec::new();
        let mut members: SmallVec<[(&str, Value<'_>); 16]> = SmallVec::new();
        for parameter in self.list.iter().filter(|parameter| *parameter.name != *MESSAGE) {
            let value = match given.get(&parameter.name) {
                Some(value) => match parameter.shape.check(value) {
                    Ok(()) => Some(value),
                    Err(misfit) => {
                        faults.push(messages::misfit(&parameter.name, &misfit));
                        None
                    }
                },
                None => {
                    let kept = previous.and_then(|previous| previous.get(&parameter.name));
                    kept.or_else(|| parameter.or_default(&mut faults))
                }
            };
            members.extend(value.map(|value| (&*parameter.name, value.value())));
        }
        // every member is JSON already
        if faults.is_empty() {
            Ok(Json::from_members(members).unwrap_or_else(|_| Json::object([])))
        } else {
            Err(faults)
        }
    }

    /// The default of the message (CTX-19).
    #[must_use]
    pub fn default_message(&self) -> Option<&Json> {
        self.list.iter().find(|parameter| *parameter.name == *MESSAGE)?.default.as_ref()
    }

    /// The parameters of an agent's input (CTX-20).
    #[must_use]
    pub fn of_agent(declared: &[Property]) -> Self {
        let parameter = |property: &Property| Parameter {
            name: property.name.text.clone(),
            shape: Shape::of(&property.schema),
            default: property.schema.default.as_ref().map(Json::from),
            source: ParameterSource::Model,
        };
        Self { list: declared.iter().map(parameter).collect(), open: false }
    }

    /// The type of `input` where these functions share it. Only a tool can be sure of every field: middleware also sees
    /// calls that a binding leaves incomplete, and `has` in it is a fair question.
    #[must_use]
    pub fn input_type(name: &str, functions: &[&Self], of: InputOf) -> Type {
        if functions.is_empty() || functions.iter().any(|function| function.open) {
            return Type::map(Type::String, Type::Dyn);
        }
        let mut fields: IndexMap<Arc<str>, Field> = IndexMap::new();
        let mut add = |name: Arc<str>, ty: Type| {
            let new = Field { ty: ty.clone(), required: of == InputOf::FormedCall, doc: String::new() };
            let field = fields.entry(name).or_insert(new);
            if field.ty != ty {
                field.ty = Type::Dyn;
            }
        };
        for parameter in functions.iter().flat_map(|function| &function.list) {
            add(parameter.name.clone(), parameter.ty());
        }
        if of == InputOf::AttemptOrEvent {
            add(MESSAGE.into(), Type::String);
        }
        let storage = Storage::Closed;
        Type::Record(Arc::new(RecordType { name: name.to_owned(), fields, aliases: Vec::new(), storage }))
    }
}

/// Where an `input` of arguments is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InputOf {
    /// By the tool itself, alone: all of it is there.
    FormedCall,
    /// By middleware and off the record: a call that could not be formed has what there was of it.
    Attempt,
    /// By middleware that events run too: then it is `{message: text}` (EVT-12).
    AttemptOrEvent,
}

impl Parameter {
    fn of(declared: &Declared) -> Self {
        let schema = declared.declared.as_ref().map(|property| &property.schema);
        let hidden = schema.is_some_and(|schema| !schema.allow_from_llm);
        Self {
            name: declared.name.as_str().into(),
            shape: schema.map_or_else(Shape::text, |schema| Shape::of(schema)),
            default: schema.and_then(|schema| schema.default.as_ref()).map(Json::from),
            source: match (declared.bound, declared.offered) {
                (true, _) => ParameterSource::Binding,
                (false, true) => ParameterSource::Model,
                (false, false) if hidden => ParameterSource::Nobody,
                (false, false) => ParameterSource::Default,
            },
        }
    }

    fn or_default(&self, faults: &mut Vec<String>) -> Option<JsonRef<'_>> {
        if self.default.is_none() {
            faults.push(messages::missing_parameter(&self.name));
        }
        self.default.as_ref().map(Json::root)
    }

    /// The type of its values. A default need not fit the schema that it stands in (PAR-04: `default: null`).
    #[must_use]
    pub fn ty(&self) -> Type {
        let fits = |default: &Json| self.shape.check(default.root()).is_ok();
        if self.default.as_ref().is_none_or(fits) { self.shape.ty() } else { Type::Dyn }
    }
}
