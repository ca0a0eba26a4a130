//! One parameter of a function: what its values look like, who supplies it, and what becomes of it if nobody does.
//!
//! In: its declaration in a manifest. Out: a [`Parameter`], with the type and the domain of its values for the checker.

use super::schema_type::constant;
use super::shape::Shape;
use crate::cel::{Constant, Domain, Json, Type};
use crate::manifest::catalog::DeclaredParameter;
use crate::manifest::schema::Schema;
use std::sync::Arc;

/// One parameter.
#[derive(Clone, Debug)]
pub struct Parameter {
    /// Its name.
    pub name: Arc<str>,
    /// The shape of its values.
    pub shape: Shape,
    /// Who supplies it.
    pub source: ParameterSource,
    /// What happens to the call if nobody supplies it.
    pub missing: Missing,
}

/// Who supplies a parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ParameterSource {
    /// The model.
    Model,
    /// A binding, and nobody else.
    Binding,
    /// Nobody: only a binding may supply it, and the manifest has no such binding. The model does not see it (KV-11, DEL-01).
    Nobody,
}

/// How a call treats a parameter that nobody supplies.
#[derive(Clone, Debug, PartialEq)]
pub enum Missing {
    /// The call cannot be formed (PAR-02).
    Fault,
    /// This stands in for it (PAR-03).
    Default(Json),
    /// It stays out: the sub-agent or the host's tool has a default of its own, or does without.
    LeftOut,
}

impl Parameter {
    pub(super) fn of(declared: &DeclaredParameter) -> Self {
        let schema = declared.declared.as_ref().map(|property| &property.schema);
        let source = match (declared.bound, declared.offered) {
            (true, _) => ParameterSource::Binding,
            (false, true) => ParameterSource::Model,
            (false, false) => ParameterSource::Nobody,
        };
        // a parameter that v1 hides from the model has to be bound, whatever its default (KV-11)
        let hidden = schema.is_some_and(|schema| !schema.allow_from_llm);
        Self {
            name: declared.name.as_str().into(),
            shape: schema.map_or_else(Shape::text, |schema| Shape::of(schema)),
            missing: schema.filter(|_| !hidden).map_or(Missing::Fault, |schema| Missing::of(schema)),
            source,
        }
    }

    /// The type of its values. A default need not fit the schema that it stands in (PAR-04: `default: null`).
    #[must_use]
    pub fn ty(&self) -> Type {
        match &self.missing {
            Missing::Default(default) if self.shape.check(&default.value()).is_err() => Type::Dyn,
            Missing::Default(_) | Missing::Fault | Missing::LeftOut => self.shape.ty(&self.name),
        }
    }

    /// What its values are beyond their type. A default that does not fit is one of them.
    pub(super) fn domain(&self) -> Option<Arc<Domain>> {
        let mut domain = self.shape.domain();
        if let Missing::Default(default) = &self.missing
            && self.shape.check(&default.value()).is_err()
        {
            let default = constant(&default.value());
            let with = |allowed: Box<[Constant]>| Some(allowed.into_iter().chain([default?]).collect());
            domain = Domain { allowed: domain.allowed.and_then(with), ..Domain::default() };
        }
        domain.known()
    }
}

impl Missing {
    pub(super) fn of(schema: &Schema) -> Self {
        match (schema.required, &schema.default) {
            (Some(true), _) | (None, None) => Self::Fault,
            // the server of a listed tool has defaults of its own
            (Some(false), _) => Self::LeftOut,
            (None, Some(default)) => Self::Default(Json::from(default)),
        }
    }
}
