//! `links`: a Markdown link into the repository leads to an existing file.

use super::Finding;
use super::tree::Tree;

/// Checks that every relative target of a link or image is a file or folder of the repository.
pub fn check(tree: &Tree) -> Vec<Finding> {
    let mut found = Vec::new();
    for (path, text) in tree.files_in("", &["md"]) {
        let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
        for (line, target) in targets(text) {
            if let Err(reason) = resolve(tree, folder, target) {
                found.push(Finding::at(path, line, format!("{target}: {reason}")));
            }
        }
    }
    found
}

/// Returns the targets of `[text](target)`, `![image](target)` and `[name]: target` outside code, with their lines.
fn targets(text: &str) -> Vec<(usize, &str)> {
    let mut targets = Vec::new();
    let mut fenced = false;
    for (index, line) in text.lines().enumerate() {
        if line.trim_start().starts_with("```") {
            fenced = !fenced;
        } else if !fenced {
            // The text outside code is every other piece between backquotes.
            for piece in line.split('`').step_by(2) {
                targets.extend(piece.split("](").skip(1).map(|rest| (index + 1, end_at(rest, ')'))));
            }
            let definition = line.trim_start().strip_prefix('[').and_then(|rest| rest.split_once("]: "));
            targets.extend(definition.map(|(_, target)| (index + 1, end_at(target, '\n'))));
        }
    }
    targets
}

/// Returns a target without its title and brackets.
fn end_at(rest: &str, close: char) -> &str {
    let target = rest.split([close, ' ']).next().unwrap_or_default();
    target.trim_start_matches('<').trim_end_matches('>')
}

fn resolve(tree: &Tree, folder: &str, target: &str) -> Result<(), String> {
    let file = target.split('#').next().unwrap_or_default();
    if file.is_empty() || file.contains("://") || file.starts_with("mailto:") {
        return Ok(());
    }
    if file.starts_with('/') {
        return Err("is not relative".into());
    }
    let mut parts: Vec<&str> = folder.split('/').filter(|part| !part.is_empty()).collect();
    for part in file.split('/') {
        match part {
            "" | "." => {}
            ".." if parts.pop().is_none() => return Err("leads out of the repository".into()),
            ".." => {}
            part => parts.push(part),
        }
    }
    let path = parts.join("/");
    if tree.has(&path) { Ok(()) } else { Err(format!("there is no {path}")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn relative_links_lead_to_files() {
        for (link, good) in [
            ("[a](b.md)", true),
            ("[a](b.md#part \"title\")", true),
            ("![a](<../top.md>)", true),
            ("[a](../docs/)", true),
            ("[a](#here) [b](https://example.org/x) [c](mailto:a@example.org)", true),
            ("`[a](none.md)`", true),
            ("```\n[a](none.md)\n```", true),
            ("[a]: b.md", true),
            ("[a](none.md)", false),
            ("`x` [a](none.md) `y`", false),
            ("[a]: none.md", false),
            ("[a](/docs/b.md)", false),
            ("[a](../../b.md)", false),
        ] {
            let tree = Tree::from([("docs/a.md", link), ("docs/b.md", ""), ("top.md", "")]);
            assert_eq!(check(&tree).is_empty(), good, "{link}");
        }
    }

    #[test]
    fn a_violation_names_its_line() {
        let tree = Tree::from([("a.md", "\n\n[x](none/y.md) and [z](a.md)\n")]);
        assert_eq!(check(&tree), [Finding::at("a.md", 3, "none/y.md: there is no none/y.md")]);
    }
}
