//! The manifests of `examples/fleet/kubernetes` against the schema of Kubernetes, by the Python package kubernetes-validate, which
//! carries it. A manifest with a wrong field must be refused.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, ensure};

use crate::shell;

/// The package with the schemas, and the version of Kubernetes.
const PACKAGE: &str = "kubernetes-validate==1.37.0";
const KUBERNETES: &str = "1.37";

pub fn run(place: &Path) -> Result<()> {
    let python = place.join("python");
    shell::run(shell::command("python3").args(["-m", "venv"]).arg(&python))?;
    shell::run(shell::command(&python.join("bin/pip").display().to_string()).args(["install", "--quiet", PACKAGE]))?;
    let validate = python.join("bin/kubernetes-validate");
    let check = |manifest: &Path| {
        let mut command = shell::command(&validate.display().to_string());
        command.args(["--strict", "--kubernetes-version", KUBERNETES]).arg(manifest);
        command
    };
    let mut count = 0;
    for entry in fs::read_dir(shell::root().join("examples/fleet/kubernetes"))? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "yaml") {
            shell::run(&mut check(&path))?;
            let text = fs::read_to_string(&path)?;
            let wrong = place.join("wrong.yaml");
            fs::write(&wrong, text.replacen("containers:", "contaimers:", 1)).context("a manifest")?;
            ensure!(!check(&wrong).output()?.status.success(), "{}: the check takes everything", path.display());
            count += 1;
        }
    }
    ensure!(count == 2, "there are two manifests, not {count}");
    println!("fleet: kubernetes ok, {count} manifests");
    Ok(())
}
