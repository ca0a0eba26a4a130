//! One route as plain data: method, path, who may, what body, how much work, and what it does.

use super::identity::Scope;
use super::problem::Problem;
use super::request::{Answer, Request};
use super::service::Service;
use axum::http::Method;

/// One route.
pub(super) struct Route {
    pub(super) method: Method,
    pub(super) path: &'static str,
    /// The `operationId`, and the label of figures and logs.
    pub(super) operation: &'static str,
    pub(super) access: Access,
    pub(super) takes: Body,
    pub(super) work: Work,
    /// Whether its answer may leave a call pending, for which a request can wait (`wait_ms`).
    pub(super) waits: bool,
    pub(super) action: Action,
}

/// What a route does.
#[derive(Clone, Copy)]
pub(super) enum Action {
    /// It has a function.
    Call(fn(&Service, &Request) -> Result<Answer, Problem>),
    /// It takes the operation of this name, whose body is that of the request.
    Take(&'static str),
}

impl Action {
    /// Does it.
    pub(super) fn run(self, service: &Service, request: &Request) -> Result<Answer, Problem> {
        match self {
            Self::Call(answer) => answer(service, request),
            Self::Take(name) => {
                let operation = request.operation(name, &service.settings.limits.store.engine)?;
                service.tasks.step(&request.of_task(), &operation)
            }
        }
    }
}

/// Who may.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Access {
    /// Everybody, even when the server has much to do.
    Public,
    /// Who has the scope.
    Needs(Scope),
    /// Who is known; the function asks for scopes itself.
    Known,
}

/// What body a route takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Body {
    None,
    Json,
    /// JSON-RPC looks at its body itself.
    Raw,
}

/// How much work a route makes, and hence what a request has to wait for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Work {
    /// None: it is answered at once, whatever else there is to do.
    None,
    /// It looks at the store, on threads that only these looks use: whoever watches the server is answered under load.
    Probe,
    /// A step, or what takes as long as one.
    Step,
    /// It takes as long as a caller wants it to, up to the bounds of the engine.
    Long,
    /// It is answered by a stream of events, which goes on until somebody ends it and holds no place meanwhile.
    Stream,
}
