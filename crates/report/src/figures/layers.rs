//! Figures of scores by layer: one panel per task, one line per selection of runs, and a table of the same numbers.

use std::collections::{BTreeMap, HashSet};

use anyhow::{Result, ensure};
use serde::Deserialize;
use totune_stats::curve::Spread;
use totune_stats::sd;

use crate::figures::figure::Drawing;
use crate::plan::{Plan, Side, Task, Where, check_id};
use crate::select::label::labelled;
use crate::select::panel::Runners;
use crate::select::panel::test;
use crate::select::scope::Scope;
use crate::tables::grid::{Grid, GridCell, GridPart};
use crate::text::{counted, csv_field, fixed};
use totune_plot::series::{Series, SeriesPanel, Stroke};
use totune_plot::{Figure, Panel};

/// Scores by layer: metrics named `<metric>@layer-<i>`, where layer 0 is the embeddings.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct LayersPlan {
    pub(crate) id: String,
    pub(crate) title: String,
    #[serde(default)]
    pub(crate) source: String,
    #[serde(default)]
    pub(crate) text: String,
    #[serde(rename = "panel")]
    pub(crate) panels: Vec<LayerPanelPlan>,
    #[serde(rename = "line")]
    pub(crate) lines: Vec<LayerLinePlan>,
    /// Which scores.
    #[serde(default = "test")]
    pub(crate) split: String,
    /// Further conditions on every line.
    #[serde(default, rename = "where")]
    pub(crate) conditions: Where,
}

/// One panel: a task, by its own metric unless another is named.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct LayerPanelPlan {
    pub(crate) task: String,
    pub(crate) metric: Option<String>,
    /// What the axis calls that metric.
    pub(crate) unit: Option<String>,
}

/// One line.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct LayerLinePlan {
    pub(crate) group: String,
    /// Another title than the group's.
    pub(crate) title: Option<String>,
    /// Another metric than the panel's, such as the same with shuffled labels.
    pub(crate) metric: Option<String>,
    #[serde(default)]
    pub(crate) stroke: Stroke,
}

/// Digits of a score.
const DIGITS: usize = 3;

/// The scores of some runs by layer.
#[derive(Debug, Default)]
pub(crate) struct ByLayer {
    /// Scores of the runs that have the layer, in their order.
    pub(crate) layers: BTreeMap<u32, Vec<f64>>,
    /// Runs that were scored by layer.
    pub(crate) runs: usize,
    /// What became of the others, or why there are none.
    pub(crate) note: Option<String>,
}

impl ByLayer {
    /// What `runners` have of `metric` on `split`.
    pub(crate) fn of(runners: &Runners, metric: &str, split: &str) -> Self {
        let mut found = Self::default();
        let (mut unscored, mut all) = (0, 0);
        for run in runners.all() {
            all += 1;
            let scores = run.layers(metric, split);
            if scores.is_empty() {
                unscored += 1;
                continue;
            }
            found.runs += 1;
            for (layer, score) in scores {
                found.layers.entry(layer).or_default().push(score);
            }
        }
        let lost = (!runners.lost.is_empty()).then(|| runners.lost_text());
        let unscored = (unscored > 0).then(|| {
            let of = if unscored == all { "" } else { " of them" };
            format!(
                "{}{of} without `{metric}` by layer",
                counted(unscored, "run")
            )
        });
        let parts: Vec<String> = lost.into_iter().chain(unscored).collect();
        found.note = match (&runners.note, parts.is_empty()) {
            (Some(note), _) => Some(note.clone()),
            (None, false) => Some(parts.join(", ")),
            (None, true) => None,
        };
        found
    }

    /// Means over the runs, from the lowest layer to the highest.
    pub(crate) fn means(&self) -> Vec<(u32, f64)> {
        let mean = |(layer, scores): (&u32, &Vec<f64>)| (*layer, totune_stats::mean(scores));
        self.layers.iter().map(mean).collect()
    }

    fn points(&self) -> Vec<(u32, Spread)> {
        let point = |(layer, scores): (&u32, &Vec<f64>)| Some((*layer, Spread::of(scores)?));
        self.layers.iter().filter_map(point).collect()
    }
}

/// One line with its numbers.
struct Line {
    title: String,
    metric: String,
    found: ByLayer,
    colour: usize,
    stroke: Stroke,
    labels: Vec<String>,
}

impl LayersPlan {
    /// Checks what the types cannot.
    pub(crate) fn check(&self, plan: &Plan, from: &str, ids: &mut HashSet<String>) -> Result<()> {
        check_id(&self.id, from, ids)?;
        check_id(&self.table_id(), from, ids)?;
        ensure!(
            !self.panels.is_empty(),
            "{from}: found no panel, expected at least one"
        );
        for panel in &self.panels {
            plan.task(&panel.task, from)?;
        }
        for line in &self.lines {
            plan.group(&line.group, from)?;
        }
        Ok(())
    }

    fn table_id(&self) -> String {
        format!("{}-numbers", self.id)
    }

    /// Fills panels and table.
    pub(crate) fn draw(&self, scope: &Scope, stamp: Option<String>) -> Result<Drawing> {
        let Scope { plan, from, .. } = scope;
        let (mut panels, mut parts, mut notes) = (Vec::new(), Vec::new(), Vec::new());
        let mut csv =
            String::from("figure,task,line,metric,split,layer,mean,low,high,sd,runs,labels\n");
        let tasks = self.panels.iter().map(|panel| {
            let task = plan.task(&panel.task, from)?;
            Ok((panel, task, self.lines(panel, task, scope)?))
        });
        let tasks = tasks.collect::<Result<Vec<(&LayerPanelPlan, &Task, Vec<Line>)>>>()?;
        let layers = tasks.iter().flat_map(|(_, _, lines)| lines);
        let layers: HashSet<u32> = layers
            .flat_map(|line| line.found.layers.keys().copied())
            .collect();
        let mut layers: Vec<u32> = layers.into_iter().collect();
        layers.sort_unstable();
        for (panel, task, lines) in &tasks {
            let unit = panel.unit.as_ref().unwrap_or(&task.unit);
            for line in lines {
                if let Some(note) = &line.found.note {
                    notes.push(format!("{}, {}: {note}", task.title, line.title));
                }
                csv.push_str(&line.csv(&self.id, &panel.task, &self.split));
            }
            parts.push(GridPart {
                title: format!("{} ({unit})", task.title),
                rows: lines.iter().map(|line| line.cells(&layers)).collect(),
            });
            let series = lines.iter().map(|line| Series {
                title: line.title.clone(),
                points: line.found.points(),
                colour: line.colour,
                stroke: line.stroke,
                ..Series::default()
            });
            panels.push(Panel::Series(SeriesPanel {
                title: task.title.clone(),
                measure: unit.clone(),
                across: "Layer (0: embeddings)".to_owned(),
                lines: series.collect(),
                ..SeriesPanel::default()
            }));
        }
        let head = ["Representation".to_owned()]
            .into_iter()
            .chain(layers.iter().map(|layer| format!("Layer {layer}")))
            .chain(["Runs".to_owned()]);
        let table = Grid {
            id: self.table_id(),
            title: format!("{}: the numbers", self.title),
            head: head.collect(),
            parts,
            notes: vec![
                "means over runs, with the lowest and the highest where runs differ; bold: the best layer of a row"
                    .to_owned(),
            ],
            csv: csv.clone(),
            ..Grid::default()
        };
        Ok(Drawing {
            id: self.id.clone(),
            title: self.title.clone(),
            source: self.source.clone(),
            text: self.text.clone(),
            notes,
            figure: Figure { panels, stamp },
            table: Some(table),
            csv: Some(csv),
        })
    }

    fn lines(&self, panel: &LayerPanelPlan, task: &Task, scope: &Scope) -> Result<Vec<Line>> {
        let lines = self.lines.iter().map(|line| {
            let side = Side::One(line.group.clone());
            let runners = Runners::of(&side, task, &self.conditions, scope)?;
            let metric = line.metric.as_ref().or(panel.metric.as_ref());
            let metric = metric.unwrap_or(&task.metric);
            let title = match &line.title {
                Some(title) => title,
                None => &scope.plan.group(&line.group, &scope.from)?.title,
            };
            let first = self
                .lines
                .iter()
                .position(|other| other.group == line.group);
            Ok(Line {
                title: labelled(title, &runners.labels),
                metric: metric.clone(),
                found: ByLayer::of(&runners, metric, &self.split),
                colour: first.unwrap_or(0),
                stroke: line.stroke,
                labels: runners.labels.iter().cloned().collect(),
            })
        });
        lines.collect()
    }
}

impl Line {
    fn cells(&self, layers: &[u32]) -> Vec<GridCell> {
        let means = self.found.means();
        let scores = || means.iter().map(|(_, mean)| *mean);
        let best = scores().max_by(f64::total_cmp);
        // Where all layers are alike none is the best.
        let best = best.filter(|best| scores().any(|mean| mean < *best));
        let cells = layers.iter().map(|layer| {
            let Some(scores) = self.found.layers.get(layer) else {
                return GridCell::default();
            };
            let spread = Spread::of(scores).expect("a layer has scores");
            GridCell {
                main: fixed(spread.mean, DIGITS),
                beside: if spread.low < spread.high {
                    let [low, high] = [spread.low, spread.high].map(|end| fixed(end, DIGITS));
                    format!("[{low}, {high}]")
                } else {
                    String::new()
                },
                best: Some(spread.mean) == best,
                ..GridCell::default()
            }
        });
        [GridCell::of(&self.title)]
            .into_iter()
            .chain(cells)
            .chain([GridCell::of(match self.found.runs {
                0 => "no run".to_owned(),
                runs => runs.to_string(),
            })])
            .collect()
    }

    fn csv(&self, figure: &str, task: &str, split: &str) -> String {
        let mut text = String::new();
        for (layer, scores) in &self.found.layers {
            let spread = Spread::of(scores).expect("a layer has scores");
            let fields = [
                csv_field(figure),
                csv_field(task),
                csv_field(&self.title),
                csv_field(&self.metric),
                csv_field(split),
                layer.to_string(),
                spread.mean.to_string(),
                spread.low.to_string(),
                spread.high.to_string(),
                if scores.len() > 1 {
                    sd(scores).to_string()
                } else {
                    String::new()
                },
                scores.len().to_string(),
                csv_field(&self.labels.join("; ")),
            ];
            text.push_str(&fields.join(","));
            text.push('\n');
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::probes;
    use crate::plan::FigurePlan;
    use crate::select::runs::Runs;

    #[test]
    fn the_table_has_every_layer_of_every_line() {
        let drawing = drawn("figure-1");
        let table = drawing.table.expect("a table beside the figure");
        assert_eq!(table.head[..3], ["Representation", "Layer 0", "Layer 1"]);
        let letters = &table.parts[0];
        assert_eq!(letters.title, "Letters (accuracy)");
        let [pretrained, tuned] = &letters.rows[..] else {
            panic!("{:?}", letters.rows);
        };
        // 0.74 at the top, from a single run; 0.55 + 0.07 at layer 1, over three seeds.
        let top = &pretrained[7];
        assert_eq!(
            (top.main.as_str(), top.beside.as_str(), top.best),
            ("0.740", "", true)
        );
        let low = &tuned[2];
        assert_eq!(
            (low.main.as_str(), low.beside.as_str()),
            ("0.620", "[0.610, 0.630]")
        );
        assert_eq!(
            (pretrained[8].main.as_str(), tuned[8].main.as_str()),
            ("1", "3")
        );
    }

    #[test]
    fn a_line_may_have_a_metric_of_its_own_and_shares_the_colour_of_its_group() {
        let drawing = drawn("figure-2");
        let Panel::Series(panel) = &drawing.figure.panels[0] else {
            panic!("a panel of series");
        };
        let lines: Vec<(usize, Stroke, f64)> = panel
            .lines
            .iter()
            .map(|line| (line.colour, line.stroke, line.points[6].1.mean))
            .collect();
        let near = |found: f64, expected: f64| (found - expected).abs() < 1e-12;
        assert_eq!((lines[0].0, lines[1].0, lines[2].0), (0, 1, 1));
        assert_eq!((lines[1].1, lines[2].1), (Stroke::Solid, Stroke::Dashed));
        assert!(near(lines[1].2, 0.4) && near(lines[2].2, 0.5), "{lines:?}");
        assert_eq!(panel.measure, "bits");
    }

    #[test]
    fn a_metric_that_no_run_has_by_layer_is_named() {
        let text = "id = 'x'\ntitle = 'X'\npanel = [{ task = 'letters', metric = 'f1' }]\nline = [{ group = 'tuned' }]";
        let figure: LayersPlan = crate::toml_file::parse(text, "report.toml").unwrap();
        let runs = Runs::new(&probes::tables()).unwrap();
        let drawing = figure
            .draw(&Scope::new(&probes::plan(), &runs, "here"), None)
            .unwrap();
        assert_eq!(
            drawing.notes,
            ["Letters, Fine-tuned: 3 runs without `f1` by layer"]
        );
    }

    fn drawn(id: &str) -> Drawing {
        let plan = probes::plan();
        let runs = Runs::new(&probes::tables()).unwrap();
        let figure = plan.figures.iter().find_map(|figure| match figure {
            FigurePlan::Layers(figure) if figure.id == id => Some(figure),
            _ => None,
        });
        figure
            .unwrap()
            .draw(&Scope::new(&plan, &runs, "here"), None)
            .unwrap()
    }
}
