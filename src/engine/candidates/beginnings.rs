//! Beginnings of tasks: users with their claims, parameters of inputs, labels and amounts of counters, made of what policies declare.
//!
//! In: the sides of a comparison, or one agent, and the values that they name. Out: beginnings that differ from the first one in one thing, then in two, so that the
//! first fits every declaration. Bounded by the number that is asked for.

use super::Named;
use crate::cel::Json;
use crate::counter::CounterWindow;
use crate::manifest::catalog::ResolvedAgent;
use crate::manifest::counter::DeclaredCounter;
use crate::manifest::label::LabelTexts;
use crate::manifest::policy::DeclaredPolicy;
use crate::manifest::step::DeclaredAction;
use crate::task::User;
use serde_json::{Map, Value, json};
use std::collections::BTreeSet;

/// The most values that one thing has.
const MOST_VALUES: usize = 12;

/// The message of an input where nothing is declared of it.
pub(crate) const MESSAGE: &str = "Please see to this.";

/// What a task begins with.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Beginning {
    /// The id of the user.
    pub(crate) id: String,
    /// The address of the user.
    pub(crate) email: Option<String>,
    /// The claims of the user.
    pub(crate) claims: Map<String, Value>,
    /// The first input: its message and parameters.
    pub(crate) input: Map<String, Value>,
    /// The labels of the first input, and of the results before.
    pub(crate) labels: Vec<String>,
    /// The labels of the task.
    pub(crate) task_labels: Vec<String>,
    /// What counters hold.
    pub(crate) counters: Vec<StartingCounter>,
}

/// A counter with the amount that it holds at the beginning, under each key.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct StartingCounter {
    /// The policy as stores know it.
    pub(crate) policy: String,
    pub(crate) name: String,
    pub(crate) window: CounterWindow,
    pub(crate) amount: i64,
}

/// One thing of a beginning with the values that it may have.
enum Dimension {
    Id(Vec<String>),
    Email(Vec<String>),
    Claim(String, Vec<Option<Value>>),
    Input(String, Vec<Option<Value>>),
    Labels(Vec<Vec<String>>),
    TaskLabels(Vec<Vec<String>>),
    Counter(Vec<StartingCounter>),
}

impl Beginning {
    /// The user.
    pub(crate) fn user(&self) -> User {
        let claims = Some(Json::from(&Value::Object(self.claims.clone())));
        let claims = claims.filter(|_| !self.claims.is_empty());
        User { id: self.id.clone(), email: self.email.clone(), claims }
    }

    /// The user as a case has it.
    pub(crate) fn user_json(&self) -> Value {
        let mut user = json!({ "id": self.id, "email": self.email });
        if let Some(members) = user.as_object_mut().filter(|_| !self.claims.is_empty()) {
            members.insert("claims".to_owned(), self.claims.clone().into());
        }
        user
    }
}

impl Dimension {
    fn len(&self) -> usize {
        match self {
            Self::Id(values) | Self::Email(values) => values.len(),
            Self::Claim(_, values) | Self::Input(_, values) => values.len(),
            Self::Labels(values) | Self::TaskLabels(values) => values.len(),
            Self::Counter(values) => values.len(),
        }
    }

    /// Gives a beginning the value at a position.
    fn set(&self, at: usize, beginning: &mut Beginning) {
        let put = |members: &mut Map<String, Value>, name: &str, value: Option<&Option<Value>>| match value {
            Some(Some(value)) => drop(members.insert(name.to_owned(), value.clone())),
            _ => drop(members.remove(name)),
        };
        match self {
            Self::Id(values) => beginning.id = values.get(at).cloned().unwrap_or_default(),
            Self::Email(values) => beginning.email = values.get(at).cloned(),
            Self::Claim(name, values) => put(&mut beginning.claims, name, values.get(at)),
            Self::Input(name, values) => put(&mut beginning.input, name, values.get(at)),
            Self::Labels(values) => beginning.labels = values.get(at).cloned().unwrap_or_default(),
            Self::TaskLabels(values) => beginning.task_labels = values.get(at).cloned().unwrap_or_default(),
            Self::Counter(values) => beginning.counters.extend(values.get(at).cloned()),
        }
    }
}

/// Beginnings of tasks of an agent, at most so many. The sides are the agent as several sets of policies have it, or one of them.
pub(crate) fn beginnings(sides: &[&ResolvedAgent], named: &Named, most: usize) -> Vec<Beginning> {
    let dimensions = dimensions(sides, named);
    let sizes: Vec<usize> = dimensions.iter().map(Dimension::len).collect();
    let beginning = |places: Vec<usize>| {
        let mut beginning = Beginning { id: "u-1".to_owned(), ..Beginning::default() };
        beginning.input.insert("message".to_owned(), MESSAGE.into());
        dimensions.iter().zip(places).for_each(|(dimension, at)| dimension.set(at, &mut beginning));
        beginning
    };
    around(&sizes, most).into_iter().map(beginning).collect()
}

/// Positions in lists of these sizes: the first of each, then others in one list, then in two.
pub(crate) fn around(sizes: &[usize], most: usize) -> Vec<Vec<usize>> {
    let base = vec![0; sizes.len()];
    let longest = sizes.iter().copied().max().unwrap_or_default();
    // the second value of each list before the third of any
    let others = (1..longest).flat_map(|at| {
        sizes.iter().enumerate().filter(move |(_, size)| at < **size).map(move |(list, _)| (list, at))
    });
    let others: Vec<(usize, usize)> = others.collect();
    let changed = |changes: &[(usize, usize)]| {
        let mut places = base.clone();
        for (list, at) in changes {
            places.get_mut(*list).into_iter().for_each(|place| *place = *at);
        }
        places
    };
    let singles = others.iter().map(|one| changed(&[*one]));
    let pairs = others.iter().enumerate().flat_map(|(position, one)| {
        let earlier = others.iter().take(position).filter(|other| other.0 != one.0);
        earlier.map(|other| changed(&[*one, *other]))
    });
    std::iter::once(base.clone()).chain(singles).chain(pairs).take(most).collect()
}

fn dimensions(sides: &[&ResolvedAgent], named: &Named) -> Vec<Dimension> {
    let policies = || sides.iter().flat_map(|side| &side.policies).map(|applied| &*applied.policy);
    let mut all = Vec::new();
    for (name, declared) in claims(sides) {
        all.push(Dimension::Claim(name, values(named, &declared, sides.len())));
    }
    let mut names = BTreeSet::new();
    for property in sides.iter().flat_map(|side| &side.agent.parameters) {
        if names.insert(&*property.name.text) {
            let own = sides.iter().flat_map(|side| {
                let own = side.agent.parameters.iter().filter(|it| it.name.text == property.name.text);
                own.map(|it| Declared {
                    schema: it.schema.node.to_json(),
                    is_required: it.schema.is_required(),
                })
            });
            let own: Vec<Declared> = own.collect();
            all.push(Dimension::Input(property.name.text.to_string(), values(named, &own, sides.len())));
        }
    }
    let addresses =
        named.addresses().map(str::to_owned).filter(|_| sides.iter().any(|it| reads(it, "email")));
    all.push(Dimension::Email(std::iter::once("u1@example.com".to_owned()).chain(addresses).collect()));
    if sides.iter().any(|side| reads(side, "user.id")) {
        let texts = named.plain_texts().map(str::to_owned);
        all.push(Dimension::Id(std::iter::once("u-1".to_owned()).chain(texts).take(MOST_VALUES).collect()));
    }
    for (of_task, dimension) in [(false, Dimension::Labels as fn(_) -> _), (true, Dimension::TaskLabels)] {
        let labels: BTreeSet<String> = policies().flat_map(|policy| labels_of(policy, of_task)).collect();
        if !labels.is_empty() {
            let each = labels.iter().map(|label| vec![label.clone()]).take(MOST_VALUES);
            let both = std::iter::once(labels.iter().cloned().collect()).filter(|_| labels.len() > 1);
            all.push(dimension(std::iter::once(Vec::new()).chain(each).chain(both).collect()));
        }
    }
    let mut known = BTreeSet::new();
    for (policy, counter) in policies().flat_map(|policy| policy.counters.iter().map(move |it| (policy, it)))
    {
        let holding = |amount| StartingCounter {
            policy: policy.applied_name().to_string(),
            name: counter.name.text.to_string(),
            window: counter.window,
            amount,
        };
        if known.insert((policy.applied_name(), counter.name.text.clone())) {
            let amounts = std::iter::once(0).chain(named.amounts()).take(MOST_VALUES);
            all.push(Dimension::Counter(amounts.map(holding).collect()));
        }
    }
    all
}

/// A schema of a value, and whether the value must be there.
struct Declared {
    schema: Value,
    is_required: bool,
}

/// Values of what is declared by several schemas: those that all schemas have, then the others; nothing among them where it may be left out.
fn values(named: &Named, declared: &[Declared], sides: usize) -> Vec<Option<Value>> {
    let fitting: Vec<Vec<Value>> = declared.iter().map(|it| named.fitting(&it.schema)).collect();
    let (common, rest): (Vec<Value>, Vec<Value>) =
        fitting.iter().flatten().cloned().partition(|value| fitting.iter().all(|own| own.contains(value)));
    let mut values: Vec<Option<Value>> = Vec::new();
    for value in likely_first(common).into_iter().chain(rest).map(Some) {
        if values.len() < MOST_VALUES && !values.contains(&value) {
            values.push(value);
        }
    }
    // what one side alone declares may be absent on the other
    if declared.len() < sides || declared.iter().any(|it| !it.is_required) {
        values.insert(values.len().min(1), None);
    }
    values
}

/// The values with one in front that says something: a list that is not empty, a text that is not.
fn likely_first(mut values: Vec<Value>) -> Vec<Value> {
    let is_likely = |value: &Value| match value {
        Value::String(text) => !text.is_empty(),
        Value::Array(items) => !items.is_empty(),
        _ => true,
    };
    if let Some(at) = values.iter().position(is_likely) {
        values.swap(0, at);
    }
    values
}

/// The claims that policies declare, by name.
fn claims(sides: &[&ResolvedAgent]) -> Vec<(String, Vec<Declared>)> {
    let mut claims: Vec<(String, Vec<Declared>)> = Vec::new();
    let policies = sides.iter().flat_map(|side| &side.policies);
    for schema in policies.filter_map(|applied| applied.policy.claims.as_deref()) {
        let schema = schema.node.to_json();
        let required = schema.get("required").and_then(Value::as_array);
        for (name, own) in schema.get("properties").and_then(Value::as_object).into_iter().flatten() {
            let is_required = required.is_some_and(|names| names.iter().any(|known| known == name));
            let declared = Declared { schema: own.clone(), is_required };
            match claims.iter_mut().find(|(known, _)| known == name) {
                Some((_, all)) => all.push(declared),
                None => claims.push((name.clone(), vec![declared])),
            }
        }
    }
    claims
}

/// The labels that steps of a policy give to the task, or to values, or take away.
fn labels_of(policy: &DeclaredPolicy, of_task: bool) -> Vec<String> {
    let written = policy.steps().filter_map(|step| match &step.action {
        DeclaredAction::Label(labels) if labels.of_task == of_task => Some(&labels.texts),
        _ => None,
    });
    let texts = written.flat_map(|texts| match texts {
        LabelTexts::Written(labels) => labels.iter().map(|label| label.text.to_string()).collect(),
        LabelTexts::Computed(_) => Vec::new(),
    });
    texts.collect()
}

/// Whether a text of an expression has these characters.
fn reads(side: &ResolvedAgent, path: &str) -> bool {
    let own = side.agent.capabilities.iter().flat_map(|capability| capability.steps());
    let guardrails = side.agent.guardrails.before.iter().chain(&side.agent.guardrails.after);
    let of_policies = side.policies.iter().flat_map(|applied| applied.policy.steps());
    let mut texts = own.chain(guardrails).chain(of_policies).flat_map(|step| step.expressions());
    let variables = side.policies.iter().flat_map(|applied| &applied.policy.variables);
    let counters = side.policies.iter().flat_map(|applied| &applied.policy.counters);
    let reads = |text: &str| text.contains(path);
    texts.any(|text| reads(&text.text))
        || variables.map(|variable| &variable.expression).any(|text| reads(&text.text))
        || counters.flat_map(DeclaredCounter::expressions).any(|(_, text)| reads(&text.text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_thing_differs_before_two_do() {
        let all = around(&[2, 3], 10);
        assert_eq!(all, [vec![0, 0], vec![1, 0], vec![0, 1], vec![0, 2], vec![1, 1], vec![1, 2]]);
        assert_eq!(around(&[], 10), [Vec::<usize>::new()]);
        assert_eq!(around(&[5, 5], 3).len(), 3);
    }
}
