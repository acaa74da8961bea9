//! `cargo xtask crosscheck-netperf`: checks whether the figures of suite `netperf` agree with those of netperf itself.
//! A launch of Headwater and a call of netperf on the same CPUs form a pair. Every block runs every pair once, with
//! rows and sides in random order, and a row is judged by the ratios within its pairs, so that drift of the machine
//! cancels. The output of netperf is read by `import netperf`. Run it by hand, on an idle machine that has netperf 2.7;
//! the traffic stays on loopback.

use std::fs;
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use headwater::import::{self, Options as ImportOptions};
use headwater_gauge::harness::conduct::Measured;
use headwater_gauge::suites::{self, Axes};
use headwater_results::schema::{Placement, Row};

use crate::crosscheck::pairs::{self, Line, Pairs, alternately, job, launch, parse_cpus};
use crate::shell;

/// Minimum warm-up of a launch of Headwater in s, as in the suite.
const WARM_UP_S: f64 = 0.05;

/// Time limit for netserver to begin listening.
const START: Duration = Duration::from_secs(5);

/// The socket buffer size that rows of `udp` request.
const SOCKET_BYTES: &str = "131071";

/// The settings of the measurement.
#[derive(Debug, clap::Args)]
pub struct Options {
    /// Blocks: pairs of each row
    #[arg(long, default_value_t = 7)]
    blocks: u32,
    /// Measured time per launch of ours, ms; a call of netperf takes a second
    #[arg(long, default_value_t = 400)]
    time_ms: u32,
    /// The CPUs of the sender and of the receiver, such as 0,0 for one CPU
    #[arg(long, value_name = "FIRST,SECOND", default_value = "0,1")]
    cpus: String,
    /// The port of netserver, on 127.0.0.1
    #[arg(long, default_value_t = 12_966)]
    port: u16,
    /// Seed of the order
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Rows, or the beginnings of their names, such as udp/rtt; all by default
    rows: Vec<String>,
}

/// Builds Headwater, measures both sides alternately and prints the ratios.
pub fn run(options: &Options) -> Result<()> {
    let cpus = parse_cpus(&options.cpus)?;
    let version = installed()?;
    let headwater = shell::release_build()?;
    let rows = rows(cpus, &options.rows)?;
    let scratch = std::env::temp_dir().join(format!("crosscheck-{}", std::process::id()));
    fs::create_dir_all(&scratch).with_context(|| scratch.display().to_string())?;
    let server = Server::start(cpus.1, options.port)?;

    let times_s = (f64::from(options.time_ms) / 1e3, WARM_UP_S);
    let ours = |index: usize, block| {
        let row: &Row = &rows[index];
        own_figures(&launch(&headwater, &job(row, times_s, Some(cpus), &scratch, block))?, row)
    };
    let turns = (options.blocks, options.seed);
    let figures = alternately(turns, rows.len(), ours, |index| netperf(&rows[index], cpus.0, options.port));
    drop(server);
    fs::remove_dir_all(&scratch).with_context(|| scratch.display().to_string())?;
    println!("{version}, CPUs {}:\n", options.cpus);
    print!("{}", table(&rows, &figures));
    Ok(())
}

/// Returns the version of the installed netperf.
fn installed() -> Result<String> {
    let version = Command::new("netperf").arg("-V").stdin(Stdio::null()).output();
    let found = |program: &str| Command::new(program).arg("-V").stdin(Stdio::null()).output().is_ok();
    match version {
        Ok(output) if found("netserver") && found("taskset") => {
            let text = String::from_utf8_lossy(&output.stdout);
            Ok(text.lines().next().unwrap_or_default().trim().to_owned())
        }
        _ => bail!(
            "netperf, netserver or taskset is missing. Debian and Ubuntu have netperf in their section non-free (multiverse): \
             add it to the sources, then `apt-get install netperf util-linux`. Elsewhere build release 2.7.0 of \
             github.com/HewlettPackard/netperf. Nothing of it is needed but these programs"
        ),
    }
}

/// A netserver that is ended on drop.
struct Server(Child);

impl Server {
    fn start(cpu: u32, port: u16) -> Result<Server> {
        ensure!(TcpStream::connect(("127.0.0.1", port)).is_err(), "port {port} is in use: choose another by --port");
        let mut command = Command::new("taskset");
        command.args(["-c", &cpu.to_string(), "netserver", "-D", "-4", "-L", "127.0.0.1", "-p", &port.to_string()]);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let server = Server(command.spawn().context("cannot start netserver")?);
        let started = Instant::now();
        while TcpStream::connect(("127.0.0.1", port)).is_err() {
            ensure!(started.elapsed() < START, "netserver does not listen on port {port}");
            std::thread::sleep(Duration::from_millis(20));
        }
        Ok(server)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // An error means that the server has ended already.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Returns the selected rows of the suite.
fn rows(cpus: (u32, u32), wanted: &[String]) -> Result<Vec<Row>> {
    let suite = suites::find("netperf").context("there is no suite netperf")?;
    let placement = if cpus.0 == cpus.1 { Placement::SameCpu } else { Placement::TwoCpus };
    let rows = (suite.rows)(&Axes { sizes: None, placements: &[placement], externals: &[] });
    let is_wanted = |row: &Row| wanted.is_empty() || wanted.iter().any(|wanted| row.id.starts_with(wanted));
    let rows: Vec<Row> = rows.into_iter().filter(is_wanted).collect();
    ensure!(!rows.is_empty(), "suite netperf has no such row");
    Ok(rows)
}

/// Returns the compared metrics of a row; the loss of a flood follows from its rates.
fn compared(row: &Row) -> impl Iterator<Item = &str> {
    row.metrics.iter().map(|metric| metric.name.as_str()).filter(|name| *name != "loss")
}

/// Returns the figures of a launch of Headwater.
fn own_figures(measured: &Measured, row: &Row) -> Result<Vec<f64>> {
    compared(row).map(|name| pairs::figure(measured, name)).collect()
}

/// Returns netperf's test and its own arguments for a row.
fn arguments(row: &Row) -> Result<(&'static str, Vec<String>)> {
    let size = row.size_bytes.context("a row of messages has a size")?;
    let buffers = ["-s", SOCKET_BYTES, "-S", SOCKET_BYTES];
    let (test, options): (_, &[&str]) = match (row.subject.as_str(), row.pattern.as_str()) {
        ("udp-unconnected", "flood") => ("UDP_STREAM", &buffers),
        ("udp", "flood") => ("UDP_STREAM", &["-s", SOCKET_BYTES, "-S", SOCKET_BYTES, "-n"]),
        ("udp-unconnected", "rtt") => ("UDP_RR", &buffers),
        ("udp", "rtt") => ("UDP_RR", &["-s", SOCKET_BYTES, "-S", SOCKET_BYTES, "-n"]),
        ("tcp-nagle", "stream-full") => ("TCP_STREAM", &[]),
        ("tcp", "stream-full") => ("TCP_STREAM", &["-D"]),
        ("tcp", "rtt") => ("TCP_RR", &["-D"]),
        _ => bail!("no test of netperf is {}", row.id),
    };
    let sizes = if row.pattern == "rtt" {
        ["-r".to_owned(), format!("{size},{size}")]
    } else {
        ["-m".into(), size.to_string()]
    };
    Ok((test, sizes.into_iter().chain(options.iter().map(|&option| option.to_owned())).collect()))
}

/// Returns the figures of a call of netperf, by the import.
fn netperf(row: &Row, cpu: u32, port: u16) -> Result<Vec<f64>> {
    let (test, own) = arguments(row)?;
    let mut command = shell::command("taskset");
    command.args(["-c", &cpu.to_string(), "netperf", "-4", "-H", "127.0.0.1", "-p", &port.to_string(), "-l", "1"]);
    command.args(["-t", test, "--"]).args(own).args(["-k", "all"]);
    figures_of(shell::output(&mut command)?, row)
}

/// Returns the figures in netperf's output for a row.
fn figures_of(text: String, row: &Row) -> Result<Vec<f64>> {
    let format = import::find("netperf").context("there is no import of netperf")?;
    let imported = format.import(&[("netperf".to_owned(), text)], &ImportOptions::default())?;
    let [(found, launches)] = &imported.rows[..] else { bail!("netperf gave {} rows", imported.rows.len()) };
    ensure!(
        (found.size_bytes, &found.pattern) == (row.size_bytes, &row.pattern),
        "netperf measured {}, where {} was meant",
        found.id,
        row.id
    );
    let value = |name: &str| {
        let at = found.metrics.iter().position(|metric| metric.name == name)?;
        launches.first()?.values.get(at).copied().flatten()
    };
    compared(row).map(|name| value(name).with_context(|| format!("netperf: no {name}"))).collect()
}

/// Returns the table of all compared metrics, followed by the result.
fn table(rows: &[Row], figures: &[Pairs<Vec<f64>>]) -> String {
    let of_row = |(row, figures): (&Row, &Pairs<Vec<f64>>)| -> Vec<Line> {
        let name = row.id.rsplit_once('/').map_or(row.id.as_str(), |(name, _)| name);
        if figures.missing.is_some() {
            let pairs = Pairs { missing: figures.missing.clone(), ..Pairs::default() };
            return vec![Line { name: name.to_owned(), pairs, ..Line::default() }];
        }
        let line = |(at, metric): (usize, &str)| {
            let of = |side: &[Vec<f64>]| side.iter().map(|values| values[at]).collect();
            let unit = row.metrics.iter().find(|known| known.name == metric).map_or("", |metric| &metric.unit);
            let pairs = Pairs { ours: of(&figures.ours), theirs: of(&figures.theirs), missing: None };
            Line { name: format!("{name}: {metric}"), unit: unit.to_owned(), pairs, cause: None }
        };
        compared(row).enumerate().map(line).collect()
    };
    let lines: Vec<Line> = rows.iter().zip(figures).flat_map(of_row).collect();
    pairs::table("netperf", &lines)
}

#[cfg(test)]
mod tests;
