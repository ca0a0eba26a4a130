//! The rules of retention as data: which settings there are, which are refused and why, and what is to become of a task.

use celador::cel::Timestamp;
use celador_store::{Age, Fate, Retention, RetentionError, TaskSummary};

fn rules(settings: &[&str]) -> Result<Retention, RetentionError> {
    let mut retention = Retention::default();
    settings.iter().try_for_each(|setting| retention.set(setting))?;
    retention.check()?;
    Ok(retention)
}

#[test]
fn ages_are_days_and_durations_of_a_minute_at_least() {
    for (text, same) in [
        ("30d", "720h"),
        ("1d12h", "36h"),
        ("90m", "1h30m"),
        ("1m", "60s"),
        ("1.5h", "90m"),
        ("0d2m", "2m"),
        ("60000ms", "1m"),
        ("1d0.5s", "24h0.5s"),
    ] {
        let age: Age = text.parse().unwrap();
        assert_eq!(Ok(age), same.parse(), "{text}");
        assert_eq!(age.to_string().parse(), Ok(age), "{text} is written as {age}");
    }
    assert_eq!("36h".parse::<Age>().unwrap().to_string(), "1d12h");
    for text in
        ["", "d", "30", "soon", "-1h", "1d-2h", "+1d", "1d+1h", "1w", "30 d", "99999999999d", "1d1d", "ad"]
    {
        assert_eq!(text.parse::<Age>(), Err(RetentionError::NoAge(text.into())));
    }
    for text in ["0", "0s", "59s", "59.999999999s", "0d0s"] {
        assert_eq!(text.parse::<Age>(), Err(RetentionError::TooShort(text.into())));
    }
}

#[test]
fn settings_that_are_none_or_break_a_promise_together_are_refused_with_the_reason() {
    for (settings, said) in [
        (
            &["30d"][..],
            "`30d` is no rule: expected KIND=AGE with a kind of `ended-tasks`, `idle-tasks`, `tombstones`, `answers`, `decision-lines`, `contexts`, `log-files`",
        ),
        (&["tasks=30d"], "`tasks=30d` is no rule"),
        (&["ended-tasks="], "`` is no age: expected numbers with units, such as `30d`, `12h` or `1d12h`"),
        (&["ended-tasks=30"], "`30` is no age"),
        (&["contexts=1s"], "`1s` is too short: expected at least `1m`"),
        (&["answers=1d", "answers=2d"], "`answers` is set twice"),
        (
            &["tombstones=7d"],
            "`tombstones=7d` is shorter than `answers`, which are kept for ever: the answer that created a task",
        ),
        (
            &["tombstones=7d", "answers=8d"],
            "`tombstones=7d` is shorter than `answers`, which are kept for 8d",
        ),
        (
            &["tombstones=7d", "answers=7d", "log-files=8d"],
            "`tombstones=7d` is shorter than `log-files`, which are kept for 8d: lines of the decision log would be about tasks",
        ),
    ] {
        let refused = rules(settings).unwrap_err().to_string();
        assert!(refused.starts_with(said), "{settings:?}: {refused}");
    }
    for sound in [
        &[][..],
        &["ended-tasks=30d", "idle-tasks=1m"],
        &["ended-tasks=30d", "tombstones=7d", "answers=7d"],
        &["tombstones=30d", "answers=1d", "log-files=30d"],
    ] {
        assert_eq!(rules(sound).unwrap().rules().count(), sound.len());
    }
    // lines in the store go with the files of the log at the latest
    let lines = |settings: &[&str]| rules(settings).unwrap().lines().map(|age| age.to_string());
    assert_eq!(lines(&["log-files=9d"]).as_deref(), Some("9d"));
    assert_eq!(lines(&["log-files=9d", "decision-lines=3d"]).as_deref(), Some("3d"));
    assert_eq!(lines(&["log-files=3d", "decision-lines=9d"]).as_deref(), Some("3d"));
    assert_eq!(lines(&["answers=3d"]), None);
}

#[test]
fn what_becomes_of_a_task_is_said_by_its_state_and_its_last_event() {
    let both = ["ended-tasks=30d", "idle-tasks=90d"];
    let now: Timestamp = "2026-06-01T12:00:00.5Z".parse().unwrap();
    for (settings, state, changed_at, fate) in [
        (&both[..], "terminated", "2026-05-02T12:00:00.5Z", Fate::Keep),
        (&both[..], "terminated", "2026-05-02T12:00:00.499999999Z", Fate::Purge),
        (&both[..], "terminated", "2026-05-02T12:00:00Z", Fate::Purge),
        (&both[..], "locked", "2026-05-02T12:00:00Z", Fate::Purge),
        (&both[..], "active", "2026-05-02T12:00:00Z", Fate::Keep),
        (&both[..], "active", "2026-03-03T12:00:00.5Z", Fate::Keep),
        (&both[..], "active", "2026-03-03T12:00:00.4Z", Fate::End),
        // who waits for a reviewer is not idle
        (&both[..], "suspended", "1999-01-01T00:00:00Z", Fate::Keep),
        (&both[..1], "active", "1999-01-01T00:00:00Z", Fate::Keep),
        (&both[1..], "terminated", "1999-01-01T00:00:00Z", Fate::Keep),
        (&[], "terminated", "1999-01-01T00:00:00Z", Fate::Keep),
        (&both[..], "terminated", "2999-01-01T00:00:00Z", Fate::Keep),
        (&both[..], "terminated", "long ago", Fate::Keep),
        (&both[..], "a state of a later release", "1999-01-01T00:00:00Z", Fate::Keep),
    ] {
        let task = TaskSummary {
            id: "t-1".into(),
            namespace: "demo".into(),
            agent: "clerk".into(),
            state: state.into(),
            started_at: "1998-01-01T00:00:00Z".into(),
            changed_at: changed_at.into(),
            version: 3,
        };
        assert_eq!(rules(settings).unwrap().fate(&task, now), fate, "{settings:?} {state} {changed_at}");
    }
}
