//! Tables and figures of a page, and the files they are written to.

use anyhow::Result;

use crate::figures::figure::Drawing;
use crate::page::output::Staged;
use crate::select::scope::Scope;
use crate::tables::Sheet;
use crate::tables::grid::Grid;
use crate::tables::paired::Paired;
use crate::tables::table::Table;
use crate::tables::takeaway::Takeaway;

/// What `report.toml` asks for, filled.
pub(crate) struct Contents {
    pub(crate) takeaway: Option<Takeaway>,
    pub(crate) tables: Vec<Table>,
    pub(crate) paired: Vec<Paired>,
    /// Tables of short texts: advice, rows by tasks, epochs.
    pub(crate) grids: Vec<Grid>,
    pub(crate) drawings: Vec<Drawing>,
}

impl Contents {
    /// Fills every table and figure; `stamp` is drawn into figures.
    pub(crate) fn build(scope: &Scope, stamp: Option<String>) -> Result<Self> {
        let plan = scope.plan;
        let tables = plan.tables.iter();
        let tables = tables.map(|table| Table::build(table, scope));
        let paired = plan.paired.iter();
        let paired = paired.map(|asked| Paired::build(asked, scope));
        let guidelines = plan.guidelines.iter();
        let guidelines = guidelines.map(|advice| advice.build(scope));
        let matrices = plan.matrices.iter();
        let matrices = matrices.map(|table| table.build(scope));
        let epochs = plan.epochs.iter();
        let epochs = epochs.map(|table| table.build(scope));
        let figures = plan.figures.iter();
        let drawings = figures.map(|figure| Drawing::build(figure, scope, stamp.clone()));
        let takeaway = plan.takeaway.as_ref();
        let takeaway = takeaway.map(|asked| Takeaway::build(asked, scope));
        Ok(Self {
            tables: tables.collect::<Result<_>>()?,
            paired: paired.collect::<Result<_>>()?,
            grids: guidelines
                .chain(matrices)
                .chain(epochs)
                .collect::<Result<_>>()?,
            drawings: drawings.collect::<Result<_>>()?,
            takeaway: takeaway.transpose()?,
        })
    }

    /// Tables of short texts, with those of the figures.
    pub(crate) fn all_grids(&self) -> impl Iterator<Item = &Grid> {
        let of_figures = self.drawings.iter();
        let of_figures = of_figures.filter_map(|drawing| drawing.table.as_ref());
        self.grids.iter().chain(of_figures)
    }

    /// Writes every table and figure.
    pub(crate) fn stage(&self, staged: &mut Staged) -> Result<()> {
        let sheets = self.takeaway.iter().map(|sheet| sheet as &dyn Sheet);
        let sheets = sheets
            .chain(self.tables.iter().map(|sheet| sheet as &dyn Sheet))
            .chain(self.paired.iter().map(|sheet| sheet as &dyn Sheet))
            .chain(self.all_grids().map(|sheet| sheet as &dyn Sheet));
        for sheet in sheets {
            for (ending, text) in sheet.files() {
                staged.write(&format!("tables/{}.{ending}", sheet.id()), text.as_bytes())?;
            }
        }
        for drawing in &self.drawings {
            let file = |ending: &str| format!("figures/{}.{ending}", drawing.id);
            staged.write(&file("svg"), drawing.figure.svg()?.as_bytes())?;
            staged.write_with(&file("png"), |path| drawing.figure.write_png(path))?;
            if let Some(csv) = &drawing.csv {
                staged.write(&file("csv"), csv.as_bytes())?;
            }
        }
        Ok(())
    }
}
