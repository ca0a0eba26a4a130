//! Cedar: a policy for each expression that it can say, with the state as the context of the request.
//!
//! Its language has no length of a text, no n-th element of a list, no loop and no regular expression on purpose: what it
//! decides can be analysed. So E1 to E4 are all of this workload.

use super::{Engine, keep};
use crate::kind::Kind;
use crate::measure::Case;
use crate::questions::expected;
use crate::roots::Roots;
use cedar_policy::{Authorizer, Context, Decision, Entities, EntityUid, PolicySet, Request};
use serde_json::Value as Json;
use std::hint::black_box;

pub const NAME: &str = "cedar";

struct Cedar {
    request: &'static Request,
}

pub fn make(_: usize, roots: &'static Roots) -> Box<dyn Engine> {
    let name = |text: &str| text.parse::<EntityUid>().expect("a name of an entity");
    let context = Context::from_json_value(without_nulls(&roots.0), None).expect("JSON without nulls");
    let (model, call, tool) = (r#"Agent::"coder""#, r#"Action::"call""#, r#"Tool::"db_query""#);
    let request = Request::new(name(model), name(call), name(tool), context, None).expect("a request");
    Box::new(Cedar { request: keep(request) })
}

/// Cedar has no null: a field that holds it is left out.
fn without_nulls(json: &Json) -> Json {
    match json {
        Json::Array(items) => items.iter().filter(|item| !item.is_null()).map(without_nulls).collect(),
        Json::Object(fields) => {
            let there = fields.iter().filter(|(_, field)| !field.is_null());
            there.map(|(key, field)| (key.clone(), without_nulls(field))).collect()
        }
        _ => json.clone(),
    }
}

fn policy(name: &str) -> Option<String> {
    let condition = match name {
        "E1" => "context.context.llm.tokens.total > 5000 && context.context._history.turn_count > 8",
        "E2" => {
            r#"context.context.user.email like "*@example.com" && context.context.agent.namespace like "prod-*""#
        }
        "E3" => "context.context.capabilities.github_file_read_chunk.count_successful > 0",
        "E4" => "context.output.status_code >= 200 && context.output.status_code < 300",
        _ => return None,
    };
    Some(format!("permit(principal, action, resource) when {{ {condition} }};"))
}

impl Engine for Cedar {
    fn case(&self, kind: Kind, name: &'static str) -> Option<Case> {
        let (text, request, expected) = (policy(name)?, self.request, expected(name));
        match kind {
            Kind::Compile => {
                Some(Case::repeated(NAME, move || black_box(&text).parse::<PolicySet>().is_ok()))
            }
            Kind::Eval => {
                let policies: PolicySet = text.parse().expect("the workload compiles");
                let (authorizer, entities) = (Authorizer::new(), Entities::empty());
                Some(Case::repeated(NAME, move || {
                    let response = authorizer.is_authorized(black_box(request), &policies, &entities);
                    (response.decision() == Decision::Allow) == expected
                }))
            }
            _ => None,
        }
    }
}
