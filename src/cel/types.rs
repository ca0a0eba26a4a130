//! CEL's types, gradual: `Dyn` goes with everything, records are declared by the host.
//!
//! A type is what the checker knows of an expression before it runs; a [`Kind`] is what a value turns out to be.
//! Types print as CEL writes them: `list(string)`, `map(string, dyn)`, `optional_type(int)`.

use super::domain::Domain;
use crate::diagnostic::slip;
use indexmap::IndexMap;
use std::fmt;
use std::sync::Arc;

/// The type of an expression, as far as it is known before it runs.
#[derive(Clone, Debug, PartialEq)]
pub enum Type {
    /// Anything; checked when it runs.
    Dyn,
    /// `null_type`.
    Null,
    /// `bool`.
    Bool,
    /// `int`: 64 bits, signed.
    Int,
    /// `uint`: 64 bits, unsigned.
    UInt,
    /// `double`: IEEE 754, 64 bits.
    Double,
    /// `string`: Unicode text.
    String,
    /// `bytes`.
    Bytes,
    /// `google.protobuf.Timestamp`.
    Timestamp,
    /// `google.protobuf.Duration`.
    Duration,
    /// `list(element)`.
    List(Arc<Type>),
    /// `map(key, value)`.
    Map(Arc<(Type, Type)>),
    /// `optional_type(value)`.
    Optional(Arc<Type>),
    /// `type(described)`: a type as a value.
    TypeOf(Arc<Type>),
    /// A value of a library's or a host's own, known by its name, such as `net.IP`.
    Opaque(Arc<OpaqueType>),
    /// A record that the host declares; at run time a map with string keys.
    Record(Arc<RecordType>),
    /// A list of exactly one record, on which a field may be selected directly (the TaskIO under test, `GR-08`).
    Singleton(Arc<RecordType>),
    /// A parameter of a generic signature, such as the `A` of `list(A)`.
    Param(Arc<str>),
}

/// A type of which the language knows only the name and the parameters.
///
/// ```
/// use celador_cel::{OpaqueType, Type};
///
/// // a host gives its capabilities a type of their own, so that the checker tells them from texts
/// let capability = Type::opaque("capability", [Type::String]);
/// assert_ne!(capability, Type::opaque("capability", [Type::Int]));
/// let Type::Opaque(own) = &capability else { panic!("it is a type of the host") };
/// let OpaqueType { name, parameters } = &**own;
/// assert_eq!((&**name, &**parameters), ("capability", &[Type::String][..]));
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct OpaqueType {
    /// The name, as `type()` prints it.
    pub name: String,
    /// Its type parameters; mostly empty.
    pub parameters: Vec<Type>,
}

/// A record declared by the host: names, types and documentation of its fields, in order.
///
/// ```
/// use celador_cel::{Constant, Domain, Env, EnvBuilder, Field, Program, RecordType, STANDARD, Storage, Type};
/// use std::sync::Arc;
///
/// // what the schema of a host says of its orders: two fields and no others, and a status of two constants
/// let allowed = [Constant::Text("open".into()), Constant::Text("paid".into())];
/// let domain = Domain { allowed: Some(allowed.into()), ..Domain::default() };
/// let fields = [
///     ("status".into(), Field { domain: domain.known(), ..Field::required(Type::String) }),
///     ("note".into(), Field::optional(Type::String)),
/// ];
/// let storage = Storage::Closed;
/// let order = RecordType { name: "order".into(), fields: fields.into_iter().collect(), aliases: Vec::new(), storage };
///
/// let scope = Env::builder().variable("order", Type::Record(Arc::new(order)));
/// let env = STANDARD.iter().copied().fold(scope, EnvBuilder::library).build();
/// let warning = |text| Program::compile(&env, text).unwrap().issues().first().map(|issue| issue.code);
/// assert_eq!(warning("order.status == 'paid'"), None);
/// assert_eq!(warning("order.status == 'payed'"), Some("never_equal"));
/// assert_eq!(warning("order.colour == 'red'"), Some("unknown_field"));
/// ```
#[derive(Clone, Debug)]
pub struct RecordType {
    /// The name that messages use.
    pub name: String,
    /// The fields; a field's position is its slot.
    pub fields: IndexMap<Arc<str>, Field>,
    /// Other names of fields, by slot (`c.cap` for `c.capabilities`); not among the keys of the map.
    pub aliases: Vec<(Arc<str>, usize)>,
    /// How values of it are stored.
    pub storage: Storage,
}

/// One field of a record.
#[derive(Clone, Debug, PartialEq)]
pub struct Field {
    /// Its type.
    pub ty: Type,
    /// Whether every value has it; if not, `has` is worth asking.
    pub required: bool,
    /// One line for completion and reference; may be empty.
    pub doc: String,
    /// The values that it can have, if more is known than their type.
    pub domain: Option<Arc<Domain>>,
    /// For a record in the structs of the host that holds this one, too: which part of them it always is. A plan then
    /// goes to it without a step in between.
    pub part: Option<At>,
    /// Whether it shows in another way what other fields hold: it is found by its name and is not among the keys of the
    /// map, so that the record as JSON says nothing twice. Such fields stand behind all others.
    pub derived: bool,
}

/// Which part of a host's structs a view speaks of; its meaning is the host's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct At(pub u32);

impl Field {
    /// A field that every value has, of which nothing more is known.
    #[must_use]
    pub fn required(ty: Type) -> Self {
        Self { ty, required: true, doc: String::new(), domain: None, part: None, derived: false }
    }

    /// A field that a value may lack.
    #[must_use]
    pub fn optional(ty: Type) -> Self {
        Self { required: false, ..Self::required(ty) }
    }
}

/// Where the fields of a record are found at run time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Storage {
    /// In the host's own structs: every field is there, and its slot finds it.
    Live,
    /// In JSON or a computed map, by key; no other keys are expected.
    Closed,
    /// As [`Storage::Closed`], but an object that reports a failure may stand in its place and has other keys. To ask for such a key is
    /// allowed, unless it is nearly the name of a field.
    ClosedUnlessFailed {
        /// Names that may be asked for even if they are nearly the name of a field.
        beside: &'static [&'static str],
    },
    /// By key. Unknown keys may be there although nothing says so: to ask for one (`has`, `?.`) is allowed, and to select one in an
    /// expression that has asked.
    Unsaid,
    /// By key, and unknown keys may be there too.
    Open,
}

impl PartialEq for RecordType {
    /// Two records are one type if they were declared as one; names and fields may coincide by chance.
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self, other)
    }
}

impl RecordType {
    /// A record of the host's own structs.
    #[must_use]
    pub fn live<'a>(name: &str, fields: impl IntoIterator<Item = (&'a str, Type, &'a str)>) -> Arc<Self> {
        let field = |(name, ty, doc): (&str, Type, &str)| {
            (Arc::from(name), Field { doc: doc.to_owned(), ..Field::required(ty) })
        };
        Arc::new(Self {
            name: name.to_owned(),
            fields: fields.into_iter().map(field).collect(),
            aliases: Vec::new(),
            storage: Storage::Live,
        })
    }

    /// The slot of a field, by its name or another name of it.
    #[must_use]
    pub fn slot(&self, field: &str) -> Option<usize> {
        let alias = || self.aliases.iter().find(|(name, _)| **name == *field).map(|&(_, slot)| slot);
        self.fields.get_index_of(field).or_else(alias)
    }

    /// How many of the fields are keys of the map. Linear in the fields that are not.
    #[must_use]
    pub fn key_count(&self) -> usize {
        let derived = self.fields.values().rev().take_while(|field| field.derived);
        self.fields.len().saturating_sub(derived.count())
    }

    /// The field that was probably meant by a name that no field has.
    #[must_use]
    pub fn slip(&self, name: &str) -> Option<&str> {
        let fair = matches!(self.storage, Storage::ClosedUnlessFailed { beside } if beside.contains(&name));
        if fair { None } else { slip(name, self.fields.keys().map(|field| &**field)) }
    }

    /// The name of the field in a slot, if it is a key of the map.
    #[must_use]
    pub fn key(&self, slot: usize) -> Option<&Arc<str>> {
        self.fields.get_index(slot).filter(|(_, field)| !field.derived).map(|(name, _)| name)
    }
}

impl Type {
    /// `list(element)`.
    #[must_use]
    pub fn list(element: Self) -> Self {
        Self::List(Arc::new(element))
    }

    /// `map(key, value)`.
    #[must_use]
    pub fn map(key: Self, value: Self) -> Self {
        Self::Map(Arc::new((key, value)))
    }

    /// `optional_type(value)`.
    #[must_use]
    pub fn optional(value: Self) -> Self {
        Self::Optional(Arc::new(value))
    }

    /// `name`, or `name(parameter, …)`: a type of which the language knows no more than this.
    ///
    /// ```
    /// use celador_cel::Type;
    ///
    /// assert_eq!(Type::opaque("pair", [Type::Int, Type::list(Type::String)]).to_string(), "pair(int, list(string))");
    /// ```
    #[must_use]
    pub fn opaque(name: &str, parameters: impl IntoIterator<Item = Self>) -> Self {
        Self::Opaque(Arc::new(OpaqueType {
            name: name.to_owned(),
            parameters: parameters.into_iter().collect(),
        }))
    }

    /// The type of the elements if this is some list; `dyn` if it may be one.
    #[must_use]
    pub fn element(&self) -> Option<Self> {
        match self {
            Self::Dyn => Some(Self::Dyn),
            Self::List(element) => Some((**element).clone()),
            Self::Singleton(record) => Some(Self::Record(record.clone())),
            _ => None,
        }
    }

    /// The types of keys and values if this is some map; `dyn` if it may be one.
    #[must_use]
    pub fn entry(&self) -> Option<(Self, Self)> {
        match self {
            Self::Dyn => Some((Self::Dyn, Self::Dyn)),
            Self::Map(entry) => Some((**entry).clone()),
            Self::Record(record) => {
                let mut types = record.fields.values().map(|field| &field.ty);
                let fixed = matches!(record.storage, Storage::Live | Storage::Closed);
                let first = types.next().cloned().filter(|_| fixed);
                let value = first.filter(|first| types.all(|ty| ty == first)).unwrap_or(Self::Dyn);
                Some((Self::String, value))
            }
            _ => None,
        }
    }

    /// The kind that every value of this type has, if it is one.
    #[must_use]
    pub fn kind(&self) -> Option<Kind> {
        Some(match self {
            Self::Dyn | Self::Param(_) => return None,
            Self::Null => Kind::Null,
            Self::Bool => Kind::Bool,
            Self::Int => Kind::Int,
            Self::UInt => Kind::UInt,
            Self::Double => Kind::Double,
            Self::String => Kind::String,
            Self::Bytes => Kind::Bytes,
            Self::Timestamp => Kind::Timestamp,
            Self::Duration => Kind::Duration,
            Self::List(_) | Self::Singleton(_) => Kind::List,
            Self::Map(_) | Self::Record(_) => Kind::Map,
            Self::Optional(_) => Kind::Optional,
            Self::TypeOf(_) => Kind::Type,
            Self::Opaque(own) => match own.name.as_str() {
                "net.IP" => Kind::Ip,
                "net.CIDR" => Kind::Cidr,
                "kubernetes.URL" => Kind::Url,
                "kubernetes.Semver" => Kind::Semver,
                "kubernetes.Quantity" => Kind::Quantity,
                _ => Kind::Opaque,
            },
        })
    }

    /// The type of a value that is of either type: `dyn` where they differ, in lists, maps and optionals too.
    #[must_use]
    pub fn common(&self, other: &Self) -> Self {
        match (self, other) {
            (a, b) if a == b => a.clone(),
            (Self::List(a), Self::List(b)) => Self::list(a.common(b)),
            (Self::Map(a), Self::Map(b)) => Self::map(a.0.common(&b.0), a.1.common(&b.1)),
            (Self::Optional(a), Self::Optional(b)) => Self::optional(a.common(b)),
            _ => Self::Dyn,
        }
    }

    /// Whether a type parameter occurs anywhere in it.
    #[must_use]
    pub fn is_generic(&self) -> bool {
        match self {
            Self::Param(_) => true,
            Self::List(inner) | Self::Optional(inner) | Self::TypeOf(inner) => inner.is_generic(),
            Self::Map(entry) => entry.0.is_generic() || entry.1.is_generic(),
            Self::Opaque(opaque) => opaque.parameters.iter().any(Self::is_generic),
            _ => false,
        }
    }
}

impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::List(element) => write!(f, "list({element})"),
            Self::Map(entry) => write!(f, "map({}, {})", entry.0, entry.1),
            Self::Optional(value) => write!(f, "optional_type({value})"),
            Self::TypeOf(described) => write!(f, "type({described})"),
            Self::Record(record) => f.write_str(&record.name),
            Self::Singleton(record) => write!(f, "list({})", record.name),
            Self::Param(name) => f.write_str(name),
            Self::Opaque(opaque) => {
                f.write_str(&opaque.name)?;
                let mut separator = "(";
                for parameter in &opaque.parameters {
                    write!(f, "{separator}{parameter}")?;
                    separator = ", ";
                }
                f.write_str(if opaque.parameters.is_empty() { "" } else { ")" })
            }
            Self::Dyn => f.write_str("dyn"),
            Self::Null
            | Self::Bool
            | Self::Int
            | Self::UInt
            | Self::Double
            | Self::String
            | Self::Bytes
            | Self::Timestamp
            | Self::Duration => f.write_str(self.kind().map_or("dyn", Kind::name)),
        }
    }
}

/// The kind of a value when it is there: its type without parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// `null_type`.
    Null,
    /// `bool`.
    Bool,
    /// `int`.
    Int,
    /// `uint`.
    UInt,
    /// `double`.
    Double,
    /// `string`.
    String,
    /// `bytes`.
    Bytes,
    /// `google.protobuf.Timestamp`.
    Timestamp,
    /// `google.protobuf.Duration`.
    Duration,
    /// `list`.
    List,
    /// `map`.
    Map,
    /// `optional_type`.
    Optional,
    /// `type`.
    Type,
    /// `net.IP`.
    Ip,
    /// `net.CIDR`.
    Cidr,
    /// `kubernetes.URL`.
    Url,
    /// `kubernetes.Semver`.
    Semver,
    /// `kubernetes.Quantity`.
    Quantity,
    /// Of a type that a host declares for its functions' signatures.
    Opaque,
    /// Of a value that its host did not keep whole. No expression gets to ask for it.
    Shortened,
}

impl Kind {
    /// The name that CEL's `type()` prints.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Null => "null_type",
            Self::Bool => "bool",
            Self::Int => "int",
            Self::UInt => "uint",
            Self::Double => "double",
            Self::String => "string",
            Self::Bytes => "bytes",
            Self::Timestamp => "google.protobuf.Timestamp",
            Self::Duration => "google.protobuf.Duration",
            Self::List => "list",
            Self::Map => "map",
            Self::Optional => "optional_type",
            Self::Type => "type",
            Self::Ip => "net.IP",
            Self::Cidr => "net.CIDR",
            Self::Url => "kubernetes.URL",
            Self::Semver => "kubernetes.Semver",
            Self::Quantity => "kubernetes.Quantity",
            Self::Opaque => "opaque",
            Self::Shortened => "shortened",
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
