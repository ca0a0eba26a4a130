//! `celador limits`: the bounds of the engine, read off their rows.

use super::{ExitCode, Failure, Format, Screen};
use celador::limits::EvalLimits;
use celador::scenario::Palette;
use clap::Args;
use serde_json::json;

/// List the bounds of the engine: name, default, and what each protects
#[derive(Args)]
pub(crate) struct Arguments {}

impl Arguments {
    pub(super) fn run(self, screen: &mut Screen) -> Result<ExitCode, Failure> {
        let Self {} = self;
        for row in EvalLimits::ROWS {
            match screen.format() {
                Format::Human => {
                    let Palette { bold, reset, .. } = screen.palette();
                    screen.line(&format!(
                        "{bold}{:20}{reset} {:>10} {:12} {}",
                        row.name,
                        row.default,
                        row.unit,
                        row.protects.trim()
                    ))?;
                }
                Format::Json => {
                    let protects = row.protects.trim();
                    let row = json!({
                        "name": row.name, "default": row.default, "unit": row.unit, "protects": protects,
                    });
                    screen.json("limit", row)?;
                }
            }
        }
        Ok(ExitCode::Yes)
    }
}
