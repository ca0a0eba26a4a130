//! Coverage as one page: the counts, then each file with its lines coloured, and what was not seen beside them.
//!
//! The page needs nothing else: no script, no file beside it. All text of manifests is escaped.

use super::lines::{Line, Seen, lines};
use celador::scenario::{COUNTS, Coverage, FileCoverage, Share};
use quick_xml::escape::escape;
use std::fmt::Write as _;

const HEAD: &str = "<!DOCTYPE html>
<html lang=\"en\">
<head>
<meta charset=\"utf-8\">
<meta name=\"viewport\" content=\"width=device-width\">
<title>Coverage of policies</title>
<style>
:root { color-scheme: light dark; }
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 75rem; padding: 0 1rem; }
table { border-collapse: collapse; }
th, td { padding: .15rem .8rem .15rem 0; text-align: left; vertical-align: top; }
.listing { display: block; overflow-x: auto; }
.listing td { font: 13px/1.45 ui-monospace, monospace; white-space: pre; padding: 0 .8rem 0 0; }
.number { opacity: .5; text-align: right; user-select: none; }
.everything { background: #1a7f3726; }
.partly { background: #bf870033; }
.nothing { background: #cf222e33; }
.lacks { opacity: .8; }
</style>
</head>
<body>
<h1>Coverage of policies</h1>
";

pub(super) fn report(coverage: &Coverage) -> String {
    let mut text = HEAD.to_owned();
    text.push_str("<table>\n");
    let rows = COUNTS.iter().map(|count| (count.name, count.share(coverage)));
    for (name, Share { seen, all }) in rows.filter(|(_, share)| share.all > 0) {
        let _ = writeln!(text, "<tr><th scope=\"row\">{name}</th><td>{seen} of {all}</td></tr>");
    }
    text.push_str("</table>\n");
    let unseen = [("name", &coverage.names), ("limit", &coverage.limits), ("event", &coverage.events)];
    for (kind, parts) in unseen {
        for part in parts.iter().filter(|part| !part.seen) {
            let _ = writeln!(
                text,
                "<p class=\"nothing\">{kind} <code>{}</code> of {} was never seen</p>",
                escape(&part.name),
                escape(&part.agent)
            );
        }
    }
    for (name, file) in &coverage.files {
        if !file.steps.is_empty() || !file.clauses.is_empty() {
            listing(&mut text, name, file);
        }
    }
    text + "</body>\n</html>\n"
}

fn listing(text: &mut String, name: &str, file: &FileCoverage) {
    let _ = writeln!(text, "<h2>{}</h2>\n<table class=\"listing\">", escape(name));
    let lines = lines(file);
    for (number, shown) in (1_usize..).zip(file.source.text().lines()) {
        let line = lines.get(&number);
        let class = match line.map(Line::seen) {
            Some(Seen::Everything) => " class=\"everything\"",
            Some(Seen::Partly) => " class=\"partly\"",
            Some(Seen::Nothing) => " class=\"nothing\"",
            None => "",
        };
        let lacks = line.map(|line| line.lacks.join("\n")).unwrap_or_default();
        let _ = writeln!(
            text,
            "<tr{class}><td class=\"number\">{number}</td><td>{}</td><td class=\"lacks\">{}</td></tr>",
            escape(shown),
            escape(&lacks)
        );
    }
    text.push_str("</table>\n");
}
