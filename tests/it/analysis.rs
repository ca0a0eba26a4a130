//! What manifests permit, decided before anything runs: broken variants and fair rules as data, no false alarm about anything that
//! ships, and random manifests whose accusations are tried with random operations.
//!
//! In `tests/data/analysis` a comment `# finds CODE` stands above what is found, and nothing else is. `CELADOR_ANALYSIS=1000` tries so
//! many random manifests, each with as many operations.

use crate::shop_fixture::{NOW, begin};
use crate::suites::root;
use celador::analysis::Analysis;
use celador::diagnostic::Standing;
use celador::limits::EngineLimits;
use celador::manifest::load::{File, FileOrigin};
use celador::manifest::{Catalog, load};
use celador::source::Source;
use celador::task::StepOutcome;
use celador::{Call, Diagnostic, Engine, Outcome};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

fn shop() -> String {
    fs::read_to_string(root().join("tests/data/analysis/shop.yaml")).unwrap()
}

/// What loading finds, and what analysis does, of manifests that are read whatever warnings they have.
fn analysed(texts: &[(&str, &str)]) -> (Vec<Diagnostic>, Analysis) {
    let file =
        |(name, text): &(&str, &str)| File { source: Source::new(*name, *text), origin: FileOrigin::Named };
    let files: Vec<File> = texts.iter().map(file).collect();
    let (catalog, mut found) = Catalog::parse(&files, &EngineLimits::default());
    let (engine, compiled) = Engine::lenient_from_catalog(&catalog, EngineLimits::default());
    found.extend(compiled);
    (found, engine.analyse(&catalog))
}

#[test]
fn what_is_broken_is_found_where_it_stands_and_nothing_else_is() {
    let shop = shop();
    let (mut files, mut broken, mut wrong) = (0, 0, String::new());
    for entry in fs::read_dir(root().join("tests/data/analysis")).unwrap() {
        let path = entry.unwrap().path();
        if path.ends_with("shop.yaml") {
            continue;
        }
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        let text = fs::read_to_string(&path).unwrap();
        let expected: BTreeSet<(usize, &str)> = text
            .lines()
            .enumerate()
            .filter_map(|(at, line)| Some((at + 2, line.trim().strip_prefix("# finds ")?)))
            .collect();
        let (loading, analysis) = analysed(&[("shop.yaml", &shop), (&name, &text)]);
        assert_eq!(analysis.contradicted, 0, "{name}");
        let line = |finding: &Diagnostic| finding.place.position().line;
        let mut found: BTreeSet<(usize, &str)> =
            analysis.findings.iter().map(|finding| (line(finding), finding.code)).collect();
        found.extend(loading.iter().map(|finding| (line(finding), "loading")));
        let all = text.lines().collect::<Vec<_>>();
        for (at, code) in expected.symmetric_difference(&found) {
            let kind = if expected.contains(&(*at, code)) { "is not found" } else { "is found" };
            wrong += &format!("{name}:{at}: {code} {kind}: {}\n", all.get(at - 1).unwrap_or(&""));
        }
        files += 1;
        broken += expected.len();
    }
    assert!(wrong.is_empty(), "{wrong}");
    assert!(files >= 5 && broken >= 40, "{broken} findings in {files} files");
}

/// The folders of manifests that ship, or that people wrote.
fn folders() -> Vec<PathBuf> {
    let below = |folder: &str| {
        let mut found: Vec<PathBuf> =
            fs::read_dir(root().join(folder)).unwrap().map(|entry| entry.unwrap().path()).collect();
        found.retain(|path| path.is_dir());
        found.sort();
        found
    };
    let mut all = below("policies");
    all.retain(|path| !path.ends_with("library"));
    all.extend(below("policies/library"));
    all.push(root().join("examples/first-policy"));
    for source in below("tests/data/rules") {
        all.extend(
            fs::read_dir(source).unwrap().map(|entry| entry.unwrap().path()).filter(|path| path.is_dir()),
        );
    }
    all
}

#[test]
fn nothing_that_ships_is_accused() {
    let limits = EngineLimits::default();
    let (mut clauses, mut decided, mut wrong) = (0, 0, String::new());
    let folders = folders();
    for folder in &folders {
        let (files, _) = load(&[folder], &limits).unwrap();
        let (catalog, _) = Catalog::parse(&files, &limits);
        let (engine, _) = Engine::from_catalog(&catalog, limits);
        let analysis = engine.analyse(&catalog);
        assert_eq!(analysis.contradicted, 0, "{}", folder.display());
        for finding in
            analysis.findings.iter().filter(|finding| !matches!(finding.standing, Standing::Allowed(_)))
        {
            wrong += &format!("{}\n", finding.render(false));
        }
        clauses += analysis.decided + analysis.unknown.len();
        decided += analysis.decided;
    }
    assert!(wrong.is_empty(), "{wrong}");
    assert!(folders.len() > 30, "{} folders", folders.len());
    assert!(decided * 2 > clauses, "{decided} of {clauses} clauses were decided");
    println!("{} folders, {clauses} clauses, {decided} decided", folders.len());
}

/// Numbers by chance, the same in every run.
struct Dice(u64);

impl Dice {
    fn below(&mut self, most: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % most
    }

    fn one<'a, T>(&mut self, of: &'a [T]) -> &'a T {
        &of[self.below(of.len())]
    }

    fn clause(&mut self) -> String {
        let number = *self.one(&["0", "5", "10", "10.5", "100", "-1", "'5'", "5u"]);
        let order = *self.one(&["<", "<=", ">", ">=", "==", "!="]);
        let text = *self.one(&["a", "ab", "b", "", "a.b", "ba"]);
        match self.below(12) {
            0..=2 => format!("input.amount {order} {number}"),
            3 => format!("input.count {order} {number}"),
            4 => "input.urgent".to_owned(),
            5 => format!(
                "input.currency {} '{}'",
                self.one(&["==", "!="]),
                self.one(&["EUR", "USD", "GBP", "X"])
            ),
            6 => format!(
                "input.order.{}('{text}')",
                self.one(&["startsWith", "endsWith", "contains", "matches"])
            ),
            7 => format!("input.order {} '{text}'", self.one(&["==", "!=", "<", ">="])),
            8 => format!("input.amount in [{number}, 10, '{text}']"),
            9 => format!("c.cap.orders_refund.count_successful {order} {number}"),
            10 => format!("size(input.order) {order} {number}"),
            _ => {
                format!("has(input.address.city) {} input.address.city == '{text}'", self.one(&["&&", "||"]))
            }
        }
    }

    fn expression(&mut self, depth: usize) -> String {
        let clause = |dice: &mut Self| if depth == 0 { dice.clause() } else { dice.expression(depth - 1) };
        match self.below(6) {
            0 => clause(self),
            1 => format!("!({})", clause(self)),
            2 => format!("({} ? {} : {})", clause(self), clause(self), clause(self)),
            3 | 4 => format!("({} && {})", clause(self), clause(self)),
            _ => format!("({} || {})", clause(self), clause(self)),
        }
    }

    fn steps(&mut self) -> String {
        let mut steps = String::new();
        for _ in 0..=self.below(3) {
            let depth = self.below(3);
            let assert = self.expression(depth);
            steps += &format!("      - assert: \"{assert}\"\n");
            if self.below(3) == 0 {
                steps += &format!("        condition: \"{}\"\n", self.expression(1));
            }
            if self.below(6) == 0 {
                steps += "        on_fail: continue\n";
            }
        }
        steps
    }

    fn arguments(&mut self) -> Value {
        let number = [
            json!(0),
            json!(5),
            json!(10),
            json!(10.5),
            json!(100),
            json!(-1),
            json!(5.0),
            json!(7),
            json!(1e300),
        ];
        let text = ["", "a", "ab", "b", "a.b", "ba", "abc", "zz", "aXb"];
        let whole = [json!(0), json!(5), json!(5.0), json!(10), json!(-1), json!(100), json!(99)];
        let mut arguments = json!({
            "order": self.one(&text), "amount": self.one(&number), "count": self.one(&whole),
            "currency": self.one(&["EUR", "USD", "GBP"]), "urgent": self.below(2) == 0, "items": [],
            "address": {"city": self.one(&text)},
        });
        if self.below(4) == 0 {
            arguments["address"] = json!({});
        }
        arguments
    }
}

fn policy(name: &str, steps: &str) -> String {
    format!(
        "---\nkind: celador/v1/policy\nnamespace: shop\nname: {name}\ncapabilities:\n  orders_refund:\n    before:\n{steps}"
    )
}

/// An engine with the shop and a policy, whatever warnings it has.
fn engine(text: &str) -> Engine {
    let file = File { source: Source::new("shop.yaml", text), origin: FileOrigin::Named };
    let (catalog, _) = Catalog::parse(&[file], &EngineLimits::default());
    Engine::lenient_from_catalog(&catalog, EngineLimits::default()).0
}

/// Runs an operation in each way, and says what a claim about it makes of it: whether the run says otherwise.
fn is_contradicted(
    finding: &Diagnostic,
    whole: &Engine,
    part: &Engine,
    arguments: &Value,
    calls: usize,
) -> bool {
    let judge = |engine: &Engine| {
        let mut task = begin(engine);
        let mut last = None;
        for _ in 0..=calls {
            let outcome =
                task.before(&Call::new("orders_refund", arguments.clone().into()), NOW).unwrap().outcome();
            if let Outcome::Allowed(allowed) = &outcome {
                let call = allowed.call.clone();
                task.after(&call, celador::CallResult::successful(json!({}).into()), NOW).unwrap();
            }
            last = Some(outcome.into_decision());
        }
        last.unwrap()
    };
    match finding.code {
        "never_true" | "never_false" | "always_fails" => {
            let decision = judge(part);
            let failed = !decision.findings.is_empty();
            let passed = decision.verdict.as_str() == "allow";
            match finding.code {
                "never_true" => passed,
                "never_false" => !passed && !failed,
                _ => passed || !failed,
            }
        }
        code => {
            let decision = judge(whole);
            let step: usize =
                finding.path.split("before[").nth(1).unwrap().split(']').next().unwrap().parse().unwrap();
            let ran = decision.trace.iter().find(|entry| entry.step.to_string() == format!("before[{step}]"));
            match code {
                "dead_step" => ran.is_some(),
                "never_passes" => decision.verdict.as_str() == "allow",
                "moot_step" => ran.is_some_and(|entry| entry.outcome == StepOutcome::Fail),
                other => panic!("{other}"),
            }
        }
    }
}

#[test]
fn no_run_contradicts_an_accusation() {
    let rounds = std::env::var("CELADOR_ANALYSIS").map_or(40, |rounds| rounds.parse().unwrap());
    let shop = shop();
    let mut dice = Dice(7);
    let (mut accused, mut runs, mut decided) = (BTreeSet::new(), 0, 0);
    for round in 0..rounds {
        let steps = dice.steps();
        let text = policy("chance", &steps);
        let (loading, analysis) = analysed(&[("shop.yaml", &shop), ("chance.yaml", &text)]);
        assert!(!loading.iter().any(Diagnostic::is_error), "{steps}");
        assert_eq!(analysis.contradicted, 0, "{steps}");
        decided += analysis.decided;
        let whole = engine(&format!("{shop}{text}"));
        for finding in &analysis.findings {
            let expression = finding.place.source.slice(finding.place.span);
            let alone = format!("      - assert: \"{expression}\"\n");
            let part = engine(&format!("{shop}{}", policy("part", &alone)));
            accused.insert(finding.code);
            for _ in 0..rounds {
                let (arguments, calls) = (dice.arguments(), dice.below(3));
                runs += 1;
                assert!(
                    !is_contradicted(finding, &whole, &part, &arguments, calls),
                    "round {round}: {arguments} after {calls} calls\n{}\n{steps}",
                    finding.render(false)
                );
            }
        }
    }
    println!("{rounds} manifests, {decided} clauses decided, {runs} runs, accused: {accused:?}");
    assert!(accused.len() >= 3 && runs > rounds * 10, "{runs} runs, accused: {accused:?}");
}

/// What a comment allows is allowed, and a comment that allows nothing is told.
#[test]
fn a_comment_allows_what_analysis_finds() {
    let steps = |comment: &str| {
        policy(
            "allowed",
            &format!("      # {comment}\n      - assert: input.amount > 0 || input.amount <= 1000\n"),
        )
    };
    let codes = |comment: &str| {
        let (_, analysis) = analysed(&[("shop.yaml", &shop()), ("policy.yaml", &steps(comment))]);
        analysis.findings.iter().map(|it| (it.code, it.is_refused())).collect::<Vec<_>>()
    };
    assert_eq!(codes("a remark"), [("never_false", true)]);
    assert_eq!(codes("celador: allow(never_false) it stays until June"), [("never_false", false)]);
    let stale = codes("celador: allow(never_true) it stays until June");
    assert_eq!(stale, [("never_false", true), ("allow_stale", true)]);
}

/// A witness that many clauses are decided together, and within bounds.
#[test]
fn many_clauses_about_one_path_are_decided() {
    let clause = |at: usize| format!("input.amount != {at} && !input.order.startsWith('o{at}')");
    let all: Vec<String> = (0..60).map(clause).collect();
    let assert = format!("{} && input.amount == 59", all.join(" && "));
    let text = policy("many", &format!("      - assert: \"{assert}\"\n"));
    let (_, analysis) = analysed(&[("shop.yaml", &shop()), ("policy.yaml", &text)]);
    assert_eq!(analysis.findings.iter().map(|it| it.code).collect::<Vec<_>>(), ["never_true"]);
    assert!(
        analysis.findings[0].message.contains("`input.amount != 59`"),
        "{}",
        analysis.findings[0].message
    );
}
