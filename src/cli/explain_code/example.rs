//! The sections of a page of `docs/codes`, and their examples as whole files.
//!
//! In: Markdown with a heading ``## `code` `` for each code, a paragraph, and two blocks whose info string is
//! `LANGUAGE FRAME wrong` or `LANGUAGE FRAME right`. Out: an [`Explanation`] for each code. A block shows what matters; its frame
//! has the rest of the file.

use super::Explanation;

/// The documents around an example.
pub(super) struct Frame {
    /// Its name in the info string of a block.
    name: &'static str,
    /// Where the text of the example stands.
    pub(super) place: &'static str,
    /// What stands before the example in the file.
    before: &'static str,
    /// How far the lines of the example are indented.
    indent: usize,
    /// What stands behind it.
    after: &'static str,
    /// The command that finds what the example has.
    pub(super) command: &'static str,
    /// The file `shop.yaml` that stands beside the example; empty if there is none.
    pub(super) beside: &'static str,
}

const fn frame(name: &'static str, place: &'static str, before: &'static str, indent: usize) -> Frame {
    Frame { name, place, before, indent, after: "", command: "celador check example.yaml", beside: "" }
}

/// The tool and the agent of most examples, with something behind them.
macro_rules! shop {
    ($($behind:literal)*) => {
        concat!(
            include_str!("orders.yaml"),
            "---\nkind: commonagents.info/v1beta2/agent\nnamespace: shop\nname: clerk\ndescription: Answers customers.\nprompt: You are a careful clerk.\n",
            $($behind,)*
        )
    };
}

/// An agent with the tool `mail`, whose document begins behind it.
macro_rules! mail {
    ($($behind:literal)*) => {
        concat!(
            "kind: commonagents.info/v1beta2/agent\nnamespace: shop\nname: clerk\ndescription: Answers customers.\nprompt: You are a careful clerk.\n",
            "capabilities: {mail: \"*\"}\n---\n",
            $($behind,)*
        )
    };
}

/// An agent, and the head of a document that begins its tasks.
macro_rules! launch {
    ($kind:literal) => {
        concat!(
            "kind: commonagents.info/v1beta2/agent\nnamespace: shop\nname: clerk\ndescription: Answers customers.\nprompt: You are a careful clerk.\n---\n",
            "kind: ", $kind, "\nnamespace: shop\nname: nightly\nagent: clerk\nowner: user:ann@example.com\nenabled: true\n"
        )
    };
}

const fn case(name: &'static str, place: &'static str, before: &'static str) -> Frame {
    let command = "celador test example.yaml";
    Frame { command, beside: shop!("capabilities: {orders: \"*\"}\n"), ..frame(name, place, before, 0) }
}

static FRAMES: [Frame; 14] = [
    frame("file", "as a file", "", 0),
    Frame { command: "celador check .", ..frame("folder", "as a file of a folder", "", 0) },
    frame("agent", "in the manifest of an agent", shop!(), 0),
    frame(
        "step",
        "under `capabilities.orders.before` of an agent",
        shop!("capabilities:\n  orders:\n    before:\n"),
        6,
    ),
    frame(
        "after",
        "under `capabilities.orders.after` of an agent",
        shop!("capabilities:\n  orders:\n    after:\n"),
        6,
    ),
    frame(
        "expression",
        "as an `assert` ahead of a call",
        shop!("capabilities:\n  orders:\n    before:\n      - match: refund\n        assert: |-\n"),
        10,
    ),
    frame(
        "policy",
        "in a policy",
        shop!("capabilities: {orders: \"*\"}\n---\nkind: celador/v1/policy\nnamespace: shop\nname: house\n"),
        0,
    ),
    frame(
        "tool",
        "in the manifest of a tool",
        mail!("kind: commonagents.info/v1beta2/tool\nnamespace: shop\nname: mail\ndescription: Mail.\n"),
        0,
    ),
    Frame {
        after: "    execute: {stateless_http: {method: POST, url: \"https://mail.example.com/send\"}}\n",
        ..frame(
            "parameter",
            "under `parameters.properties` of an action",
            mail!(
                "kind: commonagents.info/v1beta2/tool\nnamespace: shop\nname: mail\ndescription: Mail.\nactions:\n  - name: send\n"
                "    description: Sends mail.\n    parameters:\n      properties:\n"
            ),
            8,
        )
    },
    frame(
        "tools",
        "in a document of tools",
        mail!("kind: celador/v1/tools\nnamespace: shop\nname: mail\n"),
        0,
    ),
    frame("schedule", "in a schedule", launch!("commonagents.info/v1/schedule"), 0),
    frame("trigger", "in a trigger", launch!("commonagents.info/v1beta2/trigger"), 0),
    case("case", "in a case", "name: example\nmanifest: {files: [shop.yaml], agent: clerk}\n"),
    case("cases", "in a file of cases", "manifest: {files: [shop.yaml], agent: clerk}\n"),
];

/// An example with the documents around it.
pub(super) struct Example<'p> {
    pub(super) frame: &'static Frame,
    pub(super) text: &'p str,
}

impl Example<'_> {
    /// The example as a file that `celador check` reads.
    pub(super) fn file(&self) -> String {
        let Frame { before, indent, after, .. } = self.frame;
        let indented =
            |line: &str| if line.is_empty() { line.to_owned() } else { format!("{:indent$}{line}", "") };
        let lines: String = self.text.lines().map(|line| indented(line) + "\n").collect();
        format!("{before}{lines}{after}")
    }
}

/// The sections of a page.
pub(super) fn sections(page: &str) -> impl Iterator<Item = Explanation<'_>> {
    page.split("\n## `").skip(1).filter_map(section)
}

fn section(text: &str) -> Option<Explanation<'_>> {
    let (code, rest) = text.split_once('`')?;
    let about = rest.split("\n```").next().unwrap_or_default();
    let about = about.split_whitespace().collect::<Vec<_>>().join(" ");
    Some(Explanation::new(code, about, example(rest, "wrong").zip(example(rest, "right"))))
}

/// The block of a side.
fn example<'p>(section: &'p str, side: &str) -> Option<Example<'p>> {
    // blocks stand at odd places between fences
    let blocks = section.split("\n```").skip(1).step_by(2);
    blocks.filter_map(|block| block.split_once('\n')).find_map(|(info, text)| {
        let mut words = info.split(' ').skip(1);
        let frame = words.next()?;
        let frame = FRAMES.iter().find(|known| known.name == frame)?;
        (words.next() == Some(side)).then_some(Example { frame, text })
    })
}
