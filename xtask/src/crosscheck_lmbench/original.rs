//! The other side of `cargo xtask crosscheck-lmbench --original`: the programs of LMbench 3 as users install them, for
//! example Debian's package `lmbench` (non-free: `apt-get install lmbench`). A run of a program yields the figure of
//! one row.
//!
//! The arguments are from the manual pages and usage lines, further facts from observing the programs' system calls;
//! nothing here is from the sources. `lat_proc exec` and `shell` execute /var/tmp/lmbench/hello, to which LMbench's own
//! script copies `hello` from the directory of programs: copy it by hand.

use std::fs;
use std::io::Write;
use std::net::TcpListener;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use headwater_gauge::facilities::lmbench::http;
use headwater_results::schema::Row;

use super::{Options, Side, measure, rows_of_suite, table};
use crate::crosscheck::provenance;
use crate::shell;

mod recipe;

use recipe::{Recipe, Server, cause, recipe};

/// The program that `lat_proc` executes.
const HELLO: &str = "/var/tmp/lmbench/hello";

/// The minimum interval that the programs time, in us (lmbench(3)). By default they determine it themselves; on a
/// virtual machine with an uneven clock they choose a second, and then a run of `lat_ctx` takes half a minute.
const INTERVAL_US: &str = "20000";

/// The same for `lat_fs`: in this time it creates about a thousand files, as many as in the published paper on LMbench
/// and in Headwater. With ten times as many, an operation takes up to 1.6 times as long.
const INTERVAL_OF_FILES_US: &str = "2000";

/// Time for a server to bind its port, and for a stopped one to release it.
const SERVER_PAUSE: Duration = Duration::from_millis(150);

/// How often the list of pages is fetched in a run of `lat_http`; a single fetch would be a cold start.
const LISTS: usize = 50;

/// Size in MiB of the file of a row, and bytes per write, as in LMbench's own script.
const FILE_MIB: [(&str, usize); 2] = [("page-fault", 16), ("", 64)];
const WRITE: usize = 8 << 10;

/// Measures the rows that the original programs have; prints the table and the rows that are left out.
pub fn run(options: &Options, programs: &Path) -> Result<()> {
    ensure!(
        programs.join("lat_syscall").is_file(),
        "{} has no lat_syscall: install LMbench 3 (Debian: package lmbench in non-free) and name the directory of its \
         programs",
        programs.display()
    );
    let (compared, left_out): (Vec<Row>, Vec<Row>) = rows_of_suite(&options.rows)?
        .into_iter()
        .filter(|row| row.pattern != "kernel")
        .partition(|row| recipe(&row.subject).is_some());
    let rows: Vec<&Row> = compared.iter().collect();
    ensure!(!rows.is_empty(), "no original program has such a row");
    let figures = measure(options, &rows, |index, scratch| {
        let row = rows[index];
        let recipe = recipe(&row.subject).context("it has been looked for")?;
        Run { options, programs, scratch, row }.figure(&recipe)
    })?;
    println!("{}; LMbench {}, {}\n", provenance::line()?, version(), programs.display());
    print!("{}", table(&Side { name: "original", cause: |row| cause(&row.subject) }, &rows, figures));
    for row in left_out {
        println!("Not compared: {}", row.subject);
    }
    Ok(())
}

/// Returns the version according to the package manager.
fn version() -> String {
    let query = shell::output(shell::command("dpkg-query").args(["-W", "-f", "${Version}", "lmbench"]));
    query.unwrap_or_else(|_| "of unknown version".to_owned())
}

/// A run of an original program for a row.
struct Run<'a> {
    options: &'a Options,
    programs: &'a Path,
    scratch: &'a Path,
    row: &'a Row,
}

impl Run<'_> {
    /// Returns the figure of the row in its unit: the mean over the calls of the recipe.
    fn figure(&self, recipe: &Recipe) -> Result<f64> {
        let file = self.scratch.join("original");
        if recipe.takes_file() {
            make_file(&file, self.file_bytes())?;
        }
        if recipe.program == "lat_proc" && recipe.calls.iter().any(|call| call.contains(&"exec".into())) {
            ensure!(Path::new(HELLO).is_file(), "{HELLO} is missing: copy hello from {}", self.programs.display());
        }
        let mut sum = 0.0;
        for call in &recipe.calls {
            let words: Vec<String> = call.iter().map(|word| word.replace("FILE", &file.to_string_lossy())).collect();
            let printed = match recipe.server {
                Server::None => output(&mut self.measurement(recipe.program, &words))?,
                Server::Http => self.http(recipe.program, &words)?,
                Server::Program => {
                    self.control(recipe.program, &["-s"])?;
                    let printed = output(&mut self.measurement(recipe.program, &words));
                    self.control(recipe.program, &["-S", "localhost"])?;
                    printed?
                }
            };
            let value = recipe.printed.value(&printed);
            sum += value.with_context(|| format!("{} printed {printed:?}", recipe.program))?;
        }
        let mean = sum / recipe.calls.len() as f64;
        // The programs print microseconds and megabytes; round trips are in ns here.
        Ok(if self.row.metrics[0].unit == "ns" && !recipe.prints_ns() { 1e3 * mean } else { mean })
    }

    /// Returns the output of `lat_http` for the pages of the row `http`, all fetched repeatedly.
    fn http(&self, program: &str, words: &[String]) -> Result<String> {
        for (page, bytes) in http::PAGES.iter().enumerate() {
            fs::write(self.scratch.join(format!("page-{page:02}")), vec![0x5a; *bytes])?;
        }
        let list = self.scratch.join("list");
        let pages: String = (0..http::PAGES.len()).map(|page| format!("./page-{page:02}\n")).collect();
        fs::write(&list, pages.repeat(LISTS))?;
        let port = free_port()?.to_string();
        let mut server = self.on_the_cpus("lmhttp");
        // The server writes a log to /var/tmp/lmbench.
        server.arg(&port).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let mut server = server.spawn().with_context(|| format!("{server:?}"))?;
        thread::sleep(SERVER_PAUSE);
        let mut client = self.on_the_cpus(program);
        client.args(words).arg(&port).stdin(fs::File::open(&list)?);
        let printed = output(&mut client);
        // Kill our own child; an error means that it has ended already.
        let _ = server.kill();
        server.wait()?;
        printed
    }

    /// Returns the program's command with its repetitions.
    fn measurement(&self, program: &str, words: &[String]) -> Command {
        let mut command = self.on_the_cpus(program);
        // `mhz` determines its repetitions itself.
        if program != "mhz" {
            command.args(["-N", &self.options.repetitions.to_string()]);
        }
        command.args(words);
        command
    }

    /// Starts or ends a server. A server runs in the background, so it must not inherit a pipe whose end is waited for.
    fn control(&self, program: &str, words: &[&str]) -> Result<()> {
        let mut command = self.on_the_cpus(program);
        command.args(words).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let status = command.status().with_context(|| format!("{command:?}"))?;
        ensure!(status.success(), "{command:?}: {status}");
        thread::sleep(SERVER_PAUSE);
        Ok(())
    }

    /// Returns the command of a program, in the directory for its files and on the selected CPUs.
    fn on_the_cpus(&self, program: &str) -> Command {
        let interval = if program == "lat_fs" { INTERVAL_OF_FILES_US } else { INTERVAL_US };
        let program = self.programs.join(program);
        let mut command = match &self.options.cpus {
            None => shell::command(&program.to_string_lossy()),
            Some(cpus) => {
                let mut command = shell::command("taskset");
                command.args(["-c", cpus]).arg(&program);
                command
            }
        };
        command.current_dir(self.scratch).env("ENOUGH", interval);
        command
    }

    fn file_bytes(&self) -> usize {
        let mib = FILE_MIB.iter().find(|(row, _)| row.is_empty() || self.row.subject == *row);
        mib.map_or(0, |(_, mib)| mib << 20)
    }
}

/// Returns both output streams of a program, because figures are printed to either.
fn output(command: &mut Command) -> Result<String> {
    let Output { status, stdout, stderr } = command.output().with_context(|| format!("{command:?}"))?;
    let text = String::from_utf8_lossy(&stdout).into_owned() + &String::from_utf8_lossy(&stderr);
    ensure!(status.success(), "{command:?}: {status}: {text}");
    Ok(text)
}

/// Returns a free port of this machine: the original program needs a number and does not report one.
fn free_port() -> Result<u16> {
    Ok(TcpListener::bind(("127.0.0.1", 0))?.local_addr()?.port())
}

fn make_file(path: &Path, bytes: usize) -> Result<()> {
    if fs::metadata(path).is_ok_and(|metadata| metadata.len() == bytes as u64) {
        return Ok(());
    }
    let _ = fs::remove_file(path);
    let mut file = fs::File::create_new(path).with_context(|| path.display().to_string())?;
    for _ in 0..bytes / WRITE {
        file.write_all(&[0x5a; WRITE])?;
    }
    Ok(())
}
