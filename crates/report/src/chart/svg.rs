//! A drawing and its SVG text: short numbers, escaped texts. Used by every chart.
//!
//! A drawing has classes instead of colours, so that the page's style sheet determines them; [`Drawing::standalone`]
//! includes a style sheet. It never contains a style attribute, which the page's security policy forbids.

use std::fmt::Write as _;

use crate::markup::escape;

/// A finished drawing.
#[derive(Clone, Debug, PartialEq)]
pub struct Drawing {
    /// Width of the view box.
    pub width: f64,
    /// Height of the view box.
    pub height: f64,
    /// The title, in a few words.
    pub title: String,
    /// A description for readers who cannot see the drawing.
    pub desc: String,
    /// The elements.
    body: String,
}

/// Light colours after Okabe and Ito's palette for colour-blind readers, darker where theirs are too pale on white.
const STYLE: &str = include_str!("standalone.css");

impl Drawing {
    /// Makes a drawing of the elements of `pen`.
    pub(crate) fn new(size: (f64, f64), title: &str, desc: &str, pen: SvgWriter) -> Drawing {
        let (width, height) = size;
        Drawing { width, height, title: title.to_owned(), desc: desc.to_owned(), body: pen.body }
    }

    /// Returns it as an element of a page, without a style sheet. `class` tells for which width it is.
    pub(crate) fn inline(&self, class: &str) -> String {
        format!(
            r#"<svg class="plot {class}" viewBox="0 0 {} {}" role="img"><title>{}</title><desc>{}</desc>{}</svg>"#,
            number(self.width),
            number(self.height),
            escape(&self.title),
            escape(&self.desc),
            self.body
        )
    }

    /// Returns it as a file: opaque, light, with title, margin and style sheet, and without external references.
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

/// The side of a position on which a text is placed.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Anchor {
    Start,
    Middle,
    End,
}

/// Writes SVG elements.
#[derive(Debug, Default)]
pub(crate) struct SvgWriter {
    body: String,
}

impl SvgWriter {
    /// Opens a group with these classes; `more` are further attributes, already escaped.
    pub fn open(&mut self, class: &str, more: &str) {
        let space = if more.is_empty() { "" } else { " " };
        self.push(format_args!(r#"<g class="{class}"{space}{more}>"#));
    }

    /// Closes the last group.
    pub fn close(&mut self) {
        self.body.push_str("</g>");
    }

    /// Writes a path; `more` are further attributes.
    pub fn path(&mut self, class: &str, data: &str, more: &str) {
        if data.is_empty() {
            return;
        }
        let space = if more.is_empty() { "" } else { " " };
        self.push(format_args!(r#"<path class="{class}" d="{data}"{space}{more}/>"#));
    }

    /// Writes a straight line.
    pub fn line(&mut self, class: &str, from: (f64, f64), to: (f64, f64)) {
        self.path(class, &format!("{}{}", moved(from), drawn(to)), "");
    }

    /// Writes the lines of a grid, each from one position to another.
    pub fn grid(&mut self, lines: impl Iterator<Item = ((f64, f64), (f64, f64))>) {
        let data: String = lines.map(|(from, to)| moved(from) + &drawn(to)).collect();
        self.open("grid", "");
        self.path("grid-lines", &data, "");
        self.close();
    }

    /// Writes a rectangle; `more` are further attributes.
    pub fn rect(&mut self, class: &str, (x, y): (f64, f64), (width, height): (f64, f64), more: &str) {
        let space = if more.is_empty() { "" } else { " " };
        let [x, y, width, height] = [x, y, width, height].map(number);
        self.push(format_args!(
            r#"<rect class="{class}" x="{x}" y="{y}" width="{width}" height="{height}"{space}{more}/>"#
        ));
    }

    /// Writes a text whose base line starts, ends or is centred at the position.
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

/// Formats a coordinate with at most one decimal, a tenth of a pixel.
pub(crate) fn number(value: f64) -> String {
    let text = format!("{value:.1}");
    let text = text.strip_suffix(".0").unwrap_or(&text);
    if text == "-0" { "0".to_owned() } else { text.to_owned() }
}

/// Returns path data: a move.
pub(crate) fn moved((x, y): (f64, f64)) -> String {
    format!("M{} {}", number(x), number(y))
}

/// Returns path data: a line.
pub(crate) fn drawn((x, y): (f64, f64)) -> String {
    format!("L{} {}", number(x), number(y))
}

/// Returns path data through all positions.
pub(crate) fn through(places: impl IntoIterator<Item = (f64, f64)>) -> String {
    let mut data = String::new();
    for place in places {
        data += &if data.is_empty() { moved(place) } else { drawn(place) };
    }
    data
}
