//! `headwater doctor`: prints the findings of [`crate::doctor`].

use std::io::Write;

use headwater_gauge::environment;

use super::output::{has_colour, out, raw};
use super::{DoctorArguments, status};
use crate::doctor;

pub(super) fn doctor(arguments: &DoctorArguments) -> anyhow::Result<u8> {
    let findings = doctor::check(&environment::capture());
    if arguments.json {
        let mut out = out();
        serde_json::to_writer_pretty(&mut out, &findings)?;
        writeln!(out)?;
    } else {
        let text = doctor::render(&findings, has_colour(), super::show::width());
        raw().write_all(text.as_bytes())?;
    }
    let is_warned = findings.iter().any(|finding| finding.status == doctor::Status::Warning);
    Ok(if is_warned { status::IMPROVABLE } else { status::OK })
}
