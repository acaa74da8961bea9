//! `language`: comments and documents name the actor and use the field's nouns. Called by `tidy`; it judges words, never
//! grammar.

use super::Finding;
use super::tree::Tree;

/// The files and folders to which the rule applies.
const PLACES: [&str; 9] =
    ["ARCHITECTURE.md", "README.md", "archive/", "crates/", "docs/", "examples/", "experiments/", "web/", "xtask/"];

/// Words that hide who acts, and metaphors, each with the remedy.
const WORDS: [(&str, &str); 27] = [
    ("anybody", "name the process, thread, user or program"),
    ("be he", "write whether or not the process"),
    ("chore", "write task or command"),
    ("chores", "write tasks or commands"),
    ("everybody", "name the processes, threads, users or programs"),
    ("everyone", "name the processes, threads, users or programs"),
    ("for want of", "write for lack of"),
    ("goes on", "write continues"),
    ("he", "name the process, thread, user or program"),
    ("him", "name the process, thread, user or program"),
    ("his", "name the process, thread, user or program"),
    ("house", "write project, architecture or structure"),
    ("in vain", "write without success or without a reason"),
    ("news", "write notification or message"),
    ("nobody", "say which process, thread, user or program does not"),
    ("quick way", "write fast path"),
    ("quick ways", "write fast paths"),
    ("rooms", "write components"),
    ("says of itself", "write reports or describes"),
    ("slow way", "write slow path"),
    ("somebody", "name the process, thread, user or program"),
    ("those who", "name the processes, threads, users or programs"),
    ("who comes", "name the process, thread, user or program"),
    ("who polls", "write a process that polls"),
    ("who sleeps", "write a sleeper"),
    ("who waits", "write a waiter"),
    ("whoever", "name the process, thread, user or program"),
];

/// Files that name the words in order to refuse them (CONTRIBUTING.md does too, and is not among [`PLACES`]), and the built
/// bundle of the page.
const EXEMPT: [&str; 3] = ["xtask/src/tidy/language.rs", "web/dist/page.css", "web/dist/page.js"];

/// The ends of names of source files whose comments are judged.
const SOURCES: [&str; 8] = [".rs", ".ts", ".mjs", ".css", ".c", ".h", ".cpp", ".py"];

/// No comment and no document contains a word of [`WORDS`], and no comment begins with `Who`.
pub fn check(tree: &Tree) -> Vec<Finding> {
    let mut found = Vec::new();
    let judged =
        tree.files().filter(|(path, _)| PLACES.iter().any(|place| path.starts_with(place)) && !EXEMPT.contains(path));
    for (path, text) in judged {
        for (line, prose) in prose(path, text) {
            let words: Vec<String> =
                prose.split(|c: char| !c.is_alphanumeric() && c != '_').map(str::to_lowercase).collect();
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

/// The ends of names of man pages.
const MAN_PAGES: [&str; 4] = [".1", ".3", ".7", ".8"];

/// The lines of prose with their numbers: comments that begin a line of source, and Markdown outside code, and man pages, whose
/// requests have text too.
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
    if MAN_PAGES.iter().any(|end| path.ends_with(end)) {
        return lines.filter(|(_, line)| !line.starts_with(".\\\"")).collect();
    }
    if !SOURCES.iter().any(|end| path.ends_with(end)) {
        return Vec::new();
    }
    let marks: &[&str] = match path.rsplit('.').next() {
        Some("rs") => &["//"],
        Some("py") => &["#", "\"\"\""],
        _ => &["//", "/*", "*"],
    };
    lines
        .filter_map(|(line, text)| {
            let comment = marks.iter().find_map(|mark| text.trim_start().strip_prefix(mark))?;
            Some((line, comment.trim_start_matches(['/', '!', '*']).trim_start()))
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
            ("xtask/src/a.rs", "/// Who reads, as `nobody_waits` shows.\nfn wait() {}\n", vec![1]),
            ("xtask/src/a.rs", "fn f() {\n    // For those who wait.\n}\n", vec![2]),
            ("xtask/src/a.rs", "let text = \"somebody\"; // the value\n", vec![]),
            ("xtask/src/a.rs", "/// A reader that waits for room. The theme.\n", vec![]),
            ("docs/howto/a.md", "Nobody reads it.\n\n```\nnobody 65534\n```\n", vec![1]),
            ("examples/a.rs", "// The run goes on.\n", vec![1]),
            ("docs/other.md", "Opens the quick way.\n", vec![1]),
            ("crates/streams/src/a.rs", "/// Wakes the side, be he asleep.\nfn f() {}\n", vec![1, 1]),
            ("web/src/a.ts", "/** Whoever looks. */\nlet somebody = 1;\n * Who waits.\n", vec![1, 3]),
            ("examples/a.py", "\"\"\"Nobody.\"\"\"\nnobody = 1\n", vec![1]),
            ("crates/a/man/a.3", ".Nd what a process does when he waits\n.\\\" Nobody.\nSomebody reads.\n", vec![1, 3]),
            ("CHANGELOG.md", "Nobody reads it.\n", vec![]),
            ("crates/report/a.txt", "somebody\n", vec![]),
        ] {
            let found: Vec<usize> = check(&Tree::from([(path, text)])).iter().map(|found| found.line).collect();
            assert_eq!(found, lines, "{path} {text:?}");
        }
    }
}
