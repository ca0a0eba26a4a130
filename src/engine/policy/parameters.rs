//! The parameter pipeline (PAR): what a call runs with, out of bindings, the model's arguments and defaults.
//!
//! In: the parameters of a function, the values of its bindings, and what the model gave. Out: one packed object, or what
//! is wrong with the model's arguments. A binding always wins (BND-02): nothing that the model gives reaches a bound
//! parameter, not even where its binding fails (BND-08). What no schema declares is dropped (PAR-07). Linear in the values.

use super::arguments::{Arguments, Forming, Resolution};
use super::expression::JsonValue;
use super::messages;
use super::parameter::{Missing, Parameter, ParameterSource};
use super::shape::Shape;
use crate::cel::{Domain, Field, Json, JsonRef, Keys, Part, RecordType, Storage, Type, Value};
use crate::limits::EvalLimits;
use crate::manifest::argument_rules::{ArgumentRules, Undeclared};
use crate::manifest::catalog::DeclaredParameter;
use crate::manifest::json_schema::Validator;
use crate::manifest::schema::Property;
use indexmap::IndexMap;
use std::sync::Arc;

/// The parameter that carries what is said (KV-16).
const MESSAGE: &str = "message";

/// The parameters of a function.
#[derive(Clone, Debug, Default)]
pub struct Parameters {
    pub(super) list: Vec<Parameter>,
    /// What becomes of arguments that are not declared.
    pub(super) undeclared: Undeclared,
    /// Whether the declarations lie elsewhere (PAR-12), so that nothing is known of the arguments.
    pub(super) derived: bool,
    /// The schema of all arguments together, if it says more than those of each.
    pub(super) whole: Option<Arc<Validator>>,
    /// The names of all arguments, packed; nothing where others may come.
    pub(super) keys: Option<Keys>,
}

/// A bound parameter and the value of its binding, or nothing if it could not be had.
pub type Supplied<'b> = (&'b str, Option<JsonValue<'b>>);

impl Parameters {
    /// The parameters of a function that takes its declared parameters and no others.
    #[must_use]
    pub fn closed(declared: &[DeclaredParameter]) -> Self {
        Self::of_all(declared.iter().map(Parameter::of).collect())
    }

    /// The parameters of a sub-agent: its `message` is text, whatever the agent declares (DEL-01), and what it has defaults
    /// for stays out of the call.
    #[must_use]
    pub fn of_delegation(declared: &[DeclaredParameter]) -> Self {
        let mut list: Vec<_> = declared.iter().map(Parameter::of).collect();
        for parameter in &mut list {
            if *parameter.name == *MESSAGE {
                parameter.shape = Shape::text();
            }
            if matches!(parameter.missing, Missing::Default(_)) {
                parameter.missing = Missing::LeftOut;
            }
        }
        Self::of_all(list)
    }

    /// The parameters of a function whose declarations lie elsewhere: what is declared, what is bound, and whatever else
    /// comes (PAR-12).
    pub fn open<'b>(declared: &[DeclaredParameter], bound: impl Iterator<Item = &'b Arc<str>>) -> Self {
        let mut list: Vec<_> = declared.iter().map(Parameter::of).collect();
        for name in bound {
            if !list.iter().any(|parameter| parameter.name == *name) {
                let (shape, source) = (Shape::default(), ParameterSource::Binding);
                list.push(Parameter { name: name.clone(), shape, source, missing: Missing::Fault });
            }
        }
        Self { list, undeclared: Undeclared::Kept, derived: true, whole: None, keys: None }
    }

    /// The parameters of a listed tool, whose schema holds as JSON Schema says. What its capability binds and the schema does not declare is
    /// for other tools of the capability; the model cannot give it to this one either (BND-02).
    pub fn listed<'b>(
        declared: &[DeclaredParameter],
        rules: &ArgumentRules,
        bound: impl Iterator<Item = &'b Arc<str>>,
    ) -> Self {
        let ArgumentRules { undeclared, validator, node: _ } = rules;
        let mut closed = Self::closed(declared);
        if undeclared.is_kept() {
            let others: Vec<_> = bound.filter(|name| !closed.declares(name)).cloned().collect();
            closed.list.extend(others.into_iter().map(|name| Parameter {
                name,
                shape: Shape::default(),
                source: ParameterSource::Nobody,
                missing: Missing::LeftOut,
            }));
            closed.keys = None;
        }
        Self { undeclared: *undeclared, whole: validator.clone(), ..closed }
    }

    /// The parameters of an agent's input (CTX-20).
    #[must_use]
    pub fn of_agent(declared: &[Property]) -> Self {
        let parameter = |property: &Property| Parameter {
            name: property.name.text.clone(),
            shape: Shape::of(&property.schema),
            source: ParameterSource::Model,
            missing: Missing::of(&property.schema),
        };
        Self::of_all(declared.iter().map(parameter).collect())
    }

    fn of_all(list: Vec<Parameter>) -> Self {
        let keys = Keys::new(list.iter().map(|parameter| &*parameter.name));
        Self { list, undeclared: Undeclared::Dropped, derived: false, whole: None, keys }
    }

    /// All parameters, in the order of the manifest.
    pub fn iter(&self) -> impl Iterator<Item = &Parameter> {
        self.list.iter()
    }

    /// Whether undeclared arguments go through.
    #[must_use]
    pub fn is_open(&self) -> bool {
        self.undeclared.is_kept()
    }

    /// Works out the arguments of a call: bindings, then what the model wrote (an object, or null for none), then defaults
    /// (PAR-05). Where that is just what the model wrote, its document is the arguments.
    ///
    /// What the model wrote keeps the order in which it came; what bindings and defaults add stands where the manifest
    /// declares it. So a reviewer sees the arguments as they were written, and two renderings of them are alike.
    ///
    /// # Cost
    /// Linear in the values; a call with nothing wrong allocates the packed object and no more.
    #[must_use]
    pub fn resolve(&self, bound: &[Supplied<'_>], given: &Json, limits: &EvalLimits) -> Resolution {
        let mut forming = Forming::of(self.keys.as_ref(), limits);
        let mut arguments = Arguments::of(given.root());
        if !given.root().is_object() && !given.root().is_null() {
            forming.faults.push(messages::arguments_not_an_object(given.value().kind()));
        }
        for parameter in &self.list {
            match parameter.source {
                ParameterSource::Binding => {
                    let bound = bound.iter().find(|(name, _)| **name == *parameter.name);
                    forming.bind(parameter, bound.and_then(|(_, value)| value.as_ref()));
                }
                ParameterSource::Model => forming.take(parameter, arguments.take(&parameter.name)),
                ParameterSource::Nobody => forming.take(parameter, None),
            }
        }
        if !arguments.is_taken() {
            let bound = self.list.iter().filter(|parameter| parameter.source == ParameterSource::Binding);
            let tried = bound.filter(|parameter| given.root().get(&parameter.name).is_some());
            forming.ignored.extend(tried.map(|parameter| parameter.name.clone()));
        }
        let mut others = given.root().entries().filter(|(key, _)| !self.declares(key));
        match self.undeclared {
            Undeclared::Dropped => {}
            Undeclared::Refused if others.next().is_some() => {
                forming.faults.push(messages::no_other_arguments(self.settable()));
            }
            Undeclared::Refused => {}
            Undeclared::KeptUnsaid | Undeclared::Kept => {
                forming.members.extend(others.map(|(key, value)| (key, Part::Json(value))));
            }
        }
        if forming.is_just(&arguments) {
            return self.held(forming.resolution(given.clone()));
        }
        if !arguments.in_order || self.is_open() {
            let of_model = |name: &str| {
                let mut declared = self.list.iter();
                let declared = declared.find(|parameter| *parameter.name == *name);
                declared.is_none_or(|parameter| parameter.source == ParameterSource::Model)
            };
            forming.keep_order(given.root(), of_model);
        }
        self.held(forming.finish())
    }

    /// The resolution with what is wrong with all arguments together, where each of them is right.
    fn held(&self, mut resolution: Resolution) -> Resolution {
        if resolution.faults.is_empty() && resolution.unbound.is_empty() {
            resolution.faults.extend(self.misfit_of_all(&resolution.arguments));
        }
        resolution
    }

    /// Why arguments that each fit do not fit together, in words for the model.
    pub(super) fn misfit_of_all(&self, arguments: &Json) -> Option<String> {
        let violation = self.whole.as_ref()?.check(arguments.root()).err()?;
        Some(messages::misfit_of_all(&violation.into()))
    }

    /// The names of the parameters that the model may give.
    fn settable(&self) -> impl Iterator<Item = &str> {
        let settable = self.list.iter().filter(|parameter| parameter.source == ParameterSource::Model);
        settable.map(|parameter| &*parameter.name)
    }

    /// Why no call can have run with these arguments: one that is not declared, or that does not fit. One that lacks is no reason, as whoever
    /// tells of a call may leave out what does not matter.
    #[must_use]
    pub fn misfit(&self, arguments: &Json) -> Option<String> {
        // null says that there is none
        arguments.root().entries().filter(|(_, value)| !value.is_null()).find_map(|(name, value)| {
            let Some(parameter) = self.list.iter().find(|parameter| *parameter.name == *name) else {
                return (!self.is_open()).then(|| messages::undeclared_argument(name));
            };
            let misfit = parameter.shape.check_part(Part::Json(value)).err()?;
            // a default need not fit
            let is_default = matches!(&parameter.missing, Missing::Default(default) if default.value().equals(&value.value()));
            (!is_default).then(|| messages::misfit(&parameter.name, &misfit))
        })
    }

    /// Works out the arguments of an invoke step: what the step binds, else what the agent binds, else the default
    /// (BND-16); nothing of the model's (BND-17).
    #[must_use]
    pub fn resolve_invoke(
        &self,
        step: &[Supplied<'_>],
        agent: &[Supplied<'_>],
        limits: &EvalLimits,
    ) -> Resolution {
        let mut forming = Forming::of(self.keys.as_ref(), limits);
        for parameter in &self.list {
            match step.iter().chain(agent).find(|(name, _)| **name == *parameter.name) {
                Some((_, value)) => forming.bind(parameter, value.as_ref()),
                None => forming.take(parameter, None),
            }
        }
        if self.is_open() {
            let others = step.iter().filter(|(name, _)| !self.declares(name));
            forming.members.extend(others.filter_map(|(name, value)| Some((*name, value.as_ref()?.part()))));
        }
        self.held(forming.finish())
    }

    /// Works out the parameters of an agent's input but for its message: what is given, else what the input before had,
    /// else the default (CTX-15). What is not declared is dropped.
    ///
    /// # Errors
    /// The fault, in words for the sender.
    pub fn admit(
        &self,
        given: JsonRef<'_>,
        previous: Option<JsonRef<'_>>,
        limits: &EvalLimits,
    ) -> Result<Json, Vec<String>> {
        let mut forming = Forming::of(self.keys.as_ref(), limits);
        for parameter in self.list.iter().filter(|parameter| *parameter.name != *MESSAGE) {
            match (given.get(&parameter.name), previous.and_then(|previous| previous.get(&parameter.name))) {
                (None, Some(kept)) => forming.members.push((&parameter.name, Part::Json(kept))),
                (offered, _) => forming.take(parameter, offered),
            }
        }
        forming.keep_order(given, |_| true);
        let Resolution { arguments, faults, .. } = forming.finish();
        if faults.is_empty() { Ok(arguments) } else { Err(faults) }
    }

    /// The parameters of an input that cannot give any, such as an event: what the input before had, else the default
    /// (CTX-15). What nobody supplies stays out.
    #[must_use]
    pub fn inherit(&self, previous: Option<JsonRef<'_>>) -> Json {
        let others = self.list.iter().filter(|parameter| *parameter.name != *MESSAGE);
        Json::object(others.filter_map(|parameter| {
            let kept = previous.and_then(|previous| previous.get(&parameter.name)).map(JsonRef::to_json);
            let value = kept.or_else(|| match &parameter.missing {
                Missing::Default(default) => Some(default.clone()),
                Missing::Fault | Missing::LeftOut => None,
            });
            Some((&*parameter.name, value?))
        }))
    }

    /// Whether the text of a message is what the agent's schema of `message` says of texts. A message of parts is its texts,
    /// one after the other. Builds the text only if the schema says more than that it is one.
    ///
    /// # Errors
    /// The fault, in words for the sender.
    pub fn admit_message(&self, text: impl FnOnce() -> String) -> Result<(), String> {
        let declared = self.list.iter().find(|parameter| *parameter.name == *MESSAGE);
        let Some(shape) = declared.map(|parameter| &parameter.shape).filter(|shape| shape.restricts_texts())
        else {
            return Ok(());
        };
        shape.check(&Value::text(&text())).map_err(|misfit| messages::misfit(MESSAGE, &misfit))
    }

    /// The default of the message (CTX-19).
    #[must_use]
    pub fn default_message(&self) -> Option<&Json> {
        match &self.list.iter().find(|parameter| *parameter.name == *MESSAGE)?.missing {
            Missing::Default(message) => Some(message),
            Missing::Fault | Missing::LeftOut => None,
        }
    }

    /// Whether a binding supplies this parameter.
    #[must_use]
    pub fn is_bound(&self, name: &str) -> bool {
        let mut bound = self.list.iter().filter(|parameter| parameter.source == ParameterSource::Binding);
        bound.any(|parameter| *parameter.name == *name)
    }

    fn declares(&self, name: &str) -> bool {
        self.list.iter().any(|parameter| *parameter.name == *name)
    }

    /// The type of `input` where these functions share it. Only a tool can be sure of every field: middleware also sees
    /// calls that a binding leaves incomplete, and `has` in it is a fair question.
    #[must_use]
    pub fn input_type(name: &str, functions: &[&Self], of: InputOf) -> Type {
        let events_alone = of == InputOf::AttemptOrEvent && functions.is_empty();
        if functions.is_empty() && !events_alone || functions.iter().any(|function| function.derived) {
            return Type::map(Type::String, Type::Dyn);
        }
        let mut fields: IndexMap<Arc<str>, Field> = IndexMap::new();
        let mut add = |name: Arc<str>, ty: Type, domain: Option<Arc<Domain>>| {
            let required = of == InputOf::FormedCall;
            let new = Field { required, domain: domain.clone(), ..Field::required(ty.clone()) };
            let field = fields.entry(name).or_insert(new);
            if field.ty != ty {
                field.ty = Type::Dyn;
            }
            if field.domain != domain {
                field.domain = None;
            }
        };
        for parameter in functions.iter().flat_map(|function| &function.list) {
            add(parameter.name.clone(), parameter.ty(), parameter.domain());
        }
        if of == InputOf::AttemptOrEvent {
            add(MESSAGE.into(), Type::String, None);
        }
        // an argument that no property declares may be there all the same
        let is_some = |undeclared| functions.iter().any(|function| function.undeclared == undeclared);
        let storage = match (is_some(Undeclared::Kept), is_some(Undeclared::KeptUnsaid)) {
            (true, _) => Storage::Open,
            (false, true) => Storage::Unsaid,
            (false, false) => Storage::Closed,
        };
        Type::Record(Arc::new(RecordType { name: name.to_owned(), fields, aliases: Vec::new(), storage }))
    }
}

/// Where an `input` of arguments is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InputOf {
    /// By the tool itself, alone: all of it is there.
    FormedCall,
    /// By middleware and off the record: a call that could not be formed keeps the arguments that there were (REC-07).
    Attempt,
    /// By middleware that events run too: then it is `{message: text}` (EVT-12).
    AttemptOrEvent,
}
