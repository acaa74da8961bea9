//! A drawing and its text: elements written one after the other, numbers short, words escaped. Used by every chart.
//!
//! A drawing carries classes and no colours, so that the page's style sheet decides; [`Drawing::standalone`] brings a
//! style of its own. It never holds a style attribute: the page's security policy forbids them.

use std::fmt::Write as _;

use crate::markup::escape;

/// A finished picture.
#[derive(Clone, Debug, PartialEq)]
pub struct Drawing {
    /// Units of the view box.
    pub width: f64,
    /// Units of the view box.
    pub height: f64,
    /// What it shows, in a few words.
    pub title: String,
    /// What a reader who does not see it must know.
    pub desc: String,
    /// The elements.
    body: String,
}

/// Light colours, after Okabe and Ito's palette for all kinds of colour vision and darker where theirs fade on white.
const STYLE: &str = include_str!("standalone.css");

impl Drawing {
    /// A picture of the elements that `pen` has drawn.
    pub(crate) fn new(size: (f64, f64), title: &str, desc: &str, pen: SvgWriter) -> Drawing {
        let (width, height) = size;
        Drawing { width, height, title: title.to_owned(), desc: desc.to_owned(), body: pen.body }
    }

    /// As an element of a page, styled by the page.
    pub(crate) fn inline(&self) -> String {
        format!(
            r#"<svg class="plot" viewBox="0 0 {} {}" role="img"><title>{}</title><desc>{}</desc>{}</svg>"#,
            number(self.width),
            number(self.height),
            escape(&self.title),
            escape(&self.desc),
            self.body
        )
    }

    /// As a file: opaque, light, with its title, a margin and its own style, nothing from outside.
    pub fn standalone(&self) -> String {
        const MARGIN: f64 = 18.0;
        const HEAD: f64 = 44.0;
        let (left, top) = (number(-MARGIN), number(-HEAD));
        let (width, height) = (number(self.width + 2.0 * MARGIN), number(self.height + HEAD + MARGIN));
        let (title, desc) = (escape(&self.title), escape(&self.desc));
        format!(
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"plot\" \
             viewBox=\"{left} {top} {width} {height}\" width=\"{width}\" height=\"{height}\" role=\"img\"><title>{title}</title>\
             <desc>{desc}</desc><style>{STYLE}</style>\
             <rect class=\"paper\" x=\"{left}\" y=\"{top}\" width=\"{width}\" height=\"{height}\"/>\
             <text class=\"heading\" x=\"0\" y=\"-16\">{title}</text>{}</svg>\n",
            self.body
        )
    }
}

/// Which side of a place a text stands on.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Anchor {
    Start,
    Middle,
    End,
}

/// Writes elements.
#[derive(Debug, Default)]
pub(crate) struct SvgWriter {
    body: String,
}

impl SvgWriter {
    /// Opens a group of these classes; `more` are further attributes, already escaped.
    pub fn open(&mut self, class: &str, more: &str) {
        let space = if more.is_empty() { "" } else { " " };
        self.push(format_args!(r#"<g class="{class}"{space}{more}>"#));
    }

    /// Closes the last group.
    pub fn close(&mut self) {
        self.body.push_str("</g>");
    }

    /// A path; `more` are further attributes.
    pub fn path(&mut self, class: &str, data: &str, more: &str) {
        if data.is_empty() {
            return;
        }
        let space = if more.is_empty() { "" } else { " " };
        self.push(format_args!(r#"<path class="{class}" d="{data}"{space}{more}/>"#));
    }

    /// A straight line.
    pub fn line(&mut self, class: &str, from: (f64, f64), to: (f64, f64)) {
        self.path(class, &format!("{}{}", moved(from), drawn(to)), "");
    }

    /// The lines of a grid, each from one place to another.
    pub fn grid(&mut self, lines: impl Iterator<Item = ((f64, f64), (f64, f64))>) {
        let data: String = lines.map(|(from, to)| moved(from) + &drawn(to)).collect();
        self.open("grid", "");
        self.path("grid-lines", &data, "");
        self.close();
    }

    /// A rectangle; `more` are further attributes.
    pub fn rect(&mut self, class: &str, (x, y): (f64, f64), (width, height): (f64, f64), more: &str) {
        let space = if more.is_empty() { "" } else { " " };
        let [x, y, width, height] = [x, y, width, height].map(number);
        self.push(format_args!(
            r#"<rect class="{class}" x="{x}" y="{y}" width="{width}" height="{height}"{space}{more}/>"#
        ));
    }

    /// Words whose base line starts, ends or is centred at the place.
    pub fn text(&mut self, class: &str, (x, y): (f64, f64), anchor: Anchor, words: &str) {
        let anchor = match anchor {
            Anchor::Start => "",
            Anchor::Middle => r#" text-anchor="middle""#,
            Anchor::End => r#" text-anchor="end""#,
        };
        let (x, y, words) = (number(x), number(y), escape(words));
        self.push(format_args!(r#"<text class="{class}" x="{x}" y="{y}"{anchor}>{words}</text>"#));
    }

    fn push(&mut self, element: std::fmt::Arguments<'_>) {
        // Writing to a String cannot fail.
        let _ = self.body.write_fmt(element);
    }
}

/// A coordinate with at most one decimal, which is a tenth of a pixel.
pub(crate) fn number(value: f64) -> String {
    let text = format!("{value:.1}");
    let text = text.strip_suffix(".0").unwrap_or(&text);
    if text == "-0" { "0".to_owned() } else { text.to_owned() }
}

/// Path data: go there.
pub(crate) fn moved((x, y): (f64, f64)) -> String {
    format!("M{} {}", number(x), number(y))
}

/// Path data: a line to there.
pub(crate) fn drawn((x, y): (f64, f64)) -> String {
    format!("L{} {}", number(x), number(y))
}

/// Path data through all places.
pub(crate) fn through(places: impl IntoIterator<Item = (f64, f64)>) -> String {
    let mut data = String::new();
    for place in places {
        data += &if data.is_empty() { moved(place) } else { drawn(place) };
    }
    data
}
