//! `headwater conduct`: the hidden subcommand that the command starts for each launch. Not for users.

use super::{ConductArguments, status};
use crate::harness::launch;

pub(super) fn conduct(arguments: &ConductArguments) -> anyhow::Result<u8> {
    launch::conduct(arguments.parent)?;
    Ok(status::OK)
}
