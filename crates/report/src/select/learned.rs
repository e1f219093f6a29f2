//! Whether a run learned anything.

use crate::select::runs::Run;

impl Run {
    /// Whether its score is evidence about how it was trained.
    ///
    /// Everything that asks goes through here: claims and their gates.
    pub(crate) fn has_learned(&self) -> bool {
        self.row.status == "ok"
    }
}
