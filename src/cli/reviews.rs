//! `celador reviews`: what waits for a person, and their answer, on a server that runs.
//!
//! In: the server's address and a token. Out: reviews as text, or as the JSON that the server gave, a line each. Texts of tasks are
//! shown with every character that a terminal would act on made visible, and arguments go to the server to the letter.

use super::files::{encoded, read_text};
use super::{ExitCode, Failure, Format, Screen, messages};
use celador::cel::Json;
use celador::limits::EngineLimits;
use celador::task::{ReviewAnswered, ReviewProgress, ReviewRecord, ReviewState, ReviewedUser};
use celador_server::DEFAULT_ADDRESS;
use celador_service::{Client, ClientReply, ProblemDetails};
use clap::builder::PossibleValuesParser;
use clap::{Args, Subcommand};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// See what waits for a person on a running server, and answer it
#[derive(Args)]
#[command(after_long_help = "\
Examples:
  celador reviews                                     what waits
  celador reviews show rv_5f0c…                       one review, with its arguments and the rule
  celador reviews approve rv_5f0c… --note 'spoke to the customer'
  celador reviews edit rv_5f0c… --arguments '{\"order\": \"o-1\", \"amount\": 80}'
  celador reviews respond rv_5f0c… --result result.json

The token stands in CELADOR_TOKEN or in a file, never among the arguments, which every user of a machine can see.

Exit codes: 0 done, 2 the server refused it and nothing was changed, 1 it could not be done or nobody knows whether it was.")]
pub(crate) struct Arguments {
    #[command(subcommand)]
    action: Option<Action>,

    /// Which reviews are listed
    #[arg(long, value_parser = PossibleValuesParser::new(ReviewState::WORDS), default_value = "open")]
    state: String,

    /// Those of one agent only
    #[arg(long, value_name = "NAMESPACE/NAME")]
    agent: Option<String>,

    #[command(flatten)]
    server: Server,
}

/// Where the reviews are, and as whom.
#[derive(Args)]
struct Server {
    /// The address of the server; `CELADOR_SERVER` if not said, or the one where `celador serve` listens by default
    #[arg(long, value_name = "URL", global = true)]
    server: Option<String>,

    /// A file with the token; `CELADOR_TOKEN` if not said
    #[arg(long, value_name = "FILE", global = true)]
    token_file: Option<PathBuf>,
}

#[derive(Subcommand)]
enum Action {
    /// Show one review
    Show {
        /// Its id
        id: String,
    },
    /// Let it go on
    Approve(Answer),
    /// Do not let it go on
    Deny(Answer),
    /// Let the function run with other arguments
    Edit {
        #[command(flatten)]
        answer: Answer,

        /// The arguments, all of them: a JSON object, or a file with one (`-` for standard input)
        #[arg(long, value_name = "JSON|FILE")]
        arguments: String,
    },
    /// Answer in the place of the function, which does not run
    Respond {
        #[command(flatten)]
        answer: Answer,

        /// The result that the model gets: JSON, or a file with it (`-` for standard input)
        #[arg(long, value_name = "JSON|FILE")]
        result: String,
    },
}

#[derive(Args)]
struct Answer {
    /// The review's id
    id: String,

    /// Why; kept with the answer
    #[arg(long, value_name = "TEXT")]
    note: Option<String>,

    /// The digest that `show` gave: an answer to anything else is refused
    #[arg(long, value_name = "HEX")]
    digest: Option<String>,
}

/// A page of reviews.
#[derive(Deserialize)]
struct Page {
    reviews: Vec<Box<RawValue>>,
    /// A text or a number, which goes back as it came.
    next: Option<Value>,
}

/// What came of an answer.
#[derive(Deserialize)]
struct Outcome {
    review: Box<RawValue>,
    decision: Box<RawValue>,
    #[serde(default)]
    repeated: bool,
}

/// The answer as it is sent.
#[derive(Serialize)]
struct Sent<'a> {
    answer: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    arguments: Option<Box<RawValue>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    result: Option<Box<RawValue>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    digest: Option<String>,
}

impl Arguments {
    pub(super) fn run(self, screen: &mut Screen) -> Result<ExitCode, Failure> {
        let client = self.server.client()?;
        let plain = |answer: &'static str, it: Answer, screen: &mut Screen| {
            send(&client, answer, it, (None, None), screen)
        };
        match self.action {
            None => list(&client, &self.state, self.agent.as_deref(), screen),
            Some(Action::Show { id }) => match asked(&client, "GET", &path(&id), None, screen)? {
                Some(body) => show(&raw(&body)?, screen).map(|()| ExitCode::Yes),
                None => Ok(ExitCode::No),
            },
            Some(Action::Approve(answer)) => plain("approve", answer, screen),
            Some(Action::Deny(answer)) => plain("deny", answer, screen),
            Some(Action::Edit { answer, arguments }) => {
                let arguments = json(&arguments)?;
                if !arguments.get().starts_with('{') {
                    return Err(Failure::Unusable(messages::arguments_are_an_object()));
                }
                send(&client, "edit", answer, (Some(arguments), None), screen)
            }
            Some(Action::Respond { answer, result }) => {
                send(&client, "respond", answer, (None, Some(json(&result)?)), screen)
            }
        }
    }
}

impl Server {
    fn client(self) -> Result<Client, Failure> {
        let named = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
        let token = match &self.token_file {
            Some(file) => Some(read_text(file, MAX_TOKEN_BYTES)?.trim().to_owned()),
            None => named("CELADOR_TOKEN"),
        };
        let address = self.server.or_else(|| named("CELADOR_SERVER"));
        let address = address.unwrap_or_else(|| format!("http://{DEFAULT_ADDRESS}"));
        Client::new(&address, token.as_deref()).map_err(|error| Failure::Unusable(error.to_string()))
    }
}

/// A token of any issuer is far shorter.
const MAX_TOKEN_BYTES: usize = 65_536;

/// The address of a review.
fn path(id: &str) -> String {
    format!("/v1/reviews/{}", encoded(id))
}

/// The body of an answer that says that it was done; nothing, with the reason told, if the server refused.
fn asked(
    client: &Client,
    method: &str,
    path: &str,
    body: Option<&[u8]>,
    screen: &mut Screen,
) -> Result<Option<Vec<u8>>, Failure> {
    let reply = client.send(method, path, body);
    let ClientReply { status, body } = reply.map_err(|error| Failure::Unusable(error.to_string()))?;
    if (200..300).contains(&status) {
        return Ok(Some(body));
    }
    let problem = ProblemDetails::read(status, &body);
    let told = (!problem.word().is_empty()).then(|| visible(problem.said()));
    let told = messages::refused_by_server(status, told.as_deref());
    if status >= 500 {
        return Err(Failure::Unusable(told));
    }
    screen.error(&told);
    Ok(None)
}

fn list(client: &Client, state: &str, agent: Option<&str>, screen: &mut Screen) -> Result<ExitCode, Failure> {
    let mut after = None;
    let mut count = 0_usize;
    loop {
        let mut path = format!("/v1/reviews?state={state}");
        for (name, value) in [("agent", agent), ("after", after.as_deref())] {
            if let Some(value) = value {
                let _ = write!(path, "&{name}={}", encoded(value));
            }
        }
        let Some(body) = asked(client, "GET", &path, None, screen)? else { return Ok(ExitCode::No) };
        let page: Page = read(&body)?;
        for review in &page.reviews {
            count = count.saturating_add(1);
            match screen.format() {
                Format::Json => told_as_json("review", review, screen)?,
                Format::Human => {
                    let review: ReviewRecord = read(review.get().as_bytes())?;
                    brief(&review, screen)?;
                }
            }
        }
        match page.next {
            Some(Value::String(next)) => after = Some(next),
            Some(next) if next.is_number() => after = Some(next.to_string()),
            _ => break,
        }
    }
    if count == 0 && screen.format() == Format::Human {
        screen.line(messages::no_reviews(state))?;
    }
    Ok(ExitCode::Yes)
}

fn send(
    client: &Client,
    answer: &'static str,
    given: Answer,
    (arguments, result): (Option<Box<RawValue>>, Option<Box<RawValue>>),
    screen: &mut Screen,
) -> Result<ExitCode, Failure> {
    let Answer { id, note, digest } = given;
    let sent = Sent { answer, arguments, result, note, digest };
    let body = serde_json::to_vec(&sent).map_err(|_| Failure::Unusable(messages::no_json_of_server()))?;
    let Some(body) = asked(client, "POST", &path(&id), Some(&body), screen)? else { return Ok(ExitCode::No) };
    let outcome: Outcome = read(&body)?;
    match screen.format() {
        Format::Json => told_as_json("answered", &raw(&body)?, screen)?,
        Format::Human => {
            let review: ReviewRecord = read(outcome.review.get().as_bytes())?;
            // a word, or a whole decision with its verdict
            let decision: Value = read(outcome.decision.get().as_bytes())?;
            let verdict = decision.as_str().or_else(|| decision.get("verdict")?.as_str()).unwrap_or("—");
            let id = visible(&review.id);
            let line = if review.state == ReviewState::Open {
                let progress = review.progress.map(how_far);
                messages::waits_for_others(&id, outcome.repeated, progress.as_deref())
            } else {
                messages::answered(&id, review.state.as_str(), &visible(verdict))
            };
            screen.line(&line)?;
        }
    }
    Ok(ExitCode::Yes)
}

/// One line of a list.
fn brief(review: &ReviewRecord, screen: &mut Screen) -> Result<(), Failure> {
    let ReviewRecord { id, agent, asked_at, reviewer, .. } = review;
    let what = review.function.as_deref().or(review.step.as_deref()).unwrap_or("text");
    let progress = review.progress.map(|progress| format!(", {} have approved", how_far(progress)));
    let line = format!(
        "{id}  {asked_at}  {what}  {}/{} for {}, asked of {reviewer}{}",
        agent.namespace,
        agent.name,
        name_of(&review.user),
        progress.unwrap_or_default()
    );
    screen.line(&visible(&line))?;
    Ok(())
}

/// All of a review.
fn show(review: &RawValue, screen: &mut Screen) -> Result<(), Failure> {
    if screen.format() == Format::Json {
        return told_as_json("review", review, screen);
    }
    let review: ReviewRecord = read(review.get().as_bytes())?;
    let rule = review.rule.as_ref();
    let place = rule.map(|rule| format!("{}:{}:{}", rule.file, rule.line, rule.column));
    let answered = review.answered.as_ref();
    let by = answered.map(|ReviewAnswered { answer, by, at, .. }| match by {
        Some(by) => format!("{} by {}, {at}", answer.as_str(), by.email.as_deref().unwrap_or(&by.subject)),
        None => format!("{} by somebody whom the server does not know, {at}", answer.as_str()),
    });
    let people: Vec<&str> = review.approvals.iter().map(who).collect();
    let agent = format!("{}/{}", review.agent.namespace, review.agent.name);
    let json = |value: &Option<Json>| value.as_ref().map(ToString::to_string);
    for (name, value) in [
        ("review", Some(review.id.clone())),
        ("state", Some(review.state.as_str().to_owned())),
        ("function", review.function.clone()),
        ("arguments", json(&review.arguments)),
        ("result", json(&review.result)),
        ("message", review.message.clone()),
        ("question", review.text.clone()),
        ("rule", rule.and_then(|rule| rule.expression.clone())),
        ("at", place),
        ("step", review.step.clone()),
        ("reviewer", Some(review.reviewer.clone())),
        ("progress", review.progress.map(how_far)),
        ("approved", Some(people.join(", ")).filter(|people| !people.is_empty())),
        ("agent", Some(agent)),
        ("user", Some(name_of(&review.user).to_owned())),
        ("task", Some(review.task.clone())),
        ("asked", Some(review.asked_at.clone())),
        ("expires", Some(review.expires_at.clone().unwrap_or_else(|| "never".to_owned()))),
        ("digest", Some(review.digest.clone())),
        ("answered", by),
        ("note", answered.and_then(|answered| answered.note.clone())),
    ] {
        if let Some(value) = value {
            screen.line(&format!("{name:<10} {}", visible(&value)))?;
        }
    }
    Ok(())
}

fn who(answered: &ReviewAnswered) -> &str {
    answered.by.as_ref().map_or("somebody", |by| by.email.as_deref().unwrap_or(&by.subject))
}

fn name_of(user: &ReviewedUser) -> &str {
    user.email.as_deref().unwrap_or(&user.id)
}

/// How far several people have come.
fn how_far(ReviewProgress { approved, needed }: ReviewProgress) -> String {
    format!("{approved} of {needed}")
}

/// An object that the server gave, as one line that says by `type` what it is. It is not read into numbers and written again, so that all of
/// it stays as it was.
fn told_as_json(kind: &str, object: &RawValue, screen: &mut Screen) -> Result<(), Failure> {
    let text = object.get().replace(['\n', '\r'], " ");
    let members = text.trim_end().strip_suffix('}').filter(|members| members.contains(':'));
    let members = members.ok_or_else(|| Failure::Unusable(messages::no_json_of_server()))?;
    screen.line(&format!("{members},\"type\":\"{kind}\"}}"))?;
    Ok(())
}

/// JSON that was given as an argument: the text itself, or the file of this name.
fn json(given: &str) -> Result<Box<RawValue>, Failure> {
    match serde_json::from_str::<Box<RawValue>>(given.trim()) {
        Ok(value) => return Ok(value),
        // what begins like JSON and is none is no name of a file
        Err(error) if given.trim_start().starts_with(['{', '[', '"']) => {
            return Err(Failure::Unusable(messages::not_json_text(&error)));
        }
        Err(_) => {}
    }
    let path = Path::new(given);
    let text = read_text(path, EngineLimits::default().max_manifest_bytes)?;
    serde_json::from_str::<Box<RawValue>>(text.trim())
        .map_err(|error| Failure::Unusable(messages::no_json_in(path, &error)))
}

fn raw(body: &[u8]) -> Result<Box<RawValue>, Failure> {
    read(body)
}

fn read<'a, T: Deserialize<'a>>(body: &'a [u8]) -> Result<T, Failure> {
    serde_json::from_slice(body).map_err(|_| Failure::Unusable(messages::no_json_of_server()))
}

/// A text of a task on a terminal: control characters and those that nobody sees, or that change in which order others are seen, as
/// escapes.
fn visible(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for letter in text.chars() {
        let is_hidden = matches!(letter, '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}' | '\u{200e}' | '\u{200f}'
            | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff0}'..='\u{fffb}'
            | '\u{e0000}'..='\u{e007f}');
        if letter.is_control() || is_hidden {
            shown.extend(letter.escape_unicode());
        } else {
            shown.push(letter);
        }
    }
    shown
}
