//! The rows of the function libraries hold what they say: every signature can be read, every name and id is given
//! once, and every example gives what stands beside it, value and type.

use celador::cel::{
    Activation, EXTENSIONS, Env, Function, Issue, Overload, Program, STANDARD, Stop, Type, Value,
};
use std::collections::HashSet;

fn libraries() -> impl Iterator<Item = &'static Function> {
    STANDARD.iter().chain(EXTENSIONS).copied().flatten()
}

fn scope() -> Env {
    let libraries = STANDARD.iter().chain(EXTENSIONS);
    libraries.fold(Env::builder(), |scope, library| scope.library(library)).build()
}

#[test]
fn signatures_are_readable_and_ids_unique() {
    let mut names = HashSet::new();
    let mut ids = HashSet::new();
    for function in libraries() {
        assert!(names.insert(function.name), "`{}` stands in two rows", function.name);
        assert!(!function.overloads.is_empty(), "`{}` has no overload", function.name);
        for (id, signature) in function.overloads {
            assert!(ids.insert(*id), "`{id}` is the id of two overloads");
            assert!(Overload::parse(id, signature).is_some(), "`{signature}` cannot be read");
            let name = signature.split_once(" -> ").map(|(call, _)| call).unwrap_or_default();
            assert!(name.contains(&format!("{}(", function.name)), "`{signature}` is of another function");
        }
    }
}

#[test]
fn rows_say_what_they_are_in_one_line() {
    for function in libraries() {
        for line in [function.doc, function.cost] {
            assert!(
                !line.is_empty() && !line.contains('\n') && !line.ends_with('.'),
                "`{}`: {line}",
                function.name
            );
        }
        assert!(!function.examples.is_empty(), "`{}` has no example", function.name);
    }
}

#[test]
fn examples_give_what_stands_beside_them() {
    let env = scope();
    let mut wrong = Vec::new();
    for (name, (expression, expected)) in
        libraries().flat_map(|function| function.examples.iter().map(|example| (function.name, example)))
    {
        let found = outcome(&env, expression);
        let wanted = match expected.strip_prefix("error: ") {
            Some(code) => format!("error: {code}"),
            None => outcome(&env, expected),
        };
        if found != wanted {
            wrong.push(format!("{name}: `{expression}` gives {found}, not {wanted}"));
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

#[test]
fn examples_have_the_types_that_they_are_checked_to_have() {
    let env = scope();
    for expression in
        libraries().flat_map(|function| function.examples.iter().map(|(expression, _)| expression))
    {
        let Ok(program) = Program::compile(&env, expression) else { continue };
        if let Ok(value) = program.run(&Activation::new(&env), None) {
            assert!(is_of(&value, program.result_type()), "`{expression}`: {}", program.result_type());
        }
    }
}

/// The value with the types of all its parts, or the error.
fn outcome(env: &Env, expression: &str) -> String {
    let program = match Program::compile(env, expression) {
        Ok(program) => program,
        Err(issues) => return issues.iter().map(|issue: &Issue| issue.message.as_str()).collect(),
    };
    let result = match program.run(&Activation::new(env), None) {
        Ok(value) => shown(&value),
        Err(Stop::Failed(error)) => format!("error: {}", error.code),
        Err(Stop::Asked) => "a question".to_owned(),
    };
    result
}

/// Any value as text, such that equal texts are equal values of one type.
fn shown(value: &Value<'_>) -> String {
    match value {
        Value::List(list) => {
            let items: Vec<String> = list.iter().map(|item| shown(&item)).collect();
            format!("[{}]", items.join(", "))
        }
        Value::Map(map) => {
            let entries =
                map.iter().map(|(key, value)| format!("{}: {}", shown(&key.value()), shown(&value)));
            format!("{{{}}}", entries.collect::<Vec<_>>().join(", "))
        }
        Value::Optional(Some(value)) => format!("optional {}", shown(value)),
        other => format!("{other:?}"),
    }
}

/// Whether a value is one of this type.
fn is_of(value: &Value<'_>, ty: &Type) -> bool {
    match (value, ty) {
        (Value::List(list), Type::List(element)) => list.iter().all(|item| is_of(&item, element)),
        (Value::Map(map), Type::Map(entry)) => {
            map.iter().all(|(key, value)| is_of(&key.value(), &entry.0) && is_of(&value, &entry.1))
        }
        (Value::Optional(Some(value)), Type::Optional(inner)) => is_of(value, inner),
        (value, ty) => ty.kind().is_none_or(|kind| kind == value.kind()),
    }
}
