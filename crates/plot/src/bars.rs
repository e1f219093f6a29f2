//! Shares of a whole next to each other: a horizontal bar for each label and series.

use plotters::style::text_anchor::HPos;
use totune_stats::number::count;

use crate::canvas::{Canvas, Frame, RULE, Text, series_colour};

/// One panel of bars.
#[derive(Debug, Clone)]
pub struct BarPanel {
    /// Title of the panel.
    pub title: String,
    /// Names of the labels, from top to bottom.
    pub labels: Vec<String>,
    /// Counts for each label, one series after the other.
    pub series: Vec<BarSeries>,
}

/// One series of bars, as long as the labels.
#[derive(Debug, Clone)]
pub struct BarSeries {
    /// Name in the key.
    pub title: String,
    /// A count for each label.
    pub counts: Vec<usize>,
    /// Number that shares are of.
    pub whole: usize,
    /// Words for it in the key, such as `labelled`.
    pub of: &'static str,
}

/// Number of labels that have room; the others are named as left out.
const ROOM: usize = 12;

impl BarPanel {
    /// Draws the panel into `frame`.
    pub fn draw(&self, canvas: &mut dyn Canvas, frame: Frame) {
        let key = 18.0 * self.series.len() as f64;
        let widest = self.labels.iter().map(|label| label.chars().count()).max();
        let gutter = (7.8 * widest.unwrap_or(0).min(18) as f64).max(40.0);
        let plot = Frame {
            left: frame.left + 18.0 + gutter,
            top: frame.top + 46.0,
            width: frame.width - 18.0 - gutter - 110.0,
            height: frame.height - 46.0 - 44.0 - key,
        };
        let heading = frame.top + 22.0;
        canvas.text(frame.left + 12.0, heading, &self.title, &Text::heading());
        let shares: Vec<Vec<f64>> = self.series.iter().map(BarSeries::shares).collect();
        let most = shares.iter().flatten().copied().fold(0.0, f64::max);
        let shown = self.labels.len().min(ROOM);
        let slot = plot.height / shown.max(1) as f64;
        let bar = (0.8 * slot / self.series.len().max(1) as f64).min(26.0);
        canvas.line(
            (plot.left, plot.top),
            (plot.left, plot.top + plot.height),
            RULE,
            1.0,
        );
        for (row, label) in self.labels.iter().take(shown).enumerate() {
            let middle = plot.top + slot * (row as f64 + 0.5);
            let style = Text::label().anchored(HPos::Right);
            canvas.text(plot.left - 8.0, middle, &short(label), &style);
            for (place, series) in self.series.iter().enumerate() {
                let offset = place as f64 - self.series.len() as f64 / 2.0;
                let top = middle + bar * offset;
                let share = shares[place][row];
                let right = plot.left + plot.width * share / if most > 0.0 { most } else { 1.0 };
                let colour = series_colour(place);
                let corner = (right.max(plot.left + 1.0), top + bar - 2.0);
                canvas.rectangle((plot.left, top), corner, colour.faint(0.85), colour);
                let text = format!(
                    "{:.1} %  {}",
                    100.0 * share,
                    count(series.counts[row] as u64)
                );
                let style = Text::note().anchored(HPos::Left);
                canvas.text(right + 7.0, top + bar / 2.0 - 1.0, &text, &style);
            }
        }
        let below = frame.top + frame.height - 26.0 - key;
        if let Some(more) = self.labels.len().checked_sub(ROOM).filter(|more| *more > 0) {
            let style = Text::note().anchored(HPos::Left);
            let text = format!("{more} more labels are not drawn");
            canvas.text(frame.left + 12.0, below + 8.0, &text, &style);
        }
        for (place, series) in self.series.iter().enumerate() {
            let line = below + 22.0 + 18.0 * place as f64;
            let (left, colour) = (frame.left + 12.0, series_colour(place));
            canvas.line((left, line), (left + 22.0, line), colour, 8.0);
            let whole = count(series.whole as u64);
            let text = format!("{}: {whole} {}", series.title, series.of);
            let style = Text::note().anchored(HPos::Left);
            canvas.text(left + 30.0, line, &text, &style);
        }
    }
}

impl BarPanel {
    pub(crate) fn words_of_bars(&self) -> Vec<String> {
        let words = |series: &BarSeries| {
            let shares = series.shares();
            let each = self.labels.iter().zip(shares).take(ROOM);
            let each = each.map(|(label, share)| format!("{label} {:.1} %", 100.0 * share));
            format!("{}: {}", series.title, each.collect::<Vec<_>>().join(", "))
        };
        self.series.iter().map(words).collect()
    }
}

impl BarSeries {
    fn shares(&self) -> Vec<f64> {
        let total = self.whole.max(1) as f64;
        self.counts
            .iter()
            .map(|&count| count as f64 / total)
            .collect()
    }
}

fn short(label: &str) -> String {
    if label.chars().count() <= 18 {
        return label.to_string();
    }
    label.chars().take(17).chain(['…']).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_of_the_series_and_long_names_are_cut() {
        let counts = vec![3, 1, 0];
        let series = BarSeries {
            title: "train".into(),
            counts,
            whole: 4,
            of: "labelled",
        };
        assert_eq!(series.shares(), [0.75, 0.25, 0.0]);
        assert_eq!(short("not_entailment"), "not_entailment");
        assert_eq!(short("Society & Culture and more"), "Society & Culture…");
    }
}
