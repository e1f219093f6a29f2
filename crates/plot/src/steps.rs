//! Distributions of numbers: an outline over bins for each series, in shares of the series.

use plotters::style::text_anchor::HPos;
use totune_stats::number::{count, fixed};

use crate::axes::{draw_rules, draw_ticks};
use crate::axis::Axis;
use crate::canvas::{Canvas, Frame, MUTED, Text, series_colour};

/// One panel of outlines over a shared axis.
#[derive(Debug, Clone)]
pub struct StepPanel {
    /// Title of the panel.
    pub title: String,
    /// Quantity on the axis.
    pub measure: String,
    /// Outlines, drawn in this order.
    pub series: Vec<StepSeries>,
    /// Positions on the axis to mark with a line.
    pub marks: Vec<f64>,
    /// End of the axis if there are values beyond it, which are counted in the key.
    pub end: Option<f64>,
    /// True if all values are whole numbers; each bin then spans equally many of them.
    pub whole: bool,
}

/// One outline.
#[derive(Debug, Clone)]
pub struct StepSeries {
    /// Name in the key.
    pub title: String,
    /// Values and their counts.
    pub values: Vec<(f64, usize)>,
}

impl StepSeries {
    fn total(&self) -> usize {
        self.values.iter().map(|(_, count)| count).sum()
    }

    /// Share of all values in each of `bins` bins from `low` to `high`; values beyond are in none.
    fn shares(&self, low: f64, high: f64, bins: usize) -> Vec<f64> {
        let mut shares = vec![0.0; bins];
        let total = self.total().max(1) as f64;
        for &(value, count) in &self.values {
            if (low..=high).contains(&value) {
                let bin = ((value - low) / (high - low) * bins as f64) as usize;
                shares[bin.min(bins - 1)] += count as f64 / total;
            }
        }
        shares
    }
}

impl StepPanel {
    pub(crate) fn words_of_outlines(&self) -> Vec<String> {
        let across = self.across();
        let high = across.ticks[across.ticks.len() - 1];
        self.series
            .iter()
            .map(|series| self.key(series, high))
            .collect()
    }

    /// Draws the panel into `frame`.
    pub fn draw(&self, canvas: &mut dyn Canvas, frame: Frame) {
        let key = 18.0 * self.series.len() as f64;
        let plot = Frame {
            left: frame.left + 58.0,
            top: frame.top + 58.0,
            width: frame.width - 58.0 - 24.0,
            height: frame.height - 58.0 - 62.0 - key,
        };
        let bottom = plot.top + plot.height;
        let heading = frame.top + 22.0;
        canvas.text(frame.left + 12.0, heading, &self.title, &Text::heading());
        let across = self.across();
        let (low, high) = (across.ticks[0], across.ticks[across.ticks.len() - 1]);
        let bins = self.bins(&across);
        let shares: Vec<Vec<f64>> = self
            .series
            .iter()
            .map(|series| series.shares(low, high, bins))
            .collect();
        let all = shares.iter().flatten().map(|share| 100.0 * share);
        let up = Axis::around(all.chain([0.0]), 4);
        let x = |value: f64| plot.left + plot.width * across.share(value);
        let y = |percent: f64| plot.top + plot.height * (1.0 - up.share(percent));
        let rules = up.labelled(y).into_iter();
        let rules: Vec<_> = rules.map(|(y, label)| (y, label + " %")).collect();
        draw_rules(canvas, plot, &rules, &Text::note().anchored(HPos::Right));
        let ticks = across.labelled(x);
        draw_ticks(canvas, (bottom, 16.0), &ticks, &Text::note());
        let middle = plot.left + plot.width / 2.0;
        canvas.text(middle, bottom + 36.0, &self.measure, &Text::label());
        for &mark in self.marks.iter().filter(|mark| (low..=high).contains(mark)) {
            canvas.line((x(mark), plot.top - 8.0), (x(mark), bottom), MUTED, 1.0);
            canvas.text(x(mark), plot.top - 16.0, &fixed(mark, 0), &Text::note());
        }
        let width = (high - low) / bins as f64;
        for (place, (series, shares)) in self.series.iter().zip(&shares).enumerate() {
            let colour = series_colour(place);
            let mut before = y(0.0);
            for (bin, share) in shares.iter().enumerate() {
                let (left, right) = (low + bin as f64 * width, low + (bin + 1) as f64 * width);
                let top = y(100.0 * share);
                canvas.line((x(left), before), (x(left), top), colour, 2.0);
                canvas.line((x(left), top), (x(right), top), colour, 2.0);
                before = top;
            }
            canvas.line((x(high), before), (x(high), y(0.0)), colour, 2.0);
            let line = bottom + 58.0 + 18.0 * place as f64;
            canvas.line(
                (frame.left + 12.0, line),
                (frame.left + 34.0, line),
                colour,
                3.0,
            );
            let text = self.key(series, high);
            let style = Text::note().anchored(HPos::Left);
            canvas.text(frame.left + 42.0, line, &text, &style);
        }
    }

    fn key(&self, series: &StepSeries, high: f64) -> String {
        let beyond = series.values.iter().filter(|(value, _)| *value > high);
        let beyond: usize = beyond.map(|(_, count)| count).sum();
        let longest = series.values.iter().map(|(value, _)| *value);
        let longest = longest.fold(f64::NEG_INFINITY, f64::max);
        let total = count(series.total() as u64);
        match beyond {
            0 => format!("{}: {total} rows", series.title),
            _ => format!(
                "{}: {total} rows, {} beyond the axis, up to {longest}",
                series.title,
                count(beyond as u64)
            ),
        }
    }

    /// Bins over the whole axis: as many to each step between ticks, and at most 60.
    fn bins(&self, across: &Axis) -> usize {
        let steps = across.ticks.len() - 1;
        let step = (across.ticks[1] - across.ticks[0]).round() as usize;
        let fits = |parts: &usize| {
            let even = step > 0 && step.is_multiple_of(*parts) || !self.whole;
            even && steps * parts <= if self.whole { 60 } else { 20 }
        };
        let parts = [50, 25, 20, 10, 5, 4, 2].into_iter().find(fits);
        steps * parts.unwrap_or(1)
    }

    fn across(&self) -> Axis {
        let values = self.series.iter().flat_map(|series| &series.values);
        let values = values.map(|(value, _)| match self.end {
            Some(end) => value.min(end),
            None => *value,
        });
        Axis::around(values, 6)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_value_on_the_axis_is_in_one_bin_and_the_end_is_in_the_last() {
        let series = StepSeries {
            title: "train".into(),
            values: vec![(0.0, 1), (4.9, 1), (5.0, 2), (10.0, 3), (11.0, 1)],
        };
        assert_eq!(series.total(), 8);
        assert_eq!(series.shares(0.0, 10.0, 2), [0.25, 0.625]);
    }

    #[test]
    fn bins_divide_the_steps_between_ticks_and_hold_equally_many_whole_numbers() {
        let bins = |ticks: &[f64], whole| {
            let panel = StepPanel {
                title: String::new(),
                measure: String::new(),
                series: vec![],
                marks: vec![],
                end: None,
                whole,
            };
            let ticks = ticks.to_vec();
            panel.bins(&Axis { ticks, decimals: 0 })
        };
        assert_eq!(bins(&[0.0, 10.0, 20.0, 30.0, 40.0], true), 40);
        assert_eq!(bins(&[0.0, 20.0, 40.0, 60.0, 80.0, 100.0], true), 50);
        assert_eq!(bins(&[0.0, 1.0, 2.0], true), 2);
        assert_eq!(bins(&[0.0, 1.0, 2.0, 3.0, 4.0, 5.0], false), 20);
    }

    #[test]
    fn the_key_says_what_lies_beyond_the_axis() {
        let series = StepSeries {
            title: "train".into(),
            values: vec![(3.0, 1200), (700.0, 2)],
        };
        let panel = StepPanel {
            title: String::new(),
            measure: String::new(),
            series: vec![],
            marks: vec![],
            end: Some(512.0),
            whole: true,
        };
        assert_eq!(
            panel.key(&series, 512.0),
            "train: 1,202 rows, 2 beyond the axis, up to 700"
        );
        assert_eq!(panel.key(&series, 700.0), "train: 1,202 rows");
    }
}
