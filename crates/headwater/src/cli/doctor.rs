//! `headwater doctor`: prints the findings of [`crate::doctor`].

use std::io::{IsTerminal, Write, stdout};

use super::{DoctorArguments, status};
use crate::{doctor, environment};

pub(super) fn doctor(arguments: &DoctorArguments) -> anyhow::Result<u8> {
    let findings = doctor::check(&environment::capture());
    let mut out = stdout().lock();
    if arguments.json {
        serde_json::to_writer_pretty(&mut out, &findings)?;
        writeln!(out)?;
    } else {
        let text = doctor::render(&findings, stdout().is_terminal(), super::show::width());
        out.write_all(text.as_bytes())?;
    }
    Ok(status::OK)
}
