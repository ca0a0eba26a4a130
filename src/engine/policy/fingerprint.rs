//! What a policy means, as one number: whether a task that was suspended under it may go on under another.
//!
//! In: everything of the manifests that decides. Out: 64 bits (FNV-1a) that do not depend on places and comments. Equal
//! policies of one build have equal fingerprints; it protects against edits, not against attackers.

use super::shape::Shape;
use crate::manifest::binding::Binding;
use crate::manifest::event::{EventDecl, ReceiveKind};
use crate::manifest::step::{Step, StepAction};
use crate::source::Embedded;
use std::fmt;

/// A fingerprint being taken.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fingerprint(u64);

const OFFSET: u64 = 0xcbf2_9ce4_8422_2325;
const PRIME: u64 = 0x0100_0000_01b3;

impl Fingerprint {
    pub(super) fn new() -> Self {
        Self(OFFSET)
    }

    pub(super) fn value(self) -> u64 {
        self.0
    }

    /// A text, with its end: `ab`, `c` is not `a`, `bc`.
    pub(super) fn text(&mut self, text: &str) {
        for byte in text.bytes().chain([0xff]) {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(PRIME);
        }
    }

    /// Something whose debug form says all of it.
    pub(super) fn debug(&mut self, thing: &dyn fmt::Debug) {
        self.text(&format!("{thing:?}"));
    }

    fn embedded(&mut self, text: Option<&Embedded>) {
        self.text(text.map_or("", |text| &text.text));
    }

    pub(super) fn bindings(&mut self, bindings: &[Binding]) {
        for binding in bindings {
            self.text(&binding.name.text);
            self.text(&binding.value.text);
        }
    }

    pub(super) fn event(&mut self, event: &EventDecl, active: bool, timeout: Option<i64>) {
        self.text(&event.name.text);
        self.debug(&(active, timeout, std::mem::discriminant(&event.receive.kind)));
        let (secret, detect) = match &event.receive.kind {
            ReceiveKind::Webhook { secret } => (secret.as_ref(), None),
            ReceiveKind::Poll { detect } => (None, Some(detect)),
            ReceiveKind::Subscription => (None, None),
        };
        for text in [event.message.as_ref(), event.receive.filter.as_ref(), secret, detect] {
            self.embedded(text);
        }
        self.bindings(&event.aliases);
        // an event without one is what it was before there were any, so that a task that waits since then may go on
        if let Some(payload) = &event.payload {
            self.debug(&Shape::of(payload));
        }
    }

    pub(super) fn step(&mut self, step: &Step) {
        self.text(&step.path);
        for text in [&step.condition, &step.match_name, &step.error_message] {
            self.embedded(text.as_ref());
        }
        self.debug(&step.on_fail);
        match &step.action {
            StepAction::Assert(text) | StepAction::Transform(text) => {
                self.text(&step.action_path());
                self.text(&text.text);
            }
            StepAction::Invoke(invoke) => {
                self.text(&invoke.target.text);
                self.bindings(&invoke.bindings);
            }
        }
    }
}
