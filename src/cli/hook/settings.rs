//! A file of settings of Claude Code, with the hooks of Celador and without them.
//!
//! In: the JSON of the file, and the hooks. Out: the same with them, once, however often it is done, or without them. Whatever else
//! stands there stays, in its order; hooks of others stay where they are.

use super::how::How;
use celador_server::{HOOK_EVENTS, HookRegistration};
use serde_json::{Map, Value, json};

/// How much longer Claude Code waits for a hook than the hook waits for a review, in seconds.
const SPARE_SECONDS: u64 = 10;

/// A hook that calls a program with these arguments.
pub(super) fn command((program, arguments): (String, Vec<String>), how: &How) -> Value {
    let (timeout, on_failure) = (timeout(how), on_failure(how));
    json!({"type": "command", "command": program, "args": arguments, "timeout": timeout, "onFailure": on_failure})
}

/// A hook that asks an address.
pub(super) fn address(url: &str, how: &How) -> Value {
    json!({"type": "http", "url": url, "timeout": timeout(how), "onFailure": on_failure(how)})
}

/// How long Claude Code waits for a hook, in seconds.
pub(super) fn timeout(how: &How) -> u64 {
    how.review_wait.saturating_add(SPARE_SECONDS)
}

/// What it does where a hook gives no answer.
fn on_failure(how: &How) -> &'static str {
    if how.fail == "open" { "continue" } else { "block" }
}

/// Puts a hook of Celador into the settings, for each event in the place of the one that is there. An error is the name of a member
/// that is not what it has to be.
pub(super) fn install(settings: &mut Value, hook: &Value) -> Result<(), &'static str> {
    let hooks = hooks_of(settings)?;
    for event in HOOK_EVENTS {
        let names_tools = match event.registration {
            HookRegistration::Tools => true,
            HookRegistration::Plain => false,
            HookRegistration::None => continue,
        };
        let groups =
            hooks.entry(event.form.name).or_insert_with(|| json!([])).as_array_mut().ok_or("hooks")?;
        let mut is_there = false;
        for one in groups.iter_mut().filter_map(members).flatten().filter(|one| is_ours(one)) {
            *one = hook.clone();
            is_there = true;
        }
        if !is_there {
            groups.push(match names_tools {
                true => json!({"matcher": "*", "hooks": [hook]}),
                false => json!({"hooks": [hook]}),
            });
        }
    }
    Ok(())
}

/// Takes the hooks of Celador out. What is empty then goes as well.
pub(super) fn uninstall(settings: &mut Value) -> Result<(), &'static str> {
    if settings.get("hooks").is_none() {
        return Ok(());
    }
    let hooks = hooks_of(settings)?;
    hooks.retain(|_, groups| {
        let Some(groups) = groups.as_array_mut() else { return true };
        let before = groups.len();
        groups.retain_mut(|group| {
            let Some(members) = members(group) else { return true };
            let before = members.len();
            members.retain(|one| !is_ours(one));
            !members.is_empty() || before == 0
        });
        !groups.is_empty() || before == 0
    });
    let is_empty = hooks.is_empty();
    if is_empty && let Some(settings) = settings.as_object_mut() {
        settings.shift_remove("hooks");
    }
    Ok(())
}

fn hooks_of(settings: &mut Value) -> Result<&mut Map<String, Value>, &'static str> {
    let settings = settings.as_object_mut().ok_or("the file")?;
    settings.entry("hooks").or_insert_with(|| json!({})).as_object_mut().ok_or("hooks")
}

/// The hooks of a group.
fn members(group: &mut Value) -> Option<&mut Vec<Value>> {
    group.get_mut("hooks")?.as_array_mut()
}

/// Members of settings under which Claude Code calls no hooks of this file, each with its value.
pub(super) fn without_hooks(settings: &Value) -> impl Iterator<Item = &'static str> {
    let is_on = |name: &str| settings.get(name).is_some_and(|value| *value != Value::Bool(false));
    ["disableAllHooks", "allowManagedHooksOnly"].into_iter().filter(move |name| is_on(name))
}

/// Whether a hook is one of Celador: it calls the command, or the address.
fn is_ours(hook: &Value) -> bool {
    let text = |name: &str| hook.get(name).and_then(Value::as_str).unwrap_or_default();
    let arguments = hook.get("args").and_then(Value::as_array);
    let words: Vec<&str> = arguments.into_iter().flatten().filter_map(Value::as_str).collect();
    // an interpreter has its own words ahead of these
    let is_called = words.windows(2).any(|pair| pair == ["hook", "claude-code"]);
    let path = text("url").split('?').next().unwrap_or_default();
    is_called || text("command").contains("celador hook claude-code") || path.ends_with("/hooks/claude-code")
}
