//! The claims of a user over HTTP: out of their own token, and from nobody else.

use crate::claims::SHOP;
use crate::server_tokens::{NOON, Signer, claims, over_keys, with};
use crate::serving::Serving;
use celador_server::Settings;
use celador_store::Location;
use serde_json::{Value, json};
use std::fs;
use std::path::Path;

fn serve(change: impl FnOnce(&mut Settings), signer: Option<&Signer>) -> Serving {
    let manifests = |settings: &mut Settings, folder: &Path| {
        fs::write(folder.join("shop.yaml"), SHOP).unwrap();
        settings.policies = vec![folder.join("shop.yaml")];
    };
    match signer {
        Some(signer) => over_keys(&Location::Memory, std::slice::from_ref(&signer.jwk), |settings| {
            let folder = settings.authentication.jwt.as_ref().unwrap().jwks.parent().unwrap().to_owned();
            manifests(settings, &folder);
            change(settings);
        }),
        None => Serving::with(&Location::Memory, |settings, folder| {
            manifests(settings, folder);
            settings.authentication.tokens = None;
            change(settings);
        }),
    }
}

/// What becomes of a task that is begun for `u-7` with this beside.
fn begun(serving: &Serving, token: &str, user: &Value, more: &Value) -> (u16, Value) {
    let mut body = json!({"namespace": "shop", "agent": "clerk", "user": user});
    for (name, value) in more.as_object().unwrap() {
        body[name] = value.clone();
    }
    let reply = serving.post_as(token, "/v1/tasks", &body);
    (reply.status, reply.json())
}

#[test]
fn over_http_claims_come_from_the_users_own_token() {
    let (signer, stranger) = (Signer::new("k", "EdDSA"), Signer::new("k", "EdDSA"));
    let serving =
        serve(|settings| settings.authentication.user_audience = Some("shop-app".into()), Some(&signer));
    let runtime = signer.sign(&signer.header(), &with(claims(), "roles", json!(["lead"])));
    let user = json!({"id": "u-7"});
    let of_user =
        with(with(with(claims(), "sub", json!("u-7")), "aud", json!("shop-app")), "roles", json!(["lead"]));
    let sign = |claims: &Value| signer.sign(&signer.header(), claims);

    let (status, task) = begun(&serving, &runtime, &user, &json!({"user_token": sign(&of_user)}));
    assert_eq!(status, 201, "{task}");
    let id = task["task"].as_str().unwrap();
    let seen = serving.get_as(&runtime, &format!("/v1/tasks/{id}/context")).json();
    assert_eq!(seen["context"]["user"]["claims"], json!({"roles": ["lead"]}));

    let refused = [
        ("somebody else's", sign(&with(of_user.clone(), "sub", json!("u-8")))),
        ("for another application", sign(&with(of_user.clone(), "aud", json!("celador")))),
        ("over", sign(&with(of_user.clone(), "exp", json!(NOON - 60)))),
        ("the runtime's own", runtime.clone()),
        ("signed by a stranger", stranger.sign(&stranger.header(), &of_user)),
        ("no token", "lead".to_owned()),
    ];
    for (what, token) in refused {
        let (status, answer) = begun(&serving, &runtime, &user, &json!({"user_token": token}));
        assert_eq!((status, &answer["type"]), (403, &json!("urn:celador:problem:user-token")), "{what}");
    }
    // what the runtime says of the user, or of itself, does not count
    let plain = json!({"id": "u-7", "claims": {"roles": ["lead"]}});
    let (status, answer) = begun(&serving, &runtime, &plain, &json!({}));
    assert_eq!((status, &answer["type"]), (403, &json!("urn:celador:problem:plain-claims")));
    let (status, _) = begun(&serving, &runtime, &plain, &json!({"user_token": sign(&of_user)}));
    assert_eq!(status, 403);
    let (status, answer) = begun(&serving, &runtime, &user, &json!({}));
    assert_eq!((status, &answer["type"]), (422, &json!("urn:celador:problem:claims-misfit")));
    let wrong = sign(&with(of_user.clone(), "roles", json!(["secret-role", 3])));
    let (status, answer) = begun(&serving, &runtime, &user, &json!({"user_token": wrong}));
    assert_eq!(status, 422);
    assert!(!answer.to_string().contains("secret-role"), "{answer}");

    // a retry has another token, and is the same request
    let again = |exp: i64| json!({"id": "thread", "user_token": sign(&with(of_user.clone(), "exp", json!(NOON + exp)))});
    assert_eq!(begun(&serving, &runtime, &user, &again(50)).0, 201);
    assert_eq!(begun(&serving, &runtime, &user, &again(55)).0, 200);

    // a child runs for the same user, whose token may be over by then
    let parent = json!({"agent": "cashier", "parent": {"task": "thread"}});
    assert_eq!(begun(&serving, &runtime, &user, &parent).0, 201);
    let parent = json!({"parent": {"task": "thread"}});
    assert_eq!(begun(&serving, &runtime, &user, &parent).0, 201, "the claims of the parent");
}

#[test]
fn plain_claims_are_taken_where_the_users_id_is_taken_on_trust() {
    let plain = json!({"id": "u-7", "claims": {"roles": ["lead"]}});
    assert_eq!(begun(&serve(|_| {}, None), "", &plain, &json!({})).0, 201, "nobody needs a token");
    let signer = Signer::new("k", "EdDSA");
    let serving = serve(|settings| settings.allow_plain_claims = true, Some(&signer));
    let runtime = signer.sign(&signer.header(), &claims());
    assert_eq!(begun(&serving, &runtime, &plain, &json!({})).0, 201, "the operator allows it");
    let wrong = json!({"id": "u-7", "claims": {"roles": "lead"}});
    assert_eq!(begun(&serving, &runtime, &wrong, &json!({})).0, 422);
}
