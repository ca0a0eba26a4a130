//! A server of MCP that asks the user for something: a call of the tool `Elicitation`, whose result is what the user has filled in.
//!
//! In: the question, and then the answer, as Claude Code tells of them. Out: whether the question is put, and whether the answer goes to the server. Where an agent
//! has neither this tool nor `any_tool`, no rule can say anything about them, and both go on.

use super::answer::{HookAnswer, Specific};
use super::claude_code::{Approval, Hook, Reported, ended, told_to_model};
use super::event::Event;
use super::messages;
use super::session::Named;
use crate::problem::Problem;
use celador::cel::Json;
use celador::task::{Allowed, CallStatus, Decision, Ran, Verdict};

/// The tool that stands for the questions of all servers.
const ELICITATION: &str = "Elicitation";

impl Hook<'_> {
    /// A server asks the user.
    pub(super) fn elicits(&self) -> Result<HookAnswer, Problem> {
        let Some(named) = self.elicitation()? else { return Ok(HookAnswer::nothing()) };
        let given = &named.arguments;
        let settled = self.judge(
            &named,
            &self.event.elicitation_call(&uuid::Uuid::new_v4().to_string()),
            Approval::OfPrompt,
        )?;
        let Decision { verdict, call, .. } = &settled.decision;
        match verdict {
            Verdict::Allow(Allowed { value: Some(value), .. }) if value != given => {
                call.iter().try_for_each(|call| self.withdraw(call.as_str(), Ran::Never))?;
                Ok(HookAnswer::decline(self.event, messages::cannot_rewrite_question()))
            }
            Verdict::Allow(_) => {
                // the user is about to be asked anyway, and is told what a rule wants to know
                let told = Some(settled.asked.join("\n")).filter(|told| !told.is_empty());
                Ok(HookAnswer { system_message: told, ..HookAnswer::nothing() })
            }
            // a rule answers in the place of the user
            Verdict::Respond { value: Some(value), .. } if value.root().is_object() => {
                Ok(HookAnswer::accept(self.event, value.clone()))
            }
            Verdict::Wait { .. } => Ok(HookAnswer::decline(self.event, messages::asked_too_early())),
            Verdict::Respond { .. } => {
                Ok(HookAnswer::decline(self.event, messages::cannot_rewrite_question()))
            }
            _ => Ok(self.declined(&settled.decision)),
        }
    }

    /// The user has answered.
    pub(super) fn elicited(&self) -> Result<HookAnswer, Problem> {
        let Some(named) = self.elicitation()? else { return Ok(HookAnswer::nothing()) };
        let open = self.open_elicitation()?;
        match &**self.event.required(&self.event.action, "action")? {
            "accept" => {}
            // nothing goes to the server
            action => {
                open.iter().try_for_each(|call| self.withdraw(call, Ran::Never))?;
                return Ok(match action {
                    "decline" | "cancel" => HookAnswer::nothing(),
                    _ => HookAnswer::decline(self.event, messages::undecided(messages::UNKNOWN_ACTION)),
                });
            }
        }
        let id = open.unwrap_or_else(|| self.event.elicitation_call(&uuid::Uuid::new_v4().to_string()));
        let filled_in = self.event.content.clone().unwrap_or_else(|| Json::object([]));
        let decision =
            match self.reported(&id, || Ok(named), CallStatus::Successful, &filled_in, Approval::OfPrompt)? {
                Reported::Judged(decision) if matches!(decision.verdict, Verdict::Allow(_)) => decision,
                Reported::Judged(decision) | Reported::NotToBeMade(decision) => {
                    return Ok(self.declined(&decision));
                }
            };
        match decision.verdict.into_value() {
            None => Ok(HookAnswer::nothing()),
            Some(value) if value == filled_in => Ok(HookAnswer::nothing()),
            Some(value) if value.root().is_object() => Ok(HookAnswer::accept(self.event, value)),
            Some(_) => Ok(HookAnswer::decline(self.event, messages::cannot_rewrite_question())),
        }
    }

    fn declined(&self, decision: &Decision) -> HookAnswer {
        ended(HookAnswer::decline(self.event, told_to_model(decision)), decision)
    }

    /// The question as a call; nothing if the agent has no tool for it.
    fn elicitation(&self) -> Result<Option<Named>, Problem> {
        let server = self.event.required(&self.event.mcp_server_name, "mcp_server_name")?;
        let arguments = self.event.elicitation_arguments(server);
        let named = self.session.named(ELICITATION, server, arguments)?;
        Ok(if self.is_undeclared(&named)? { None } else { Some(named) })
    }

    /// The call of the question that was answered: by its id, or the first of the server that is open.
    fn open_elicitation(&self) -> Result<Option<String>, Problem> {
        let wanted = self.event.elicitation_call("");
        let is_one = |call: &str| match self.event.elicitation_id {
            Some(_) => call == wanted,
            // an id that was made up has no colon, unlike the name of another server that begins alike
            None => call.strip_prefix(&wanted).is_some_and(|id| !id.contains(':')),
        };
        self.session.look(|task| task.open_calls().map(ToString::to_string).find(|call| is_one(call)))
    }
}

impl Event {
    /// The id of the call that a question is: that of the question, or one that was made up where it has none.
    fn elicitation_call(&self, made_up: &str) -> String {
        let server = self.mcp_server_name.as_deref().unwrap_or_default();
        let id = self.elicitation_id.as_deref().unwrap_or(made_up);
        // a slash tells the calls of subagents
        self.call_id(&format!("elicitation:{server}:{id}").replace('/', "_"))
    }

    fn elicitation_arguments(&self, server: &str) -> Json {
        let texts = [("message", &self.message), ("mode", &self.mode), ("url", &self.url)];
        let texts = texts.into_iter().filter_map(|(name, text)| Some((name, Json::string(text.as_ref()?))));
        let schema = self.requested_schema.clone().map(|schema| ("requested_schema", schema));
        Json::object([("server", Json::string(server))].into_iter().chain(texts).chain(schema))
    }
}

impl HookAnswer {
    /// A question of a server is not put, or not answered. A `decision` beside it would have Claude Code 2.1.197 overlook all of this.
    pub(super) fn decline(event: &Event, why: String) -> Self {
        let specific = Specific { action: Some("decline"), ..Specific::of(event) };
        Self { reason: Some(why), ..Self::nothing() }.with(specific)
    }

    /// The server is answered with this, whatever the user has said.
    fn accept(event: &Event, content: Json) -> Self {
        let specific = Specific { action: Some("accept"), content: Some(content), ..Specific::of(event) };
        Self::nothing().with(specific)
    }
}
