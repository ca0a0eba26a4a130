//! An [`Expr`] and its [`Env`] to a [`Checked`] expression: types, resolved names, static cost; or diagnostics.

use super::env::Slot;
use super::function::Declaration;
use super::syntax::{Expr, ExprId};
use super::types::Type;

/// An expression whose names are resolved and whose types are known as far as they can be.
#[derive(Clone, Debug)]
pub struct Checked {
    /// The tree.
    pub expr: Expr,
    /// The type of each expression, by its id.
    pub types: Vec<Type>,
    /// What each name stands for, by the id of its expression.
    pub references: Vec<Option<Reference>>,
    /// What one evaluation costs.
    pub cost: CostEstimate,
}

/// What a name stands for.
#[derive(Clone, Debug)]
pub enum Reference {
    /// A variable of the scope; on a selection, a variable with a qualified name.
    Variable(Slot),
    /// A variable of a comprehension or binding around it: how many such variables stand further out.
    Local(usize),
    /// A function with the overloads that may apply; on a qualified call, its target is part of the name.
    Function {
        /// The function.
        declaration: Declaration,
        /// The ids of the overloads that the argument types leave; empty if none fits, which fails when it runs.
        overloads: Vec<&'static str>,
        /// Whether the call's target is a part of the function's name: `math.greatest(1, 2)`.
        qualified: bool,
    },
    /// A type as a value: `int`, `google.protobuf.Timestamp`.
    Type(Type),
    /// A field of a live record, by its slot.
    Field(usize),
}

/// The static cost in cost units: a range, and whether every evaluation stays in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CostEstimate {
    /// The least that an evaluation which ends without an error costs.
    pub min: u64,
    /// The most, if sizes are as assumed; `None` if nothing bounds it.
    pub max: Option<u64>,
}

impl Checked {
    /// The type of an expression of the tree.
    #[must_use]
    pub fn type_of(&self, id: ExprId) -> &Type {
        self.types.get(id.0 as usize).unwrap_or(&Type::Dyn)
    }

    /// What an expression of the tree names.
    #[must_use]
    pub fn reference(&self, id: ExprId) -> Option<&Reference> {
        self.references.get(id.0 as usize)?.as_ref()
    }
}
