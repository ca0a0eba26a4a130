//! A2A extensions: which this server knows, and how clients ask for them (section 5.6, D15).
//!
//! In: a header of a request. Out: the header of the answer; and the URIs that an agent card declares. Both generations
//! of URIs are declared, none is required, and no answer depends on what was asked for.

/// An extension as an agent card declares it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extension {
    /// The URI by which a client asks for it.
    pub uri: &'static str,
    /// Its description, for people.
    pub description: &'static str,
}

/// The extensions of this server: each method under the URI of its document and under that of running servers.
pub const EXTENSIONS: [Extension; 4] = [
    Extension {
        uri: "https://docs.aion.to/extensions/aion/context/get-context/1.0.0",
        description: "GetContext: the messages, artifacts and state of a context",
    },
    Extension {
        uri: "https://docs.aion.to/a2a/extensions/aion/context/get-context/1.0.0",
        description: "GetContext, under the URI of running servers",
    },
    Extension {
        uri: "https://docs.aion.to/extensions/aion/context/get-contexts/1.0.0",
        description: "GetContexts: the ids of contexts, the most recent first",
    },
    Extension {
        uri: "https://docs.aion.to/a2a/extensions/aion/context/get-contexts/1.0.0",
        description: "GetContexts, under the URI of running servers",
    },
];

/// The header of A2A 1.0 and that of A2A 0.3. Their names are case-insensitive.
pub const EXTENSION_HEADERS: [&str; 2] = ["A2A-Extensions", "X-A2A-Extensions"];

/// The value of the answer's header of the same name: the requested extensions that are known, each once, in
/// the order of the request; `None` if no requested extension is known. `values` are the values of that header, one for each of its lines, each
/// a list with commas.
///
/// ```
/// use celador_store::conversation::{EXTENSIONS, activated};
/// let asked = format!(" https://example.com/other , {}", EXTENSIONS[0].uri);
/// assert_eq!(activated([asked.as_str()]).as_deref(), Some(EXTENSIONS[0].uri));
/// assert_eq!(activated(["https://example.com/other"]), None);
/// ```
#[must_use]
pub fn activated<'v>(values: impl IntoIterator<Item = &'v str>) -> Option<String> {
    let mut known: Vec<&str> = Vec::new();
    for uri in values.into_iter().flat_map(|value| value.split(',')).map(str::trim) {
        if EXTENSIONS.iter().any(|extension| extension.uri == uri) && !known.contains(&uri) {
            known.push(uri);
        }
    }
    (!known.is_empty()).then(|| known.join(", "))
}
