//! Coverage as XML of Cobertura: a package for each folder, a class for each file, a method for each step, and a line with its
//! conditions for each line that has clauses.

use super::lines::{Line, lines, names};
use celador::scenario::{Coverage, FileCoverage, StepCoverage};
use quick_xml::Writer;
use quick_xml::events::{BytesDecl, BytesEnd, BytesStart, BytesText, Event};
use std::collections::BTreeMap;
use std::io;
use std::path::Path;

type Xml = Writer<Vec<u8>>;

/// The XML. The time is that of no clock, as the same cases give the same report.
pub(super) fn report(coverage: &Coverage) -> io::Result<String> {
    let mut xml = Writer::new_with_indent(Vec::new(), b' ', 1);
    xml.write_event(Event::Decl(BytesDecl::new("1.0", Some("UTF-8"), None)))?;
    xml.write_event(Event::DocType(BytesText::from_escaped(
        "coverage SYSTEM \"http://cobertura.sourceforge.net/xml/coverage-04.dtd\"",
    )))?;
    let mut folders: BTreeMap<String, Vec<(&str, &FileCoverage)>> = BTreeMap::new();
    for (name, file) in &coverage.files {
        let folder = Path::new(name).parent().unwrap_or(Path::new("")).display().to_string();
        folders.entry(folder).or_default().push((name, file));
    }
    let all: Vec<_> = coverage.files.values().map(lines).collect();
    let total = Rates::of(all.iter().flat_map(BTreeMap::values));
    let mut attributes = total.attributes();
    attributes.extend([
        ("lines-covered", total.lines[0].to_string()),
        ("lines-valid", total.lines[1].to_string()),
        ("branches-covered", total.branches[0].to_string()),
        ("branches-valid", total.branches[1].to_string()),
        ("complexity", "0".to_owned()),
        ("version", env!("CARGO_PKG_VERSION").to_owned()),
        ("timestamp", "0".to_owned()),
    ]);
    within(&mut xml, "coverage", &attributes, |xml| {
        within(xml, "sources", &[], |xml| {
            within(xml, "source", &[], |xml| xml.write_event(Event::Text(BytesText::new("."))))
        })?;
        within(xml, "packages", &[], |xml| {
            folders.iter().try_for_each(|(folder, files)| package(xml, folder, files))
        })
    })?;
    String::from_utf8(xml.into_inner()).map_err(io::Error::other)
}

fn package(xml: &mut Xml, folder: &str, files: &[(&str, &FileCoverage)]) -> io::Result<()> {
    let all: Vec<_> = files.iter().map(|(_, file)| lines(file)).collect();
    let mut attributes = Rates::of(all.iter().flat_map(BTreeMap::values)).attributes();
    attributes.insert(0, ("name", if folder.is_empty() { ".".to_owned() } else { folder.to_owned() }));
    attributes.push(("complexity", "0".to_owned()));
    within(xml, "package", &attributes, |xml| {
        within(xml, "classes", &[], |xml| files.iter().try_for_each(|(name, file)| class(xml, name, file)))
    })
}

fn class(xml: &mut Xml, name: &str, file: &FileCoverage) -> io::Result<()> {
    let lines = lines(file);
    let mut attributes = Rates::of(lines.values()).attributes();
    let short = Path::new(name).file_name().map_or_else(|| name.to_owned(), |it| it.display().to_string());
    attributes.splice(0..0, [("name", short), ("filename", name.to_owned())]);
    attributes.push(("complexity", "0".to_owned()));
    within(xml, "class", &attributes, |xml| {
        within(xml, "methods", &[], |xml| {
            let mut steps = file.steps.values().zip(names(file));
            steps.try_for_each(|(step, name)| method(xml, (step, &name), lines.get(&step.line)))
        })?;
        within(xml, "lines", &[], |xml| {
            lines.iter().try_for_each(|(number, found)| line(xml, *number, found))
        })
    })
}

fn method(xml: &mut Xml, (step, name): (&StepCoverage, &str), at: Option<&Line>) -> io::Result<()> {
    let mut attributes = Rates::of(at.into_iter()).attributes();
    attributes.splice(0..0, [("name", name.to_owned()), ("signature", String::new())]);
    attributes.push(("complexity", "0".to_owned()));
    within(xml, "method", &attributes, |xml| {
        within(xml, "lines", &[], |xml| {
            let attributes = [("number", step.line.to_string()), ("hits", step.reached.to_string())];
            alone(xml, "line", &attributes)
        })
    })
}

fn line(xml: &mut Xml, number: usize, line: &Line) -> io::Result<()> {
    let mut attributes = vec![("number", number.to_string()), ("hits", line.hits.to_string())];
    let all = line.branches.len().saturating_mul(2);
    let seen = line.branches.iter().flatten().filter(|count| **count > 0).count();
    attributes.push(("branch", (all > 0).to_string()));
    if all == 0 {
        return alone(xml, "line", &attributes);
    }
    attributes.push(("condition-coverage", format!("{}% ({seen}/{all})", percent(seen, all))));
    within(xml, "line", &attributes, |xml| {
        within(xml, "conditions", &[], |xml| {
            line.branches.iter().enumerate().try_for_each(|(number, ways)| {
                let seen = ways.iter().filter(|count| **count > 0).count();
                let attributes = [
                    ("number", number.to_string()),
                    ("type", "jump".to_owned()),
                    ("coverage", format!("{}%", percent(seen, ways.len()))),
                ];
                alone(xml, "condition", &attributes)
            })
        })
    })
}

/// An element with what stands in it.
fn within(
    xml: &mut Xml,
    name: &str,
    attributes: &[(&str, String)],
    inside: impl FnOnce(&mut Xml) -> io::Result<()>,
) -> io::Result<()> {
    let attributes = attributes.iter().map(|(name, value)| (*name, value.as_str()));
    xml.write_event(Event::Start(BytesStart::new(name).with_attributes(attributes)))?;
    inside(xml)?;
    xml.write_event(Event::End(BytesEnd::new(name)))
}

/// An element with nothing in it, not even a line break: the document type declares that of some.
fn alone(xml: &mut Xml, name: &str, attributes: &[(&str, String)]) -> io::Result<()> {
    let attributes = attributes.iter().map(|(name, value)| (*name, value.as_str()));
    xml.write_event(Event::Empty(BytesStart::new(name).with_attributes(attributes)))
}

fn percent(seen: usize, all: usize) -> usize {
    seen.saturating_mul(100).checked_div(all).unwrap_or(100)
}

/// Lines and branches: how many were seen, and how many there are.
struct Rates {
    lines: [usize; 2],
    branches: [usize; 2],
}

impl Rates {
    fn of<'l>(lines: impl Iterator<Item = &'l Line>) -> Self {
        lines.fold(Self { lines: [0; 2], branches: [0; 2] }, |mut rates, line| {
            let hit = line.branches.iter().flatten().filter(|count| **count > 0).count();
            let [seen, all] = rates.lines;
            rates.lines = [seen.saturating_add(usize::from(line.hits > 0)), all.saturating_add(1)];
            let [seen, all] = rates.branches;
            let more = line.branches.len().saturating_mul(2);
            rates.branches = [seen.saturating_add(hit), all.saturating_add(more)];
            rates
        })
    }

    fn attributes(&self) -> Vec<(&'static str, String)> {
        #[expect(clippy::cast_precision_loss, reason = "lines of a file are far below what a double holds")]
        let rate = |[seen, all]: [usize; 2]| if all == 0 { 1.0 } else { seen as f64 / all as f64 };
        vec![
            ("line-rate", format!("{:.4}", rate(self.lines))),
            ("branch-rate", format!("{:.4}", rate(self.branches))),
        ]
    }
}
