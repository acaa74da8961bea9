//! `language`: comments and documents name the actor and use the field's nouns. Called by `tidy`; it judges words, never
//! grammar, and only in the folders that have been rewritten so far.

use super::Finding;
use super::tree::Tree;

/// The files and folders to which the rule applies. Extend the list when a further folder has been rewritten.
const PLACES: [&str; 26] = [
    "ARCHITECTURE.md",
    "README.md",
    "crates/headwater/",
    "crates/report/",
    "crates/results/",
    "crates/trace-tools/",
    "docs/comparing.md",
    "docs/decisions/0001",
    "docs/decisions/0002",
    "docs/decisions/0003",
    "docs/decisions/0004",
    "docs/decisions/0006",
    "docs/decisions/0007",
    "docs/decisions/0008",
    "docs/decisions/0010",
    "docs/decisions/0014",
    "docs/external-transports.md",
    "docs/glossary.md",
    "docs/howto/",
    "docs/lmbench.md",
    "docs/netperf.md",
    "docs/published.md",
    "docs/tracing.md",
    "docs/use.md",
    "examples/",
    "xtask/",
];

/// Words that hide who acts, and metaphors, each with the remedy.
const WORDS: [(&str, &str); 17] = [
    ("anybody", "name the process, thread, user or program"),
    ("chore", "write task or command"),
    ("chores", "write tasks or commands"),
    ("everybody", "name the processes, threads, users or programs"),
    ("everyone", "name the processes, threads, users or programs"),
    ("goes on", "write continues"),
    ("he", "name the process, thread, user or program"),
    ("him", "name the process, thread, user or program"),
    ("his", "name the process, thread, user or program"),
    ("house", "write project, architecture or structure"),
    ("news", "write notification or message"),
    ("nobody", "say which process, thread, user or program does not"),
    ("rooms", "write components"),
    ("says of itself", "write reports or describes"),
    ("somebody", "name the process, thread, user or program"),
    ("whoever", "name the process, thread, user or program"),
    ("those who", "name the processes, threads, users or programs"),
];

/// Files that name the words in order to refuse them. CONTRIBUTING.md does too, and is not among [`PLACES`].
const EXEMPT: [&str; 1] = ["xtask/src/tidy/language.rs"];

/// No comment and no document contains a word of [`WORDS`], and no comment begins with `Who`.
pub fn check(tree: &Tree) -> Vec<Finding> {
    let mut found = Vec::new();
    let judged =
        tree.files().filter(|(path, _)| PLACES.iter().any(|place| path.starts_with(place)) && !EXEMPT.contains(path));
    for (path, text) in judged {
        for (line, prose) in prose(path, text) {
            let words: Vec<String> = prose.split(|c: char| !c.is_alphanumeric()).map(str::to_lowercase).collect();
            let spaced = format!(" {} ", words.join(" "));
            for (word, remedy) in WORDS.iter().filter(|(word, _)| spaced.contains(&format!(" {word} "))) {
                found.push(Finding::at(path, line, format!("\"{word}\": {remedy}")));
            }
            if path.ends_with(".rs") && prose.starts_with("Who ") {
                found.push(Finding::at(path, line, "\"Who\": begin with what the item is or does"));
            }
        }
    }
    found
}

/// The lines of prose with their numbers: comments of Rust source, and Markdown outside code.
fn prose<'a>(path: &str, text: &'a str) -> Vec<(usize, &'a str)> {
    let lines = text.lines().enumerate().map(|(index, line)| (index + 1, line));
    if path.ends_with(".md") {
        let mut fenced = false;
        return lines
            .filter(|(_, line)| {
                let is_fence = line.trim_start().starts_with("```");
                fenced ^= is_fence;
                !fenced && !is_fence
            })
            .collect();
    }
    if !path.ends_with(".rs") {
        return Vec::new();
    }
    lines
        .filter_map(|(line, text)| {
            let comment = text.trim_start().strip_prefix("//")?;
            Some((line, comment.trim_start_matches(['/', '!']).trim_start()))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_documents_name_the_actor() {
        for (path, text, lines) in [
            ("xtask/src/a.rs", "//! What a thread does when he waits.\n", vec![1]),
            ("xtask/src/a.rs", "/// Who waits.\nfn wait() {}\n", vec![1]),
            ("xtask/src/a.rs", "fn f() {\n    // For those who wait.\n}\n", vec![2]),
            ("xtask/src/a.rs", "let text = \"somebody\"; // the value\n", vec![]),
            ("xtask/src/a.rs", "/// A reader that waits for room. The theme.\n", vec![]),
            ("docs/howto/a.md", "Nobody reads it.\n\n```\nnobody 65534\n```\n", vec![1]),
            ("examples/a.rs", "// The run goes on.\n", vec![1]),
            ("docs/other.md", "Nobody reads it.\n", vec![]),
            ("crates/report/a.txt", "somebody\n", vec![]),
        ] {
            let found: Vec<usize> = check(&Tree::from([(path, text)])).iter().map(|found| found.line).collect();
            assert_eq!(found, lines, "{path} {text:?}");
        }
    }
}
