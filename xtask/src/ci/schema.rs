//! Checks whether a run's files follow the published schemas, by an independent validator: the Python package
//! `jsonschema`. (A validator in Rust would add 40 crates to the build of the tests.)

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

use crate::{docs, shell};

/// Validates every line of argv[3] by the schema argv[1], and the document argv[4] by argv[2].
const VALIDATE: &str = r#"
import json, sys
from jsonschema import Draft202012Validator

def read(path):
    with open(path) as file:
        return json.load(file)

def validator(path):
    Draft202012Validator.check_schema(read(path))
    return Draft202012Validator(read(path))

def check(validator, value, place):
    errors = list(validator.iter_errors(value))
    for error in errors:
        print(f"{place}: {error.json_path}: {error.message[:300]}", file=sys.stderr)
    return bool(errors)

event, run = validator(sys.argv[1]), validator(sys.argv[2])
with open(sys.argv[3]) as lines:
    wrong = [check(event, json.loads(line), f"run.jsonl:{number}") for number, line in enumerate(lines, 1)]
wrong.append(check(run, read(sys.argv[4]), "run.json"))
print(f"  {len(wrong) - 1} events and the document follow their schemas")
sys.exit(any(wrong))
"#;

/// Validates the files of the run in `output`.
///
/// # Errors
/// If one does not follow its schema, or there is neither `jsonschema` nor a way to install it.
pub fn validate(output: &Path) -> Result<()> {
    let python = python()?;
    let mut command = shell::command(&python);
    command.args(["-c", VALIDATE, &docs::event_schema_path(), &docs::run_schema_path()]);
    command.arg(output.join("run.jsonl")).arg(output.join("run.json"));
    shell::run(&mut command).context("the published schemas")
}

/// A Python that has `jsonschema`: the machine's own, or one in target/ that is made once.
fn python() -> Result<String> {
    const IMPORT: [&str; 2] = ["-c", "from jsonschema import Draft202012Validator"];
    let has_jsonschema =
        |python: &str| shell::command(python).args(IMPORT).output().is_ok_and(|output| output.status.success());
    if has_jsonschema("python3") {
        return Ok("python3".into());
    }
    let place = shell::target_directory().join("ci-python");
    let own = place.join("bin/python").to_string_lossy().into_owned();
    if !has_jsonschema(&own) {
        fs::create_dir_all(&place).with_context(|| place.display().to_string())?;
        shell::run(shell::command("python3").args(["-m", "venv", "--clear"]).arg(&place))
            .context("validating needs python3 with venv (Debian: python3-venv)")?;
        shell::run(shell::command(&own).args(["-m", "pip", "install", "--quiet", "jsonschema>=4.18,<5"]))?;
    }
    Ok(own)
}
