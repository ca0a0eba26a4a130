//! Who is believed: JSON Web Tokens and the file of tokens, what their callers own, and what becomes of them when a file is
//! missing or broken.

use crate::serving::{SCOPES, Serving, new_task};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use celador_server::{Jwt, Settings, Unreadable};
use celador_store::Location;
use rcgen::{KeyPair, PKCS_ECDSA_P256_SHA256, PKCS_ED25519, PublicKeyData as _};
use ring::rand::SystemRandom;
use ring::signature::{
    ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, Ed25519KeyPair, RSA_PKCS1_SHA256, RsaKeyPair,
};
use serde_json::{Value, json};
use std::fs;

pub const NOON: i64 = 1_780_315_200;
pub const ISSUER: &str = "https://issuer.example";

/// A key with its JWK, which signs.
pub struct Signer {
    algorithm: &'static str,
    pub jwk: Value,
    pair: Pair,
}

enum Pair {
    Rsa(RsaKeyPair),
    Ec(EcdsaKeyPair),
    Ed(Ed25519KeyPair),
}

const ALGORITHMS: [&str; 3] = ["RS256", "ES256", "EdDSA"];

impl Signer {
    pub fn new(id: &str, algorithm: &'static str) -> Self {
        let text = |bytes: &[u8]| URL_SAFE_NO_PAD.encode(bytes);
        let random = SystemRandom::new();
        let (jwk, pair) = match algorithm {
            "ES256" => {
                let pair = KeyPair::generate_for(&PKCS_ECDSA_P256_SHA256).unwrap();
                // an uncompressed point: 4, x, y
                let point = pair.der_bytes().to_vec();
                let jwk = json!({"kid": id, "kty": "EC", "crv": "P-256", "x": text(&point[1..33]), "y": text(&point[33..])});
                let (key, der) = (&ECDSA_P256_SHA256_FIXED_SIGNING, pair.serialize_der());
                (jwk, Pair::Ec(EcdsaKeyPair::from_pkcs8(key, &der, &random).unwrap()))
            }
            "EdDSA" => {
                let pair = KeyPair::generate_for(&PKCS_ED25519).unwrap();
                let jwk = json!({"kid": id, "kty": "OKP", "crv": "Ed25519", "alg": "EdDSA", "x": text(pair.der_bytes())});
                (jwk, Pair::Ed(Ed25519KeyPair::from_pkcs8_maybe_unchecked(&pair.serialize_der()).unwrap()))
            }
            _ => {
                let der = include_bytes!("../data/http/keys/rsa.der");
                let mut jwk: Value =
                    serde_json::from_str(include_str!("../data/http/keys/rsa.jwk.json")).unwrap();
                jwk["kid"] = id.into();
                (jwk, Pair::Rsa(RsaKeyPair::from_der(der).unwrap()))
            }
        };
        Self { algorithm, jwk, pair }
    }

    /// The header that a plain token has.
    pub fn header(&self) -> Value {
        json!({"alg": self.algorithm, "kid": self.jwk["kid"], "typ": "JWT"})
    }

    /// A token of these texts, whatever they are.
    fn sign_texts(&self, header: &str, claims: &str) -> String {
        let signed = format!("{}.{}", URL_SAFE_NO_PAD.encode(header), URL_SAFE_NO_PAD.encode(claims));
        let random = SystemRandom::new();
        let signature = match &self.pair {
            Pair::Rsa(pair) => {
                let mut signature = vec![0; pair.public().modulus_len()];
                pair.sign(&RSA_PKCS1_SHA256, &random, signed.as_bytes(), &mut signature).unwrap();
                signature
            }
            Pair::Ec(pair) => pair.sign(&random, signed.as_bytes()).unwrap().as_ref().to_vec(),
            Pair::Ed(pair) => pair.sign(signed.as_bytes()).as_ref().to_vec(),
        };
        format!("{signed}.{}", URL_SAFE_NO_PAD.encode(signature))
    }

    pub fn sign(&self, header: &Value, claims: &Value) -> String {
        self.sign_texts(&header.to_string(), &claims.to_string())
    }

    /// A plain token for somebody.
    fn token_of(&self, name: &str) -> String {
        self.sign(&self.header(), &with(claims(), "sub", json!(name)))
    }
}

pub fn claims() -> Value {
    json!({"iss": ISSUER, "aud": ["celador", "other"], "exp": NOON + 60, "nbf": NOON - 60,
        "sub": "did:web:ann", "scope": "tasks:read tasks:write openid"})
}

/// The same object with another value of a member, or without it.
pub fn with(mut object: Value, name: &str, value: Value) -> Value {
    match value {
        Value::Null => drop(object.as_object_mut().unwrap().remove(name)),
        value => object[name] = value,
    }
    object
}

fn with_keys(keys: &[Value]) -> Serving {
    over_keys(&Location::Memory, keys, |_| {})
}

pub fn over_keys(location: &Location, keys: &[Value], change: impl FnOnce(&mut Settings)) -> Serving {
    let text = json!({ "keys": keys }).to_string();
    Serving::with(location, move |settings, folder| {
        fs::write(folder.join("jwks.json"), text).unwrap();
        settings.authentication.jwt = Some(Jwt {
            jwks: folder.join("jwks.json"),
            issuer: ISSUER.into(),
            audience: "celador".into(),
            identity_claim: "sub".into(),
            groups_claim: "groups".into(),
        });
        change(settings);
    })
}

fn refresh(serving: &Serving) {
    serving.server.as_ref().unwrap().refresh();
}

#[test]
fn tokens_signed_by_a_key_of_the_file_are_believed() {
    let signers: Vec<Signer> = ALGORITHMS
        .iter()
        .enumerate()
        .map(|(at, algorithm)| Signer::new(&format!("k{at}"), algorithm))
        .collect();
    let serving = with_keys(&signers.iter().map(|signer| signer.jwk.clone()).collect::<Vec<_>>());
    let status = |token: &str| serving.get_as(token, "/v1/tasks").status;
    for (at, signer) in signers.iter().enumerate() {
        let algorithm = signer.algorithm;
        let of_key = |kid: Value| signer.sign(&with(signer.header(), "kid", kid), &claims());
        let good = signer.sign(&signer.header(), &claims());
        assert_eq!(status(&good), 200, "{algorithm}");
        assert_eq!(serving.get_as(&good, "/v1/manifests").status, 403, "a scope that the token lacks");
        assert_eq!(status(&of_key(Value::Null)), 200, "only one key of this algorithm is there");
        assert_eq!(status(&of_key(json!("k9"))), 401, "no such key");
        assert_eq!(status(&of_key(json!(7))), 401, "no id of a key");
        assert_eq!(status(&of_key(json!(format!("k{}", (at + 1) % 3)))), 401, "another's key");
        let mut forged = good.clone();
        let last = forged.len() - 10;
        forged.replace_range(last..=last, if &forged[last..=last] == "A" { "B" } else { "A" });
        assert_eq!(status(&forged), 401, "the signature");
        for (claim, value) in [
            ("iss", json!("https://other.example")),
            ("iss", json!([ISSUER])),
            ("iss", json!([ISSUER, "https://other.example"])),
            ("iss", json!({"0": ISSUER})),
            ("iss", json!(format!("{ISSUER}/"))),
            ("iss", json!("HTTPS://ISSUER.EXAMPLE")),
            ("iss", Value::Null),
            ("aud", json!("other")),
            ("aud", json!([])),
            ("aud", json!(["celador", 7])),
            ("aud", json!({"celador": true})),
            ("aud", Value::Null),
            ("exp", json!(NOON - 31)),
            ("exp", Value::Null),
            ("exp", json!("tomorrow")),
            ("nbf", json!(NOON + 31)),
            ("nbf", json!("yesterday")),
            ("sub", json!("")),
            ("sub", json!(7)),
            ("sub", Value::Null),
        ] {
            assert_eq!(
                status(&signer.sign(&signer.header(), &with(claims(), claim, value.clone()))),
                401,
                "{claim} {value}"
            );
        }
        for (claim, value) in [
            ("exp", json!(NOON - 29)),
            ("aud", json!("celador")),
            ("nbf", Value::Null),
            ("exp", json!(NOON as f64 + 0.5)),
        ] {
            assert_eq!(
                status(&signer.sign(&signer.header(), &with(claims(), claim, value.clone()))),
                200,
                "{claim} {value}"
            );
        }
    }
}

/// RFC 7515, 4.1.11, 4.1.9 and 4: what the header says counts, signed or not.
#[test]
fn what_the_header_of_a_token_says_is_heeded() {
    let signer = Signer::new("k", "ES256");
    let serving = with_keys(std::slice::from_ref(&signer.jwk));
    let status = |header: &Value| serving.get_as(&signer.sign(header, &claims()), "/v1/tasks").status;
    for critical in
        [json!(["b64"]), json!(["exp"]), json!(["urn:x"]), json!([]), json!(null), json!("b64"), json!({})]
    {
        let mut header = signer.header();
        header["crit"] = critical.clone();
        header["b64"] = json!(true);
        assert_eq!(status(&header), 401, "crit {critical}");
    }
    for typ in [
        "JWT",
        "jwt",
        "Jwt",
        "at+jwt",
        "AT+JWT",
        "application/jwt",
        "application/at+jwt",
        "Application/At+Jwt",
    ] {
        assert_eq!(status(&with(signer.header(), "typ", json!(typ))), 200, "{typ}");
    }
    assert_eq!(status(&with(signer.header(), "typ", Value::Null)), 200, "no `typ`");
    for typ in [
        "",
        "JOSE",
        "dpop+jwt",
        "logout+jwt",
        "id+jwt",
        "application/",
        "text/jwt",
        "jwt ",
        "application/application/jwt",
    ] {
        assert_eq!(status(&with(signer.header(), "typ", json!(typ))), 401, "{typ}");
    }
    for typ in [json!(7), json!(["JWT"]), json!(true)] {
        assert_eq!(status(&with(signer.header(), "typ", typ.clone())), 401, "{typ}");
    }
    for alg in [json!("es256"), json!("ES256K"), json!("RS256"), json!(["ES256"]), Value::Null] {
        assert_eq!(status(&with(signer.header(), "alg", alg.clone())), 401, "{alg}");
    }
    // what nobody has to understand is passed over
    let harmless =
        with(with(signer.header(), "jku", json!("https://evil.example")), "x", json!({"crit": ["b64"]}));
    assert_eq!(status(&harmless), 200);
    // a name that stands twice means two things
    let (header, body) = (signer.header().to_string(), claims().to_string());
    let twice = |text: &str, member: &str| format!("{}, {member}}}", text.trim_end_matches('}'));
    let token =
        |header: &str, claims: &str| serving.get_as(&signer.sign_texts(header, claims), "/v1/tasks").status;
    assert_eq!(token(&header, &body), 200);
    assert_eq!(token(&twice(&header, r#""alg": "ES256""#), &body), 401);
    assert_eq!(token(&twice(&header, r#""typ": "JWT""#), &body), 401);
    assert_eq!(token(&header, &twice(&body, r#""sub": "did:web:bob""#)), 401);
    // however deep it stands
    let inside = |members: &str| twice(&body, &format!(r#""act": {{"on": [{{{members}}}]}}"#));
    assert_eq!(token(&header, &inside(r#""sub": "a", "sup": "b""#)), 200);
    assert_eq!(token(&header, &inside(r#""sub": "a", "sub": "b""#)), 401);
    assert_eq!(token(&header, "[]"), 401);
    assert_eq!(token("[]", &body), 401);
}

#[test]
fn keys_that_are_for_something_else_verify_nothing() {
    for algorithm in ALGORITHMS {
        let signer = Signer::new("k", algorithm);
        let other = Signer::new("other", "EdDSA");
        let token = signer.sign(&signer.header(), &claims());
        let status = |member: &str, value: Value| {
            let jwk = with(signer.jwk.clone(), member, value);
            with_keys(&[jwk, other.jwk.clone()]).get_as(&token, "/v1/tasks").status
        };
        assert_eq!(status("use", json!("sig")), 200, "{algorithm}");
        assert_eq!(status("use", json!("enc")), 401, "{algorithm}");
        assert_eq!(status("key_ops", json!(["sign", "verify"])), 200, "{algorithm}");
        assert_eq!(status("key_ops", json!(["sign"])), 401, "{algorithm}");
        assert_eq!(status("alg", json!("HS256")), 401, "{algorithm}");
    }
}

#[test]
fn no_algorithm_and_no_shared_secret_is_believed() {
    let signer = Signer::new("k", "RS256");
    let secret = json!({"kid": "s", "kty": "oct", "alg": "HS256", "k": URL_SAFE_NO_PAD.encode("secret")});
    let serving = with_keys(&[signer.jwk.clone(), secret]);
    let text = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
    for algorithm in ["none", "None", "NONE", ""] {
        let unsigned = format!("{}.{}.", text(&json!({"alg": algorithm, "kid": "k"})), text(&claims()));
        assert_eq!(serving.get_as(&unsigned, "/v1/tasks").status, 401, "{algorithm}");
    }
    // the public key as a shared secret, and the secret of the file itself
    let modulus = URL_SAFE_NO_PAD.decode(signer.jwk["n"].as_str().unwrap()).unwrap();
    for (kid, bytes) in [("k", &modulus[..]), ("s", b"secret")] {
        let key = ring::hmac::Key::new(ring::hmac::HMAC_SHA256, bytes);
        let signed = format!("{}.{}", text(&json!({"alg": "HS256", "kid": kid})), text(&claims()));
        let token = format!("{signed}.{}", URL_SAFE_NO_PAD.encode(ring::hmac::sign(&key, signed.as_bytes())));
        assert_eq!(serving.get_as(&token, "/v1/tasks").status, 401, "{kid}");
    }
    for garbage in ["a.b.c", "..", "e30.e30.e30", ".", "", "a.b.c.d.e", &"x".repeat(10_000)] {
        assert_eq!(serving.get_as(garbage, "/v1/tasks").status, 401, "{garbage}");
    }
    let good = signer.sign(&signer.header(), &claims());
    assert_eq!(serving.get_as(&good, "/v1/tasks").status, 200);
    for changed in
        [format!("{good}="), format!("{good}.{good}"), format!(".{good}"), good.replacen('.', "..", 1)]
    {
        assert_eq!(serving.get_as(&changed, "/v1/tasks").status, 401, "{changed}");
    }
}

/// The same name by the issuer and by the file is two callers.
#[test]
fn a_name_of_the_issuer_is_nobody_of_the_file() {
    let signer = Signer::new("k", "EdDSA");
    let serving = over_keys(&Location::Memory, std::slice::from_ref(&signer.jwk), |settings| {
        let jwks = &settings.authentication.jwt.as_ref().unwrap().jwks;
        settings.authentication.tokens = Some(jwks.with_file_name("tokens.json"));
    });
    let callers = [serving.token("alice", &SCOPES), signer.token_of("alice"), signer.token_of("bob")];
    let tasks = callers.each_ref().map(|token| serving.new_task(Some(token)));
    for (at, token) in callers.iter().enumerate() {
        let listed = serving.get_as(token, "/v1/tasks").json();
        assert_eq!(listed["tasks"].as_array().unwrap().len(), 1, "{listed}");
        for (of, task) in tasks.iter().enumerate() {
            let expected = if at == of { 200 } else { 404 };
            assert_eq!(serving.get_as(token, task).status, expected, "{at} asks for what {of} has");
        }
    }
    // and nobody of the file can be called what the issuer's are
    let mut rows: Value =
        serde_json::from_slice(&fs::read(serving.folder.path().join("tokens.json")).unwrap()).unwrap();
    rows["tokens"][0]["identity"] = json!(format!("jwt:{ISSUER}|alice"));
    fs::write(serving.folder.path().join("tokens.json"), rows.to_string()).unwrap();
    refresh(&serving);
    assert_eq!(serving.get_as(&callers[0], "/v1/tasks").status, 401);
    assert_eq!(serving.get_as(&callers[1], "/v1/tasks").status, 200);
}

/// How a file may become unreadable while it is served.
const BROKEN: [&str; 6] = ["", "{", "[]", r#"{"keys": []}"#, r#"{"tokens": {}}"#, "\u{feff}{}"];

#[test]
fn a_file_that_is_missing_or_broken_closes() {
    let signer = Signer::new("k", "EdDSA");
    let serving = over_keys(&Location::Memory, std::slice::from_ref(&signer.jwk), |settings| {
        let jwks = &settings.authentication.jwt.as_ref().unwrap().jwks;
        settings.authentication.tokens = Some(jwks.with_file_name("tokens.json"));
    });
    let tokens = [serving.token("ann", &SCOPES), signer.token_of("ann")];
    let statuses = || tokens.each_ref().map(|token| serving.get_as(token, "/v1/tasks").status);
    let ready = || {
        let reply = serving.get("/readyz");
        let ready = reply.json();
        (reply.status, ready["status"].as_str().unwrap().to_owned(), ready["authentication"].clone())
    };
    let is_ready = (200, "ready".to_owned(), json!("ok"));
    let is_closed = (503, "not_ready".to_owned(), json!("closed"));
    assert_eq!((statuses(), ready()), ([200, 200], is_ready.clone()));
    for (at, name) in ["tokens.json", "jwks.json"].into_iter().enumerate() {
        let file = serving.folder.path().join(name);
        let whole = fs::read(&file).unwrap();
        let mut closed = [200, 200];
        closed[at] = 401;
        for broken in BROKEN {
            fs::write(&file, broken).unwrap();
            refresh(&serving);
            assert_eq!((statuses(), ready()), (closed, is_closed.clone()), "{name} {broken}");
        }
        // the same text again opens, and so it does after the file was gone
        fs::write(&file, &whole).unwrap();
        refresh(&serving);
        assert_eq!((statuses(), ready()), ([200, 200], is_ready.clone()), "{name}");
        fs::remove_file(&file).unwrap();
        for _ in 0..2 {
            refresh(&serving);
            assert_eq!((statuses(), ready()), (closed, is_closed.clone()), "{name} is missing");
        }
        fs::create_dir(&file).unwrap();
        refresh(&serving);
        assert_eq!((statuses(), ready()), (closed, is_closed.clone()), "{name} is a folder");
        fs::remove_dir(&file).unwrap();
        fs::write(&file, &whole).unwrap();
        refresh(&serving);
        assert_eq!((statuses(), ready()), ([200, 200], is_ready.clone()), "{name}");
    }
    // a file without tokens is no broken one: it withdraws them all
    fs::write(serving.folder.path().join("tokens.json"), r#"{"tokens": []}"#).unwrap();
    refresh(&serving);
    assert_eq!((statuses(), ready()), ([401, 200], is_ready));
}

#[test]
fn a_file_that_is_missing_or_broken_keeps_if_the_operator_says_so() {
    let signer = Signer::new("k", "RS256");
    let serving = over_keys(&Location::Memory, std::slice::from_ref(&signer.jwk), |settings| {
        settings.authentication.unreadable = Unreadable::Keep;
    });
    let token = signer.token_of("ann");
    let state = || {
        let ready = serving.get("/readyz");
        (serving.get_as(&token, "/v1/tasks").status, ready.status, ready.json()["authentication"].clone())
    };
    let file = serving.folder.path().join("jwks.json");
    let whole = fs::read(&file).unwrap();
    assert_eq!(state(), (200, 200, json!("ok")));
    for broken in BROKEN {
        fs::write(&file, broken).unwrap();
        refresh(&serving);
        assert_eq!(state(), (200, 200, json!("kept")), "{broken}");
    }
    fs::remove_file(&file).unwrap();
    refresh(&serving);
    assert_eq!(state(), (200, 200, json!("kept")));
    fs::write(&file, whole).unwrap();
    refresh(&serving);
    assert_eq!(state(), (200, 200, json!("ok")));
    assert_eq!(Serving::start().get("/readyz").json()["authentication"], "not_required");
}

#[test]
fn keys_are_exchanged_while_it_serves() {
    let signers = [Signer::new("a", "EdDSA"), Signer::new("b", "EdDSA")];
    let serving = with_keys(&[signers[0].jwk.clone()]);
    let statuses =
        || signers.each_ref().map(|signer| serving.get_as(&signer.token_of("ann"), "/v1/tasks").status);
    assert_eq!(statuses(), [200, 401]);
    let created = serving.post_as(&signers[0].token_of("ann"), "/v1/tasks", &new_task());
    assert_eq!(created.status, 201);
    let file = serving.folder.path().join("jwks.json");
    fs::write(&file, json!({ "keys": [signers[1].jwk] }).to_string()).unwrap();
    refresh(&serving);
    assert_eq!(statuses(), [401, 200]);
    // whose key is another's is who they were
    let task = format!("/v1/tasks/{}", created.json()["task"].as_str().unwrap());
    assert_eq!(serving.get_as(&signers[1].token_of("ann"), &task).status, 200);
}
