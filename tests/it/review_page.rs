//! The page of reviews as files: who is given it, what browsers are told with it, and what its programs may not do.
//!
//! `review_page_shown.rs` looks at it in a browser.

use crate::serving::Serving;
use regex::Regex;
use std::fs;
use std::path::Path;

/// What a page loads: the addresses in it, and those in its programs.
fn loaded(serving: &Serving) -> Vec<(String, String)> {
    let page = serving.send_anything("GET", "/reviews", &[], b"").text();
    let address = Regex::new(r#"(?:src|href)="(reviews/[^"]+)""#).unwrap();
    let mut paths: Vec<String> =
        address.captures_iter(&page).map(|found| format!("/{}", &found[1])).collect();
    let import = Regex::new(r#"from "\./([^"]+)""#).unwrap();
    let mut texts = vec![("/reviews".to_owned(), page)];
    while let Some(path) = paths.pop() {
        if texts.iter().any(|(known, _)| *known == path) {
            continue;
        }
        let reply = serving.send_anything("GET", &path, &[], b"");
        assert_eq!(reply.status, 200, "{path}");
        paths.extend(import.captures_iter(&reply.text()).map(|found| format!("/reviews/{}", &found[1])));
        texts.push((path, reply.text()));
    }
    texts
}

#[test]
fn the_page_and_all_that_it_loads_is_given_to_everybody_and_told_to_stay_by_itself() {
    for serving in [Serving::start(), Serving::with_tokens()] {
        let texts = loaded(&serving);
        assert_eq!(texts.len(), 6, "the page, a style and four programs");
        for (path, text) in texts {
            let reply = serving.send_anything("GET", &path, &[], b"");
            let media_type = match Path::new(&path).extension().and_then(|end| end.to_str()) {
                Some("js") => "text/javascript; charset=utf-8",
                Some("css") => "text/css; charset=utf-8",
                _ => "text/html; charset=utf-8",
            };
            assert_eq!((reply.status, reply.text()), (200, text), "{path}");
            for (name, value) in [
                ("content-type", media_type),
                ("cache-control", "no-store"),
                ("x-content-type-options", "nosniff"),
                ("referrer-policy", "no-referrer"),
                ("x-frame-options", "DENY"),
                ("cross-origin-opener-policy", "same-origin"),
                ("cross-origin-resource-policy", "same-origin"),
                (
                    "content-security-policy",
                    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; \
                     base-uri 'none'; form-action 'none'; frame-ancestors 'none'; \
                     require-trusted-types-for 'script'; trusted-types 'none'",
                ),
            ] {
                assert_eq!(reply.header(name), Some(value), "{path}: {name}");
            }
            let foreign = serving.send_anything("GET", &path, &[("host", "evil.example")], b"");
            let knows_callers = serving.get("/v1/tasks").status == 401;
            assert_eq!(foreign.status, if knows_callers { 200 } else { 421 }, "{path}");
            assert_eq!(serving.send_anything("POST", &path, &[], b"").status, 405, "{path}");
        }
        assert_eq!(serving.send_anything("GET", "/reviews/nothing.js", &[], b"").status, 404);
    }
}

#[test]
fn no_program_of_the_page_makes_markup_or_programs_of_texts() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/server/reviews/review_page");
    let mut programs = 0;
    for file in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
        let text = fs::read_to_string(&file).unwrap();
        if file.extension().is_some_and(|end| end == "js") {
            programs += 1;
            for word in [
                "innerHTML",
                "outerHTML",
                "insertAdjacentHTML",
                "document.write",
                "createContextualFragment",
                "DOMParser",
                "setHTML",
                "eval(",
                "Function(",
                "localStorage",
                "document.cookie",
                "import(",
                "http://",
                "https://",
            ] {
                assert!(!text.contains(word), "{}: {word}", file.display());
            }
        } else {
            // no program, no style and no listener in the page itself, which its policy would not run
            for word in ["<style", " style=", " onclick=", " onload=", "//fonts", "url(http"] {
                assert!(!text.contains(word), "{}: {word}", file.display());
            }
        }
    }
    assert_eq!(programs, 4);
}
