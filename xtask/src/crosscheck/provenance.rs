//! The processor and the compilers of a comparison: its table holds for them alone. Printed above the tables of the
//! crosschecks.

use std::fs;
use std::thread::available_parallelism;

use anyhow::{Context, Result};
use headwater_os_tools::machine::uname;

use crate::shell;

/// Returns one line with the processor, the kernel and the compilers of both sides.
pub fn line() -> Result<String> {
    let info = fs::read_to_string("/proc/cpuinfo").context("/proc/cpuinfo")?;
    let first = |program, argument| -> Result<String> {
        let printed = shell::output(shell::command(program).arg(argument))?;
        Ok(printed.lines().next().unwrap_or_default().to_owned())
    };
    let cpus = available_parallelism()?;
    let (cc, rustc) = (first("cc", "--version")?, first("rustc", "--version")?);
    Ok(format!("{}, {cpus} CPUs, Linux {}; {cc}; {rustc}", processor(&info), uname().release))
}

/// Returns the model of the first processor with the numbers that tell its generation, which a virtual machine's name may not.
fn processor(cpuinfo: &str) -> String {
    let value = |wanted: &str| {
        let found = cpuinfo.lines().filter_map(|line| line.split_once(':')).find(|(key, _)| key.trim() == wanted);
        found.map_or("unknown", |(_, value)| value.trim())
    };
    format!(
        "{} (family {} model {} stepping {})",
        value("model name"),
        value("cpu family"),
        value("model"),
        value("stepping")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_processor_is_named_with_its_generation() {
        let info =
            "processor\t: 0\ncpu family\t: 25\nmodel\t\t: 17\nmodel name\t: AMD EPYC\nstepping\t: 1\n\nmodel\t\t: 1\n";
        assert_eq!(processor(info), "AMD EPYC (family 25 model 17 stepping 1)");
        assert_eq!(processor(""), "unknown (family unknown model unknown stepping unknown)");
    }
}
