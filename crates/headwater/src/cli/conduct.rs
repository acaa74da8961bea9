//! `headwater conduct`: what the command starts for each launch. Hidden: it is of no use to a person.

use super::{ConductArguments, status};
use crate::harness::launch;

pub(super) fn conduct(arguments: &ConductArguments) -> anyhow::Result<u8> {
    launch::conduct(arguments.parent)?;
    Ok(status::OK)
}
