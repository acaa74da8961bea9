//! `headwater conduct`: the hidden subcommand that the command starts for each launch. Not for users.

use headwater_gauge::harness::launch;

use super::{ConductArguments, status};

pub(super) fn conduct(arguments: &ConductArguments) -> anyhow::Result<u8> {
    launch::conduct(arguments.parent)?;
    Ok(status::OK)
}
