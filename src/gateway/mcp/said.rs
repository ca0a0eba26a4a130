//! Texts of a server that no rule of the task judges: what it says of itself, its catalogs, and messages for people.
//!
//! They are held to pins and to the rules about descriptions ([`super::ToolRules`]), and notifications go only to requests that are open.

use super::course::{Request, can_elicit};
use super::message::Members;
use super::messages;
use super::methods::{Handling, Side};
use super::schema::SERVER_INFO;
use super::session::Session;
use serde_json::{Value, json};
use std::sync::Arc;

const SUBSCRIPTION: &str = "io.modelcontextprotocol/subscriptionId";
const RELATED_TASK: &str = "io.modelcontextprotocol/related-task";

impl Session {
    /// The client introduces itself.
    pub(super) fn meet(&self, request: &Request) {
        if request.name == "initialize" {
            self.state().elicits = can_elicit(request.param("capabilities"));
        }
    }

    /// The server introduces itself. Texts that are not accepted do not reach the model.
    pub(super) fn welcome(&self, result: &mut Value) {
        let Some(result) = result.as_object_mut() else { return };
        let instructions = result.get("instructions").and_then(Value::as_str).map(str::to_owned);
        let is_accepted = match &self.settings.pins {
            Some(pins) => pins.accepts(instructions.as_deref()),
            None => instructions.as_deref().is_none_or(|text| self.describes("instructions", text)),
        };
        if !is_accepted {
            self.notices.warn(messages::INSTRUCTIONS_WITHHELD, "");
            result.remove("instructions");
        }
        if let Some(server) = result.get_mut("serverInfo") {
            self.hold_server(server);
        }
    }

    /// Takes texts out of what a server says of itself that are not accepted.
    fn hold_server(&self, server: &mut Value) {
        let text = celador::tool_text(&json!({ "annotations": server }));
        let is_accepted = match &self.settings.pins {
            Some(pins) => pins.accepts_server(server),
            None => self.describes("serverInfo", &text),
        };
        if !is_accepted {
            self.notices.warn(messages::SERVER_WITHHELD, "");
            *server = json!({ "name": "server", "version": "0" });
        }
    }

    /// Whether a text may stand among what the server says of itself.
    fn describes(&self, name: &str, text: &str) -> bool {
        self.settings.tool_rules.misfit(&json!({ "name": name, "description": text })).is_none()
    }

    /// Holds `_meta` of a result or notification to what the session knows.
    pub(super) fn hold_meta(&self, result: &mut Value) {
        let Some(meta) = result.get_mut("_meta").and_then(Value::as_object_mut) else { return };
        if let Some(server) = meta.get_mut(SERVER_INFO) {
            self.hold_server(server);
        }
        let task = meta.get(RELATED_TASK).and_then(|it| it.get("taskId")).and_then(Value::as_str);
        if task.is_some_and(|task| !self.state().tasks.is_known(task)) {
            meta.remove(RELATED_TASK);
        }
        if meta.is_empty()
            && let Some(result) = result.as_object_mut()
        {
            result.remove("_meta");
        }
    }

    /// Takes the entries out of a list that do not fit the rules about descriptions.
    pub(super) fn filter(&self, result: &mut Value, member: &str) {
        let Some(entries) = result.get_mut(member).and_then(Value::as_array_mut) else { return };
        entries.retain(|entry| {
            let mut described = json!({ "annotations": entry });
            for name in ["name", "title", "description"] {
                if let (Some(text), Some(members)) = (entry.get(name), described.as_object_mut()) {
                    members.insert(name.to_owned(), text.clone());
                }
            }
            let misfit = self.settings.tool_rules.misfit(&described);
            if let Some(reason) = &misfit {
                let name = entry.get("name").and_then(Value::as_str).unwrap_or_default();
                self.notices.warn(messages::ENTRY_HIDDEN, &format!("{member} {name}: {reason}"));
            }
            misfit.is_none()
        });
    }

    pub(super) fn filter_completions(&self, result: &mut Value) {
        let values = result.pointer_mut("/completion/values").and_then(Value::as_array_mut);
        if let Some(values) = values {
            values.retain(|value| value.as_str().is_some_and(|text| self.describes("completion", text)));
        }
    }

    /// Takes a text for people out that has signs which they do not see.
    pub(super) fn hold_text(&self, params: &mut Members, member: &str) {
        let is_shown = |value: &Value| {
            let text = celador::tool_text(&json!({ "annotations": value }));
            self.settings.tool_rules.shows(&text)
        };
        if params.get(member).is_some_and(|value| !is_shown(value)) && !self.settings.observe {
            self.notices.warn(messages::TEXT_WITHHELD, member);
            params.insert(member.to_owned(), messages::TEXT_WITHHELD.into());
        }
    }

    /// Restores the client's own id of a subscription.
    pub(super) fn restore_subscription(&self, result: &mut Value, id: &Value) {
        if let Some(subscription) = result.pointer_mut(&format!("/_meta/{}", SUBSCRIPTION.replace('/', "~1")))
        {
            *subscription = id.clone();
        }
    }

    /// A notification of the server.
    pub(super) async fn noted_by_server(
        self: &Arc<Self>,
        name: &str,
        params: Option<Members>,
        within: Option<Value>,
    ) {
        let Some((method, mut params)) = self.notification(Side::Server, name, params) else { return };
        let mut within = within;
        if let Some(meta) = params.as_mut().and_then(|it| it.get_mut("_meta")).and_then(Value::as_object_mut)
            && let Some(subscription) = meta.get_mut(SUBSCRIPTION)
        {
            let Some(origin) = self.server.origin_of(subscription, "subscriptions/listen") else {
                self.notices.warn(messages::NO_SUCH_REQUEST, name);
                return;
            };
            *subscription = origin.clone();
            within = Some(origin);
        }
        if let Some(members) = params.take() {
            let mut value = Value::Object(members);
            self.hold_meta(&mut value);
            params = if let Value::Object(members) = value { Some(members) } else { None };
        }
        match method.handling {
            Handling::Cancel => self.cancelled_by_server(params).await,
            Handling::Progress => self.report_progress(&self.server, &self.client, params).await,
            Handling::TaskStatus => self.task_status(name, params.unwrap_or_default(), within),
            Handling::ToolsChanged => {
                self.state().changed = true;
                self.client.notify(name, params, within).await;
            }
            _ => {
                if let Some(params) = &mut params {
                    for text in ["data", "logger", "title"] {
                        self.hold_text(params, text);
                    }
                }
                self.client.notify(name, params, within).await;
            }
        }
    }

    /// The server takes a request of its own back, or ends a subscription of the client.
    async fn cancelled_by_server(&self, params: Option<Members>) {
        let Some(mut params) = params else { return };
        let Some(id) = params.get("requestId").cloned() else { return };
        let reason = params.get("reason").and_then(Value::as_str).map(str::to_owned);
        if self.server.cancel(&id, reason) {
            return;
        }
        let Some(origin) = self.server.origin_of(&id, "subscriptions/listen") else {
            self.notices.warn(messages::NO_SUCH_REQUEST, "notifications/cancelled");
            return;
        };
        params.insert("requestId".to_owned(), origin.clone());
        self.hold_text(&mut params, "reason");
        self.client.cancel(&origin, None);
        self.client.notify("notifications/cancelled", Some(params), Some(origin)).await;
    }
}
