//! The page on which people answer reviews: `GET /reviews` and the files that it is made of.
//!
//! The files stand in the binary as they stand beside this one: nothing builds them, and nothing of another origin is loaded. The
//! page is given to everybody who may reach the server, because nothing of a task stands in it. Its program asks for reviews as any
//! other client does, with the token that a person typed, and shows them as text. Should a text of a task ever become markup, the
//! policy of the page's content keeps it from running, loading or sending anything.

use crate::problem::{Kind, Problem};
use crate::request::{Answer, Request};
use crate::route::{Access, Action, Body, Route, Work};
use crate::service::Service;
use axum::http::{HeaderName, Method, header};

/// A file of the page.
struct File {
    path: &'static str,
    /// The label of figures and logs.
    operation: &'static str,
    media_type: &'static str,
    text: &'static str,
}

/// The address of the page.
const PAGE: &str = "/reviews";

const SCRIPT: &str = "text/javascript; charset=utf-8";

/// The files, the page first.
const FILES: [File; 6] = [
    File {
        path: PAGE,
        operation: "readReviewPage",
        media_type: "text/html; charset=utf-8",
        text: include_str!("review_page/page.html"),
    },
    File {
        path: "/reviews/app.js",
        operation: "readReviewProgram",
        media_type: SCRIPT,
        text: include_str!("review_page/app.js"),
    },
    File {
        path: "/reviews/json.js",
        operation: "readReviewJson",
        media_type: SCRIPT,
        text: include_str!("review_page/json.js"),
    },
    File {
        path: "/reviews/server.js",
        operation: "readReviewClient",
        media_type: SCRIPT,
        text: include_str!("review_page/server.js"),
    },
    File {
        path: "/reviews/view.js",
        operation: "readReviewView",
        media_type: SCRIPT,
        text: include_str!("review_page/view.js"),
    },
    File {
        path: "/reviews/style.css",
        operation: "readReviewStyle",
        media_type: "text/css; charset=utf-8",
        text: include_str!("review_page/style.css"),
    },
];

/// The origins from which the page may load, send and be shown: its own, and no other. `trusted-types 'none'` has a browser refuse every text
/// that a program would make markup or a script of.
const CONTENT_POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; \
     img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; \
     require-trusted-types-for 'script'; trusted-types 'none'";

/// What browsers are told besides: to take no file for another kind of file, to tell nobody the address (it names a review),
/// and to give no other page a hold of this one.
const HEADERS: [(HeaderName, &str); 6] = [
    (header::CONTENT_SECURITY_POLICY, CONTENT_POLICY),
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::REFERRER_POLICY, "no-referrer"),
    (header::X_FRAME_OPTIONS, "DENY"),
    (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
    (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
];

/// The routes of the page. They are for browsers and not operations of the API, so its document does not have them.
pub(crate) fn routes() -> impl Iterator<Item = Route> {
    FILES.iter().map(|file| Route {
        method: Method::GET,
        path: file.path,
        operation: file.operation,
        access: Access::Public,
        takes: Body::None,
        work: Work::None,
        waits: false,
        action: Action::Call(read),
    })
}

fn read(_: &Service, request: &Request) -> Result<Answer, Problem> {
    let path = request.target.split_once(' ').map_or("", |(_, path)| path);
    let file = FILES.iter().find(|file| file.path == path).ok_or(Kind::UnknownPath)?;
    let body = file.text.as_bytes().to_vec();
    let headers = HEADERS.map(|(name, value)| (name, value.to_owned())).to_vec();
    Ok(Answer { status: 200, media_type: file.media_type, body, headers })
}
