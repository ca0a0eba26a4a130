//! Celador as an addon of Node: the requests of [`celador_embed::Texts`], at once or as a promise.
//!
//! In: texts. Out: texts. Types, classes and errors are those of the package `@celador/api`, which this is a port of.

use celador_embed::{Texts, system_clock};
use napi::bindgen_prelude::AsyncTask;
use napi::{Env, Result, Task};
use napi_derive::napi;
use std::sync::LazyLock;

/// What this process holds. Worker threads of Node share it, and so the tasks in memory.
static TEXTS: LazyLock<Texts> = LazyLock::new(|| Texts::new(system_clock()));

/// Answers a request at once.
#[napi]
#[must_use]
pub fn ask(what: String, about: u32, body: String) -> String {
    TEXTS.ask(&what, about, &body)
}

/// Answers a request on a thread of Node's pool, where stores and servers may be waited for.
#[napi]
#[must_use]
pub fn ask_later(what: String, about: u32, body: String) -> AsyncTask<Asked> {
    AsyncTask::new(Asked { what, about, body })
}

/// Forgets a handle.
#[napi]
pub fn forget(about: u32) {
    TEXTS.forget(about);
}

/// A request that is answered on another thread.
pub struct Asked {
    what: String,
    about: u32,
    body: String,
}

impl Task for Asked {
    type Output = String;
    type JsValue = String;

    fn compute(&mut self) -> Result<String> {
        Ok(TEXTS.ask(&self.what, self.about, &self.body))
    }

    fn resolve(&mut self, _: Env, answer: String) -> Result<String> {
        Ok(answer)
    }
}
