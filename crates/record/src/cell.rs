//! Rows as columns: the name and type of each field's column.

use polars::chunked_array::builder::ListPrimitiveChunkedBuilder;
use polars::prelude::*;
use serde::Serialize;

use crate::{EvalRow, PerplexityRow, PredictionRow, PretrainingRow, RunRow, TimingRow};

/// A row type with its table's name and columns.
pub(crate) trait Row: Sized + Serialize {
    /// Name of the table, which is also the name of its file.
    const TABLE: &'static str;
    /// A short description of one row, for whoever opens the file.
    const ABOUT: &'static str;
    /// Rows of a group: what is in memory of a table that is written in parts, some tens of megabytes.
    const GROUP: usize = 1 << 16;
    /// A column that files of one earlier schema version have, and that is not read.
    const GONE: Option<(&'static str, u32)> = None;
    /// Columns in order.
    fn schema() -> Vec<ColumnSpec>;
    /// The rows as one data frame.
    fn to_frame(rows: &[Self]) -> PolarsResult<DataFrame>;
    /// The rows of a data frame whose schema has been checked.
    fn from_frame(frame: &DataFrame) -> PolarsResult<Vec<Self>>;
}

/// The requirements of a column.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ColumnSpec {
    pub name: &'static str,
    pub dtype: DataType,
    /// True if a cell may be empty, which means unknown; that is not a number.
    pub nullable: bool,
    /// The first schema version that has it. In a file of an earlier one every cell of it is empty.
    pub since: u32,
}

/// A field type with its column type.
trait Cell: Sized {
    const NULLABLE: bool = false;
    fn dtype() -> DataType;
    fn column<'a>(name: &str, values: impl Iterator<Item = &'a Self>) -> Column
    where
        Self: 'a;
    fn values(column: &Column) -> PolarsResult<Vec<Self>>;
}

impl Cell for String {
    fn dtype() -> DataType {
        DataType::String
    }

    fn column<'a>(name: &str, values: impl Iterator<Item = &'a Self>) -> Column {
        StringChunked::from_iter_values(name.into(), values.map(String::as_str)).into_column()
    }

    fn values(column: &Column) -> PolarsResult<Vec<Self>> {
        Ok(column.str()?.iter().flatten().map(str::to_owned).collect())
    }
}

impl Cell for bool {
    fn dtype() -> DataType {
        DataType::Boolean
    }

    fn column<'a>(name: &str, values: impl Iterator<Item = &'a Self>) -> Column {
        let values: Vec<bool> = values.copied().collect();
        BooleanChunked::from_slice(name.into(), &values).into_column()
    }

    fn values(column: &Column) -> PolarsResult<Vec<Self>> {
        Ok(column.bool()?.iter().flatten().collect())
    }
}

impl Cell for Vec<f32> {
    fn dtype() -> DataType {
        DataType::List(Box::new(DataType::Float32))
    }

    fn column<'a>(name: &str, values: impl Iterator<Item = &'a Self>) -> Column {
        let mut builder =
            ListPrimitiveChunkedBuilder::<Float32Type>::new(name.into(), 0, 0, DataType::Float32);
        values.for_each(|scores| builder.append_slice(scores));
        builder.finish().into_column()
    }

    fn values(column: &Column) -> PolarsResult<Vec<Self>> {
        let lists = column.list()?;
        if let Some(row) = lists
            .is_null()
            .iter()
            .position(|is_null| is_null == Some(true))
        {
            polars_bail!(ComputeError: "row {row} is empty");
        }
        // From the numbers of all rows: a series for each row would take most of the time of reading a table.
        let inner = lists.get_inner();
        let mut all = Vec::with_capacity(lists.len());
        for (rows, numbers) in lists.downcast_iter().zip(inner.f32()?.downcast_iter()) {
            let (offsets, numbers) = (rows.offsets(), numbers.values().as_slice());
            all.extend((0..offsets.len_proxy()).map(|row| {
                let (start, end) = offsets.start_end(row);
                numbers[start..end].to_vec()
            }));
        }
        Ok(all)
    }
}

macro_rules! number_cell {
    ($type:ty, $dtype:ident, $accessor:ident) => {
        impl Cell for $type {
            fn dtype() -> DataType {
                DataType::$dtype
            }

            fn column<'a>(name: &str, values: impl Iterator<Item = &'a Self>) -> Column {
                let values: Vec<$type> = values.copied().collect();
                Column::new(name.into(), values)
            }

            fn values(column: &Column) -> PolarsResult<Vec<Self>> {
                Ok(column.$accessor()?.into_no_null_iter().collect())
            }
        }
    };
}

macro_rules! unknown_cell {
    ($type:ty, $dtype:ident, $accessor:ident) => {
        impl Cell for Option<$type> {
            const NULLABLE: bool = true;

            fn dtype() -> DataType {
                DataType::$dtype
            }

            fn column<'a>(name: &str, values: impl Iterator<Item = &'a Self>) -> Column {
                let values: Vec<Self> = values.copied().collect();
                Column::new(name.into(), values)
            }

            fn values(column: &Column) -> PolarsResult<Vec<Self>> {
                Ok(column.$accessor()?.iter().collect())
            }
        }
    };
}

number_cell!(u32, UInt32, u32);
number_cell!(u64, UInt64, u64);
number_cell!(f64, Float64, f64);
unknown_cell!(u32, UInt32, u32);
unknown_cell!(u64, UInt64, u64);
unknown_cell!(f64, Float64, f64);

/// The first schema version, or that of a column that came later.
macro_rules! since {
    () => {
        1
    };
    ($version:literal) => {
        $version
    };
}

/// Lists the fields of a row type once, in the order of the columns; `[2]` after one that schema version 2 added, which
/// has to be an `Option`. `gone` names the column that only files of an earlier version have.
macro_rules! row {
    ($row:ident, $table:literal, $about:literal $(, group $group:expr)? $(, gone $gone:expr)?, { $($field:ident: $type:ty $([$since:literal])?),+ $(,)? }) => {
        impl Row for $row {
            const TABLE: &'static str = $table;
            const ABOUT: &'static str = $about;
            $(const GROUP: usize = $group;)?
            $(const GONE: Option<(&'static str, u32)> = Some($gone);)?

            fn schema() -> Vec<ColumnSpec> {
                vec![$(ColumnSpec {
                    name: stringify!($field),
                    dtype: <$type>::dtype(),
                    nullable: <$type>::NULLABLE,
                    since: since!($($since)?),
                }),+]
            }

            fn to_frame(rows: &[Self]) -> PolarsResult<DataFrame> {
                let columns = vec![
                    $(<$type>::column(stringify!($field), rows.iter().map(|row| &row.$field))),+
                ];
                DataFrame::new(rows.len(), columns)
            }

            fn from_frame(frame: &DataFrame) -> PolarsResult<Vec<Self>> {
                $(let mut $field = <$type>::values(frame.column(stringify!($field))?)?.into_iter();)+
                // The iterators have one item per row of the frame, so they end together.
                Ok(std::iter::from_fn(|| Some($row { $($field: $field.next()?),+ })).collect())
            }
        }
    };
}

row!(RunRow, "runs", "one row per run: what was asked, on what, by which code, at what cost, how it ended", group 1 << 13, {
    run_id: String,
    paper: String,
    experiment: String,
    profile: String,
    spec: String,
    code_commit: String,
    code_dirty: bool,
    dataset: String,
    dataset_hash: String,
    encoder: String,
    checkpoint_hash: String,
    tokenizer_hash: String,
    seed: u64,
    device: String,
    dtype: String,
    threads: u32,
    params_total: u64,
    params_trainable: u64,
    epochs: u32,
    steps: u64,
    stop_reason: String,
    train_seconds: f64,
    eval_seconds: f64,
    cache_seconds: f64,
    cpu_seconds: Option<f64> [2],
    load_average: Option<f64> [2],
    peak_memory: u64,
    started: u64,
    status: String,
    error: String,
});

row!(EvalRow, "evals", "one row per score of a run at one moment; proportions are between 0 and 1", {
    run_id: String,
    phase: u32,
    epoch: u32,
    step: u64,
    split: String,
    metric: String,
    value: f64,
    n: u64,
    train_seconds: f64,
    is_final: bool,
});

row!(PredictionRow, "predictions", "one row per predicted example: gold, predicted, and a score per label", {
    run_id: String,
    split: String,
    example_id: String,
    position: u32,
    gold: String,
    predicted: String,
    scores: Vec<f32>,
});

row!(PretrainingRow, "pretraining", "one row per some steps of a pre-training run; losses in nats", {
    run: String,
    step: u64,
    tokens: u64,
    loss: f64,
    gradient_norm: f64,
    learning_rate: f64,
    seconds: f64,
    tokens_per_second: f64,
});

row!(PerplexityRow, "perplexity", "one row per model and held-out text", {
    run: String,
    text: String,
    model: String,
    step: u64,
    tokens: u64,
    n: u64,
    nats: f64,
    perplexity: f64,
});

row!(TimingRow, "timing", "one row per kind of run and phase: what an epoch takes on a quiet machine", gone ("peak_memory", 4), {
    paper: String,
    experiment: String,
    arm: String,
    dataset: String,
    encoder: String,
    settings: String,
    phase: u32,
    epochs: u32,
    batches: Option<u32> [3],
    epoch_seconds: f64,
    fastest: f64,
    slowest: f64,
    cpu_seconds: Option<f64>,
    cache_seconds: f64,
    tensor_memory: Option<u64> [5],
    others: Option<f64>,
    quiet: bool,
    load_average: Option<f64>,
    threads: u32,
    device: String,
    machine: String,
    code_commit: String,
    code_dirty: bool,
    started: u64,
});
