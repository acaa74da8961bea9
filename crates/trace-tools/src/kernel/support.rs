//! Reports which parts of kernel tracing are available, and why others are not. Used by `doctor` and for error
//! messages.

use std::fs::{self, OpenOptions};
use std::path::Path;

use super::{Error, Tracefs, mount, tracefs};

/// A feature that sessions use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Point {
    /// The name, such as `instances`.
    pub name: &'static str,
    /// A detail, such as a size, or the reason why it is not available.
    pub state: Result<String, String>,
}

/// All features that sessions use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Support {
    /// The features, each after those that it depends on.
    pub points: Vec<Point>,
}

impl Support {
    /// Checks all features. Changes nothing but this process, see [`Tracefs::find`].
    pub fn look() -> Support {
        let pids = own_pids().map(|()| "the machine's own".to_owned()).map_err(|error| error.to_string());
        let mut points =
            vec![Point { name: "lockdown", state: lockdown_state() }, Point { name: "pid namespace", state: pids }];
        let found = Tracefs::find();
        let permission = match &found {
            Ok(found) => may_write(found),
            Err(error) => Err(error.to_string()),
        };
        let state = match &found {
            Ok(found) if mount::descriptor(found.root()).is_some() => {
                Ok("not mounted; each process that needs it mounts it for itself".to_owned())
            }
            Ok(found) => Ok(found.root().display().to_string()),
            // tracefs exists, though it is not accessible.
            Err(Error::Permission { path } | Error::Refused { path, .. }) => Ok(path.display().to_string()),
            Err(error) => Err(error.to_string()),
        };
        points.push(Point { name: "tracefs", state });
        points.push(Point { name: "permission", state: permission });
        if let Ok(found) = found {
            let file = |name: &'static str, what: &str| Point { name, state: exists(&found.path(what)) };
            points.push(file("instances", "instances"));
            points.push(Point { name: "x86-tsc", state: tsc(&found) });
            points.push(Point { name: "events", state: events(&found) });
            points.push(file("set_event_pid", "set_event_pid"));
            points.push(file("event-fork", "options/event-fork"));
            points.push(file("set_event_notrace_pid", "set_event_notrace_pid"));
            let size = tracefs::read(&found.path("buffer_size_kb"));
            points.push(Point {
                name: "buffer_size_kb",
                state: size.map(|kb| format!("{kb} KiB per CPU by default")).map_err(|error| error.to_string()),
            });
        }
        Support { points }
    }

    /// Returns the reason why sessions are not possible; `None` if they are.
    pub fn obstacle(&self) -> Option<&str> {
        const NEEDED: [&str; 5] = ["pid namespace", "tracefs", "permission", "instances", "events"];
        self.points
            .iter()
            .filter(|point| NEEDED.contains(&point.name))
            .find_map(|point| point.state.as_ref().err().map(String::as_str))
    }

    /// Whether a feature is available.
    pub fn has(&self, name: &str) -> bool {
        self.points.iter().any(|point| point.name == name && point.state.is_ok())
    }
}

/// Checks whether the kernel's time stamps can be those of the processor's counter: the tracer must offer it, and the
/// kernel must accept it as a clock.
pub fn tsc(found: &Tracefs) -> Result<String, String> {
    let clocks = tracefs::read(&found.path("trace_clock")).map_err(|error| error.to_string())?;
    let sources = "/sys/devices/system/clocksource/clocksource0";
    let source = |file: &str| fs::read_to_string(format!("{sources}/{file}")).unwrap_or_default().trim().to_owned();
    let flags = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    sound_tsc(&clocks, &source("available_clocksource"), &flags)?;
    Ok(format!("the kernel's own clock is {}", source("current_clocksource")))
}

fn sound_tsc(clocks: &str, sources: &str, cpuinfo: &str) -> Result<(), String> {
    if !clocks.split_whitespace().any(|clock| clock.trim_matches(['[', ']']) == "x86-tsc") {
        return Err("the kernel's tracer does not offer x86-tsc".to_owned());
    }
    // The kernel removes a counter that it found unstable from this list.
    if !sources.split_whitespace().any(|source| source == "tsc") {
        return Err(format!("the kernel does not trust the counter; it has {}", sources.trim()));
    }
    let flags = cpuinfo.lines().find(|line| line.starts_with("flags")).unwrap_or_default();
    match ["constant_tsc", "nonstop_tsc"].iter().find(|flag| !flags.split_whitespace().any(|has| has == **flag)) {
        Some(flag) => Err(format!("the processor does not promise {flag}")),
        None => Ok(()),
    }
}

/// Checks whether this process is in the machine's initial PID namespace (pid_namespaces(7)). The kernel's tracer uses
/// the process ids of that namespace.
///
/// # Errors
/// [`Error::Numbers`].
pub fn own_pids() -> Result<(), Error> {
    /// The kernel's constant PROC_PID_INIT_INO.
    const OF_THE_MACHINE: &str = "pid:[4026531836]";
    match fs::read_link("/proc/self/ns/pid") {
        Ok(own) if own != Path::new(OF_THE_MACHINE) => Err(Error::Numbers),
        _ => Ok(()),
    }
}

/// Returns the active mode of lockdown, such as `integrity`; `None` if there is none or it cannot be read.
pub fn lockdown() -> Option<String> {
    let text = fs::read_to_string("/sys/kernel/security/lockdown").ok()?;
    let mode = text.split_once('[')?.1.split_once(']')?.0;
    (mode != "none").then(|| mode.to_owned())
}

fn lockdown_state() -> Result<String, String> {
    match lockdown().as_deref() {
        None => Ok("none that is seen".to_owned()),
        // Mode integrity protects the kernel from changes; mode confidentiality also closes tracefs.
        Some("confidentiality") => Err("lockdown=confidentiality closes tracefs".to_owned()),
        Some(mode) => Ok(mode.to_owned()),
    }
}

fn may_write(found: &Tracefs) -> Result<String, String> {
    // Opening a file of tracefs for writing changes nothing; for tracing_on, open has no effect at all.
    let path = found.path("tracing_on");
    match OpenOptions::new().write(true).open(&path) {
        Ok(_) => Ok("files can be written".to_owned()),
        Err(source) => Err(Error::file("write", &path, source).to_string()),
    }
}

fn exists(path: &Path) -> Result<String, String> {
    match path.exists() {
        true => Ok("there".to_owned()),
        false => Err(format!("this kernel has no {}", path.display())),
    }
}

fn events(found: &Tracefs) -> Result<String, String> {
    let list = tracefs::read(&found.path("available_events")).map_err(|error| error.to_string())?;
    match list.lines().count() {
        0 => Err("this kernel has no events".to_owned()),
        count => Ok(format!("{count}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_counter_is_usable_if_tracer_kernel_and_processor_agree() {
        let (clocks, sources) = ("[local] global x86-tsc", "tsc kvm-clock");
        let flags = "processor : 0\nflags\t\t: fpu constant_tsc nonstop_tsc\n";
        assert_eq!(sound_tsc(clocks, sources, flags), Ok(()));
        for (clocks, sources, flags, why) in [
            ("[local] global", sources, flags, "does not offer"),
            (clocks, "kvm-clock", flags, "does not trust"),
            (clocks, sources, "flags : fpu constant_tsc", "nonstop_tsc"),
            (clocks, sources, "flags : nonstop_tsc", "constant_tsc"),
        ] {
            assert!(sound_tsc(clocks, sources, flags).expect_err("unsound").contains(why), "{why}");
        }
    }

    #[test]
    fn a_missing_required_feature_is_the_obstacle() {
        let point =
            |name, state: Result<&str, &str>| Point { name, state: state.map(str::to_owned).map_err(str::to_owned) };
        let support = Support { points: vec![point("tracefs", Ok("/t")), point("x86-tsc", Err("no"))] };
        assert_eq!(support.obstacle(), None);
        assert!(support.has("tracefs") && !support.has("x86-tsc") && !support.has("instances"));
        let support = Support { points: vec![point("tracefs", Err("not mounted")), point("events", Err("none"))] };
        assert_eq!(support.obstacle(), Some("not mounted"));
    }

    #[test]
    fn the_first_four_features_are_reported_on_any_machine() {
        let names: Vec<&str> = Support::look().points.iter().map(|point| point.name).collect();
        assert_eq!(names[..4], ["lockdown", "pid namespace", "tracefs", "permission"]);
    }
}
