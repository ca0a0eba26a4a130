//! Which records of calls the decision on a call reads, expression by expression, and which records a call changes.

use crate::task_fixture::task;
use celador::policy::Policy;

/// What the decision on a call of `ledger_post_entry` reads under these entries of the manifest: keys, or `*` for every call;
/// with `+` where it reads no more of the calls than that they were made and their arguments.
fn read(capabilities: &str) -> Vec<String> {
    let task = task(&format!("capabilities:\n{capabilities}"));
    let policy: &Policy = task.policy();
    let position = policy.position("ledger_post_entry").unwrap();
    let reads = &policy.dependencies(position).unwrap().reads;
    if reads.is_everything() {
        return vec!["*".to_owned()];
    }
    let key = |at| policy.function(at).unwrap().key.to_string();
    let made = if reads.is_everything_made() { vec!["+*".to_owned()] } else { Vec::new() };
    let made = made.into_iter().chain(reads.functions_made().map(|at| format!("+{}", key(at))));
    reads.functions().map(key).chain(made).collect()
}

fn read_by(expression: &str) -> String {
    let text = serde_json::to_string(expression).unwrap();
    read(&format!("  probe: \"*\"\n  ledger:\n    before:\n    - assert: {text}\n")).join(" ")
}

#[test]
fn expressions_read_the_records_that_they_name() {
    for (expression, expected) in [
        // nothing of the calls
        ("input.amount < 10", ""),
        ("context.user.id == 'u' && context.agent.name != ''", ""),
        ("c.llm.tokens.total < 100 && size(c.input) > 0 && size(context.output) == 0", ""),
        ("now != '' && runtime.id != ''", ""),
        // one record, however it is written
        ("context.capabilities.probe.count_successful < 1", "probe"),
        ("c.cap.probe.count_successful < 1", "probe"),
        ("context['capabilities']['probe']['count_successful'] < 1", "probe"),
        ("c.cap.?probe.count_successful.orValue(0) < 1", "probe"),
        ("has(c.cap.probe.count_successful)", "probe"),
        ("c.cap.probe.inputs.all(i, i.depth < 3)", "probe"),
        ("c.cap.probe.inputs.all(c, c.depth < 3)", "probe"),
        (
            "c.cap.probe.inputs.all(context, .context.cap.ledger_lookup.count_errored < 1)",
            "probe ledger_lookup",
        ),
        ("cel.bind(c, c.cap.probe, c.count_successful < 1)", "probe"),
        ("cel.bind(r, c.cap.probe, r.count_successful < 1)", "probe"),
        ("[1].exists(x, c.cap.probe.count_successful == x)", "probe"),
        ("c.cap.probe.inputs[int(input.amount)].depth < 3", "probe"),
        // the record of a tool is that of its actions
        ("c.cap.ledger.count_successful < 1", "ledger_lookup ledger_post_entry"),
        ("c.cap.ledger_lookup.count_successful < c.cap.probe.count_successful", "probe ledger_lookup"),
        ("false ? c.cap.probe.count_successful < 1 : true", "probe"),
        // calls as objects: that they were made, and with what
        ("c.cap.probe.calls.exists(t, t.input.depth == 3)", "+probe"),
        ("c.cap.probe.calls.exists(t, t.open && t.fn == 'probe' && has(t.input.depth))", "+probe"),
        ("c.cap.probe.calls.all(t, t.input.depth < int(input.amount))", "+probe"),
        ("c.cap.probe.calls.exists_one(t, true)", "+probe"),
        ("size(c.cap.probe.calls) < 3 && c.cap.probe.calls.size() < 3", "+probe"),
        ("c.cap.probe.calls.filter(t, t.open).size() < 3", "+probe"),
        ("c.cap.probe.calls.filter(t, t.open).exists(u, u.input.depth == 3)", "+probe"),
        ("size(c.cap.probe.calls.map(t, t.input.depth)) < 3", "+probe"),
        ("c.cap.probe.calls.map(t, t.input.depth).exists(d, d == 3)", "+probe"),
        ("context['cap']['ledger']['calls'].all(t, t.fn != '')", "+ledger_lookup +ledger_post_entry"),
        ("c.calls.exists(t, t.fn == 'probe')", "+*"),
        ("c.calls.filter(t, t.open).size() < c.cap.probe.count_errored", "probe +*"),
        (
            "c.cap.probe.calls.exists(t, c.cap.ledger_lookup.calls.exists(u, u.input.account == t.input.account))",
            "+probe +ledger_lookup",
        ),
        ("c.cap.probe.calls.filter(t, within(t, '1h')).size() < 3", "+probe"),
        ("c.cap.probe.rejected.size() < 3 && c.cap.probe.rejected[0].status == 'errored'", "+probe"),
        ("c.rejected[0].fn == 'probe'", "+*"),
        // what open operations will yet have steps invoke is not known
        ("c.cap.probe.invoked.size() < 3", "probe"),
        ("c.invoked.size() < 3", "*"),
        ("!c.cap.probe.calls.exists(t, !t.invoked && within(t.started_at, '1h'))", "+probe"),
        // the same and more, for which a call must be closed
        ("c.cap.probe.calls.exists(t, within(t.at, '1h'))", "probe +probe"),
        ("within(c.cap.probe.calls[0], '1h')", "probe"),
        ("c.cap.probe.calls.exists(t, t.status == 'successful')", "probe +probe"),
        ("c.cap.probe.calls.exists(t, t.output.ok)", "probe +probe"),
        ("c.cap.probe.calls.exists(t, t.at > now)", "probe +probe"),
        ("c.cap.probe.calls.all(t, t.seq > 3)", "probe +probe"),
        ("c.cap.probe.calls.exists(t, t['status'] == 'errored')", "probe +probe"),
        ("c.cap.probe.calls.exists(t, t[input.memo] == '')", "probe +probe"),
        ("c.cap.probe.calls.filter(t, t.status == 'errored').size() < 3", "probe +probe"),
        ("c.cap.probe.calls.filter(t, t.open).exists(u, u.status == 'errored')", "probe +probe"),
        ("c.cap.probe.calls.exists(t, cel.bind(u, t, u.open))", "probe +probe"),
        ("c.cap.probe.calls.exists(t, [t].exists(u, u.status == ''))", "probe +probe"),
        // or their order matters
        ("c.cap.probe.calls[0].input.depth == 3", "probe"),
        ("c.cap.probe.calls[int(input.amount)].input.depth == 3", "probe"),
        ("c.cap.probe.calls.filter(t, t.open)[0].input.depth == 3", "probe"),
        ("c.cap.probe.calls.map(t, t.input.depth)[0] == 3", "probe"),
        ("c.cap.probe.calls.exists(n, t, n == 0 && t.open)", "probe"),
        ("c.cap.probe.calls.transformList(n, t, n == 0, t.open).size() == 1", "probe"),
        ("c.cap.probe.calls == []", "probe"),
        ("c.calls[0].fn == 'probe'", "*"),
        ("c.calls.exists(t, t.status == 'errored')", "*"),
        // every record
        ("c.cap[input.memo].count_successful < 1", "*"),
        ("c.cap._meta.count < 1", "*"),
        ("context._history.turn_count < 9", "*"),
        ("size(string(context)) < 100", "*"),
        ("c[input.memo] != c", "*"),
        ("c.cap.all(k, k != '')", "*"),
        ("[c].all(x, x.cap.probe.count_successful < 1)", "*"),
    ] {
        assert_eq!(read_by(expression), expected, "{expression}");
    }
}

#[test]
fn the_parts_of_a_decision_read() {
    for (about, capabilities, expected) in [
        (
            "a condition",
            "  probe: \"*\"\n  ledger: {before: [{condition: c.cap.probe.count_errored == 0, assert: 'false'}]}",
            "probe",
        ),
        (
            "a binding",
            "  probe: \"*\"\n  ledger: {bindings: {account: 'string(c.cap.probe.count_successful)'}}",
            "probe",
        ),
        (
            "a step for another action",
            "  probe: \"*\"\n  ledger: {before: [{match: lookup, assert: c.cap.probe.count_errored == 0}]}",
            "",
        ),
        (
            "a step for this action",
            "  probe: \"*\"\n  ledger: {before: [{match: post-entry, assert: c.cap.probe.count_errored == 0}]}",
            "probe",
        ),
        (
            "a step behind the call",
            "  probe: \"*\"\n  ledger: {after: [{assert: c.cap.probe.count_errored == 0}]}",
            "",
        ),
        (
            "another capability",
            "  probe: {before: [{assert: c.cap.ledger.count_errored == 0}]}\n  ledger: \"*\"",
            "",
        ),
        (
            "a message",
            "  probe: \"*\"\n  ledger: {before: [{assert: input.amount < 1, error_message: '{context.capabilities._meta.count}'}]}",
            "",
        ),
        (
            "the first call",
            "  ledger: {before_first: [{assert: 'input.amount < 1'}]}",
            "ledger_lookup ledger_post_entry",
        ),
        (
            "the first call of an action",
            "  ledger: {before_first: [{match: post-entry, assert: input.amount < 1}]}",
            "ledger_post_entry",
        ),
        (
            "what an invoke step is bound to",
            "  probe: \"*\"\n  ledger: {before: [{invoke: 'audit:append', bindings: {what: 'string(c.cap.probe.count_successful)'}}]}",
            "probe",
        ),
        ("a backend that is invoked", "  probe: \"*\"\n  ledger: {before: [{invoke: 'probe:check'}]}", ""),
    ] {
        assert_eq!(read(capabilities).join(" "), expected, "{about}");
    }
}

#[test]
fn a_call_changes_its_record_and_those_of_its_invoke_steps() {
    let task = task(
        "capabilities:\n  probe: \"*\"\n  ledger:\n    before: [{invoke: 'audit:append'}]\n    after: [{match: lookup, invoke: 'probe:check'}]\n",
    );
    let policy = task.policy();
    let changed = |key: &str| {
        let changes = &policy.dependencies(policy.position(key).unwrap()).unwrap().changes;
        let keys: Vec<_> =
            changes.functions().map(|at| policy.function(at).unwrap().key.to_string()).collect();
        keys.join(" ")
    };
    assert_eq!(changed("probe"), "probe");
    assert_eq!(changed("ledger_lookup"), "probe ledger_lookup audit");
    assert_eq!(changed("ledger_post_entry"), "ledger_post_entry audit");
    assert!(policy.dependencies(usize::MAX).is_none());
}
