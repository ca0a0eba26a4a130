//! The picture: what a ten-clause guard costs after a step, against how long the task already is, both logarithmic.
//!
//! In: figures. Out: one SVG that needs nothing else and can be read on a light and on a dark page. Each engine is a line
//! with its name at its end.

use crate::kind::Kind;
use crate::row::{Row, time};
use std::fmt::Write;

const WIDTH: f64 = 760.0;
const HEIGHT: f64 = 440.0;
const LEFT: f64 = 70.0;
const RIGHT: f64 = 560.0;
const TOP: f64 = 56.0;
const BOTTOM: f64 = 384.0;
/// Between two names at the ends of lines.
const LEADING: f64 = 17.0;

/// Middle tones, told apart on white and on black; the first is Celador's.
const COLOURS: [(&str, &str); 7] = [
    ("celador", "#1a9c8c"),
    ("native", "#8b949e"),
    ("cel", "#d9534f"),
    ("cel-resident", "#e08a1e"),
    ("cel-interpreter", "#b46ad6"),
    ("cel-core", "#4c8ee6"),
    ("regorus", "#c2608f"),
];

/// A line: where it goes through, and what it is called.
struct Line<'r> {
    engine: &'r str,
    /// Whether the engine is given the whole state after each step.
    anew: bool,
    colour: &'static str,
    points: Vec<(usize, f64)>,
}

/// The picture, if anything in these figures belongs into it.
pub fn of(rows: &[Row]) -> Option<String> {
    let lines: Vec<Line> =
        COLOURS.into_iter().filter_map(|(engine, colour)| line(rows, engine, colour)).collect();
    let costs = || lines.iter().flat_map(|line| &line.points).map(|(_, ns)| ns.log10());
    let lowest = costs().reduce(f64::min)?.floor();
    let highest = costs().reduce(f64::max)?.ceil();
    let sizes: Vec<f64> =
        lines.iter().flat_map(|line| &line.points).map(|(n, _)| (*n as f64).log10()).collect();
    let first = sizes.iter().copied().reduce(f64::min)?;
    let last = sizes.iter().copied().reduce(f64::max)?;
    let place = |n: usize, ns: f64| {
        let along = ((n as f64).log10() - first) / (last - first).max(1.0);
        let up = (ns.log10() - lowest) / (highest - lowest);
        (LEFT + along * (RIGHT - LEFT), BOTTOM - up * (BOTTOM - TOP))
    };
    let mut svg = head();
    (lowest as i32..=highest as i32).for_each(|power| {
        let (_, y) = place(1, 10f64.powi(power));
        horizontal(&mut svg, y, &round(power));
    });
    (first as u32..=last as u32).for_each(|power| {
        let (x, _) = place(10usize.pow(power), 1.0);
        vertical(&mut svg, x, &thousands(10usize.pow(power)));
    });
    for line in &lines {
        draw(&mut svg, line, &line.points.iter().map(|(n, ns)| place(*n, *ns)).collect::<Vec<_>>());
    }
    for (line, y) in
        lines.iter().zip(spread(&lines, |line| end(line).map_or(BOTTOM, |(n, ns)| place(n, ns).1)))
    {
        name(&mut svg, line, y);
    }
    svg.push_str("</svg>\n");
    Some(svg)
}

fn line<'r>(rows: &'r [Row], engine: &'r str, colour: &'static str) -> Option<Line<'r>> {
    let of = |kind: Kind| {
        let of_kind = rows.iter().filter(move |row| row.kind == kind && row.expression == "E12");
        let points = of_kind.filter(|row| row.figure.engine == engine).map(|row| (row.n, row.figure.ns));
        points.collect::<Vec<_>>()
    };
    let (kept, anew) = (of(Kind::StepEval), of(Kind::BindEval));
    let (anew, points) = if kept.is_empty() { (true, anew) } else { (false, kept) };
    (!points.is_empty()).then_some(Line { engine, anew, colour, points })
}

fn end(line: &Line) -> Option<(usize, f64)> {
    line.points.last().copied()
}

/// Heights for the names, near the ends of their lines and none on another.
fn spread(lines: &[Line], height: impl Fn(&Line) -> f64) -> Vec<f64> {
    let mut heights: Vec<(usize, f64)> = lines.iter().map(height).enumerate().collect();
    heights.sort_by(|(_, a), (_, b)| a.total_cmp(b));
    for _ in 0..50 {
        for upper in 1..heights.len() {
            let [(_, a), (_, b)] = &mut heights[upper - 1..=upper] else { continue };
            let missing = LEADING - (*b - *a);
            if missing > 0.0 {
                *a -= missing / 2.0;
                *b += missing / 2.0;
            }
        }
    }
    heights.sort_by_key(|(index, _)| *index);
    heights.into_iter().map(|(_, height)| height).collect()
}

fn head() -> String {
    format!(
        r##"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}" role="img" aria-labelledby="title">
<title id="title">What a ten-clause guard costs after each step, by the number of recorded steps</title>
<style>
  text {{ font: 13px system-ui, -apple-system, "Segoe UI", sans-serif; fill: #57606a }}
  .title {{ font-size: 15px; font-weight: 600 }}
  .grid {{ stroke: #8b949e; stroke-opacity: .28; stroke-width: 1 }}
  .line {{ fill: none; stroke-width: 2; stroke-linejoin: round; stroke-linecap: round }}
  .ours {{ stroke-width: 3.5 }}
  .anew {{ stroke-dasharray: 5 5 }}
  .cost {{ fill-opacity: .75; font-size: 12px }}
  @media (prefers-color-scheme: dark) {{ text {{ fill: #adbac7 }} }}
</style>
<text class="title" x="{LEFT}" y="24">A ten-clause guard after each step of a task</text>
<text x="{LEFT}" y="43">time, by recorded steps; dashed where the state has to be bound anew</text>
"##
    )
}

fn horizontal(svg: &mut String, y: f64, label: &str) {
    let (x, base) = (LEFT - 10.0, y + 4.0);
    let _ = writeln!(svg, r#"<path class="grid" d="M{LEFT} {y:.1}H{RIGHT}"/>"#);
    let _ = writeln!(svg, r#"<text x="{x}" y="{base:.1}" text-anchor="end">{label}</text>"#);
}

fn vertical(svg: &mut String, x: f64, label: &str) {
    let base = BOTTOM + 22.0;
    let _ = writeln!(svg, r#"<path class="grid" d="M{x:.1} {TOP}V{BOTTOM}"/>"#);
    let _ = writeln!(svg, r#"<text x="{x:.1}" y="{base}" text-anchor="middle">{label}</text>"#);
}

fn draw(svg: &mut String, line: &Line, points: &[(f64, f64)]) {
    let class = match line {
        Line { engine: "celador", .. } => "line ours",
        Line { anew: true, .. } => "line anew",
        _ => "line",
    };
    let path: Vec<String> = points.iter().map(|(x, y)| format!("{x:.1} {y:.1}")).collect();
    let colour = line.colour;
    let _ = writeln!(svg, r#"<path class="{class}" stroke="{colour}" d="M{}"/>"#, path.join("L"));
    for (x, y) in points {
        let _ = writeln!(svg, r#"<circle cx="{x:.1}" cy="{y:.1}" r="3" fill="{colour}"/>"#);
    }
}

fn name(svg: &mut String, line: &Line, y: f64) {
    let (x, base, colour) = (RIGHT + 12.0, y + 4.0, line.colour);
    let engine = if line.engine == "native" { "by hand, in Rust" } else { line.engine };
    let weight = if line.engine == "celador" { "700" } else { "600" };
    let cost = end(line).map(|(_, ns)| time(ns)).unwrap_or_default();
    let _ = writeln!(
        svg,
        r#"<text x="{x}" y="{base:.1}"><tspan font-weight="{weight}" style="fill:{colour}">{engine}</tspan><tspan class="cost" dx="6">{cost}</tspan></text>"#
    );
}

/// A power of ten of nanoseconds.
fn round(power: i32) -> String {
    let (unit, left) = match power {
        ..3 => ("ns", power),
        3..6 => ("µs", power - 3),
        6..9 => ("ms", power - 6),
        _ => ("s", power - 9),
    };
    format!("{} {unit}", 10f64.powi(left))
}

fn thousands(number: usize) -> String {
    let digits = number.to_string();
    match digits.len().checked_sub(3) {
        Some(split @ 1..) => format!("{},{}", &digits[..split], &digits[split..]),
        _ => digits,
    }
}
