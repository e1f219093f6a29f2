//! The synthetic papers with their tables and figures; `totune_synthetic` has the rows.

use totune_evidence::claims::{ClaimContext, Claims, judge};
use totune_evidence::select::runs::Runs;
use totune_evidence::select::scope::Scope;
use totune_evidence::toml_file::parse;
use totune_record::Tables;
use totune_synthetic::{PLAN, TASK_PLAN, probes, tables, task_tables};

use crate::figures::RenderedFigure;
use crate::item::Item;
use crate::report_file::ReportFile;
use crate::tables::{Kind, RenderedTable};

/// The synthetic paper's `report.toml`.
pub(crate) fn plan() -> ReportFile {
    parse(PLAN, "report.toml").expect("the fixture's report.toml is valid")
}

/// The plan of the four tasks.
pub(crate) fn task_plan() -> ReportFile {
    parse(TASK_PLAN, "report.toml").expect("the fixture's plan is valid")
}

/// A table of the synthetic paper.
pub(crate) fn table(id: &str) -> RenderedTable {
    rendered(&plan(), tables(), id)
}

/// A table of its own over the four tasks.
pub(crate) fn table_of_tasks(settings: &str) -> anyhow::Result<RenderedTable> {
    table_with_claims(settings, "")
}

/// The same with these claims.
pub(crate) fn table_with_claims(settings: &str, claims: &str) -> anyhow::Result<RenderedTable> {
    let text = format!("id = 'table'\ntitle = 'A & B'\n{settings}");
    let item: Item<Kind> = parse(&text, "report.toml")?;
    let plan = task_plan();
    item.kind.get().check(&plan, "report.toml")?;
    let runs = Runs::new(task_tables())?;
    let claims: Claims = parse(claims, "claims.toml")?;
    let context = ClaimContext {
        plan: &plan,
        runs: &runs,
        profile: "fixture",
    };
    let judged = judge(&claims, context, "claims.toml")?;
    item.render(&Scope::new(&plan, &runs, "report.toml"), &judged)
}

/// A table of the paper of two encoders.
pub(crate) fn table_of_encoders(id: &str) -> RenderedTable {
    let plan = parse(probes::PLAN, "report.toml").expect("the fixture's plan is valid");
    rendered(&plan, probes::tables(), id)
}

/// A figure of the paper of two encoders.
pub(crate) fn figure_of_encoders(id: &str) -> RenderedFigure {
    figure_of_plan(probes::PLAN, id)
}

/// A figure of another plan over the same runs.
pub(crate) fn figure_of_plan(plan: &str, id: &str) -> RenderedFigure {
    let plan: ReportFile = parse(plan, "report.toml").expect("a plan");
    let runs = Runs::new(probes::tables()).expect("the rows are valid");
    let figure = plan.figures.iter().find(|figure| figure.heading.id == id);
    let scope = Scope::new(&plan, &runs, "here");
    figure.expect("a figure").draw(&scope).expect("it is drawn")
}

/// The table called `id`, after the plan was checked and its labels were given.
fn rendered(plan: &ReportFile, tables: Tables, id: &str) -> RenderedTable {
    plan.check("report.toml").expect("the plan is valid");
    let mut runs = Runs::new(tables).expect("the rows are valid");
    runs.label(&plan.labels, "report.toml").expect("labels");
    let table = plan.tables.iter().find(|table| table.heading.id == id);
    let scope = Scope::new(plan, &runs, "report.toml");
    table
        .expect("a table")
        .render(&scope, &[])
        .expect("it is filled")
}

impl RenderedTable {
    /// For snapshots.
    pub(crate) fn in_every_format(&self) -> String {
        [
            self.markdown(),
            self.latex(),
            self.plain(),
            self.csv.text().to_owned(),
        ]
        .join("\n----\n")
    }
}
