//! Decides whether the commands that a stored run names are started: by `run --against` and `run --resume`, which call this before
//! they open or start any of them. Nothing else starts what a run names.
//!
//! A run is data that other users may have written: in a directory that they can write to, in an archive, by a copy. So its commands are
//! started at once only if no other user can have written it ([`headwater_os_tools::own_file`]). Else the user must name each of them
//! again, at a terminal; a command that runs unattended names its programs by `--variant` and `--transport-cmd`.

use std::io::{IsTerminal, stdin};

use anyhow::bail;
use headwater_gauge::plan::variants::Variant;
use headwater_report::command_line;
use headwater_results::schema::Settings;

/// The switch that names a command again.
const SWITCH: &str = "--run-program";

/// Returns the commands with which a run is continued, as it has them.
pub fn of_settings(settings: &Settings) -> Vec<String> {
    // What cannot be parsed is refused later, before anything of it is started.
    let starts = |text: &&String| {
        Variant::parse(text)
            .is_ok_and(|variant| variant != Variant { name: variant.name.clone(), ..Variant::default() })
    };
    settings.transport_commands.iter().chain(settings.variants.iter().filter(starts)).cloned().collect()
}

/// Checks that the commands of a run may be started. `what` names the run; `foreign` says why other users may have written it;
/// `named` are the commands that the user has named again.
///
/// # Errors
/// One line with what to type.
pub fn permit(what: &str, foreign: Option<&str>, commands: &[String], named: &[String]) -> anyhow::Result<()> {
    check(what, foreign, commands, named, stdin().is_terminal())
}

fn check(
    what: &str,
    foreign: Option<&str>,
    commands: &[String],
    named: &[String],
    is_at_terminal: bool,
) -> anyhow::Result<()> {
    let Some(foreign) = foreign.filter(|_| !commands.is_empty()) else { return Ok(()) };
    let words = |commands: &mut dyn Iterator<Item = &String>| {
        command_line(&commands.flat_map(|command| [SWITCH.to_owned(), command.clone()]).collect::<Vec<_>>())
    };
    let missing = words(&mut commands.iter().filter(|command| !named.contains(command)));
    if missing.is_empty() && is_at_terminal {
        return Ok(());
    }
    let remedy = if missing.is_empty() {
        "standard input is no terminal, so it is refused".to_owned()
    } else {
        format!("if you trust them, add {missing} at a terminal")
    };
    let listed = commands.iter().map(|command| format!("{command:?}")).collect::<Vec<_>>().join(", ");
    bail!(
        "{what}: the run starts {listed}, and other users may have chosen that: {foreign}; {remedy}; without one, name \
         programs of your own by --variant and --transport-cmd"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_of_others_are_started_only_if_each_is_named_at_a_terminal() {
        let commands = ["/x/headwater".to_owned(), "./peer --fast".to_owned()];
        let said = |foreign, named: &[String], is_at_terminal| {
            check("--against r", foreign, &commands, named, is_at_terminal).err().map(|error| error.to_string())
        };
        assert_eq!(said(None, &[], false), None, "a run of one's own");
        assert!(check("r", Some("why"), &[], &[], false).is_ok(), "a run that starts nothing");
        assert_eq!(said(Some("why"), &commands, true), None);
        let unattended = said(Some("why"), &commands, false).expect("refused");
        assert!(unattended.contains("no terminal") && unattended.contains("--variant"), "{unattended}");
        let unnamed = said(Some("it is of others"), &commands[..1], true).expect("refused");
        assert!(unnamed.contains("add --run-program './peer --fast' at a terminal"), "{unnamed}");
        assert!(unnamed.contains("it is of others") && unnamed.contains("\"/x/headwater\""), "{unnamed}");
        assert!(said(Some("why"), &["/x".to_owned()], true).is_some(), "another path");
    }

    #[test]
    fn a_variant_that_only_sets_a_variable_is_a_command() {
        let settings = |variants: &[&str]| Settings {
            selection: Vec::new(),
            launches: 1,
            time_s: 0.1,
            warm_up_s: 0.0,
            budget_s: None,
            seed: 0,
            placements: Vec::new(),
            transport_commands: vec!["./peer".to_owned()],
            variants: variants.iter().map(|text| (*text).to_owned()).collect(),
        };
        let found = of_settings(&settings(&["plain=", "a=LD_PRELOAD=/x.so", "b=chrt -f 10", "c=/x/headwater"]));
        assert_eq!(found, ["./peer", "a=LD_PRELOAD=/x.so", "b=chrt -f 10", "c=/x/headwater"]);
    }
}
