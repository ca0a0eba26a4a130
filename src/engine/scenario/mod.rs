//! Cases and recorded tasks: what should happen written down, run through the engine, and compared.
//!
//! In: YAML files. A *case* brings manifests, a past, one operation or several steps, and what must come of it; a
//! *script* brings the steps of a whole task. Out: reports for people and for programs. Everything runs through the
//! public operations of [`Engine`](crate::engine::Engine) and [`Task`](crate::task::Task), as a host would call them,
//! with a `World` of mocks in place of tools, reviewers and files. Nothing here reads a clock, prints, or opens a file
//! other than through [`manifest::load`](mod@crate::manifest::load).
//!
//! | module | what it holds |
//! |---|---|
//! | `one_document` | a file that holds one document |
//! | `case`, `read`, `case_step` | the shape of a case, and YAML to it |
//! | `case_file`, `placeholder` | the cases of a file: one, several, or those of a table |
//! | `step` | a step of a task, as cases and scripts have it |
//! | `environment`, `past`, `background` | what a task starts with, its past, and both together |
//! | `reachable` | whether steps can have produced a past |
//! | `agent` | which agent is meant |
//! | `arrival` | an event with what comes with it |
//! | `values` | the values that cases and scripts share |
//! | `load` | the cases among files and folders |
//! | `world` | the host: mocks, reviews, files |
//! | `host_answers` | what functions of the host give |
//! | `run`, `story` | a case through the engine: of one operation, and of several steps |
//! | `observed` | the outcome of an operation, in the words of a case |
//! | `loading` | the operations that need no task |
//! | `expect`, `expect_words` | what was expected against what was found, and the words that can be found |
//! | `report`, `table` | the outcome of cases, expected and found side by side |
//! | `script`, `recording` | a recorded task, and its steps to be judged anew |
//! | `coverage` | what cases have tried of their policies |
//! | `mutants`, `mutate` | small changes of policies, and which of them cases notice |
//! | `killers`, `killing_case`, `variations` | cases that would notice what no case notices |
//! | `explain`, `explain_text`, `explainable` | why an operation was decided as it was, as data and as text; the files that this can be asked of |
//! | `replay`, `replay_reviews` | steps through the engine, and the answers to their reviews |
//! | `replayed`, `known_call` | what came of a step, and how far each call came |
//! | `stage` | where an expression of an operation would be evaluated |
//! | `snapshot` | a task context out of its JSON |
//! | `terminal` | colours, and text that cannot steer a terminal |
//! | `messages` | what is wrong with a case or a script |

mod agent;
mod arrival;
mod background;
mod case;
mod case_file;
mod case_step;
mod counted;
mod coverage;
mod environment;
mod expect;
mod expect_labels;
mod expect_observed;
mod expect_terms;
mod expect_words;
mod explain;
mod explain_text;
mod explainable;
mod host_answers;
#[cfg(feature = "analysis")]
mod killers;
#[cfg(feature = "analysis")]
mod killing_case;
mod known_call;
mod load;
mod loading;
mod made_up;
mod messages;
mod model_step;
#[cfg(feature = "analysis")]
mod mutants;
#[cfg(feature = "analysis")]
mod mutate;
#[cfg(feature = "analysis")]
mod mutation_operators;
mod observed;
pub(crate) mod one_document;
mod past;
mod placeholder;
mod reachable;
mod read;
mod recording;
mod replay;
mod replay_reviews;
mod replayed;
mod report;
mod run;
mod script;
mod snapshot;
mod stage;
mod step;
mod story;
mod table;
mod terminal;
mod values;
#[cfg(feature = "analysis")]
mod variations;
mod world;

pub use agent::{agents_named, full_name};
pub use background::Background;
pub use case::{Aspect, Case, Manifests, TestedStep};
pub use case_file::read;
pub use counted::CountedAmount;
pub use coverage::{COUNTS, ClauseCoverage, Count, Coverage, FileCoverage, SeenPart, Share, StepCoverage};
pub use environment::Environment;
pub use expect::{Found, Mismatch};
pub use explain::{ExplainedOperation, explain_script};
pub use explain_text::{Detail, render_step, render_tree};
pub use explainable::Explainable;
pub use host_answers::HostAnswers;
#[cfg(feature = "analysis")]
pub use killing_case::KillingCase;
pub use load::{FoundCases, cases_among, find_cases, load_cases};
#[cfg(feature = "analysis")]
pub(crate) use made_up::by_somebody;
pub use messages::NO_ANSWER;
#[cfg(feature = "analysis")]
pub use mutants::Mutant;
#[cfg(feature = "analysis")]
pub use mutate::{Fate, Mutation, Search, TriedMutant};
pub use past::StateEntry;
pub use read::SCOPES;
pub use replay::{Replay, Unanswered};
pub use replayed::{Happened, ReplayedEvent};
pub use report::{CaseOutcome, Loaded, Report, Summary};
pub use run::Runner;
pub use script::Script;
pub use snapshot::{SnapshotError, restore};
pub use stage::Stage;
pub use step::{ScriptAction, ScriptReview, ScriptStep};
pub use terminal::{Palette, visible};
