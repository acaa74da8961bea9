//! The page of histories: in words, as charts, the change points as a table, what is left out, and the method. It has the
//! frame, the style and the script of the page of runs.

use headwater_results::history::Left;
use headwater_results::sorting::Arrange;

use super::allowance::Allowance;
use super::frame::lead;
use super::summary::answer_of;
use super::table::scrolled;
use super::{PAGE_BYTES_MAX, SCRIPT, STYLE, Section, Visible, figures, live};
use crate::chart::{self, Figure};
use crate::history::{HistoryReport, about, cause, grouped, method, p_value, share, summary, verdict};
use crate::markup::{escape, prose, shorten, whole};
use crate::text::{plural, short_list};

/// The most sentences at first sight.
const SENTENCES_OPEN: usize = 5;

/// The most sentences.
const SENTENCES_MAX: usize = 200;

/// The most facts of a change.
const CAUSES_MAX: usize = 40;

/// The most rows with a chart.
const CHARTS_MAX: usize = 60;

const SUMMARY: Section = section("summary", "Summary");
const CHARTS: Section = section("history", "History");
const CHANGES: Section = section("changes", "Changes");
const LEFT_OUT: Section = section("left-out", "Left out");
const METHOD: Section = section("method", "Method");

/// These sections are drawn here, and not from a page of runs.
const fn section(id: &'static str, title: &'static str) -> Section {
    Section { id, title, draw: |_, _| None }
}

/// Returns the page about histories. Its size is at most [`PAGE_BYTES_MAX`].
pub fn history_page(report: &HistoryReport<'_>, title: Option<&str>) -> String {
    let histories = &report.histories.histories;
    let mut allowance = Allowance::new(PAGE_BYTES_MAX - STYLE.len() - SCRIPT.len(), 0);
    let mut first = 1;
    let mut charts: Vec<Figure> = Vec::new();
    // What has changed is drawn first.
    let mut ordered: Vec<_> =
        histories.iter().map(|history| (history, chart::history::numbered(history, 0).len())).collect();
    ordered.arrange_by_key(|(_, changes)| *changes == 0);
    let mut numbers = Vec::new();
    for (history, changes) in &ordered {
        if charts.len() < CHARTS_MAX {
            charts.push(Figure { number: charts.len(), ..chart::history::figure(history, report.by, first) });
        }
        numbers.push((*history, first));
        first += changes;
    }
    let mut sections = vec![(&SUMMARY, words(report, charts.first(), &mut allowance))];
    let drawn = figures::drawn(charts.iter().collect(), &mut allowance).unwrap_or_default();
    let more = match histories.len().saturating_sub(charts.len()) {
        0 => String::new(),
        more => format!("<p class=\"note\">{} without a chart: name fewer rows.</p>\n", plural(more, "row")),
    };
    sections.push((&CHARTS, drawn + &more));
    let changes: String = numbers.iter().map(|(history, first)| table(history, *first, &mut allowance)).collect();
    if !changes.is_empty() {
        let heads = ["", "row", "machine", "from", "change", "interval", "p", "verdict", "what differs there"];
        let heads: String = heads.iter().map(|head| format!("<th scope=\"col\">{head}</th>")).collect();
        let table = format!("<table class=\"changes\"><thead><tr>{heads}</tr></thead><tbody>{changes}</tbody></table>");
        let note = "<p class=\"note\">Bold: a fact that all runs of the former level have, and that all runs of the new one \
                    have otherwise.</p>\n";
        sections.push((&CHANGES, scrolled(&table) + "\n" + note));
    }
    let left: Vec<&Left> = report.left_out.iter().chain(&report.histories.left_out).collect();
    if !left.is_empty() {
        let items = grouped(&left).into_iter().map(|words| format!("<li>{}</li>\n", prose(&shorten(&words, 400))));
        let items: String = items.filter(|item| allowance.takes_table(item.len())).collect();
        sections.push((&LEFT_OUT, format!("<ul>\n{items}</ul>\n")));
    }
    sections.push((&METHOD, format!("<p>{}</p>\n", prose(&method(report)))));
    let title = title.map_or_else(|| headline(report), str::to_owned);
    let visible = Visible::new(&title, &header(&title, report), &sections);
    let live = live::element(charts.iter().collect(), allowance.left_of(visible.bytes()));
    visible.with_data("", &live)
}

fn headline(report: &HistoryReport<'_>) -> String {
    let rows: Vec<&str> = report.histories.histories.iter().map(|history| history.row.as_str()).collect();
    format!("History: {}", short_list(&rows, 2))
}

/// Returns the headline and the machines.
fn header(title: &str, report: &HistoryReport<'_>) -> String {
    let mut machines: Vec<String> = Vec::new();
    for line in report.histories.histories.iter().flat_map(|history| &history.lines) {
        let machine = &line.machine;
        let words = format!(
            "<li><strong>{}</strong> <span class=\"about\">{} \u{b7} {}</span></li>\n",
            escape(&shorten(&machine.host, 80)),
            escape(&shorten(&machine.cpu, 80)),
            plural(machine.cpus, "CPU")
        );
        if !machines.contains(&words) && machines.len() < 24 {
            machines.push(words);
        }
    }
    format!(
        "<header id=\"top\">\n<h1>{}</h1>\n<ul class=\"runs\">{}<li>{}, in the order of {}</li></ul>\n\
         <div id=\"controls\" hidden></div>\n</header>\n",
        whole(&shorten(title, 240)),
        machines.concat(),
        plural(report.runs, "run"),
        escape(&shorten(report.by.name(), 40))
    )
}

/// Returns the sentences beside the first chart.
fn words(report: &HistoryReport<'_>, first: Option<&Figure>, allowance: &mut Allowance) -> String {
    let sentences = summary(report);
    let item = |sentence: &String| format!("<li>{}</li>\n", prose(&shorten(sentence, 1200)));
    let list =
        |words: &[String]| format!("<ul class=\"verdict\">\n{}</ul>\n", words.iter().map(item).collect::<String>());
    let open = if sentences.len() <= SENTENCES_OPEN + 1 { sentences.len() } else { SENTENCES_OPEN };
    let (shown, folded) = sentences.split_at(open);
    let (answer, shown) = shown.split_at(answer_of(shown));
    let answer = list(answer);
    let mut html = if shown.is_empty() { String::new() } else { list(shown) };
    if !folded.is_empty() {
        html += &format!(
            "<details class=\"more\"><summary>{}</summary>\n{}</details>\n",
            plural(folded.len(), "more sentence"),
            list(&folded[..folded.len().min(SENTENCES_MAX)])
        );
    }
    let figure = first.map(|figure| figures::opening(figure, "lead") + "</figure>\n");
    match figure.filter(|figure| allowance.takes_figure(figure.len())) {
        Some(figure) => lead(&answer, &figure, &html),
        None => answer + &html,
    }
}

/// Returns a line for each change of a row.
fn table(history: &headwater_results::history::History, first: usize, allowance: &mut Allowance) -> String {
    use crate::history::Labelled as _;
    let line = |(number, line, change): (
        usize,
        &headwater_results::history::Line,
        &headwater_results::history::Change,
    )| {
        let ratio = &change.ratio;
        let named: Vec<String> = change
            .environment
            .iter()
            .take(CAUSES_MAX)
            .map(|one| match one.holds {
                true => format!("<strong>{}</strong>", escape(&cause(one))),
                false => escape(&cause(one)),
            })
            .collect();
        let named = if named.is_empty() { "nothing that is recorded".to_owned() } else { named.join("; ") };
        let more = change.more_runs.map(|more| format!(", needs about {}", plural(more as usize, "more run")));
        format!(
            "<tr><th scope=\"row\">{number}</th><td>{}</td><td title=\"{}\">{}</td><td>{}</td><td class=\"num\">{}</td>\
             <td class=\"num\">{} .. {}</td><td class=\"num\">{}</td><td class=\"{}\">{}{}</td><td class=\"causes\">{named}</td></tr>\n",
            whole(&shorten(&history.row, 120)),
            escape(&about(line)),
            whole(&shorten(&line.machine.host, 40)),
            whole(&format!("{} ({})", line.points[change.at].label(), shorten(&change.after, 80))),
            share(ratio.value),
            share(ratio.low),
            share(ratio.high),
            p_value(change.p).trim_start_matches("p = "),
            chart::history::class(change.verdict),
            verdict(change),
            more.unwrap_or_default()
        )
    };
    let lines = chart::history::numbered(history, first).into_iter().map(line);
    allowance.take_lines(lines).0
}

#[cfg(test)]
mod tests;
