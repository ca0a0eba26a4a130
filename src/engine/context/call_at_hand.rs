//! `call`: what a step of a policy may ask of the call that it is about, beside its arguments.
//!
//! In: the names and tags of a function. Out: a [`CallAtHand`], which expressions read where it lies, and the type of `call` in the
//! steps that are for some functions. The keys of policies select calls by the very same names, so a rule may be written either way.

use crate::cel::{At, Constant, Domain, Field, LiveList, LiveRecord, RecordType, Storage, Type, Value, View};
use std::collections::BTreeSet;
use std::sync::{Arc, LazyLock};

/// The function of a call, as policies name it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CallAtHand {
    /// The key of its record, as in `calls`: `call.fn`.
    pub function: Arc<str>,
    /// The name of its tool or agent in the agent's manifest: `call.tool`.
    pub tool: Arc<str>,
    /// Its tags, in order: `call.tags`.
    pub tags: Box<[Arc<str>]>,
    /// Its parameters that the agent's manifest binds. Expressions see them through `sources` alone.
    pub bound: Box<[Arc<str>]>,
}

/// The slot of the parameters that are bound. It is none of the fields, so no expression names it.
pub(super) const BOUND_SLOT: usize = 3;

/// The fields, in the order of their slots.
const FIELDS: [(&str, &str); 3] = [
    ("fn", "the function, by the key of its record"),
    ("tool", "its tool or agent, as the agent's manifest names it"),
    ("tags", "its tags, in order"),
];

/// Which list of texts a view is.
const TAGS: At = At(0);
const BOUND: At = At(1);

static SHAPE: LazyLock<Arc<RecordType>> = LazyLock::new(|| shape([None, None, None]));

impl CallAtHand {
    /// The type of `call` in a step that is for these functions. A name or a tag that none of them has is worth a warning.
    #[must_use]
    pub fn cel_type<'c>(functions: impl Iterator<Item = &'c Self> + Clone) -> Type {
        let texts = |texts: &mut dyn Iterator<Item = &'c Arc<str>>| {
            let texts: BTreeSet<_> = texts.cloned().collect();
            let allowed = texts.into_iter().map(Constant::Text).collect();
            Domain { allowed: Some(allowed), ..Domain::default() }.known()
        };
        let names = texts(&mut functions.clone().map(|function| &function.function));
        let tools = texts(&mut functions.clone().map(|function| &function.tool));
        let tags = texts(&mut functions.flat_map(|function| &function.tags));
        let tags = Domain { items: tags, ..Domain::default() }.known();
        Type::Record(shape([names, tools, tags]))
    }

    fn texts(&self, at: At) -> &[Arc<str>] {
        if at == BOUND { &self.bound } else { &self.tags }
    }

    /// `call`, as expressions see it.
    #[must_use]
    pub fn value(&self) -> Value<'_> {
        Value::record(self, TAGS)
    }
}

fn shape(domains: [Option<Arc<Domain>>; 3]) -> Arc<RecordType> {
    let types = [Type::String, Type::String, Type::list(Type::String)];
    let fields = FIELDS.into_iter().zip(types).zip(domains).map(|(((name, doc), ty), domain)| {
        (Arc::from(name), Field { domain, doc: doc.to_owned(), ..Field::required(ty) })
    });
    Arc::new(RecordType {
        name: "call".to_owned(),
        fields: fields.collect(),
        aliases: Vec::new(),
        storage: Storage::Live,
    })
}

impl LiveRecord for CallAtHand {
    fn shape(&self, _: At) -> &RecordType {
        &SHAPE
    }

    fn field(&self, _: At, slot: usize) -> Option<View<'_>> {
        match slot {
            0 => Some(View::Text(&self.function)),
            1 => Some(View::Text(&self.tool)),
            2 => Some(View::List { of: self, at: TAGS }),
            BOUND_SLOT => Some(View::List { of: self, at: BOUND }),
            _ => None,
        }
    }
}

impl LiveList for CallAtHand {
    fn len(&self, at: At) -> usize {
        self.texts(at).len()
    }

    fn item(&self, at: At, index: usize) -> Option<View<'_>> {
        self.texts(at).get(index).map(|text| View::Text(text))
    }
}
