//! Distributions next to each other: a box with whiskers, every run as a dot, and the value that the paper reports.

use plotters::style::text_anchor::HPos;
use totune_stats::number::fixed;
use totune_stats::quartiles;

use crate::axes::draw_rules;
use crate::axis::Axis;
use crate::canvas::{Canvas, Frame, INK, MUTED, PAPER, Text, series_colour};

/// Height of a line of a title.
const LINE: f64 = 15.0;

/// One panel of box plots over a shared axis.
#[derive(Debug, Clone)]
pub struct BoxPanel {
    /// Quantity on the axis, with its unit.
    pub measure: String,
    /// Distributions, from left to right.
    pub boxes: Vec<BoxSeries>,
}

/// One distribution.
#[derive(Debug, Clone)]
pub struct BoxSeries {
    /// Name under the box.
    pub title: String,
    /// One value per run; without any, the place is empty and labelled so.
    pub values: Vec<f64>,
    /// The mean the paper reports, drawn as a diamond.
    pub paper: Option<f64>,
}

/// A box and its whiskers.
#[derive(Debug, PartialEq)]
struct Summary {
    q1: f64,
    median: f64,
    q3: f64,
    /// Lowest value within 1.5 interquartile ranges of the box.
    low: f64,
    /// Highest value within 1.5 interquartile ranges of the box.
    high: f64,
}

impl Summary {
    /// Tukey's box plot; `None` without values.
    fn of(values: &[f64]) -> Option<Self> {
        let [_, q1, median, q3, _] = quartiles_of(values)?;
        let reach = 1.5 * (q3 - q1);
        let within = || {
            values
                .iter()
                .copied()
                .filter(|value| (q1 - reach..=q3 + reach).contains(value))
        };
        Some(Self {
            q1,
            median,
            q3,
            low: within().fold(q1, f64::min),
            high: within().fold(q3, f64::max),
        })
    }
}

impl BoxPanel {
    /// Draws the panel into `frame`.
    pub fn draw(&self, canvas: &mut dyn Canvas, frame: Frame) {
        let width = frame.width - 58.0 - 18.0;
        let slot = width / self.boxes.len().max(1) as f64;
        let lines = self.boxes.iter().map(|series| series.lines(slot).len());
        // Titles, numbers of runs and the key.
        let below = 53.0 + LINE * lines.max().unwrap_or(0) as f64;
        let plot = Frame {
            left: frame.left + 58.0,
            top: frame.top + 52.0,
            width,
            height: frame.height - 52.0 - below.max(100.0),
        };
        let axis = self.axis();
        canvas.text(
            frame.left + 12.0,
            frame.top + 22.0,
            &self.measure,
            &Text::heading(),
        );
        let y = |value: f64| plot.top + plot.height * (1.0 - axis.share(value));
        let style = Text::note().anchored(HPos::Right);
        draw_rules(canvas, plot, &axis.labelled(y), &style);
        for (place, series) in self.boxes.iter().enumerate() {
            let centre = plot.left + slot * (place as f64 + 0.5);
            series.draw(canvas, &axis, plot, (place, centre, slot));
        }
        self.draw_key(canvas, frame.left + 12.0, frame.top + frame.height - 14.0);
    }

    pub(crate) fn words_of_boxes(&self) -> Vec<String> {
        self.boxes.iter().map(BoxSeries::words).collect()
    }

    fn axis(&self) -> Axis {
        let values = self
            .boxes
            .iter()
            .flat_map(|series| series.values.iter().copied().chain(series.paper));
        Axis::around(values, 5)
    }

    fn draw_key(&self, canvas: &mut dyn Canvas, left: f64, y: f64) {
        let key = Text::note().anchored(HPos::Left);
        canvas.text(
            left,
            y,
            "box: quartiles, whiskers: 1.5 IQR, dots: runs",
            &key,
        );
        if self.boxes.iter().any(|series| series.paper.is_some()) {
            canvas.diamond((left + 308.0, y), 5.0, PAPER, INK);
            canvas.text(left + 318.0, y, "paper's mean", &key);
        }
    }
}

impl BoxSeries {
    /// The title in lines that fit under a box; `slot` is its width.
    fn lines(&self, slot: f64) -> Vec<String> {
        wrap(&self.title, (slot / 7.6) as usize)
    }

    /// `Frozen: median 0.680, from 0.650 to 0.715, n = 10; paper 0.824`
    fn words(&self) -> String {
        let ours = match quartiles_of(&self.values) {
            Some([low, _, median, _, high]) => {
                let [low, median, high] = [low, median, high].map(|value| fixed(value, 3));
                let n = self.values.len();
                format!("median {median}, from {low} to {high}, n = {n}")
            }
            None => "no run".to_owned(),
        };
        let paper = self
            .paper
            .map(|paper| format!("; paper {}", fixed(paper, 3)));
        format!("{}: {ours}{}", self.title, paper.unwrap_or_default())
    }

    fn draw(
        &self,
        canvas: &mut dyn Canvas,
        axis: &Axis,
        plot: Frame,
        (place, centre, slot): (usize, f64, f64),
    ) {
        let y = |value: f64| plot.top + plot.height * (1.0 - axis.share(value));
        let bottom = plot.top + plot.height;
        let colour = series_colour(place);
        let half = (slot * 0.24).min(34.0);
        let lines = self.lines(slot);
        for (number, line) in lines.iter().enumerate() {
            canvas.text(
                centre,
                bottom + 19.0 + LINE * number as f64,
                line,
                &Text::label(),
            );
        }
        let below = bottom + 23.0 + LINE * lines.len() as f64;
        let Some(summary) = Summary::of(&self.values) else {
            canvas.text(centre, below, "no run", &Text::note());
            self.draw_paper(canvas, centre, y);
            return;
        };
        canvas.text(
            centre,
            below,
            &format!("n = {}", self.values.len()),
            &Text::note(),
        );

        for (from, to) in [(summary.q3, summary.high), (summary.q1, summary.low)] {
            canvas.line((centre, y(from)), (centre, y(to)), colour, 1.5);
            canvas.line(
                (centre - half / 2.0, y(to)),
                (centre + half / 2.0, y(to)),
                colour,
                1.5,
            );
        }
        canvas.rectangle(
            (centre - half, y(summary.q3)),
            (centre + half, y(summary.q1)),
            colour.faint(0.18),
            colour,
        );
        canvas.line(
            (centre - half, y(summary.median)),
            (centre + half, y(summary.median)),
            colour,
            3.0,
        );
        for (number, &value) in self.values.iter().enumerate() {
            let place = (centre + half * 0.8 * jitter(number), y(value));
            canvas.dot(place, 3.0, colour.faint(0.75));
            canvas.tip(place, &format!("{}: {}", self.title, fixed(value, 4)));
        }
        self.draw_paper(canvas, centre + half + 13.0, y);
    }

    fn draw_paper(&self, canvas: &mut dyn Canvas, x: f64, y: impl Fn(f64) -> f64) {
        if let Some(paper) = self.paper {
            canvas.line((x - 9.0, y(paper)), (x + 9.0, y(paper)), MUTED, 1.0);
            canvas.diamond((x, y(paper)), 5.0, PAPER, INK);
            let tip = format!("{}, paper: {}", self.title, fixed(paper, 4));
            canvas.tip((x, y(paper)), &tip);
        }
    }
}

fn quartiles_of(values: &[f64]) -> Option<[f64; 5]> {
    (!values.is_empty()).then(|| quartiles(values))
}

/// Breaks a title into lines of at most `width` characters, where words allow it.
fn wrap(title: &str, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in title.split_whitespace() {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= width => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

/// Spreads dots over (-1, 1) so that consecutive ones do not overlap: multiples of the golden ratio, modulo 1.
fn jitter(number: usize) -> f64 {
    const GOLDEN: f64 = 0.618_033_988_749_894_9;
    2.0 * ((number as f64 + 0.5) * GOLDEN).fract() - 1.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Figure, Panel};

    #[test]
    fn whiskers_end_at_the_last_value_within_reach() {
        // Quartiles 2, 3, 4; reach 1.5 x 2 = 3 beyond the box: 8 is outside, 1 inside.
        let summary = Summary::of(&[1.0, 2.0, 3.0, 4.0, 8.0]).unwrap();
        assert_eq!(
            summary,
            Summary {
                q1: 2.0,
                median: 3.0,
                q3: 4.0,
                low: 1.0,
                high: 4.0
            }
        );
    }

    #[test]
    fn one_value_is_a_flat_box() {
        let summary = Summary::of(&[0.5]).unwrap();
        assert_eq!(
            summary,
            Summary {
                q1: 0.5,
                median: 0.5,
                q3: 0.5,
                low: 0.5,
                high: 0.5
            }
        );
    }

    #[test]
    fn a_series_without_values_says_so() {
        let svg = figure(vec![]).svg().unwrap();
        assert!(svg.contains("no run"), "{svg}");
    }

    #[test]
    fn long_titles_break_between_words() {
        assert_eq!(wrap("Last two layers", 20), ["Last two layers"]);
        assert_eq!(
            wrap("Shuffled, repeats together", 12),
            ["Shuffled,", "repeats", "together"]
        );
        assert_eq!(wrap("Unbreakable", 4), ["Unbreakable"]);
    }

    #[test]
    fn dots_stay_within_the_box_and_apart() {
        let places: Vec<f64> = (0..10).map(jitter).collect();
        assert!(places.iter().all(|place| place.abs() < 1.0), "{places:?}");
        let nearest = places
            .iter()
            .enumerate()
            .flat_map(|(i, a)| places[..i].iter().map(move |b| (a - b).abs()))
            .fold(f64::INFINITY, f64::min);
        assert!(nearest > 0.08, "{nearest} in {places:?}");
    }

    #[test]
    fn the_picture_is_the_same_text_twice() {
        let figure = figure(vec![0.79, 0.8, 0.81, 0.85]);
        assert_eq!(figure.svg().unwrap(), figure.svg().unwrap());
        insta::assert_snapshot!(figure.svg().unwrap());
    }

    #[test]
    fn a_page_lends_its_colours_to_the_panels_inside_it() {
        let panels = figure(vec![0.79, 0.8]).inline().unwrap();
        assert_eq!(panels.len(), 1);
        assert!(
            panels[0].contains("var(--ink)") && !panels[0].contains("#1B1F24"),
            "{}",
            panels[0]
        );
    }

    fn figure(values: Vec<f64>) -> Figure {
        let series = BoxSeries {
            title: "Frozen".into(),
            values,
            paper: Some(0.824),
        };
        let panel = BoxPanel {
            measure: "Accuracy (share of 1)".into(),
            boxes: vec![series],
        };
        Figure {
            panels: vec![Panel::Boxes(panel)],
            stamp: Some("FIXTURE: not a result".into()),
        }
    }
}
