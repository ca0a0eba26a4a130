//! `celador schema`: the JSON Schema of a kind of file, from which an editor completes and checks.
//!
//! In: the kind. Out: one document (draft 2020-12) that needs no other, or the same as a page for people (`page`). Each comes of the description
//! by which the file itself is read (`manifest/shape`).

mod page;

use super::{ExitCode, Failure, Screen};
use celador::manifest::document::DocumentType;
use celador::manifest::kind::Family;
use celador::prove::Invariants;
use celador::scenario::{Case, Script};
use clap::{Args, ValueEnum};

/// Write the JSON Schema of a kind of file, for editors
#[derive(Args)]
#[command(after_long_help = "\
Examples:
  celador schema manifest > manifest.schema.json
  celador schema case > case.schema.json
  celador schema policy --markdown      the same for people, as a page

An editor with the YAML language server takes it from the first line of a file:
  # yaml-language-server: $schema=manifest.schema.json")]
pub(crate) struct Arguments {
    /// The kind of file
    #[arg(value_enum, value_name = "KIND")]
    kind: Kind,

    /// The keys as a page of Markdown
    #[arg(long)]
    markdown: bool,
}

/// The kinds of files; `manifest` is any of those that have a `kind`, or a mount.
#[derive(Clone, Copy, ValueEnum)]
#[value(rename_all = "lowercase")]
enum Kind {
    Manifest,
    Agent,
    Tool,
    Tools,
    Policy,
    Trigger,
    Schedule,
    BundleDescription,
    Mount,
    Case,
    Script,
    Invariants,
}

impl Kind {
    /// What files of the kind are called on a page.
    fn title(self) -> &'static str {
        match self {
            Self::Manifest => "Manifests",
            Self::Agent => "Agents",
            Self::Tool => "Tools",
            Self::Tools => "Lists of tools",
            Self::Policy => "Policies",
            Self::Trigger => "Triggers",
            Self::Schedule => "Schedules",
            Self::BundleDescription => "Descriptions of bundles",
            Self::Mount => "Mounts",
            Self::Case => "Cases",
            Self::Script => "Recorded tasks",
            Self::Invariants => "Invariants",
        }
    }
}

impl Arguments {
    pub(super) fn run(self, screen: &mut Screen) -> Result<ExitCode, Failure> {
        let schema = match self.kind {
            Kind::Manifest => DocumentType::Any.json_schema(),
            Kind::Agent => DocumentType::Of(Family::Agent).json_schema(),
            Kind::Tool => DocumentType::Of(Family::Tool).json_schema(),
            Kind::Tools => DocumentType::Of(Family::Tools).json_schema(),
            Kind::Policy => DocumentType::Of(Family::Policy).json_schema(),
            Kind::Trigger => DocumentType::Of(Family::Trigger).json_schema(),
            Kind::Schedule => DocumentType::Of(Family::Schedule).json_schema(),
            Kind::BundleDescription => DocumentType::Of(Family::BundleDescription).json_schema(),
            Kind::Mount => DocumentType::Mount.json_schema(),
            Kind::Case => Case::json_schema(),
            Kind::Script => Script::json_schema(),
            Kind::Invariants => Invariants::json_schema(),
        };
        if self.markdown {
            let name =
                self.kind.to_possible_value().map(|word| word.get_name().to_owned()).unwrap_or_default();
            let command = format!("celador schema {name} --markdown");
            screen.text(&page::page(&schema, self.kind.title(), &command))?;
        } else {
            screen.line(&format!("{schema:#}"))?;
        }
        Ok(ExitCode::Yes)
    }
}
