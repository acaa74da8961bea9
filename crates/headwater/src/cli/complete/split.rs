//! Splits the line that bash passes into words, as bash does where a word is complete. The last word may be unfinished: a
//! quote that is not closed ends with the line.

/// Returns the words; the last one is that at the cursor, empty behind a space.
pub(super) fn words(line: &str) -> Vec<String> {
    let (mut words, mut word, mut quote) = (Vec::new(), None::<String>, None);
    let mut characters = line.chars();
    while let Some(character) = characters.next() {
        match (quote, character) {
            (Some(open), _) if character == open => quote = None,
            (Some('\''), _) => word.get_or_insert_default().push(character),
            (_, '\\') => word.get_or_insert_default().extend(characters.next()),
            (Some(_), _) => word.get_or_insert_default().push(character),
            (None, '\'' | '"') => {
                quote = Some(character);
                word.get_or_insert_default();
            }
            (None, ' ' | '\t' | '\n') => words.extend(word.take()),
            (None, _) => word.get_or_insert_default().push(character),
        }
    }
    words.push(word.unwrap_or_default());
    words
}
