//! Tables and figures of a page, and the files they are written to.

use anyhow::Result;
use totune_evidence::claims::Judged;
use totune_evidence::select::scope::Scope;
use totune_plot::Figure;

use crate::figures::RenderedFigure;
use crate::page::output::Staged;
use crate::report_file::ReportFile;
use crate::tables::takeaway::Takeaway;
use crate::tables::{RenderedTable, searches};

/// The tables and figures of `report.toml`, filled.
pub(crate) struct Contents {
    /// With its figure, where anything can be compared.
    pub(crate) takeaway: Option<(Takeaway, Option<Figure>)>,
    pub(crate) tables: Vec<RenderedTable>,
    pub(crate) drawings: Vec<(RenderedFigure, Figure)>,
}

impl Contents {
    /// Fills every table and figure; `stamp` is drawn into figures.
    pub(crate) fn build(
        file: &ReportFile,
        scope: &Scope,
        judged: &[Judged],
        stamp: Option<String>,
    ) -> Result<Self> {
        // Profiles differ in which experiments they run, and a grid may not be complete. Of equals the first one is taken.
        let takeaways = file.takeaways.iter().rev();
        let takeaway = takeaways.max_by_key(|takeaway| takeaway.tasks_scored(scope));
        let tables = file.tables.iter();
        let drawings = file.figures.iter().map(|figure| {
            let mut drawing = figure.draw(scope)?;
            let panels = std::mem::take(&mut drawing.panels);
            let stamp = stamp.clone();
            Ok((drawing, Figure { panels, stamp }))
        });
        let drawings = drawings.collect::<Result<_>>()?;
        let fill = || takeaway.map(|asked| asked.render(scope)).transpose();
        let (mut takeaway, caveats) = scope.runs.with_caveats(scope.plan, fill)?;
        if let Some(takeaway) = &mut takeaway {
            let table = &mut takeaway.table;
            table.notes.extend(scope.runs.retimed().notes());
            // First the caveats on its sentences.
            let caveats = caveats.into_iter().map(|note| format!("{note}."));
            table.lead.splice(0..0, caveats);
        }
        let takeaway = takeaway.map(|mut takeaway| {
            let panels = takeaway.figure.take();
            let figure = panels.map(|panels| Figure { panels, stamp });
            (takeaway, figure)
        });
        let tables = tables.map(|table| table.render(scope, judged));
        let mut tables = tables.collect::<Result<Vec<_>>>()?;
        tables.extend(searches::table(scope));
        Ok(Self {
            takeaway,
            tables,
            drawings,
        })
    }

    /// Every table, with those of the figures.
    pub(crate) fn all_tables(&self) -> impl Iterator<Item = &RenderedTable> {
        let of_figures = self.drawings.iter();
        let of_figures = of_figures.filter_map(|(drawing, _)| drawing.table.as_ref());
        let takeaway = self.takeaway.iter().map(|(takeaway, _)| &takeaway.table);
        takeaway.chain(&self.tables).chain(of_figures)
    }

    /// Writes every table and figure.
    pub(crate) fn stage(&self, staged: &mut Staged) -> Result<()> {
        for table in self.all_tables() {
            staged.write_table(table)?;
        }
        if let Some((_, Some(figure))) = &self.takeaway {
            staged.write("figures/takeaway.svg", figure.svg()?.as_bytes())?;
            staged.write_with("figures/takeaway.png", |path| figure.write_png(path))?;
        }
        for (drawing, figure) in &self.drawings {
            let file = |ending: &str| format!("figures/{}.{ending}", drawing.heading.id);
            if !figure.panels.is_empty() {
                staged.write(&file("svg"), figure.svg()?.as_bytes())?;
                staged.write_with(&file("png"), |path| figure.write_png(path))?;
            }
            let of_table = drawing.table.as_ref().map(|table| &table.csv);
            if let Some(csv) = drawing.csv.as_ref().or(of_table) {
                staged.write(&file("csv"), csv.text().as_bytes())?;
            }
        }
        Ok(())
    }
}
