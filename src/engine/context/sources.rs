//! Where a value came from: what `labels` and `sources` answer. The bindings of the call at hand stand in `bound_sources`.
//!
//! In: a value that an expression has at hand. Out: the labels of the results and inputs that it repeats, or these themselves. Of a list or a
//! map each text is looked at. A text that stands as a whole in a value that vouches against a label does not have it. What has to be read for
//! an answer is paid for, each time the same; to keep the index up costs nobody anything, and each value once.

use super::copy_index::{CopyIndex, Parts};
use super::invocation::InvocationId;
use super::labels::{LabelChange, LabelSet, Labelling, Marks, SeenBy, ValueSource};
use super::provenance::{Kept, Labelled};
use super::task_context::TaskContext;
use crate::cel::{Entries, ErrorCode, Fault, Json, JsonRef, Key, Kind, Meter, Value};
use crate::copies::{Letters, Repeated, SHORTEST, each_text, is_whole_in, stands_in, text_bytes};
use crate::limits::EvalLimits;
use std::collections::BTreeSet;

/// What of a value has to be in a source of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Extent {
    /// A part of one of its texts.
    Part,
    /// Each of its texts, from end to end.
    Whole,
}

impl TaskContext {
    /// Gives labels to a result or an input, or takes them away. Of a value that there is not it says nothing to anybody.
    pub fn label(&mut self, labelling: Labelling) {
        self.provenance.labels.push(labelling);
    }

    /// Everything that was said of labels, in order.
    pub fn labellings(&self) -> impl ExactSizeIterator<Item = &Labelling> {
        self.provenance.labels.changes().iter()
    }

    /// The labels that a result or an input has by now.
    #[must_use]
    pub fn labels_given(&self, source: ValueSource) -> LabelSet {
        let marks = self.provenance.labels.seen_by(SeenBy::Everybody).of(source);
        marks.map(|marks| marks.labels.clone()).unwrap_or_default()
    }

    /// Whether observed steps see other labels than all others.
    #[must_use]
    pub fn has_observed_labels(&self) -> bool {
        self.provenance.labels.has_observed()
    }

    /// The result of a call on record, as labels name it.
    #[must_use]
    pub fn source_of(&self, id: InvocationId) -> ValueSource {
        ValueSource::Call(id.0)
    }

    /// The result of the last call on record, as labels name it.
    #[must_use]
    pub fn last_call_source(&self) -> Option<ValueSource> {
        let last = self.history.log().len().checked_sub(1)?;
        Some(ValueSource::Call(u32::try_from(last).ok()?))
    }

    /// How many letters in a row make a copy.
    pub(super) fn least_copy(&self) -> usize {
        self.schema.copies().least
    }

    /// The last input, as labels name it.
    #[must_use]
    pub fn last_input_source(&self) -> Option<ValueSource> {
        let last = self.inputs.len().checked_sub(1)?;
        Some(ValueSource::Input(u32::try_from(last).ok()?))
    }

    /// The labels that a document carries, as `labels` says them.
    ///
    /// # Errors
    /// `value_shortened` if a labelled result is not kept whole, `budget_exceeded` if there is too much to look through.
    ///
    /// # Cost
    /// Linear in the document and in the values that it may repeat; at most the budget of an expression.
    pub fn labels_of(&self, document: JsonRef<'_>, limits: &EvalLimits) -> Result<LabelSet, Fault> {
        if self.provenance.labels.seen_by(SeenBy::Everybody).is_empty() {
            return Ok(LabelSet::new());
        }
        self.labels_of_texts(SeenBy::Everybody, &texts_of(document, SHORTEST), &mut Meter::new(limits))
    }

    pub(super) fn answer_labels(
        &self,
        who: SeenBy,
        about: &Value<'_>,
        meter: &mut Meter<'_>,
    ) -> Result<Value<'static>, Fault> {
        if self.provenance.labels.seen_by(who).is_empty() {
            return Ok(Value::list(Vec::new()));
        }
        let labels = self.labels_of_texts(who, &texts(about, Extent::Part, meter)?, meter)?;
        Ok(shown(&labels))
    }

    pub(super) fn answer_sources(
        &self,
        who: SeenBy,
        about: &Value<'_>,
        extent: Extent,
        meter: &mut Meter<'_>,
    ) -> Result<Value<'static>, Fault> {
        let texts = texts(about, extent, meter)?;
        let mut kept = self.provenance.kept();
        let index = kept.all(self);
        index.hold(|_| true)?;
        let found = match extent {
            Extent::Whole => self.whole_sources(&texts, index, meter)?,
            Extent::Part => {
                let mut found = BTreeSet::new();
                for text in &texts {
                    found.extend(self.repeated(text, index, |_| true, meter)?);
                }
                found
            }
        };
        let shown = found.into_iter().map(|source| self.shown_source(who, source));
        Ok(Value::list(shown.collect()))
    }

    /// The labels that steps have given to a thing.
    pub(super) fn answer_marks(
        &self,
        who: SeenBy,
        of: ValueSource,
        meter: &mut Meter<'_>,
    ) -> Result<Value<'static>, Fault> {
        let marks = self.provenance.labels.seen_by(who).of(of);
        let Some(Marks { labels, .. }) = marks else { return Ok(Value::list(Vec::new())) };
        meter.charge_text(labels.iter().map(|label| label.len()).sum())?;
        Ok(shown(labels))
    }

    /// The same of the result of a call, given its number in `calls`, from 1.
    pub(super) fn answer_call_labels(
        &self,
        who: SeenBy,
        about: &Value<'_>,
        meter: &mut Meter<'_>,
    ) -> Result<Value<'static>, Fault> {
        let number = match about {
            Value::Int(number) => *number,
            // an open call has no number yet
            Value::Null => return Ok(Value::list(Vec::new())),
            _ => return Err(Fault::no_overload([about.kind()])),
        };
        match number.checked_sub(1).and_then(|at| u32::try_from(at).ok()) {
            Some(at) => self.answer_marks(who, ValueSource::Call(at), meter),
            None => Ok(Value::list(Vec::new())),
        }
    }

    fn labels_of_texts(
        &self,
        who: SeenBy,
        texts: &[Letters],
        meter: &mut Meter<'_>,
    ) -> Result<LabelSet, Fault> {
        let known = self.provenance.labels.seen_by(who);
        let marked = |source| known.of(source).is_some_and(|marks| !marks.labels.is_empty());
        let mut kept = self.provenance.kept();
        let index = kept.labelled(who, self);
        index.hold(marked)?;
        let mut all = LabelSet::new();
        for text in texts {
            let mut labels = LabelSet::new();
            for source in self.repeated(text, index, marked, meter)? {
                labels.extend(known.of(source).into_iter().flat_map(|marks| marks.labels.iter().cloned()));
            }
            self.drop_vouched(who, text, &mut labels, meter)?;
            all.append(&mut labels);
        }
        Ok(all)
    }

    /// The values that have each of the texts from end to end; none if there is no text.
    fn whole_sources(
        &self,
        texts: &[Letters],
        index: &CopyIndex,
        meter: &mut Meter<'_>,
    ) -> Result<BTreeSet<ValueSource>, Fault> {
        let Some(longest) = texts.iter().max_by_key(|text| text.len()) else { return Ok(BTreeSet::new()) };
        // the index finds parts of texts from this length on
        let mut found = match longest.len() >= self.least_copy() {
            true => index.candidates(longest),
            false => self.all_sources(),
        };
        for text in texts {
            meter.charge(text.len() as u64)?;
            let mut having = BTreeSet::new();
            for source in found {
                let parts = self.parts(source).ok_or(Fault::from(ErrorCode::ValueShortened))?;
                if self.any_of(&parts, meter, |part| is_whole_in(text, part))? {
                    having.insert(source);
                }
            }
            found = having;
        }
        Ok(found)
    }

    /// The values that came into the task.
    fn all_sources(&self) -> BTreeSet<ValueSource> {
        let numbers = |count: usize| (0..count).filter_map(|at| u32::try_from(at).ok());
        let calls = numbers(self.history.log().len()).map(ValueSource::Call);
        calls.chain(numbers(self.inputs.len()).map(ValueSource::Input)).collect()
    }

    /// The values that a text repeats, of those that count.
    fn repeated(
        &self,
        text: &Letters,
        index: &CopyIndex,
        counts: impl Fn(ValueSource) -> bool,
        meter: &mut Meter<'_>,
    ) -> Result<Vec<ValueSource>, Fault> {
        meter.charge(text.len() as u64)?;
        let candidates: Vec<_> =
            index.candidates(text).into_iter().filter(|source| counts(*source)).collect();
        if candidates.is_empty() {
            return Ok(candidates);
        }
        let repeated = Repeated::new(text, self.least_copy());
        let mut found = Vec::new();
        for source in candidates {
            let parts = self.parts(source).ok_or(Fault::from(ErrorCode::ValueShortened))?;
            if self.any_of(&parts, meter, |part| repeated.is_from(part))? {
                found.push(source);
            }
        }
        Ok(found)
    }

    /// Takes away the labels of a text that stands as a whole in a value that vouches against them. A value that is not there
    /// vouches for nothing.
    fn drop_vouched(
        &self,
        who: SeenBy,
        text: &Letters,
        labels: &mut LabelSet,
        meter: &mut Meter<'_>,
    ) -> Result<(), Fault> {
        for (source, vouched) in self.provenance.labels.seen_by(who).vouching() {
            if labels.is_disjoint(vouched) {
                continue;
            }
            let Some(parts) = self.parts(source) else { continue };
            if self.any_of(&parts, meter, |part| stands_in(text, part))? {
                labels.retain(|label| !vouched.contains(label));
            }
        }
        Ok(())
    }

    fn any_of(
        &self,
        parts: &[JsonRef<'_>],
        meter: &mut Meter<'_>,
        holds: impl Fn(JsonRef<'_>) -> bool,
    ) -> Result<bool, Fault> {
        for part in parts {
            meter.charge_text(text_bytes(*part))?;
            if holds(*part) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// What a value consists of: of an input its texts and further keys, without the kinds of its parts.
    fn parts(&self, source: ValueSource) -> Parts<'_> {
        match source {
            ValueSource::Call(at) => {
                let Some(output) = self.history.get(InvocationId(at)).and_then(|it| it.output.as_ref())
                else {
                    return Some(Vec::new());
                };
                (!output.is_shortened()).then(|| vec![output.root()])
            }
            ValueSource::Input(at) => {
                let Some(entry) = self.inputs.get(at as usize) else { return Some(Vec::new()) };
                let members = entry.io.message().items().flat_map(JsonRef::entries);
                let texts = members.filter(|(name, _)| *name != "mimeType").map(|(_, value)| value);
                Some(texts.chain([entry.io.extra()]).collect())
            }
            ValueSource::Task => Some(Vec::new()),
        }
    }

    /// A source as expressions see it.
    fn shown_source(&self, who: SeenBy, source: ValueSource) -> Value<'static> {
        let (kind, function, number) = match source {
            ValueSource::Call(at) => {
                let function = self.history.get(InvocationId(at)).and_then(|it| self.schema.key(it.function));
                ("call", function.cloned().map_or(Value::Null, Value::owned_text), at)
            }
            ValueSource::Input(at) => ("input", Value::Null, at),
            ValueSource::Task => ("task", Value::Null, 0),
        };
        let marks = self.provenance.labels.seen_by(who).of(source);
        let labels = marks.map(|marks| shown(&marks.labels));
        let entries = [
            ("kind", Value::text(kind)),
            ("fn", function),
            ("seq", Value::Int(i64::from(number).saturating_add(1))),
            ("labels", labels.unwrap_or_else(|| Value::list(Vec::new()))),
        ];
        let entries =
            entries.into_iter().filter_map(|(key, value)| Some((Key::from_value(&Value::text(key))?, value)));
        Value::map(entries.collect::<Entries<'static>>())
    }
}

impl Kept {
    /// The index of what has had a label that somebody sees.
    fn labelled(&mut self, who: SeenBy, context: &TaskContext) -> &CopyIndex {
        self.hold(context);
        let Labelled { index, recorded } = match who {
            SeenBy::Observed if context.has_observed_labels() => &mut self.observed,
            _ => &mut self.labelled,
        };
        let index = index.get_or_insert_with(|| CopyIndex::new(context.schema.copies()));
        let record = context.provenance.labels.changes();
        // not skipped over: the record is as long as the task
        let new = (*recorded..record.len()).filter_map(|at| record.get(at));
        let is_seen = |it: &&Labelling| {
            it.change == LabelChange::Given && (it.seen_by == SeenBy::Everybody || it.seen_by == who)
        };
        let given = new.filter(is_seen);
        let values = given.map(|labelling| labelling.of).filter(|of| *of != ValueSource::Task);
        let sources: BTreeSet<_> = values.chain(index.unsettled()).collect();
        *recorded = record.len();
        add_all(index, sources, context);
        index
    }

    /// The index of everything.
    fn all(&mut self, context: &TaskContext) -> &CopyIndex {
        self.hold(context);
        let index = self.all.get_or_insert_with(|| CopyIndex::new(context.schema.copies()));
        let (calls, inputs) = (context.history.log().len(), context.inputs.len());
        let numbers = |from: usize, to: usize| (from..to).filter_map(|at| u32::try_from(at).ok());
        let new = numbers(self.calls, calls).map(ValueSource::Call);
        let new = new.chain(numbers(self.inputs, inputs).map(ValueSource::Input));
        let sources: BTreeSet<_> = new.chain(index.unsettled()).collect();
        (self.calls, self.inputs) = (calls, inputs);
        add_all(index, sources, context);
        index
    }

    /// Takes note of what has changed of values that it knows.
    fn hold(&mut self, context: &TaskContext) {
        if self.epoch != context.inputs.epoch || self.inputs > context.inputs.len() {
            *self = Self { epoch: context.inputs.epoch, ..Self::default() };
        }
        let shortenings = context.history.shortenings();
        for at in shortenings.iter().skip(self.shortened) {
            let source = ValueSource::Call(*at);
            if context.parts(source).is_none() {
                let Self { labelled, observed, all, .. } = self;
                let indexes = [&mut labelled.index, &mut observed.index, all].into_iter().flatten();
                indexes.for_each(|index| index.lose(source));
            }
        }
        self.shortened = shortenings.len();
    }
}

fn add_all(index: &mut CopyIndex, sources: BTreeSet<ValueSource>, context: &TaskContext) {
    for source in sources {
        match source {
            ValueSource::Input(at) if at as usize >= context.inputs.settled => index.add_unsettled(source),
            _ => index.add(source, &context.parts(source)),
        }
    }
}

/// The texts of a value that can be copies. Where the whole value is asked about also texts that are too short: no source has one, and so none has the value.
pub(super) fn texts(about: &Value<'_>, extent: Extent, meter: &mut Meter<'_>) -> Result<Vec<Letters>, Fault> {
    let least = if extent == Extent::Whole { 0 } else { SHORTEST };
    if let Value::String(text) = about {
        meter.charge_text(text.len())?;
        let letters = Letters::of(text);
        return Ok(if letters.len() >= least { vec![letters] } else { Vec::new() });
    }
    if matches!(about.kind(), Kind::Null | Kind::Bool) {
        return Ok(Vec::new());
    }
    let json = Json::from_value_within(about, meter.limits())?;
    meter.charge_built(json.heap_bytes())?;
    Ok(texts_of(json.root(), least))
}

fn texts_of(document: JsonRef<'_>, least: usize) -> Vec<Letters> {
    let mut texts = Vec::new();
    each_text(document, &mut |text, _| texts.push(Letters::of(text)));
    texts.retain(|text| text.len() >= least);
    texts
}

fn shown(labels: &LabelSet) -> Value<'static> {
    Value::list(labels.iter().cloned().map(Value::owned_text).collect())
}
