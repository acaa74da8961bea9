use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use headwater_results::schema::{Run, RunStatus, Standing};
use serde_json::Value;

use super::{PLAIN_MAX, element};
use crate::page::PageOptions;
use crate::page::frame::Page;
use crate::testing::{TestRun, messaging};

fn run(rows: u64) -> Run {
    let mut made = TestRun::new(3);
    for size in 1..=rows {
        made.measure(&messaging("pipe", Standing::Candidate, "flood", size), &[1e6 + size as f64, 2e6, 0.1], 0.3);
    }
    made.run(Some(RunStatus::Complete))
}

/// Returns the document within an element.
fn document(element: &str) -> Value {
    let start = element.find('>').expect("the element begins") + 1;
    let text = element[start..].strip_suffix("</script>").expect("the element ends");
    let json = if element[..start].contains("deflate-raw-base64") {
        let bytes = STANDARD.decode(text).expect("base64");
        String::from_utf8(miniz_oxide::inflate::decompress_to_vec(&bytes).expect("deflated")).expect("text")
    } else {
        assert!(!text.contains('<'));
        text.to_owned()
    };
    serde_json::from_str(&json).expect("JSON")
}

fn columns(document: &Value) -> usize {
    let columns = document["rows"].as_object().expect("columns");
    let lengths: Vec<usize> = columns.values().map(|column| column.as_array().expect("a column").len()).collect();
    assert!(lengths.windows(2).all(|pair| pair[0] == pair[1]), "{lengths:?}");
    lengths[0]
}

#[test]
fn small_data_is_plain_and_large_data_is_compressed() {
    for (rows, is_plain) in [(20, true), (3000, false)] {
        let run = run(rows);
        let runs = [("run".to_owned(), &run)];
        let page = Page::new(&runs, &[], &PageOptions::default());
        let payload = element(&page, 1_000_000);
        assert_eq!(payload.element.contains("type=\"application/json\""), is_plain);
        assert!(payload.element.len() < PLAIN_MAX);
        let document = document(&payload.element);
        assert_eq!(columns(&document), 3 * rows as usize);
        assert_eq!(document["shortened"], Value::Null);
        assert_eq!(payload.note, "");
    }
}

#[test]
fn data_without_room_is_left_out_with_a_note() {
    let run = run(2000);
    let runs = [("run".to_owned(), &run)];
    let page = Page::new(&runs, &[], &PageOptions::default());
    let whole = element(&page, 1_000_000).element.len();
    let mut rows = 6001;
    for room in [whole - 1, whole / 2, whole / 4, 4000] {
        let payload = element(&page, room);
        assert!(payload.element.len() + payload.note.len() <= room, "{room}");
        let document = document(&payload.element);
        let now = columns(&document);
        assert!(now < rows, "{room}: {now} of {rows}");
        rows = now;
        let words = document["shortened"].as_str().expect("words");
        assert!(payload.note.contains("leaves out") && words.contains("leaves out"), "{room}");
    }
    assert_eq!(element(&page, 100).element, "", "nothing fits");
}

#[test]
fn no_name_can_end_the_element() {
    let mut made = TestRun::new(2);
    made.measure(&messaging("</script><script>alert(1)</script><!--", Standing::Candidate, "stream", 64), &[1e6], 0.1);
    let run = made.run(Some(RunStatus::Complete));
    let runs = [("</script>".to_owned(), &run)];
    let payload = element(&Page::new(&runs, &[], &PageOptions::default()), 100_000);
    assert_eq!(payload.element.matches("</script").count(), 1);
    assert_eq!(payload.element.matches('<').count(), 2, "the tags of the element itself");
    assert_eq!(document(&payload.element)["runs"][0]["name"], "</script>");
}
