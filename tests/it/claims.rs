//! The claims of a user: what policies see of them, which tasks do not begin, and what is kept.

use crate::shop_fixture::{NOW, shop_agent, shop_tool};
use celador::limits::EngineLimits;
use celador::{Call, Engine, StartTask, Task, TaskError, User};
use serde_json::{Value, json};
use std::fs;

/// A clerk whose refunds want a role, and who may delegate to a cashier whose refunds want a vault.
pub const SHOP: &str = concat!(
    shop_tool!("refund", "pay" takes "{amount: {type: number}}"),
    shop_agent!("clerk", "refund: {include: [pay]}"),
    shop_agent!("cashier", "refund: {include: [pay]}"),
    r#"---
kind: celador/v1/policy
namespace: shop
name: leads
applies_to: {agents: [shop/clerk]}
claims:
  properties: {roles: {type: array, items: {type: string}}, tier: {enum: [plain, premium]}}
  required: [roles]
capabilities:
  refund: {before: [{assert: "'lead' in context.user.claims.roles"}]}
---
kind: celador/v1/policy
namespace: shop
name: vaults
applies_to: {agents: [shop/cashier]}
claims: {properties: {vault: {type: integer}}}
capabilities:
  refund: {before: [{assert: context.user.claims.vault == 7}]}
"#,
);

fn engine(limits: EngineLimits) -> Engine {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("shop.yaml"), SHOP).unwrap();
    Engine::open(&[folder.path()], limits).unwrap_or_else(|error| panic!("{error}"))
}

fn start(engine: &Engine, claims: Value) -> Result<Task, TaskError> {
    let user = User { id: "u-7".into(), claims: Some(claims.into()), ..User::default() };
    engine.start(StartTask::new("t-1", "shop", "clerk", user, NOW))
}

fn may_refund(task: &mut Task) -> bool {
    let call = Call::new("refund", json!({"amount": 1}).into());
    task.before(&call, NOW).unwrap().outcome().is_allowed()
}

#[test]
fn a_task_does_not_begin_with_claims_that_do_not_fit_and_no_value_is_told() {
    let engine = engine(EngineLimits { max_claims_bytes: 40, ..EngineLimits::default() });
    for (claims, said) in [
        (
            json!({"roles": ["lead", 4711]}),
            "the claims of the user do not fit the policy `shop/leads`: `claims.roles[1]`: expected string, found int",
        ),
        (json!({}), "the claims of the user do not fit the policy `shop/leads`: `claims.roles` is missing"),
        (
            json!({"roles": [], "tier": "gold"}),
            "the claims of the user do not fit the policy `shop/leads`: `claims.tier`: the value is none of those that its `enum` allows",
        ),
        (json!(["lead"]), "the claims of a user are an object"),
        (
            json!({"roles": ["0123456789", "0123456789", "01234567"]}),
            "the claims of the user have more than 40 bytes (`max_claims_bytes`)",
        ),
    ] {
        assert_eq!(start(&engine, claims).unwrap_err().to_string(), said);
    }
    let without = engine.start(StartTask::new("t-1", "shop", "clerk", User::default(), NOW));
    assert!(matches!(without, Err(TaskError::ClaimsMisfit { .. })), "a claim that is required");
    // what no policy names is not counted, and not looked at
    assert!(start(&engine, json!({"roles": ["0123456789", "012345678"], "more": "x".repeat(99)})).is_ok());
}

#[test]
fn claims_are_frozen_with_the_task_and_what_nobody_names_is_not_kept() {
    let engine = engine(EngineLimits::default());
    let mut task = start(&engine, json!({"roles": ["lead"], "vault": 7, "ssn": "123-45-6789"})).unwrap();
    assert!(may_refund(&mut task));
    let stored = serde_json::to_string(&task.save()).unwrap();
    assert!(!stored.contains("123-45-6789"));
    let mut task = engine.restore(serde_json::from_str(&stored).unwrap()).unwrap();
    assert!(may_refund(&mut task));
    // the vault is for the agent to which the task may delegate
    assert_eq!(
        task.context().to_json().unwrap().root().get("user").unwrap().to_json(),
        json!({"id": "u-7", "email": "", "claims": {"roles": ["lead"]}}).into()
    );
    let saved = task.save();
    let user = User { id: "u-7".into(), claims: saved.claims().cloned(), ..User::default() };
    let mut child = engine.start(StartTask::new("t-2", "shop", "cashier", user, NOW)).unwrap();
    assert!(may_refund(&mut child));
}
