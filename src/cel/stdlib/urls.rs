//! The library of URLs: opaque values `kubernetes.URL`, read only where all readers read alike.
//!
//! Names are those of Kubernetes' library. The differences, all of which refuse or unite what it keeps apart: a URL is absolute and has
//! a host; hosts are in lower case and addresses in their one form, so that a comparison with a text cannot be dodged; whatever
//! standards read differently is an error.

use super::no_overload;
use crate::fault::Fault;
use crate::formats::Url;
use crate::function::{Code, Function};
use crate::meter::Meter;
use crate::value::{Key, List, Map, Opaque, Text, Value};
use indexmap::IndexMap;
use std::sync::Arc;

pub(super) static URLS: &[Function] = &[
    Function {
        name: "url",
        doc: "the URL that a text says: absolute, with a host, without user information; an error where RFC 3986 and the WHATWG's \
              standard read different parts, or a server might",
        cost: "1, and a tenth of the length of the text",
        overloads: &[("string_to_url", "url(string) -> kubernetes.URL")],
        examples: &[
            ("string(url('HTTPS://Example.com/A'))", "'https://example.com/A'"),
            ("type(url('https://example.com')) == kubernetes.URL", "true"),
            ("url('https://example.com@evil.test/')", "error: invalid_argument"),
            (r"url('https://evil.test\\@example.com/')", "error: invalid_argument"),
            ("url('https:/example.com')", "error: invalid_argument"),
            ("url('/path')", "error: invalid_argument"),
            ("url('http://0x7f.1/')", "error: invalid_argument"),
            ("url('http://[::ffff:7f00:1]/')", "error: invalid_argument"),
            ("url('https://bücher.example/')", "error: invalid_argument"),
            ("url('https://example.com/a/%2e%2E/b')", "error: invalid_argument"),
        ],
        code: Code::Pure(|meter, args| match args {
            [Value::String(text)] => {
                meter.charge_built(text.len())?;
                Ok(Value::Opaque(Opaque::Url(Arc::new(text.parse()?))))
            }
            _ => no_overload(args),
        }),
    },
    Function {
        name: "isURL",
        doc: "whether a text says a URL that `url` reads; a client may take one that it refuses, so refuse it, too",
        cost: "1, and a tenth of the length of the text",
        overloads: &[("is_url_string", "isURL(string) -> bool")],
        examples: &[
            ("isURL('https://example.com/a?b')", "true"),
            ("isURL('https://user:secret@example.com/')", "false"),
            ("isURL('../relative')", "false"),
        ],
        code: Code::Pure(|meter, args| match args {
            [Value::String(text)] => {
                meter.charge_text(text.len())?;
                Ok(Value::Bool(text.parse::<Url>().is_ok()))
            }
            _ => no_overload(args),
        }),
    },
    Function {
        name: "getScheme",
        doc: "the scheme, in lower case",
        cost: "1, and a tenth of the length of the URL",
        overloads: &[("url_get_scheme", "kubernetes.URL.getScheme() -> string")],
        examples: &[("url('HTTPS://example.com/').getScheme()", "'https'")],
        code: Code::Pure(|meter, args| part(meter, args, |url| url.scheme().to_owned())),
    },
    Function {
        name: "getHost",
        doc: "the host in lower case, and the port if one is written; an IPv6 address in brackets",
        cost: "1, and a tenth of the length of the URL",
        overloads: &[("url_get_host", "kubernetes.URL.getHost() -> string")],
        examples: &[
            ("url('https://example.com:80/').getHost()", "'example.com:80'"),
            ("url('https://[0:0::1]/').getHost()", "'[::1]'"),
        ],
        code: Code::Pure(|meter, args| part(meter, args, Url::host)),
    },
    Function {
        name: "getHostname",
        doc: "the host in lower case; an IPv6 address without brackets, so that `ip` reads it",
        cost: "1, and a tenth of the length of the URL",
        overloads: &[("url_get_hostname", "kubernetes.URL.getHostname() -> string")],
        examples: &[
            ("url('https://Example.COM:80/').getHostname()", "'example.com'"),
            ("ip(url('https://[::1]:80/').getHostname()).isLoopback()", "true"),
            ("isIP(url('https://example.com/').getHostname())", "false"),
            (
                "['https://example.com/', 'https://a.example.com/', 'https://badexample.com/'].map(u, \
                 url(u).getHostname()).map(h, h == 'example.com' || h.endsWith('.example.com'))",
                "[true, true, false]",
            ),
        ],
        code: Code::Pure(|meter, args| part(meter, args, |url| url.hostname().into_owned())),
    },
    Function {
        name: "getPort",
        doc: "the port as text; the empty text if none is written",
        cost: "1, and a tenth of the length of the URL",
        overloads: &[("url_get_port", "kubernetes.URL.getPort() -> string")],
        examples: &[
            ("url('https://example.com:80/').getPort()", "'80'"),
            ("url('https://example.com/').getPort()", "''"),
        ],
        code: Code::Pure(|meter, args| {
            part(meter, args, |url| url.port().map(|port| port.to_string()).unwrap_or_default())
        }),
    },
    Function {
        name: "getEscapedPath",
        doc: "the path as it is written, with its percent-escapes; the empty text if there is none",
        cost: "1, and a tenth of the length of the URL",
        overloads: &[("url_get_escaped_path", "kubernetes.URL.getEscapedPath() -> string")],
        examples: &[
            ("url('https://example.com/with%20space/?q').getEscapedPath()", "'/with%20space/'"),
            ("url('https://example.com').getEscapedPath()", "''"),
        ],
        code: Code::Pure(|meter, args| part(meter, args, |url| url.path().to_owned())),
    },
    Function {
        name: "getQuery",
        doc: "the parameters of the query, decoded: a list of values for each name; a `;` in it is an error, for some readers separate \
              with it",
        cost: "1, two tenths of the length of the URL, and for each parameter what an entry of a map costs",
        overloads: &[("url_get_query", "kubernetes.URL.getQuery() -> map(string, list(string))")],
        examples: &[
            ("url('https://example.com/?k=a&l=b%20c&k=d+e').getQuery()", "{'k': ['a', 'd e'], 'l': ['b c']}"),
            ("url('https://example.com/').getQuery()", "{}"),
            ("url('https://example.com/?a=1;b=2').getQuery()", "error: invalid_argument"),
        ],
        code: Code::Pure(|meter, args| match args {
            [Value::Opaque(Opaque::Url(url))] => query(meter, url),
            _ => no_overload(args),
        }),
    },
];

fn part<'a>(
    meter: &mut Meter<'_>,
    args: &[&Value<'a>],
    part: impl FnOnce(&Url) -> String,
) -> Result<Value<'a>, Fault> {
    match args {
        [Value::Opaque(Opaque::Url(url))] => {
            meter.charge_built(url.bytes())?;
            Ok(Value::owned_text(part(url)))
        }
        _ => no_overload(args),
    }
}

fn query<'a>(meter: &mut Meter<'_>, url: &Url) -> Result<Value<'a>, Fault> {
    meter.charge_text(url.bytes())?;
    meter.charge_built(url.bytes())?;
    let mut parameters: IndexMap<String, Vec<Value<'a>>> = IndexMap::new();
    for (name, value) in url.query()? {
        meter.charge(1)?;
        meter.charge_built(Map::ENTRY_BYTES.saturating_add(List::bytes(1)))?;
        parameters.entry(name).or_default().push(Value::owned_text(value));
    }
    let entry = |(name, values): (String, _)| (Key::String(Text::Shared(name.into())), Value::list(values));
    Ok(Value::map(parameters.into_iter().map(entry).collect()))
}
