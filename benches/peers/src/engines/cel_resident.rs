//! `cel` with values of our own that stay where they are: what its documents allow to those who write their own types.
//!
//! The state lives in records and lists that implement `Val`; a resolver lends them out, so nothing is converted after a
//! step. Recording a step is a push. Nothing in the documents does this for its user: it is what an engineer could make
//! of the crate in an afternoon, and the fairest that it can be compared by.

use super::{Engine, keep};
use crate::kind::Kind;
use crate::measure::Case;
use crate::questions::{FUNCTIONS, expected, expression, invocation};
use crate::roots::{Roots, spelt_out};
use cel::common::traits::{self, Indexer, Iterable, Sizer};
use cel::common::types::{CelBool, CelDouble, CelInt, CelNull, CelString, LIST_TYPE, MAP_TYPE, Type};
use cel::common::value::{CowVal, Val};
use cel::context::VariableResolver;
use cel::{Context, Env, ExecutionError, Program, Value};
use serde_json::Value as Json;
use std::hint::black_box;
use std::sync::Arc;

pub const NAME: &str = "cel-resident";

/// A value of the state.
#[derive(Debug)]
enum Node {
    Leaf(Box<dyn Val>),
    Record(Record),
    List(List),
}

/// Named values. A clone shares them.
#[derive(Clone, Debug)]
struct Record(Arc<Vec<(CelString<'static>, Node)>>);

/// Values in the order in which they came, which expressions may see newest first. A clone shares them.
#[derive(Clone, Debug)]
struct List {
    items: Arc<Vec<Node>>,
    newest_first: bool,
}

static RECORD: Type = MAP_TYPE;
static LIST: Type = LIST_TYPE;

impl Node {
    fn new(json: &Json) -> Self {
        match json {
            Json::Object(fields) => Self::Record(Record::new(fields)),
            Json::Array(items) => {
                let items = items.iter().map(Self::new).collect();
                Self::List(List { items: Arc::new(items), newest_first: false })
            }
            Json::Null => Self::Leaf(Box::new(CelNull)),
            Json::Bool(truth) => Self::Leaf(Box::new(CelBool::from(*truth))),
            Json::Number(number) => Self::Leaf(match number.as_i64() {
                Some(number) => Box::new(CelInt::from(number)),
                None => Box::new(CelDouble::from(number.as_f64().unwrap_or_default())),
            }),
            Json::String(text) => Self::Leaf(Box::new(string(text))),
        }
    }

    fn value(&self) -> &(dyn Val + 'static) {
        match self {
            Self::Leaf(leaf) => leaf.as_ref(),
            Self::Record(record) => record,
            Self::List(list) => list,
        }
    }
}

/// Names of functions are borrowed from the program, so that cloning one costs nothing.
fn string(text: &str) -> CelString<'static> {
    let known = FUNCTIONS.iter().find(|known| **known == text);
    known.map_or_else(|| CelString::from(text.to_owned()), |known| CelString::from(*known))
}

impl Record {
    fn new(fields: &serde_json::Map<String, Json>) -> Self {
        Self(Arc::new(fields.iter().map(|(key, field)| (string(key), Node::new(field))).collect()))
    }

    fn field(&self, name: &str) -> Option<&Node> {
        self.0.iter().find(|(known, _)| known.inner() == name).map(|(_, field)| field)
    }

    fn fields_mut(&mut self) -> impl Iterator<Item = (&str, &mut Node)> {
        let fields = Arc::get_mut(&mut self.0).expect("no expression is being answered");
        fields.iter_mut().map(|(name, field)| (name.inner(), field))
    }

    fn field_mut(&mut self, name: &str) -> &mut Node {
        let field = self.fields_mut().find(|(known, _)| *known == name);
        field.map(|(_, field)| field).expect("the state has this field")
    }

    fn record_mut(&mut self, name: &str) -> &mut Self {
        let Node::Record(record) = self.field_mut(name) else { panic!("{name} is a record") };
        record
    }

    fn push(&mut self, name: &str, item: Node) {
        let Node::List(list) = self.field_mut(name) else { panic!("{name} is a list") };
        Arc::get_mut(&mut list.items).expect("no expression is being answered").push(item);
    }

    fn count(&mut self, name: &str) {
        let Node::Leaf(leaf) = self.field_mut(name) else { panic!("{name} is a number") };
        let number = leaf.downcast_ref::<CelInt>().map_or(0, |number| *number.inner());
        *leaf = Box::new(CelInt::from(number + 1));
    }
}

/// What a record and a list have in common as values: both are looked into, gone through and measured.
macro_rules! container {
    ($container:ident, $type:ident) => {
        impl Val for $container {
            fn get_type(&self) -> &Type {
                &$type
            }

            fn cel_type() -> &'static Type {
                &$type
            }

            fn as_indexer<'b, 'v>(&'b self) -> Option<&'b (dyn Indexer + 'v)>
            where
                Self: 'v,
            {
                Some(self)
            }

            fn as_iterable<'b, 'v>(&'b self) -> Option<&'b (dyn Iterable + 'v)>
            where
                Self: 'v,
            {
                Some(self)
            }

            fn as_sizer(&self) -> Option<&dyn Sizer> {
                Some(self)
            }

            fn clone_as_boxed<'v>(&self) -> Box<dyn Val + 'v> {
                Box::new(self.clone())
            }
        }
    };
}

container!(Record, RECORD);
container!(List, LIST);

impl Indexer for Record {
    fn get<'b, 'v>(&'b self, key: &dyn Val) -> Result<CowVal<'b, 'v>, ExecutionError>
    where
        Self: 'v,
    {
        let field = key.downcast_ref::<CelString>().and_then(|key| self.field(key.inner()));
        field.map(|field| CowVal::Borrowed(field.value())).ok_or_else(|| ExecutionError::no_such_key("field"))
    }

    fn steal<'v>(self: Box<Self>, key: &dyn Val) -> Result<Box<dyn Val + 'v>, ExecutionError> {
        self.get(key).map(CowVal::into_owned)
    }
}

impl Iterable for Record {
    fn iter<'b, 'v>(&'b self) -> Box<dyn traits::Iterator<'b, 'v> + 'b>
    where
        Self: 'v,
    {
        Box::new(Lending(self.0.iter().map(|(name, _)| name as &(dyn Val + 'static))))
    }
}

impl Sizer for Record {
    fn size(&self) -> CelInt {
        CelInt::from(self.0.len() as i64)
    }
}

impl Indexer for List {
    fn get<'b, 'v>(&'b self, index: &dyn Val) -> Result<CowVal<'b, 'v>, ExecutionError>
    where
        Self: 'v,
    {
        let index = index.downcast_ref::<CelInt>().and_then(|index| usize::try_from(*index.inner()).ok());
        let position =
            |index| if self.newest_first { self.items.len().checked_sub(index + 1) } else { Some(index) };
        let item = index.and_then(position).and_then(|position| self.items.get(position));
        item.map(|item| CowVal::Borrowed(item.value())).ok_or_else(|| ExecutionError::no_such_key("item"))
    }

    fn steal<'v>(self: Box<Self>, index: &dyn Val) -> Result<Box<dyn Val + 'v>, ExecutionError> {
        self.get(index).map(CowVal::into_owned)
    }
}

impl Iterable for List {
    fn iter<'b, 'v>(&'b self) -> Box<dyn traits::Iterator<'b, 'v> + 'b>
    where
        Self: 'v,
    {
        let items = self.items.iter().map(Node::value);
        if self.newest_first { Box::new(Lending(items.rev())) } else { Box::new(Lending(items)) }
    }
}

impl Sizer for List {
    fn size(&self) -> CelInt {
        CelInt::from(self.items.len() as i64)
    }
}

struct Lending<I>(I);

impl<'b, 'v, I: Iterator<Item = &'b (dyn Val + 'static)>> traits::Iterator<'b, 'v> for Lending<I> {
    fn next(&mut self) -> Option<&'b (dyn Val + 'v)> {
        self.0.next()
    }
}

/// The state of a task.
#[derive(Debug)]
struct State(Record);

impl State {
    fn new(roots: &Roots) -> Self {
        let Node::Record(mut state) = Node::new(&roots.0) else { panic!("the roots are an object") };
        let capabilities = state.record_mut("context").record_mut("capabilities");
        for (_, record) in capabilities.fields_mut().filter(|(name, _)| *name != "_meta") {
            let Node::Record(record) = record else { panic!("of each function there is a record") };
            for (_, field) in record.fields_mut() {
                if let Node::List(list) = field {
                    list.newest_first = true;
                    Arc::get_mut(&mut list.items).expect("it was just made").reverse();
                }
            }
        }
        Self(state)
    }

    /// Records a call that succeeded.
    fn record(&mut self, step: Step) {
        let capabilities = self.0.record_mut("context").record_mut("capabilities");
        let meta = capabilities.record_mut("_meta");
        meta.count("count");
        meta.push("invocations", Node::Leaf(Box::new(CelString::from(step.function))));
        let record = capabilities.record_mut(step.function);
        record.count("count_successful");
        for (name, item) in step.items {
            record.push(name, item);
        }
    }

    fn bind<'s>(&'s self, env: &Arc<Env>) -> Context<'s, 's> {
        let mut context = Context::with_env(env.clone());
        context.set_variable_resolver(self);
        context
    }
}

impl VariableResolver for State {
    fn resolve<'b>(&'b self, variable: &str) -> Option<CowVal<'b, 'b>> {
        self.0.field(variable).map(|root| CowVal::Borrowed(root.value()))
    }
}

/// A call, ready to be recorded.
struct Step {
    function: &'static str,
    items: [(&'static str, Node); 6],
}

impl Step {
    fn new(n: usize) -> Self {
        let (input, output) = invocation(n);
        let items = [
            ("timestamps", Json::from("2026-05-28T20:26:40Z")),
            ("inputs", input),
            ("outputs", output),
            ("successful", Json::from(true)),
            ("errored", Json::from(false)),
            ("restricted", Json::from(false)),
        ];
        Self {
            function: FUNCTIONS[n % FUNCTIONS.len()],
            items: items.map(|(name, item)| (name, Node::new(&item))),
        }
    }
}

struct Resident {
    n: usize,
    env: Arc<Env>,
    roots: &'static Roots,
    bound: &'static Context<'static, 'static>,
}

pub fn make(n: usize, roots: &'static Roots) -> Box<dyn Engine> {
    let env = Arc::new(Env::stdlib());
    let bound = keep(keep(State::new(roots)).bind(&env));
    Box::new(Resident { n, env, roots, bound })
}

fn answer(program: &Program, context: &Context<'_, '_>) -> bool {
    matches!(program.execute(context), Ok(Value::Bool(true)))
}

impl Engine for Resident {
    fn case(&self, kind: Kind, name: &'static str) -> Option<Case> {
        let (n, env, roots, bound) = (self.n, self.env.clone(), self.roots, self.bound);
        let compile = || env.compile(&spelt_out(expression(name))).expect("the workload compiles");
        match kind {
            Kind::Eval => {
                let (program, expected) = (compile(), expected(name));
                Some(Case::repeated(NAME, move || answer(black_box(&program), black_box(bound)) == expected))
            }
            Kind::StepEval => {
                let (program, warm) = (keep(compile()), env.clone());
                let prepare = move |calls: u32| {
                    let mut state = State::new(roots);
                    (0..5).for_each(|step| state.record(Step::new(n + step)));
                    assert!(answer(program, &state.bind(&warm)));
                    (state, (0..calls as usize).map(|step| Step::new(n + step)).collect::<Vec<_>>())
                };
                let calls = move |(state, steps): &mut (State, Vec<Step>)| {
                    for step in steps.drain(..) {
                        state.record(step);
                        assert!(answer(black_box(program), &state.bind(&env)));
                    }
                };
                Some(Case::prepared(NAME, 32, prepare, calls))
            }
            _ => None,
        }
    }
}
