//! The scope of a test: all libraries, its container, the variables and functions that it declares.

use super::expected::type_of;
use super::suite::{Test, items};
use celador::cel::{Code, Declaration, EXTENSIONS, Env, EnvBuilder, Function, Overload, STANDARD, Type};
use serde_json::Value as Json;
use std::sync::LazyLock;

/// The scope, or what is declared that has no counterpart here.
pub(super) fn scope(test: &Test) -> Result<Env, String> {
    static LIBRARIES: LazyLock<EnvBuilder> = LazyLock::new(|| {
        let libraries = STANDARD.iter().chain(EXTENSIONS);
        libraries.fold(Env::builder(), |scope, library| scope.library(library))
    });
    let mut scope = LIBRARIES.clone().container(test.fields["container"].as_str().unwrap_or_default());
    let mut declared = Vec::new();
    for declaration in items(&test.fields["typeEnv"]) {
        let name = declaration["name"].as_str().unwrap_or_default();
        match declaration.get("ident") {
            Some(ident) => {
                let ty = type_of(&ident["type"])
                    .ok_or_else(|| format!("declares `{name}` as {}", ident["type"]))?;
                scope = scope.variable(name, ty);
                declared.push(name);
            }
            None => scope = function(scope, name, &declaration["function"])?,
        }
    }
    for (name, _) in test.bindings().filter(|(name, _)| !declared.contains(name)) {
        scope = scope.variable(name, Type::Dyn);
    }
    Ok(scope.build())
}

/// A function that is declared and never run. Names of functions live as long as the program, so these do too.
fn function(scope: EnvBuilder, name: &str, declaration: &Json) -> Result<EnvBuilder, String> {
    let name: &'static str = name.to_owned().leak();
    let mut overloads = Vec::new();
    for overload in items(&declaration["overloads"]) {
        let read = |ty: &Json| type_of(ty).ok_or_else(|| format!("declares {ty}"));
        overloads.push(Overload {
            id: name,
            member: overload["isInstanceFunction"] == true,
            parameters: items(&overload["params"]).iter().map(read).collect::<Result<_, _>>()?,
            variadic: false,
            result: read(&overload["resultType"])?,
        });
    }
    let function = Function {
        name,
        doc: "declared by a test",
        cost: "1",
        overloads: &[],
        examples: &[],
        code: Code::Host,
    };
    Ok(scope.function(Declaration {
        name: function.name.into(),
        function,
        overloads: overloads.into(),
        signature: None,
    }))
}
