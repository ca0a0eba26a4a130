//! Opaque bearer tokens: a file of digests, so that who reads the file cannot ask in another's name.
//!
//! In: `{"tokens": [{"sha256": hex, "identity": text, "scopes": [text], "email": text, "groups": [text]}]}`, of which the last two
//! may be left out, and a token. Out: the caller. Every digest is
//! compared with every row, byte for byte to the end, so that the time says nothing about the rows.

use crate::identity::{Caller, Person, Scope, is_of_issuer};
use crate::messages;
use celador::digest::Digest;
use serde::Deserialize;

/// The rows of a file of tokens.
pub(super) struct Tokens(Vec<Row>);

struct Row {
    digest: Digest,
    caller: Caller,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    tokens: Vec<WrittenRow>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenRow {
    sha256: String,
    identity: String,
    scopes: Vec<String>,
    /// Their e-mail address, for which whoever writes the file vouches.
    #[serde(default)]
    email: Option<String>,
    /// The groups that they are in.
    #[serde(default)]
    groups: Vec<String>,
}

impl Tokens {
    /// The tokens of a file. A scope that is not known is a mistake of its author. Reviews are addressed to its identities by their
    /// names if no other issuer is believed, who might have the same names for others.
    pub(super) fn read(text: &str, is_named: bool) -> Result<Self, String> {
        let file: File = serde_json::from_str(text).map_err(|error| messages::not_json_file(&error))?;
        let rows = file.tokens.into_iter().enumerate().map(|(at, row)| {
            let digest = from_hex(&row.sha256).ok_or_else(|| messages::no_digest(at))?;
            if row.identity.is_empty() {
                return Err(messages::no_identity(at));
            }
            if is_of_issuer(&row.identity) {
                return Err(messages::identity_of_an_issuer(at));
            }
            let scope = |word: &String| Scope::read(word).ok_or_else(|| messages::unknown_scope(at));
            let scopes = row.scopes.iter().map(scope).collect::<Result<_, _>>()?;
            let person = Person {
                issuer: None,
                subject: row.identity.clone(),
                is_named,
                email: row.email.filter(|email| !email.is_empty()),
                unverified_email: None,
                groups: row.groups.into_iter().filter(|group| !group.is_empty()).collect(),
            };
            Ok(Row { digest, caller: Caller::new(row.identity, person, scopes) })
        });
        rows.collect::<Result<_, _>>().map(Self)
    }

    /// The caller of a token.
    pub(super) fn caller(&self, token: &str) -> Option<Caller> {
        let digest = Digest::of(token.as_bytes());
        let found =
            self.0.iter().fold(None, |found, row| if same(&row.digest, &digest) { Some(row) } else { found });
        found.map(|row| row.caller.clone())
    }
}

/// Whether two digests are equal, in a time that does not depend on where they differ.
fn same(a: &Digest, b: &Digest) -> bool {
    let pairs = a.as_bytes().iter().zip(b.as_bytes());
    let differences = pairs.fold(0, |differences, (a, b)| differences | (a ^ b));
    std::hint::black_box(differences) == 0
}

/// A digest in upper or lower case.
fn from_hex(text: &str) -> Option<Digest> {
    text.to_ascii_lowercase().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::{Tokens, from_hex};
    use crate::identity::Scope;

    // printf secret | sha256sum
    const SECRET: &str = "2bb80d537b1da3e38bd30361aa855686bde0eacd7162fef6a25fe97bf527a25b";

    fn file(sha256: &str, scope: &str) -> String {
        format!(r#"{{"tokens": [{{"sha256": "{sha256}", "identity": "did:web:a", "scopes": ["{scope}"]}}]}}"#)
    }

    #[test]
    fn a_token_is_known_by_its_digest() {
        let tokens =
            Tokens::read(&file(SECRET, "tasks:read"), true).unwrap_or_else(|error| panic!("{error}"));
        let caller = tokens.caller("secret").unwrap_or_else(|| panic!("the token is in the file"));
        assert_eq!(caller.identity.as_deref(), Some("did:web:a"));
        assert!(caller.may(Scope::TasksRead) && !caller.may(Scope::TasksWrite));
        assert_eq!(tokens.caller("Secret"), None);
        assert_eq!(tokens.caller(SECRET), None);
    }

    #[test]
    fn what_is_no_row_is_refused() {
        for wrong in [
            file("2bb8", "tasks:read"),
            file(SECRET, "everything"),
            file(&SECRET.replace('2', "g"), "tasks:read"),
        ] {
            assert!(Tokens::read(&wrong, true).is_err(), "{wrong}");
        }
        let of_a_jwt = file(SECRET, "tasks:read").replace("did:web:a", "jwt:https://issuer.example|ann");
        let said = Tokens::read(&of_a_jwt, true).err().unwrap_or_default();
        assert!(said.contains("`tokens[0].identity`"), "{said}");
        assert_eq!(from_hex(&SECRET.to_uppercase()), from_hex(SECRET));
    }
}
