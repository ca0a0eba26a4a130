//! Signatures of webhooks (WH): whether a request comes from somebody who knows the secret.
//!
//! In: the secret's template and the settings, the headers and the body as received, byte for byte. Out: yes or no, with
//! the reason for a trace. `X-Hub-Signature-256` holds `sha256=` and the hex HMAC-SHA256 of the body (WH-02). It fails
//! closed: a secret without a value, a header that is missing, malformed or there twice, are all refused. The comparison
//! takes the same time wherever the two differ.

use super::messages;
use super::setting::setting;
use super::template::{Placeholder, Template};
use crate::cel::Json;
use crate::diagnostic::Diagnostic;
use crate::limits::EvalLimits;
use crate::manifest::schema::Property;
use crate::source::Embedded;
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The header, in the spelling of the platform that introduced it.
const HEADER: &str = "X-Hub-Signature-256";

/// Where senders that sign like this name a delivery: GitHub, the forges that follow it, Bitbucket, and whoever adds the
/// header of Standard Webhooks. What is sent again keeps its name. The signature covers the body and none of these.
const DELIVERY_IDS: [&str; 6] = [
    "X-GitHub-Delivery",
    "X-Gitea-Delivery",
    "X-Forgejo-Delivery",
    "X-Gogs-Delivery",
    "X-Request-UUID",
    "Webhook-Id",
];

/// The names that a request gives its delivery: each with the header that it stands in, in the order of the headers. A
/// sender may give several, or none. An empty one is none.
pub(super) fn delivery_ids<'h>(
    headers: impl IntoIterator<Item = (&'h str, &'h str)>,
) -> impl Iterator<Item = (&'static str, &'h str)> {
    let named = headers.into_iter().filter_map(|(name, id)| {
        let known = DELIVERY_IDS.into_iter().find(|known| known.eq_ignore_ascii_case(name))?;
        Some((known, id.trim()))
    });
    named.filter(|(_, id)| !id.is_empty())
}

/// The secret of a webhook, compiled.
#[derive(Debug)]
pub struct WebhookSecret {
    template: Template,
    defaults: Arc<[(Arc<str>, Json)]>,
}

/// Why a request is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SignatureError {
    /// The setting that holds the secret has no value.
    #[error("the secret has no value")]
    NoSecret,
    /// The event did not come as the request that was signed.
    #[error("the body as it was sent is not there")]
    NoBody,
    /// There is no signature.
    #[error("the header `{HEADER}` is missing")]
    Missing,
    /// There is more than one, and which of them counts is anybody's guess.
    #[error("the header `{HEADER}` is there more than once")]
    Several,
    /// `sha1=…`, `sha256=xyz`
    #[error("the header `{HEADER}` is not `sha256=` and 64 hexadecimal digits")]
    Malformed,
    /// It is a signature of another body, or under another secret.
    #[error("the signature does not match")]
    Mismatch,
}

impl WebhookSecret {
    /// Compiles the secret of an event; `settings` are those that the tool declares. Every brace must open a placeholder
    /// of a setting: a misspelt one would otherwise be a secret that anybody can read in the manifest.
    pub fn compile(
        text: &Embedded,
        path: &str,
        settings: &[Property],
        findings: &mut Vec<Diagnostic>,
    ) -> Option<Self> {
        let default = |property: &Property| {
            let default = property.schema.default.as_ref()?;
            Some((property.name.text.clone(), Json::from(default)))
        };
        match Template::strict(&text.text, |root| root == "settings") {
            Ok(template) => {
                if is_no_secret(&text.text) {
                    findings.push(messages::literal_secret(text).path(path));
                }
                Some(Self { template, defaults: settings.iter().filter_map(default).collect() })
            }
            Err(bad) => {
                findings.extend(
                    bad.iter()
                        .map(|bad| messages::of_placeholder(bad, text, ["settings"], |_| None).path(path)),
                );
                None
            }
        }
    }

    /// Whether a request is signed with the secret (WH-01). Linear in the body.
    ///
    /// # Errors
    /// The reason why it is not.
    pub fn verify<'h>(
        &self,
        settings: &BTreeMap<String, Json>,
        headers: impl IntoIterator<Item = (&'h str, &'h str)>,
        body: &[u8],
        limits: &EvalLimits,
    ) -> Result<(), SignatureError> {
        let value = |placeholder: &Placeholder| setting(placeholder, Some(settings), &self.defaults);
        let secret = self.template.render_whole(limits, value).map_err(|_| SignatureError::NoSecret)?;
        verify_signature(secret.as_bytes(), headers, body)
    }
}

/// Whether a secret is empty, or a reference without its braces.
fn is_no_secret(text: &str) -> bool {
    let names = ["settings", "setting", "secrets", "secret", "env", "parameters", "vault"];
    let named =
        |rest: &str| names.iter().any(|name| rest.strip_prefix(name).is_some_and(|it| it.starts_with('.')));
    text.trim().is_empty() || named(text.trim()) || text.starts_with('$')
}

/// Whether a request is signed with a secret. Names of headers match in any case, and so do the digits (WH-09).
///
/// # Errors
/// The reason why it is not.
pub fn verify_signature<'h>(
    secret: &[u8],
    headers: impl IntoIterator<Item = (&'h str, &'h str)>,
    body: &[u8],
) -> Result<(), SignatureError> {
    if secret.is_empty() {
        return Err(SignatureError::NoSecret);
    }
    let mut found = headers.into_iter().filter(|(name, _)| name.eq_ignore_ascii_case(HEADER));
    let (_, header) = found.next().ok_or(SignatureError::Missing)?;
    if found.next().is_some() {
        return Err(SignatureError::Several);
    }
    let signature = signature(header).ok_or(SignatureError::Malformed)?;
    let mut mac = Hmac::<Sha256>::new_from_slice(secret).map_err(|_| SignatureError::NoSecret)?;
    mac.update(body);
    // this comparison is the constant-time one
    mac.verify_slice(&signature).map_err(|_| SignatureError::Mismatch)
}

/// The bytes of `sha256=` and 64 hexadecimal digits.
fn signature(header: &str) -> Option<[u8; 32]> {
    let (algorithm, digits) = header.split_once('=')?;
    if !algorithm.eq_ignore_ascii_case("sha256") || digits.len() != 64 {
        return None;
    }
    let mut bytes = [0; 32];
    for (byte, pair) in bytes.iter_mut().zip(digits.as_bytes().chunks_exact(2)) {
        let [high, low] = pair else { return None };
        let digit = |digit: &u8| char::from(*digit).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
        *byte = digit(high)?.checked_mul(16)?.checked_add(digit(low)?)?;
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::SignatureError::{Malformed, Mismatch, Missing, NoSecret, Several};
    use super::{WebhookSecret, verify_signature};
    use crate::limits::EvalLimits;
    use crate::source::Embedded;
    use std::collections::BTreeMap;

    const BODY: &[u8] = br#"{"kind":"reply","text":"signed"}"#;
    const DIGITS: &str = "1dceb310869e6212ad8f2c34cce42e7f909183c04e78c34c23d9156095f5724f";

    #[test]
    fn only_the_signature_of_this_body_under_this_secret_passes() {
        let signed = format!("sha256={DIGITS}");
        let cut = |end: usize| DIGITS.get(..end).unwrap();
        let capitals = format!("SHA256={}", DIGITS.to_uppercase());
        let name = "X-Hub-Signature-256";
        let verify = |header: &str| verify_signature(b"s3cr3t", [("a", "b"), (name, header)], BODY);
        assert_eq!(verify(&signed), Ok(()));
        assert_eq!(verify(&capitals), Ok(()));
        assert_eq!(verify(&format!("sha256={}e", cut(63))), Err(Mismatch));
        let malformed = [
            String::new(),
            DIGITS.to_owned(),
            format!("sha1={DIGITS}"),
            format!("sha256={}", cut(62)),
            format!("sha256={DIGITS}00"),
            format!("sha256= {}", cut(63)),
            format!("sha256={}é", cut(62)),
            format!("sha256={}x", cut(63)),
        ];
        for header in malformed {
            assert_eq!(verify(&header), Err(Malformed), "{header}");
        }
        let lower = [("x-hub-signature-256", signed.as_str())];
        assert_eq!(verify_signature(b"s3cr3t", lower, BODY), Ok(()));
        assert_eq!(verify_signature(b"s3cr3T", lower, BODY), Err(Mismatch));
        assert_eq!(
            verify_signature(b"s3cr3t", lower, br#"{"kind": "reply","text":"signed"}"#),
            Err(Mismatch)
        );
        assert_eq!(verify_signature(b"s3cr3t", [], BODY), Err(Missing));
        assert_eq!(verify_signature(b"s3cr3t", [lower[0], lower[0]], BODY), Err(Several));
        assert_eq!(verify_signature(b"", lower, BODY), Err(NoSecret));
    }

    #[test]
    fn a_secret_comes_from_the_settings_or_not_at_all() {
        let compile = |text: &str| {
            let mut findings = Vec::new();
            let secret = WebhookSecret::compile(&Embedded::alone("secret", text), "p", &[], &mut findings);
            (secret, findings.iter().map(|finding| finding.code).collect::<Vec<_>>())
        };
        let (secret, _) = compile("{settings.hook}");
        let signed = format!("sha256={DIGITS}");
        let verify = |key: &str, value: &str| {
            let settings = BTreeMap::from([(key.to_owned(), crate::cel::Json::string(value))]);
            let headers = [("X-Hub-Signature-256", signed.as_str())];
            secret.as_ref().unwrap().verify(&settings, headers, BODY, &EvalLimits::default())
        };
        assert_eq!(verify("hook", "s3cr3t"), Ok(()));
        assert_eq!(verify("hook", "other"), Err(Mismatch));
        assert_eq!(verify("hook", ""), Err(NoSecret));
        assert_eq!(verify("hooks", "s3cr3t"), Err(NoSecret));
        assert_eq!(compile("{setting.hook}").1, ["unknown_root"]);
        assert_eq!(compile("{settings.hook").1, ["malformed_placeholder"]);
        assert!(compile("{setting.hook}").0.is_none());
    }
}
