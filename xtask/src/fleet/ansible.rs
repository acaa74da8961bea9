//! The playbook of `examples/fleet/ansible` over three hosts that are this machine, and one that cannot be reached.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Result, ensure};

use crate::shell;

/// Two campaigns. The host that cannot be reached does not keep the others from measuring.
pub fn run(place: &Path, programs: &[PathBuf; 2]) -> Result<()> {
    fs::create_dir_all(place)?;
    let [program, archive] = programs;
    // `headwater` looks for `headwater-archive` on PATH.
    let usual = std::env::var_os("PATH").unwrap_or_default();
    let folders = archive.parent().map(Path::to_owned).into_iter().chain(std::env::split_paths(&usual));
    let path = std::env::join_paths(folders)?;
    let local =
        |name: &str| format!("{name} ansible_connection=local headwater_directory={}\n", place.join(name).display());
    // Port 9 of this machine refuses connections.
    let dead =
        "dead ansible_host=127.0.0.1 ansible_port=9 ansible_ssh_common_args='-o ConnectTimeout=2 -o BatchMode=yes'\n";
    fs::write(place.join("inventory"), ["h1", "h2", "h3"].map(local).concat() + dead)?;
    let play = |campaign: &str| -> Result<String> {
        let mut command = shell::command("ansible-playbook");
        command.current_dir(place).env("ANSIBLE_NOCOLOR", "1").env("ANSIBLE_HOME", place.join("home"));
        command.env("PATH", &path).env("HEADWATER_ARCHIVE", super::archive_of(place));
        command
            .arg("--inventory")
            .arg(place.join("inventory"))
            .arg(shell::root().join("examples/fleet/ansible/fleet.yml"));
        for setting in [
            format!("campaign={campaign}"),
            format!("headwater={}", program.display()),
            format!("runs={}", place.join("runs").display()),
            "at_once=1".to_owned(),
        ] {
            command.args(["--extra-vars", &setting]);
        }
        let rows = ["pipe/stream/64", "--placement", "same-cpu", "--time", "20ms", "--launches", "6"];
        command.args(["--extra-vars", &serde_json::json!({ "rows": rows }).to_string()]);
        // It ends with 4 because of the host that cannot be reached.
        let output = command.output()?;
        let text = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
        ensure!(output.status.code() == Some(4), "{}: {text}", output.status);
        Ok(text)
    };
    play("before")?;
    let text = play("after")?;
    println!("{text}");
    for host in ["h1", "h2", "h3"] {
        for campaign in ["before", "after"] {
            ensure!(place.join(format!("runs/{campaign}-{host}/run.json")).exists(), "{host} has no run {campaign}");
        }
    }
    for part in [
        "after against before, the baseline",
        "Missing, without any run: dead.",
        "The replicates are 3 hosts (by node)",
    ] {
        let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
        ensure!(words.replace("\", \"", " ").contains(part), "the report does not say {part:?}");
    }
    ensure!(place.join("runs/fleet.html").exists(), "there is no page");
    let runs = ["after-h1", "after-h2", "after-h3", "before-h1", "before-h2", "before-h3"];
    let headwater = || {
        let mut command = shell::command(&program.display().to_string());
        command.env("PATH", &path).env("HEADWATER_ARCHIVE", super::archive_of(place));
        command
    };
    super::check_archive(headwater, &runs, "The replicates are 3 hosts (by node)")?;
    println!("fleet: ansible ok");
    Ok(())
}
