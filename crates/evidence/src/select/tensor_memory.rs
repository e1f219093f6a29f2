//! Memory of runs: the most bytes of tensors that were alive at once in the timing pass of their kind.

use std::collections::{BTreeMap, BTreeSet};

use totune_record::{RunRow, TimingRow};

use super::retime::{Kind, kind, timed_kind};

/// The field of a run that has it, next to those of its row.
pub(crate) const TENSOR_MEMORY: &str = "tensor_memory";

/// Bytes by run id. A machine that was not quiet counts the same bytes; where some kinds were timed on the CPU and some
/// on a GPU, none can be compared.
pub(crate) fn tensor_memory(runs: &[RunRow], timing: &[TimingRow]) -> BTreeMap<String, u64> {
    let mut of_kind: BTreeMap<Kind, u64> = BTreeMap::new();
    let mut devices = BTreeSet::new();
    for row in timing {
        let Some(bytes) = row.tensor_memory else {
            continue;
        };
        // Without its description: `cpu`, `cuda:0`.
        devices.insert(row.device.split(' ').next());
        let most = of_kind.entry(timed_kind(row)).or_default();
        *most = bytes.max(*most);
    }
    if devices.len() > 1 {
        return BTreeMap::new();
    }
    let of_run = |run: &RunRow| Some((run.run_id.clone(), *of_kind.get(&kind(run)?)?));
    runs.iter().filter_map(of_run).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(arm: &str, phase: u32, device: &str, tensor_memory: Option<u64>) -> TimingRow {
        TimingRow {
            experiment: "table-1".into(),
            arm: arm.into(),
            dataset: "letters".into(),
            encoder: "tiny".into(),
            phase,
            tensor_memory,
            device: device.into(),
            ..TimingRow::default()
        }
    }

    fn of_runs(timing: &[TimingRow]) -> BTreeMap<String, u64> {
        let run = |id: &str, experiment: &str, arm: &str| RunRow {
            run_id: id.into(),
            experiment: experiment.into(),
            spec: format!(r#"{{"arm":"{arm}","work":{{"kind":"fine-tune"}}}}"#),
            dataset: "letters".into(),
            encoder: "tiny".into(),
            ..totune_synthetic::tables().runs[0].clone()
        };
        let runs = [
            run("a", "table-1", "two"),
            run("b", "table-1-search", "two"),
            run("c", "table-1", "other"),
        ];
        tensor_memory(&runs, timing)
    }

    #[test]
    fn a_run_has_the_most_of_all_phases_of_its_kind_on_a_machine_that_need_not_be_quiet() {
        let timing = [
            row("two", 0, "cpu (LibTorch 2.11.0)", Some(5)),
            row("two", 1, "cpu (LibTorch 2.11.0)", Some(7)),
            row("other", 0, "cpu (LibTorch 2.11.0)", None),
        ];
        let expected = [("a".to_owned(), 7), ("b".to_owned(), 7)];
        assert_eq!(of_runs(&timing), BTreeMap::from(expected));
    }

    #[test]
    fn kinds_on_several_devices_are_not_compared() {
        let timing = [
            row("two", 0, "cpu (LibTorch 2.11.0)", Some(5)),
            row("other", 0, "cuda:0 (a GPU)", Some(9)),
        ];
        assert!(of_runs(&timing).is_empty());
    }
}
