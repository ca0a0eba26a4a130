//! The addresses that the proxies answer, as a table.
//!
//! In: method, path and query as the client wrote them. Out: the row, and the address of the model's API written from it. A path is compared
//! letter by letter and goes on as the table has it, so no dot segment, no escape and no second slash makes another address of it
//! for whoever reads it next. What is in no row is refused.

use super::Maker;
use super::wire::Api;
use axum::http::Method;
use celador_server::traffic::{Form, Treatment};

/// One address.
pub(super) struct Route {
    pub(super) maker: Maker,
    pub(super) method: Method,
    /// The path behind `/v1`; a `*` at its end stands for one segment, an id.
    pub(super) path: &'static str,
    /// Members of the query that go on.
    query: &'static [&'static str],
    /// The interface whose requests it takes; nothing of one that carries no conversation.
    pub(super) api: Option<Api>,
    note: &'static str,
}

const PAGES: &[&str] = &["after", "after_id", "before_id", "limit", "order"];
/// What Anthropic's own clients and those of Azure write.
const VERSIONS: &[&str] = &["beta", "api-version"];

const fn judged(maker: Maker, path: &'static str, api: Api) -> Route {
    Route { maker, method: Method::POST, path, query: VERSIONS, api: Some(api), note: "" }
}

const fn passed(
    maker: Maker,
    method: Method,
    path: &'static str,
    query: &'static [&'static str],
    note: &'static str,
) -> Route {
    Route { maker, method, path, query, api: None, note }
}

use Maker::{Anthropic, OpenAi};

/// All addresses.
pub(super) static ROUTES: [Route; 11] = [
    judged(OpenAi, "/chat/completions", Api::Chat),
    judged(OpenAi, "/responses", Api::Responses),
    judged(Anthropic, "/messages", Api::Messages),
    passed(OpenAi, Method::GET, "/models", PAGES, "names of models"),
    passed(OpenAi, Method::GET, "/models/*", &[], "the name of a model"),
    passed(OpenAi, Method::POST, "/embeddings", VERSIONS, "vectors come back"),
    passed(OpenAi, Method::POST, "/moderations", VERSIONS, "verdicts come back"),
    passed(OpenAi, Method::POST, "/responses/input_tokens", VERSIONS, "a count comes back"),
    passed(Anthropic, Method::GET, "/models", PAGES, "names of models"),
    passed(Anthropic, Method::GET, "/models/*", &[], "the name of a model"),
    passed(Anthropic, Method::POST, "/messages/count_tokens", VERSIONS, "a count comes back"),
];

/// The path behind `/v1`, which clients write or not.
pub(super) fn behind_version(path: &str) -> &str {
    path.strip_prefix("/v1").filter(|rest| rest.starts_with('/')).unwrap_or(path)
}

/// The row of an address, and the path and query of the model's API for it.
pub(super) fn find(
    maker: Maker,
    method: &Method,
    path: &str,
    query: Option<&str>,
) -> Option<(&'static Route, String)> {
    let path = behind_version(path);
    let mut of_maker = ROUTES.iter().filter(|route| route.maker == maker && route.method == *method);
    let (route, path) = of_maker.find_map(|route| Some((route, written(route.path, path)?)))?;
    let query = kept(route.query, query.unwrap_or_default())?;
    Some((route, format!("{path}{query}")))
}

fn written(row: &str, path: &str) -> Option<String> {
    let Some(above) = row.strip_suffix('*') else { return (row == path).then(|| row.to_owned()) };
    let id = path.strip_prefix(above)?;
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.:@".contains(&byte);
    let is_id = id.bytes().all(plain) && id.bytes().any(|byte| byte != b'.');
    is_id.then(|| format!("{above}{id}"))
}

/// The query with the members that a row knows; nothing if it has another one, or a value that is no plain word.
fn kept(known: &[&str], query: &str) -> Option<String> {
    let mut written = String::new();
    for pair in query.split('&').filter(|pair| !pair.is_empty()) {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        let name = known.iter().find(|known| **known == name)?;
        if !value.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte)) {
            return None;
        }
        written += &format!("{}{name}={value}", if written.is_empty() { '?' } else { '&' });
    }
    Some(written)
}

/// Whether a path that is in no row reads the same to everybody, and is no other writing of one that is judged: what `--allow-other` lets pass.
pub(super) fn is_plain(path: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.~:@".contains(&byte);
    let is_segment = |segment: &str| {
        !segment.is_empty() && segment.bytes().all(plain) && segment.bytes().any(|byte| byte != b'.')
    };
    let behind = behind_version(path);
    let is_judged = |route: &&Route| route.api.is_some() && behind.to_ascii_lowercase().ends_with(route.path);
    path.strip_prefix('/').is_some_and(|path| path.split('/').all(is_segment))
        && !ROUTES.iter().any(|route| is_judged(&route))
}

/// One row for each address.
pub(super) fn forms() -> Vec<Form> {
    let treatment = |route: &Route| if route.api.is_some() { Treatment::Judged } else { Treatment::Passed };
    let from = |maker| if maker == OpenAi { "addresses of OpenAI" } else { "addresses of Anthropic" };
    let row = |route: &'static Route| Form {
        name: route.path,
        from: from(route.maker),
        treatment: treatment(route),
        note: route.note,
    };
    ROUTES.iter().map(row).collect()
}

#[cfg(test)]
mod tests {
    use super::{find, is_plain};
    use crate::llm::Maker;
    use axum::http::Method;

    #[test]
    fn an_address_goes_on_as_the_table_has_it_or_not_at_all() {
        let address = |path: &str| {
            let (path, query) =
                path.split_once('?').map_or((path, None), |(path, query)| (path, Some(query)));
            let methods = [Method::POST, Method::GET];
            methods
                .iter()
                .find_map(|method| find(Maker::OpenAi, method, path, query))
                .map(|(_, address)| address)
        };
        for (path, expected) in [
            ("/v1/chat/completions", Some("/chat/completions")),
            ("/chat/completions", Some("/chat/completions")),
            ("/v1/responses?api-version=2026-01-01", Some("/responses?api-version=2026-01-01")),
            ("/v1/models/gpt-5.1:free", Some("/models/gpt-5.1:free")),
            ("/v1/models?limit=5&after=m-1", Some("/models?limit=5&after=m-1")),
            ("/v1/embeddings/../chat/completions", None),
            ("/v1/embeddings/%2e%2e/chat/completions", None),
            ("/v1/embeddings/..%2fchat/completions", None),
            ("/v1/embeddings\\..\\chat", None),
            ("/v1//chat/completions", None),
            ("/v1/chat//completions", None),
            ("/v1/chat/completions/", None),
            ("/v1/Chat/Completions", None),
            ("/v1/chat/completions;x", None),
            ("/v1/v1/chat/completions", None),
            ("/v1/models/..", None),
            ("/v1/models/a/b", None),
            ("/v1/models/", None),
            ("/v1/models/a%2f..%2f..", None),
            ("/v1/embeddings/x", None),
            ("/v1/messages", None),
            ("/v1/responses?stream=../x", None),
            ("/v1/responses?api-version=%2e%2e", None),
            ("/v1/responses/resp_1", None),
        ] {
            assert_eq!(address(path).as_deref(), expected, "{path}");
        }
        for (path, plain) in [
            ("/v1/completions", true),
            ("/v1/responses/resp_1", true),
            ("/v1/x/../chat/completions", false),
            ("/v1/chat/Completions", false),
            ("/v1/v1/responses", false),
            ("/v1/x%2fy", false),
            ("/v1//x", false),
            ("x", false),
        ] {
            assert_eq!(is_plain(path), plain, "{path}");
        }
    }
}
