//! Returns Rust source without what is not code: comments, strings, and items that are compiled only for tests. Line
//! numbers are preserved.
//!
//! A scanner of characters, not a parser: it recognises the ends of comments and literals and the nesting of braces,
//! which suffices for the rules.

use super::tree::Tree;

/// Returns the text with every comment and the contents of every literal replaced by blanks.
pub fn code(text: &str) -> String {
    let characters: Vec<char> = text.chars().collect();
    let mut code = String::with_capacity(text.len());
    let mut at = 0;
    while at < characters.len() {
        let end = token_end(&characters, at);
        let masked = end > at + 1 || characters[at] == '"';
        code.extend(characters[at..end].iter().map(|&c| if masked && c != '\n' { ' ' } else { c }));
        at = end;
    }
    code
}

/// Returns the end of the comment or literal that starts here, or the next position if none does.
fn token_end(text: &[char], at: usize) -> usize {
    let word_before = at > 0 && is_word(text[at - 1]);
    match (text[at], text.get(at + 1)) {
        ('/', Some('/')) => text[at..].iter().position(|&c| c == '\n').map_or(text.len(), |length| at + length),
        ('/', Some('*')) => block_comment_end(text, at),
        ('"', _) => quoted_end(text, at + 1, '"'),
        ('b' | 'c', Some('"')) if !word_before => quoted_end(text, at + 2, '"'),
        ('r', Some('"' | '#')) if !word_before => raw_string_end(text, at + 1).unwrap_or(at + 1),
        ('b' | 'c', Some('r')) if !word_before => raw_string_end(text, at + 2).unwrap_or(at + 1),
        // A lifetime has no closing quote after its first character.
        ('\'', Some('\\')) => quoted_end(text, at + 1, '\''),
        ('\'', Some(_)) if text.get(at + 2) == Some(&'\'') => at + 3,
        _ => at + 1,
    }
}

fn block_comment_end(text: &[char], start: usize) -> usize {
    let (mut at, mut depth) = (start, 0);
    while at + 1 < text.len() {
        match (text[at], text[at + 1]) {
            ('/', '*') => (at, depth) = (at + 2, depth + 1),
            ('*', '/') => (at, depth) = (at + 2, depth - 1),
            _ => at += 1,
        }
        if depth == 0 {
            return at;
        }
    }
    text.len()
}

fn quoted_end(text: &[char], mut at: usize, quote: char) -> usize {
    while at < text.len() {
        match text[at] {
            '\\' => at += 2,
            c if c == quote => return at + 1,
            _ => at += 1,
        }
    }
    text.len()
}

/// `at` is after the `r`. Returns `None` for a raw identifier.
fn raw_string_end(text: &[char], at: usize) -> Option<usize> {
    let hashes = text[at..].iter().take_while(|&&c| c == '#').count();
    if text.get(at + hashes) != Some(&'"') {
        return None;
    }
    let mut close = vec!['"'];
    close.extend(std::iter::repeat_n('#', hashes));
    let inside = at + hashes + 1;
    let length = text[inside..].windows(close.len()).position(|window| window == close);
    Some(length.map_or(text.len(), |length| inside + length + close.len()))
}

/// Returns [`code`] without the items under `#[cfg(test)]`.
pub fn product_code(text: &str) -> String {
    let mut code = code(text);
    const MARK: &str = "#[cfg(test)]";
    while let Some(start) = code.find(MARK) {
        let behind = start + MARK.len();
        let end = behind + item_length(&code[behind..]);
        let blank: String = code[start..end].chars().map(|c| if c == '\n' { '\n' } else { ' ' }).collect();
        code.replace_range(start..end, &blank);
    }
    code
}

/// Returns the length in bytes of the item at the start of `code`: up to its `;`, or to the end of its first block.
fn item_length(code: &str) -> usize {
    let mut depth = 0;
    for (at, character) in code.char_indices() {
        match character {
            '{' | '(' | '[' => depth += 1,
            '}' | ')' | ']' => depth -= 1,
            _ => {}
        }
        if depth == 0 && (character == '}' || character == ';') {
            return at + 1;
        }
    }
    code.len()
}

/// Returns every occurrence of a word in code, as line numbers from 1.
pub fn lines_with_word<'a>(code: &'a str, word: &'a str) -> impl Iterator<Item = usize> + 'a {
    code.lines().enumerate().flat_map(move |(index, line)| {
        line.match_indices(word).filter(move |(at, _)| is_whole_word(line, *at, word)).map(move |_| index + 1)
    })
}

fn is_whole_word(line: &str, at: usize, word: &str) -> bool {
    let before = line[..at].chars().next_back();
    let after = line[at + word.len()..].chars().next();
    !before.is_some_and(is_word) && !after.is_some_and(is_word)
}

fn is_word(character: char) -> bool {
    character.is_alphanumeric() || character == '_'
}

/// Returns the modules that a file declares: line from 1, whether public, and name.
pub fn modules(code: &str) -> Vec<(usize, bool, String)> {
    let mut modules = Vec::new();
    for (index, line) in code.lines().enumerate() {
        let line = line.trim();
        let (public, rest) = match line.strip_prefix("pub ") {
            Some(rest) => (true, rest),
            None => (false, line.strip_prefix("pub(crate) ").unwrap_or(line)),
        };
        if let Some(name) = rest.strip_prefix("mod ").and_then(|rest| rest.strip_suffix(';')) {
            modules.push((index + 1, public, name.trim().to_owned()));
        }
    }
    modules
}

/// Whether a path (a file, or a folder with `/`) is compiled only for tests: files named `tests.rs`, folders named
/// `tests`, and modules declared by `#[cfg(test)] mod name;`.
pub fn test_only(tree: &Tree, path: &str) -> bool {
    if path.ends_with("/tests.rs") || path.contains("/tests/") {
        return true;
    }
    let Some((folder, name)) = path.rsplit_once('/') else { return false };
    let stem = name.trim_end_matches(".rs");
    let parents =
        [format!("{folder}/lib.rs"), format!("{folder}/main.rs"), format!("{folder}/mod.rs"), format!("{folder}.rs")];
    parents.iter().filter_map(|parent| tree.text(parent)).any(|text| {
        let declares = |code: &str| modules(code).iter().any(|(_, _, name)| name == stem);
        declares(&code(text)) && !declares(&product_code(text))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_literals_are_no_code() {
        for (text, expected) in [
            ("a // unsafe\nb", "a          \nb"),
            ("a /* x /* y */ z */ b", "a                   b"),
            (r#"f("un\"safe") g"#, r#"f(          ) g"#),
            (r##"f(r#"a"b"#) g"##, "f(        ) g"),
            ("f(b\"x\", c\"y\")", "f(    ,     )"),
            ("f('\"', '\\'') \"x\"", "f(   ,     )    "),
            ("fn f<'a>(x: &'a str) {}", "fn f<'a>(x: &'a str) {}"),
            ("let r#type = 1;", "let r#type = 1;"),
            ("bar\"x\"", "bar   "),
        ] {
            assert_eq!(code(text), expected, "{text}");
        }
    }

    #[test]
    fn what_only_tests_see_is_not_in_the_product() {
        let text =
            "fn a() {}\n#[cfg(test)]\nmod tests {\n    fn b() { if x { y(); } }\n}\nfn c() {}\n#[cfg(test)]\nuse d;\n";
        let product = product_code(text);
        assert_eq!(product.lines().count(), text.lines().count());
        for (word, expected) in [("a", 1), ("b", 0), ("c", 1), ("d", 0)] {
            assert_eq!(lines_with_word(&product, word).count(), expected, "{word}");
        }
    }

    #[test]
    fn a_word_is_a_whole_word() {
        let lines: Vec<usize> = lines_with_word("unsafe_code\nunsafe {}\n(unsafe)unsafe", "unsafe").collect();
        assert_eq!(lines, [2, 3, 3]);
    }

    #[test]
    fn modules_for_tests_are_known_by_their_declaration() {
        let tree = Tree::from([
            ("c/src/lib.rs", "mod a;\n#[cfg(test)]\nmod testing;\n"),
            ("c/src/a.rs", "#[cfg(test)]\nmod helper;\n"),
        ]);
        for (path, expected) in [
            ("c/src/a.rs", false),
            ("c/src/testing.rs", true),
            ("c/src/a/helper.rs", true),
            ("c/src/a/tests.rs", true),
            ("c/tests/whole.rs", true),
            ("c/src/lib.rs", false),
        ] {
            assert_eq!(test_only(&tree, path), expected, "{path}");
        }
    }
}
