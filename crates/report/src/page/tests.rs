//! Tests of the whole page: its contents, its safety, and its size.

use headwater_results::published;
use headwater_results::schema::{Run, RunStatus, Standing};

use super::{PAGE_BYTES_MAX, PageOptions, SCRIPT, STYLE, TraceLink, is_page, page};
use crate::markup::escape;
use crate::overhead::tables;
use crate::testing::{TestRun, messaging, operations, overhead, overview};
use headwater_results::overhead::Overhead;

fn of(runs: &[(String, &Run)]) -> String {
    page(runs, &[], &PageOptions::default())
}

/// Returns the page without its script, style and data.
fn markup(page: &str) -> String {
    let mut page = page.replace(SCRIPT, "").replace(STYLE, "");
    while let Some(start) = page.find("<script type=") {
        let end = page[start..].find("</script>").map_or(page.len(), |end| start + end + "</script>".len());
        page.replace_range(start..end, "");
    }
    page
}

#[test]
fn a_run_without_figures_is_a_page_too() {
    let run = TestRun::new(6).run(Some(RunStatus::Complete));
    let html = of(&[("empty".to_owned(), &run)]);
    assert!(html.contains("Nothing was measured.") && html.contains("id=\"summary\""));
    assert!(!html.contains("id=\"performance\""));
    assert!(of(&[]).contains("</html>"));
}

#[test]
fn the_title_is_the_question_that_the_runs_answer() {
    let title = |runs: &[(String, &Run)]| {
        let html = of(runs);
        let rest = html.split("<title>").nth(1).expect("a title");
        rest.split("</title>").next().expect("its end").to_owned()
    };
    let named = |name: &str| format!("headwater-runs/{name}");
    let (messages, calls) = (overview(6).run(None), operations(6).run(None));
    assert_eq!(title(&[(named("a"), &messages)]), "Which way to pass messages is fastest on brook?");
    assert_eq!(title(&[(named("a"), &calls)]), "What do basic operations of the kernel cost on brook?");
    assert_eq!(title(&[(named("a"), &overhead(6))]), "What does tracing cost on brook?");
    assert_eq!(title(&[(named("a"), &messages), (named("b"), &messages)]), "How do a and b differ?");
}

#[test]
fn an_overview_has_its_sections_and_links_to_each() {
    let run = overview(6).run(Some(RunStatus::Complete));
    let html = markup(&of(&[("overview".to_owned(), &run)]));
    let sections: Vec<&str> = html.split("<section id=\"").skip(1).filter_map(|rest| rest.split('"').next()).collect();
    let expected = [
        "summary",
        "performance",
        "delay",
        "throughput",
        "improvement",
        "distribution",
        "heatmap",
        "others",
        "cost",
        "data",
        "environment",
        "flags",
        "reproduce",
    ];
    assert_eq!(sections, expected);
    for section in sections {
        assert!(html.contains(&format!("<li><a href=\"#{section}\">")), "{section}");
    }
    assert!(html.contains("headwater run overview <span class=\"whole\">--seed</span> 17"), "how to reproduce");
    assert!(html.contains("mq_open"), "why rows are missing");
    let broken = html.split("<th scope=\"row\">fifo-socket").count() - 1;
    assert_eq!(broken, 0, "a table has a name that breaks at its hyphen");
}

#[test]
fn the_cost_of_tracing_has_the_same_words_as_on_the_terminal() {
    let run = overhead(12);
    let html = markup(&of(&[("overhead".to_owned(), &run)]));
    let section = html.split("<section id=\"overhead\"").nth(1).and_then(|rest| rest.split("</section>").next());
    let section = section.expect("there is one");
    let found = Overhead::of(&run);
    for table in tables(&found, &run, "\u{b1}") {
        assert!(section.contains(table.caption), "{}", table.caption);
        let words = section.replace("<code>", "`").replace("</code>", "`").replace('\u{a0}', " ");
        let words =
            ["<span class=\"whole\">", "</span>", "<wbr>"].iter().fold(words, |words, tag| words.replace(tag, ""));
        assert!(words.contains(&escape(&table.words)), "{}", table.words);
        for cell in table.grid.lines.iter().flat_map(|line| &line.cells) {
            assert!(section.contains(&escape(&cell.value)) && section.contains(&escape(&cell.spread)), "{cell:?}");
        }
    }
    assert!(section.contains("below 2.0 %") && section.contains("strace is not installed"), "{section}");
    assert!(!html.contains("id=\"operations\""), "the rows of a configuration are no run of LMbench");
    let summary = html.split("<section id=\"summary\"").nth(1).and_then(|rest| rest.split("</section>").next());
    let summary = summary.expect("there is one");
    assert!(summary.contains("data-view=\"overhead\"") && summary.contains("flight over off"), "{summary}");
    let views: Vec<&str> = html.split("data-view=\"").skip(1).filter_map(|rest| rest.split('"').next()).collect();
    assert!(views.iter().all(|view| *view == "overhead"), "no chart has configurations for mechanisms: {views:?}");
}

#[test]
fn operations_have_a_table_with_a_column_per_run() {
    let old = published::run("ltt", "smp4-a").expect("it is compiled in");
    let own = operations(6).run(Some(RunStatus::Complete));
    let html = markup(&of(&[("old".to_owned(), &old), ("now".to_owned(), &own)]));
    let section = html.split("<section id=\"operations\"").nth(1).and_then(|rest| rest.split("</section>").next());
    let section = section.expect("the section is there");
    assert!(section.contains(">old</th>") && section.contains(">now</th>"), "{section}");
    let line = section.split("<tr>").find(|line| line.contains(">null-call<")).expect("the line is there");
    assert_eq!(line.matches("<td").count(), 2, "{line}");
    assert!(!markup(&of(&[("overview".to_owned(), &overview(6).run(None))])).contains("id=\"operations\""));
}

#[test]
fn nothing_is_loaded_and_only_our_script_and_style_are_permitted() {
    let run = overview(6).run(Some(RunStatus::Complete));
    let html = of(&[("overview".to_owned(), &run)]);
    assert!(html.contains("default-src 'none'; style-src 'sha256-") && html.contains("script-src 'sha256-"));
    let markup = markup(&html);
    for foreign in [" src=", "<link", "@import", "<iframe", "<object", "style=\"", " onclick", "http-equiv=\"refresh"] {
        assert!(!markup.contains(foreign), "{foreign}");
    }
    assert_eq!(markup.matches("<style>").count(), 1);
    assert_eq!(markup.matches("<script").count(), 1, "the script; the data is cut out");
    for (name, text) in [("page.js", SCRIPT), ("page.css", STYLE)] {
        assert!(!text.contains('\r') && !text.contains('\0'), "{name}: the hash would be that of another text");
        assert!(!text.contains("</script") && !text.contains("</style") && !text.contains("<!--"), "{name}");
    }
}

#[test]
fn hostile_names_stay_text() {
    const HOSTILE: &str = "</script></style></title><script>alert(1)</script><img src=x onerror=alert(2)>\"'&\u{202e}";
    let mut made = TestRun::new(6);
    for size in [64, 128, 256, 512] {
        for (subject, pattern) in [(HOSTILE, "stream"), ("pipe", "stream"), ("pipe", HOSTILE), (HOSTILE, HOSTILE)] {
            made.measure(&messaging(subject, Standing::Candidate, pattern, size), &[1e6], 0.02);
        }
        made.skip(&messaging(HOSTILE, Standing::Candidate, "rtt", size), HOSTILE);
    }
    made.header(|header| {
        header.command = vec![HOSTILE.to_owned()];
        header.headwater_version = HOSTILE.to_owned();
        header.started_at = HOSTILE.to_owned();
        header.environment.host = HOSTILE.to_owned();
        header.environment.cpu.model = HOSTILE.to_owned();
        header.environment.cpu.mitigations.insert(HOSTILE.to_owned(), HOSTILE.to_owned());
        header.environment.kernel.release = HOSTILE.to_owned();
    });
    let run = made.run(Some(RunStatus::Complete));
    let hostile = HOSTILE.to_owned();
    let trace = TraceLink {
        row: hostile.clone(),
        events: 1,
        earlier: 1,
        excerpt: hostile.clone(),
        timeline: hostile.clone(),
        perfetto: hostile.clone(),
    };
    let options = PageOptions { title: Some(hostile.clone()), baseline: Some(hostile), traces: vec![trace] };
    let html = page(&[(HOSTILE.to_owned(), &run), ("other".to_owned(), &run)], &[], &options);
    let markup = markup(&html);
    assert!(markup.contains("&lt;script&gt;alert(1)"), "the name is shown");
    assert!(!markup.contains("<script>alert") && !markup.contains("<img") && !markup.contains('\u{202e}'));
    for tag in ["</title>", "</style>", "<title>Headwater", "<body>"] {
        assert!(markup.matches(tag).count() <= 1 + markup.matches("<svg").count(), "{tag}");
    }
    assert_eq!(markup.matches("<style>").count(), 1);
}

#[test]
fn every_element_is_closed() {
    let run = overview(6).run(Some(RunStatus::Complete));
    let html = markup(&of(&[("overview".to_owned(), &run)]));
    for tag in [
        "section", "figure", "svg", "g", "table", "tr", "td", "th", "details", "summary", "ul", "li", "p", "div",
        "text",
    ] {
        let opened = html.matches(&format!("<{tag}>")).count() + html.matches(&format!("<{tag} ")).count();
        assert_eq!(opened, html.matches(&format!("</{tag}>")).count(), "{tag}");
    }
    let mut ids: Vec<&str> = html.split(" id=\"").skip(1).filter_map(|rest| rest.split('"').next()).collect();
    let all = ids.len();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), all, "ids are unique");
}

#[test]
fn a_page_is_recognised() {
    let html = of(&[]);
    assert!(is_page(&html[..4096.min(html.len())]));
    assert!(!is_page("<!DOCTYPE html><html>"));
}

#[test]
fn the_size_of_a_page_is_limited_for_any_run() {
    let long = "x".repeat(3000);
    let mut made = TestRun::new(2);
    for pattern in 0..40 {
        for subject in 0..30 {
            for size in [64, 128, 256] {
                let name = format!("{long}{subject}");
                made.measure(
                    &messaging(&name, Standing::Candidate, &format!("p{pattern}{long}"), size),
                    &[1e6 + f64::from(subject)],
                    0.4,
                );
            }
        }
        made.skip(&messaging(&long, Standing::Candidate, "rtt", pattern), &format!("{pattern}{long}"));
    }
    made.header(|header| {
        for index in 0..3000 {
            header.environment.limits.sysctl.insert(format!("{long}{index}"), long.clone());
        }
        header.command = vec![long.clone(); 100];
    });
    let run = made.run(Some(RunStatus::Partial));
    let runs: Vec<(String, &Run)> = (0..3).map(|index| (format!("{long}{index}"), &run)).collect();
    let html = of(&runs);
    assert!(html.len() <= PAGE_BYTES_MAX, "{}", html.len());
    assert!(html.contains("left out for want of room"));
}

#[test]
fn the_summary_has_a_chart_and_no_backtick_is_left() {
    let run = overview(6).run(Some(RunStatus::Complete));
    let html = markup(&of(&[("overview".to_owned(), &run)]));
    let summary = html.split("<section id=\"summary\"").nth(1).and_then(|rest| rest.split("</section>").next());
    let summary = summary.expect("there is one");
    assert!(summary.contains("<figure") && summary.contains("plot wide") && summary.contains("plot narrow"));
    assert!(!html.contains('`'), "{}", &html[html.find('`').unwrap_or(0)..][..80]);
}
