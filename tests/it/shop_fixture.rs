//! The shop that tests of policies share: tools that pay, agents who use them, and a task of its clerk.
//!
//! The manifests are put together when tests are compiled, so that a test may hold its own as a constant.

use celador::{Engine, StartTask, Task, User};
use std::time::SystemTime;

/// When everything in the shop happens.
pub const NOW: SystemTime = SystemTime::UNIX_EPOCH;

/// A tool of the shop, with its actions and the parameters of each.
macro_rules! shop_tool {
    ($tool:literal, $($action:literal takes $parameters:literal),+) => {
        concat!(
            "\nkind: commonagents.info/v1beta2/tool\nnamespace: shop\nname: ", $tool, "\ndescription: Pays.\nactions:\n",
            $(
                "- name: ", $action, "\n  description: Does what its name says.\n",
                "  parameters: {properties: ", $parameters, "}\n",
                "  execute: {stateless_http: {method: POST, url: \"https://pay.example.com\"}}\n",
            )+
        )
    };
}

/// An agent of the shop, with its capability.
macro_rules! shop_agent {
    ($agent:literal, $capability:literal) => {
        concat!(
            "---\nkind: commonagents.info/v1beta2/agent\nnamespace: shop\nname: ",
            $agent,
            "\ndescription: Answers.\nprompt: You are careful.\ncapabilities:\n  ",
            $capability,
            "\n",
        )
    };
}

pub(crate) use {shop_agent, shop_tool};

/// A task of the clerk for nobody in particular.
pub fn begin(engine: &Engine) -> Task {
    engine.start(StartTask::new("t-1", "shop", "clerk", User::default(), NOW)).unwrap()
}
