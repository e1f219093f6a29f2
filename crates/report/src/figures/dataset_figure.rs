//! The picture of a dataset: the distributions of its text lengths and of its labels or scores.

use std::path::Path;

use anyhow::{Context, Result, bail};

use totune_plot::bars::{BarPanel, BarSeries};
use totune_plot::steps::{StepPanel, StepSeries};
use totune_plot::{Figure, Panel};

/// The contents of the picture of a dataset.
#[derive(Debug, Clone)]
pub struct DatasetFigure {
    /// Name of the dataset.
    pub name: String,
    /// Unit of lengths: `words`, `wordpieces`.
    pub unit: String,
    /// Lengths to mark, such as common maximum lengths.
    pub limits: Vec<usize>,
    /// Its splits, `train` first.
    pub splits: Vec<SplitFigure>,
    /// A warning drawn into the picture.
    pub stamp: Option<String>,
}

/// One split.
#[derive(Debug, Clone)]
pub struct SplitFigure {
    /// Its name.
    pub split: String,
    /// Lengths and the rows that have each.
    pub lengths: Vec<(usize, usize)>,
    /// Distribution of its labels or scores.
    pub answers: Targets,
}

/// A distribution of labels or scores.
#[derive(Debug, Clone)]
pub enum Targets {
    /// Rows that have each label, in the order of the card.
    Labels {
        /// A row with several labels counts for each of them.
        counts: Vec<(String, usize)>,
        /// Labelled rows.
        rows: usize,
    },
    /// Spans of each type, in the order of the card.
    Spans(Vec<(String, usize)>),
    /// Scores and the rows that have each.
    Scores(Vec<(f64, usize)>),
}

/// Rows that may lie beyond the axis of lengths, so that one very long text does not squeeze all others.
const BEYOND: f64 = 0.002;

impl DatasetFigure {
    /// Draws the picture at `path`, which ends in `.svg` or `.png`.
    pub fn write(&self, path: &Path) -> Result<()> {
        let figure = self.figure();
        let context = || format!("{}: could not be written", path.display());
        match path.extension().and_then(|extension| extension.to_str()) {
            Some("svg") => std::fs::write(path, figure.svg()?).with_context(context),
            Some("png") => figure.write_png(path).with_context(context),
            _ => bail!(
                "{}: unknown kind of picture; expected a name that ends in `.svg` or `.png`",
                path.display()
            ),
        }
    }

    fn figure(&self) -> Figure {
        let lengths = self.splits.iter().map(|split| StepSeries {
            title: split.split.clone(),
            values: split
                .lengths
                .iter()
                .map(|&(length, rows)| (length as f64, rows))
                .collect(),
        });
        let mut panels = vec![Panel::Steps(StepPanel {
            title: format!("{}: length", self.name),
            measure: format!("{} per row", self.unit),
            series: lengths.collect(),
            marks: self.limits.iter().map(|&limit| limit as f64).collect(),
            end: self.end(),
            whole: true,
        })];
        panels.extend(self.answers());
        Figure {
            panels,
            stamp: self.stamp.clone(),
        }
    }

    /// The length that all but a few rows do not exceed.
    fn end(&self) -> Option<f64> {
        let mut all: Vec<(usize, usize)> = self
            .splits
            .iter()
            .flat_map(|split| split.lengths.iter().copied())
            .collect();
        all.sort_unstable();
        let total: usize = all.iter().map(|(_, rows)| rows).sum();
        let mut left = ((1.0 - BEYOND) * total as f64).ceil() as usize;
        for (length, rows) in all {
            left = left.saturating_sub(rows);
            if left == 0 {
                return Some(length as f64);
            }
        }
        None
    }

    fn answers(&self) -> Option<Panel> {
        let mut bars = Vec::new();
        let mut steps = Vec::new();
        let mut names = Vec::new();
        for split in &self.splits {
            let title = split.split.clone();
            match &split.answers {
                Targets::Labels { counts, .. } | Targets::Spans(counts)
                    if counts.iter().any(|(_, count)| *count > 0) =>
                {
                    names = counts.iter().map(|(label, _)| label.clone()).collect();
                    let counts: Vec<usize> = counts.iter().map(|(_, count)| *count).collect();
                    let (whole, of) = match &split.answers {
                        Targets::Labels { rows, .. } => (*rows, "labelled"),
                        _ => (counts.iter().sum(), "spans"),
                    };
                    bars.push(BarSeries {
                        title,
                        counts,
                        whole,
                        of,
                    });
                }
                Targets::Scores(scores) if !scores.is_empty() => steps.push(StepSeries {
                    title,
                    values: scores.clone(),
                }),
                Targets::Labels { .. } | Targets::Spans(_) | Targets::Scores(_) => {}
            }
        }
        let title = format!("{}: answers", self.name);
        match (bars.is_empty(), steps.is_empty()) {
            (false, _) => Some(Panel::Bars(BarPanel {
                title,
                labels: names,
                series: bars,
            })),
            (true, false) => Some(Panel::Steps(StepPanel {
                title,
                measure: "score".into(),
                series: steps,
                marks: vec![],
                end: None,
                whole: false,
            })),
            (true, true) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figure(answers: Targets) -> DatasetFigure {
        DatasetFigure {
            name: "synthetic".into(),
            unit: "words".into(),
            limits: vec![128],
            splits: vec![SplitFigure {
                split: "train".into(),
                lengths: (1..=150)
                    .map(|length| (length, 10))
                    .chain([(900, 1)])
                    .collect(),
                answers,
            }],
            stamp: None,
        }
    }

    #[test]
    fn one_long_row_does_not_squeeze_the_axis() {
        assert_eq!(figure(Targets::Spans(vec![])).end(), Some(150.0));
    }

    #[test]
    fn the_picture_names_lengths_labels_and_counts() {
        let labels = [("yes", 900), ("no", 601)].map(|(label, rows)| (label.to_string(), rows));
        let svg = figure(Targets::Labels {
            counts: labels.into(),
            rows: 1501,
        })
        .figure()
        .svg()
        .unwrap();
        for text in [
            "synthetic: length",
            "words per row",
            "128",
            "train: 1,501 rows, 1 beyond the axis, up to 900",
            "synthetic: answers",
            "60.0 %  900",
            "40.0 %  601",
        ] {
            assert!(svg.contains(text), "{text}");
        }
    }

    #[test]
    fn scores_are_drawn_and_unknown_answers_are_not() {
        let panels = |answers| figure(answers).figure().panels.len();
        assert_eq!(panels(Targets::Scores(vec![(0.5, 3), (4.5, 1)])), 2);
        assert_eq!(panels(Targets::Spans(vec![("yes".into(), 0)])), 1);
    }

    #[test]
    fn a_picture_is_svg_or_png() {
        let folder = tempfile::tempdir().unwrap();
        let picture = figure(Targets::Spans(vec![]));
        picture.write(&folder.path().join("a.png")).unwrap();
        let start = std::fs::read(folder.path().join("a.png")).unwrap();
        assert!(start.starts_with(b"\x89PNG"));
        let error = picture.write(&folder.path().join("a.gif")).unwrap_err();
        assert!(
            error
                .to_string()
                .ends_with("expected a name that ends in `.svg` or `.png`")
        );
    }
}
