//! Accessibility of an SVG: a role, a title, a description, and tooltips.

use crate::canvas::Tip;

/// Radius around a point within which its tooltip shows.
const REACH: u32 = 9;

/// Returns an SVG with its title and description first and a tooltip over each point; `svg` starts with its only
/// `<svg …>`.
pub(crate) fn described(svg: &str, [title, words]: [&str; 2], tips: &[Tip]) -> String {
    let (Some(open), Some(close)) = (svg.find('>'), svg.rfind("</svg>")) else {
        return svg.to_owned();
    };
    let head = svg[..open].replacen("<svg", "<svg role=\"img\"", 1);
    let (title, words) = (escaped(title), escaped(words));
    let points = tips.iter().map(|Tip { x, y, text }| {
        let text = escaped(text);
        format!("<circle cx=\"{x}\" cy=\"{y}\" r=\"{REACH}\" fill-opacity=\"0\"><title>{text}</title></circle>\n")
    });
    let points: String = points.collect();
    let body = &svg[open + 1..close];
    let title = format!("\n<title>{title}</title>\n<desc>{words}</desc>");
    format!("{head}>{title}{body}{points}{}", &svg[close..])
}

fn escaped(text: &str) -> String {
    let text = text.replace('&', "&amp;");
    text.replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_picture_says_what_it_is_and_each_point_what_it_shows() {
        let tip = Tip {
            x: 3,
            y: 4,
            text: "0.5 & more".to_owned(),
        };
        let found = described(
            "<svg width=\"9\">\n<line/>\n</svg>\n",
            ["A < B", "a: 1"],
            &[tip],
        );
        assert_eq!(
            found,
            "<svg role=\"img\" width=\"9\">\n<title>A &lt; B</title>\n<desc>a: 1</desc>\n<line/>\n\
             <circle cx=\"3\" cy=\"4\" r=\"9\" fill-opacity=\"0\"><title>0.5 &amp; more</title></circle>\n</svg>\n"
        );
    }
}
