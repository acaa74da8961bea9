//! `cargo xtask fleet`: runs what `examples/fleet` shows. Two campaigns on a Slurm cluster of this machine alone, a real slurmctld with
//! five nodes, each a slurmd of its own, of which one never starts, one is drained and one dies while it measures; then the
//! playbook over several local hosts, and the check of the manifests. Both add their runs to an archive. Part of `cargo xtask ci --long`.
//!
//! Needs root and Debian's packages slurmctld, slurmd, slurm-client, munge and ansible-core, and Python with venv.

use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};

use crate::{archive, shell};

mod ansible;
mod kubernetes;

/// The parts.
#[derive(Debug, Default, clap::Args)]
pub struct Options {
    /// Only this part: slurm, ansible, kubernetes
    #[arg(long, value_name = "PART", value_parser = ["slurm", "ansible", "kubernetes"])]
    only: Option<String>,
    /// The headwater to run, instead of a release build
    #[arg(long, value_name = "FILE")]
    program: Option<PathBuf>,
}

/// Runs the parts in a directory of the build results.
pub fn run(options: &Options) -> Result<()> {
    let is_wanted = |part: &str| options.only.as_deref().is_none_or(|only| only == part);
    let place = shell::target_directory().join("fleet");
    if place.exists() {
        fs::remove_dir_all(&place)?;
    }
    fs::create_dir_all(&place)?;
    if is_wanted("kubernetes") {
        kubernetes::run(&place)?;
    }
    let program = match &options.program {
        _ if !is_wanted("slurm") && !is_wanted("ansible") => return Ok(()),
        Some(program) => fs::canonicalize(program).with_context(|| program.display().to_string())?,
        None => shell::release_build()?,
    };
    let programs = [program, archive::release_build()?];
    if is_wanted("slurm") {
        slurm(&place.join("slurm"), &programs)?;
    }
    if is_wanted("ansible") {
        ansible::run(&place.join("ansible"), &programs)?;
    }
    Ok(())
}

/// Nodes of the cluster. The last one never starts.
const NODES: [&str; 5] = ["n1", "n2", "n3", "n4", "n5"];

/// Short rows: what the nodes of one machine measure says nothing, and that they all do is the test.
const ROWS: &str = "pipe/stream/64 unix-stream/stream/64 --placement same-cpu --time 100ms --launches 6";

/// The longest time of a campaign. The node that dies is missed after ten seconds, the one that is drained a minute later.
const CAMPAIGN_MAX: Duration = Duration::from_secs(240);

/// The archive of a place, a file.
fn archive_of(place: &Path) -> PathBuf {
    place.join("archive.sqlite")
}

/// Checks that the archive of a place has these runs, told by campaign and node, and that they are compared as those of
/// directories are. `command` returns headwater.
fn check_archive(command: impl Fn() -> Command, runs: &[&str], replicates: &str) -> Result<()> {
    let listed = shell::output(command().args(["archive", "list", "--json"]))?;
    let mut found = Vec::new();
    for line in listed.lines() {
        let run: serde_json::Value = serde_json::from_str(line)?;
        let label = |name: &str| run["labels"][name].as_str().unwrap_or_default().to_owned();
        found.push(format!("{}-{}", label("campaign"), label("node")));
    }
    found.sort();
    ensure!(found == runs, "the archive has {found:?}, and not {runs:?}");
    let compared =
        command().args(["compare", "archive:", "--by", "campaign", "--over", "node", "--fail-on", "never"]).output()?;
    let text = String::from_utf8_lossy(&compared.stdout).split_whitespace().collect::<Vec<_>>().join(" ");
    ensure!(text.contains(replicates), "the comparison of the archive does not say {replicates:?}: {text}");
    Ok(())
}

fn slurm(place: &Path, programs: &[PathBuf; 2]) -> Result<()> {
    let cluster = Cluster::start(place, programs)?;
    let before = cluster.campaign("before", || Ok(()))?;
    // There is nothing to compare yet, and the node without a slurmd is named.
    ensure!(before.contains("nothing to compare") && before.contains("without any run: n5"), "{before}");
    let after = cluster.campaign("after", || {
        // It has launches of both rows, and not all of them.
        cluster.wait("five lines of n3's run", || {
            let text = fs::read_to_string(cluster.runs().join("after-n3/run.jsonl")).unwrap_or_default();
            text.lines().count() >= 5
        })?;
        cluster.slurm("scontrol", &["update", "NodeName=n4", "State=DRAIN", "Reason=fan"])?;
        cluster.kill_node("n3")
    })?;
    println!("{after}");
    let words = after.split_whitespace().collect::<Vec<_>>().join(" ");
    let expected = [
        "after against before, the baseline",
        "Missing, without any run: n5.",
        "Measured on one side only, and so in no row: n4 (before).",
        "The replicates are 3 hosts (by node)",
    ];
    for part in expected {
        ensure!(words.contains(part), "the report does not say {part:?}");
    }
    let runs = |campaign: &str| -> Vec<&str> {
        NODES.into_iter().filter(|node| cluster.runs().join(format!("{campaign}-{node}/run.json")).exists()).collect()
    };
    ensure!(runs("before") == ["n1", "n2", "n3", "n4"], "complete runs before: {:?}", runs("before"));
    ensure!(runs("after") == ["n1", "n2"], "complete runs after: {:?}", runs("after"));
    let page = fs::read_to_string(cluster.runs().join("fleet.html"))?;
    ensure!(page.contains("n4 (before)"), "the page does not name the drained node");
    cluster.one_at_a_time()?;
    // The node that died could not add its run, which has no end: the report's job has done that.
    let runs = ["after-n1", "after-n2", "after-n3", "before-n1", "before-n2", "before-n3", "before-n4"];
    let headwater = || {
        let mut command = cluster.command("headwater");
        command.env("HEADWATER_ARCHIVE", archive_of(place));
        command
    };
    check_archive(headwater, &runs, "The replicates are 3 hosts (by node)")?;
    println!("fleet: slurm ok");
    Ok(())
}

/// A cluster in a directory. Its processes end with it.
struct Cluster {
    place: PathBuf,
    daemons: Vec<(String, Child)>,
}

impl Cluster {
    fn start(place: &Path, programs: &[PathBuf; 2]) -> Result<Cluster> {
        for directory in ["state", "log", "spool", "runs", "bin"] {
            fs::create_dir_all(place.join(directory))?;
        }
        for program in programs {
            let name = program.file_name().context("a program")?;
            std::os::unix::fs::symlink(program, place.join("bin").join(name))?;
        }
        fs::write(place.join("slurm.conf"), configuration(place)?)?;
        let key = place.join("munge.key");
        fs::write(&key, fs::read("/proc/sys/kernel/random/uuid")?)?;
        fs::set_permissions(&key, fs::Permissions::from_mode(0o400))?;
        let mut cluster = Cluster { place: place.to_owned(), daemons: Vec::new() };
        let path = |name: &str| place.join(name).display().to_string();
        let munge = [
            "--foreground".to_owned(),
            "--force".to_owned(),
            format!("--socket={}", path("munge.socket")),
            format!("--key-file={}", path("munge.key")),
            format!("--pid-file={}", path("munge.pid")),
            format!("--log-file={}", path("log/munged")),
            format!("--seed-file={}", path("munge.seed")),
        ];
        cluster.daemon("munged", "munged", &munge.each_ref().map(String::as_str))?;
        cluster.wait("munged", || place.join("munge.socket").exists())?;
        cluster.daemon("slurmctld", "slurmctld", &["-D", "-f", &path("slurm.conf")])?;
        for node in &NODES[..4] {
            cluster.daemon(node, "slurmd", &["-D", "-N", node, "-f", &path("slurm.conf")])?;
        }
        cluster.wait("four idle nodes", || {
            let idle = cluster.slurm("sinfo", &["--noheader", "--Node", "--format=%t"]);
            idle.is_ok_and(|idle| idle.lines().filter(|state| *state == "idle").count() == 4)
        })?;
        Ok(cluster)
    }

    fn runs(&self) -> PathBuf {
        self.place.join("runs")
    }

    /// Starts a daemon whose output goes to a file.
    fn daemon(&mut self, name: &str, program: &str, arguments: &[&str]) -> Result<()> {
        let log = fs::File::create(self.place.join("log").join(format!("{name}.out")))?;
        let mut command = self.command(program);
        command.args(arguments).stdout(log.try_clone()?).stderr(log);
        let child = command
            .spawn()
            .with_context(|| format!("{program}: Debian's packages slurmctld, slurmd and munge have it"))?;
        self.daemons.push((name.to_owned(), child));
        Ok(())
    }

    fn command(&self, program: &str) -> Command {
        let path = std::env::var("PATH").unwrap_or_default();
        let mut command = shell::command(program);
        command
            .current_dir(&self.place)
            .env("SLURM_CONF", self.place.join("slurm.conf"))
            .env("PATH", format!("{}:/usr/sbin:{path}", self.place.join("bin").display()))
            .env_remove("HEADWATER_ARCHIVE")
            .stdin(Stdio::null());
        command
    }

    /// Runs a program of Slurm and returns what it printed.
    fn slurm(&self, program: &str, arguments: &[&str]) -> Result<String> {
        shell::output(self.command(program).args(arguments))
    }

    /// Runs a campaign, with `meanwhile` after it was submitted, and returns its report.
    fn campaign(&self, name: &str, meanwhile: impl Fn() -> Result<()>) -> Result<String> {
        let started = Instant::now();
        let mut submit = self.command("sh");
        submit.arg(shell::root().join("examples/fleet/slurm/fleet.sh")).arg(name);
        submit.env("HEADWATER_RUNS", self.runs()).env("HEADWATER_ROWS", ROWS);
        submit.env("HEADWATER_ARCHIVE", archive_of(&self.place));
        submit.env("HEADWATER_SBATCH", "--licenses=headwater").env("HEADWATER_TIME", "1");
        submit.env("HEADWATER_DEADLINE", "now+3minutes");
        shell::run(&mut submit)?;
        meanwhile()?;
        while !self.slurm("squeue", &["--noheader"])?.trim().is_empty() {
            ensure!(started.elapsed() < CAMPAIGN_MAX, "campaign {name} does not end: {}", self.slurm("squeue", &[])?);
            std::thread::sleep(Duration::from_millis(500));
        }
        println!("fleet: campaign {name}, {:.0} s", started.elapsed().as_secs_f64());
        let report = self.runs().join(format!("report-{name}.txt"));
        fs::read_to_string(&report).with_context(|| report.display().to_string())
    }

    /// Waits for at most half a minute.
    fn wait(&self, what: &str, is_there: impl Fn() -> bool) -> Result<()> {
        let started = Instant::now();
        while !is_there() {
            if started.elapsed() > Duration::from_secs(30) {
                bail!("{what}: not there after 30 s; the logs are in {}", self.place.join("log").display());
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        Ok(())
    }

    /// Kills a node with all that runs on it, as when its power fails.
    fn kill_node(&self, node: &str) -> Result<()> {
        let slurmd = self.daemons.iter().find(|(name, _)| name == node).map(|(_, child)| child.id());
        kill(slurmd.context("a node that was started")?);
        // The processes of its job carry its name.
        let of_node = format!("SLURMD_NODENAME={node}\0").into_bytes();
        let mut of_job = Vec::new();
        for entry in fs::read_dir("/proc")?.flatten() {
            let Ok(process) = entry.file_name().to_string_lossy().parse::<u32>() else { continue };
            let environment = fs::read(entry.path().join("environ")).unwrap_or_default();
            let is_ours =
                fs::read_link(entry.path().join("cwd")).is_ok_and(|directory| directory.starts_with(&self.place));
            if is_ours && environment.windows(of_node.len()).any(|part| part == of_node) {
                of_job.push(process);
            }
        }
        ensure!(!of_job.is_empty(), "{node} has no job");
        of_job.into_iter().for_each(kill);
        Ok(())
    }

    /// Checks that no two nodes measured at the same time, as the license says.
    fn one_at_a_time(&self) -> Result<()> {
        let mut times = Vec::new();
        for entry in fs::read_dir(self.runs())?.flatten() {
            let path = entry.path().join("run.jsonl");
            let Ok(file) = fs::metadata(&path) else { continue };
            times.push((file.created()?, file.modified()?, path));
        }
        times.sort();
        ensure!(times.len() == 7, "seven runs were begun, not {}", times.len());
        for pair in times.windows(2) {
            ensure!(pair[0].1 <= pair[1].0, "{} and {} overlap", pair[0].2.display(), pair[1].2.display());
        }
        Ok(())
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        let _ = self.slurm("scancel", &["--state=RUNNING", "--quiet"]);
        for (_, child) in self.daemons.iter_mut().rev() {
            kill(child.id());
            let _ = child.wait();
        }
    }
}

fn kill(process: u32) {
    let _ = shell::command("kill").args(["-9", &process.to_string()]).stderr(Stdio::null()).status();
}

/// The configuration of a cluster whose nodes are processes of this machine. A license lets one node measure at a time.
fn configuration(place: &Path) -> Result<String> {
    let place = place.display();
    let port = || -> Result<u16> { Ok(TcpListener::bind("127.0.0.1:0")?.local_addr()?.port()) };
    let mut text = format!(
        "ClusterName=fleet
SlurmctldHost=localhost
SlurmctldPort={}
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={place}/munge.socket
CredType=cred/munge
SlurmctldPidFile={place}/slurmctld.pid
SlurmdPidFile={place}/slurmd-%n.pid
SlurmctldLogFile={place}/log/slurmctld
SlurmdLogFile={place}/log/slurmd-%n
StateSaveLocation={place}/state
SlurmdSpoolDir={place}/spool/%n
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/linear
SwitchType=switch/none
MpiDefault=none
SlurmdTimeout=10
KillWait=2
MinJobAge=10
Licenses=headwater:1
SlurmdParameters=config_overrides
PartitionName=all Nodes=n[1-5] Default=YES State=UP MaxTime=60
",
        port()?
    );
    for node in NODES {
        text += &format!("NodeName={node} NodeHostname=localhost NodeAddr=127.0.0.1 Port={} CPUs=2\n", port()?);
    }
    Ok(text)
}
