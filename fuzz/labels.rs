//! Labels by chance: a story of inputs and results, labels that steps give and take, and questions about texts.
//!
//! A line is one event; its first letter says of which kind, the rest is its text. Each question is answered by the index that has grown with
//! the story, by a new one, by the context that was stored and read back, and by a search through everything that is written here
//! once more. What observed steps do changes nothing for the others, not even what an answer costs.

use celador::cel::{Activation, Env, EnvBuilder, Json, Program, STANDARD, Type, Value};
use celador::context::{
    Caller, ContextSchema, CopyRules, FunctionDecl, FunctionId, InvocationRecord, InvocationStatus,
    LABELLING, LabelChange, LabelSet, Labelling, SchemaDecl, SeenBy, TaskContext, TaskFacts, TaskIo,
    ValueSource,
};
use celador::copies::{Found, Letters, each_text};
use celador::limits::EvalLimits;
use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};

/// What a question asks.
static ASK: LazyLock<(Env, [Program; 2])> = LazyLock::new(|| {
    let scope = Env::builder().variable("context", Type::Dyn).variable("text", Type::Dyn);
    let scope = STANDARD.iter().copied().fold(scope, EnvBuilder::library).library(LABELLING);
    let env = scope.build();
    let program = |text| Program::compile(&env, text).expect("a question compiles");
    let programs = [program("labels(text)"), program("sources(text)")];
    (env, programs)
});

/// A value of the story with its marks, as one kind of step sees them: labels, and those against which it vouches.
type Marks = BTreeMap<ValueSource, (LabelSet, LabelSet)>;

/// A story in two contexts, of which one has no observed steps, and what is known of it without any index.
struct Story {
    task: TaskContext,
    without_observed: TaskContext,
    values: Vec<(ValueSource, Json)>,
    enforced: Marks,
    observed: Marks,
    least: usize,
}

/// Tells the story that some bytes write down.
pub fn labels(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    if text.len() > 4_000 {
        return;
    }
    let least = 4 + text.lines().next().map_or(0, str::len) % 16;
    let mut story = Story::new(least);
    for line in text.lines().skip(1).take(60) {
        let mut letters = line.chars();
        let kind = letters.next().unwrap_or(' ');
        let rest = letters.as_str();
        match kind {
            'i' => story.input(rest),
            'r' => story.result(rest),
            'e' => story.label(rest, LabelChange::Given, SeenBy::Everybody),
            'd' => story.label(rest, LabelChange::Taken, SeenBy::Everybody),
            'o' => story.label(rest, LabelChange::Given, SeenBy::Observed),
            't' => story.label(rest, LabelChange::Taken, SeenBy::Observed),
            'p' => story.take_back(),
            _ => story.ask(line),
        }
    }
}

impl Story {
    fn new(least: usize) -> Self {
        let function =
            FunctionDecl { key: "f".into(), input: Type::Dyn, output: Type::Dyn, delegation: false };
        let copies = CopyRules { least, max_bytes: 1 << 20 };
        let declared = SchemaDecl { functions: vec![function], copies, ..SchemaDecl::default() };
        let schema = ContextSchema::new(&declared).expect("one function");
        let facts = TaskFacts {
            agent: "a".into(),
            namespace: "n".into(),
            started_at: "2026-06-01T12:00:00Z".parse().expect("a time"),
            user_id: "u".into(),
            user_email: None,
            user_claims: None,
            address: None,
            model: "m".into(),
            depth: 0,
        };
        let task = TaskContext::new(schema, facts);
        let without_observed = task.clone();
        let (values, enforced, observed) = (Vec::new(), Marks::new(), Marks::new());
        Self { task, without_observed, values, enforced, observed, least }
    }

    fn both(&mut self, change: impl Fn(&mut TaskContext)) {
        change(&mut self.task);
        change(&mut self.without_observed);
    }

    fn input(&mut self, text: &str) {
        let text = Json::string(text);
        let Ok(entry) = TaskIo::new(text.root()) else { return };
        self.both(|task| task.push_input(entry.clone()));
        self.values.extend(self.task.last_input_source().map(|source| (source, text)));
    }

    fn result(&mut self, text: &str) {
        let output = Json::parse(text, &EvalLimits::default()).unwrap_or_else(|_| Json::string(text));
        let at = self.task.start().started_at.into();
        self.both(|task| {
            task.record(InvocationRecord {
                function: FunctionId(0),
                at,
                started_at: at,
                input: Json::null(),
                output: Some(output.clone()),
                status: InvocationStatus::Successful,
                executed: true,
                origin: Caller::Model,
                task_id: None,
                message: 0,
                rejected: false,
            });
        });
        self.values.extend(self.task.last_call_source().map(|source| (source, output)));
    }

    /// The last input is refused.
    fn take_back(&mut self) {
        let Some(last) = self.task.last_input_source() else { return };
        self.both(|task| drop(task.pop_input()));
        self.values.retain(|(source, _)| *source != last);
        self.enforced.remove(&last);
        self.observed.remove(&last);
    }

    /// Labels of the value whose number from behind is that of the first letter.
    fn label(&mut self, text: &str, change: LabelChange, seen_by: SeenBy) {
        let mut letters = text.chars();
        let back = letters.next().and_then(|digit| digit.to_digit(10)).unwrap_or_default() as usize;
        let Some((of, _)) = self.values.iter().rev().nth(back) else { return };
        let labels: LabelSet = letters.as_str().split_whitespace().map(Arc::from).collect();
        let labelling = Labelling { of: *of, change, labels, by: None, seen_by };
        if seen_by == SeenBy::Everybody {
            self.without_observed.label(labelling.clone());
            mark(&mut self.enforced, &labelling);
        }
        mark(&mut self.observed, &labelling);
        self.task.label(labelling);
    }

    fn ask(&self, text: &str) {
        let stored = serde_json::to_string(&self.task.state()).expect("a state is JSON");
        let stored = serde_json::from_str(&stored).expect("it reads as one");
        let restored = TaskContext::restore(self.task.schema().clone(), stored).expect("it was stored");
        let anew = self.task.clone();
        for (view, marks) in [
            (TaskContext::value as fn(&TaskContext) -> Value<'_>, &self.enforced),
            (TaskContext::observed_value, &self.observed),
        ] {
            let expected = self.searched(text, marks);
            let told = answer(view(&self.task), 0, text);
            assert_eq!(told.0, expected, "labels");
            assert_eq!(answer(view(&anew), 0, text), told, "a new index");
            assert_eq!(answer(view(&restored), 0, text), told, "a stored context");
            assert_eq!(answer(view(&anew), 1, text), answer(view(&self.task), 1, text), "sources");
        }
        let of_others = answer(self.without_observed.value(), 0, text);
        assert_eq!(answer(self.task.value(), 0, text), of_others, "observed labels are seen");
    }

    /// The labels of a text, found by looking through everything.
    fn searched(&self, text: &str, marks: &Marks) -> Vec<String> {
        let asked = Letters::of(text);
        let asked = asked.all();
        let mut labels = LabelSet::new();
        if asked.len() < 4 {
            return Vec::new();
        }
        for (source, value) in &self.values {
            let Some((given, _)) = marks.get(source) else { continue };
            let mut repeats = false;
            texts(value, &mut |letters, found| {
                repeats |= if letters.len() < self.least {
                    found == Found::Value && letters.len() >= 4 && letters == asked
                } else {
                    letters.windows(self.least).any(|run| asked.windows(self.least).any(|other| other == run))
                };
            });
            if repeats {
                labels.extend(given.iter().cloned());
            }
        }
        for (source, value) in &self.values {
            let Some((_, vouched)) = marks.get(source) else { continue };
            let mut stands = false;
            texts(value, &mut |letters, _| {
                stands |= letters.windows(asked.len()).any(|run| run == asked);
            });
            if stands {
                labels.retain(|label| !vouched.contains(label));
            }
        }
        labels.iter().map(ToString::to_string).collect()
    }
}

fn mark(marks: &mut Marks, labelling: &Labelling) {
    let (given, vouched) = marks.entry(labelling.of).or_default();
    let (to, from) = match labelling.change {
        LabelChange::Taken => (vouched, given),
        _ => (given, vouched),
    };
    for label in &labelling.labels {
        from.remove(label);
        to.insert(label.clone());
    }
}

/// The letters of each text of a value.
fn texts(value: &Json, told: &mut impl FnMut(&[char], Found)) {
    each_text(value.root(), &mut |text, found| told(Letters::of(text).all(), found));
}

/// What a question gives, and what it costs.
fn answer(context: Value<'_>, question: usize, text: &str) -> (Vec<String>, u64) {
    let (env, programs) = &*ASK;
    let activation = Activation::new(env).with(env, "context", context).with(env, "text", Value::text(text));
    let (result, cost) = programs[question].run_metered(&activation, None);
    let Ok(Value::List(answer)) = result else { panic!("a question has an answer: {result:?}") };
    (
        answer
            .iter()
            .map(|value| value.as_str().map_or_else(|| format!("{value:?}"), str::to_owned))
            .collect(),
        cost,
    )
}
