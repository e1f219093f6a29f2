//! Types of parquet that are text in only one way, and errors of its reader in words.

use ::parquet::basic::{ConvertedType, LogicalType, Type as Physical};
use ::parquet::errors::ParquetError;
use ::parquet::schema::types::ColumnDescriptor;

/// Returns whether a column's values are of a kind that is written as text in only one way.
pub(super) fn readable(column: &ColumnDescriptor) -> bool {
    let logical = column.logical_type_ref();
    match column.physical_type() {
        Physical::BOOLEAN | Physical::FLOAT | Physical::DOUBLE => logical.is_none(),
        Physical::INT32 | Physical::INT64 => match logical {
            None => !matches!(
                column.converted_type(),
                ConvertedType::DECIMAL
                    | ConvertedType::DATE
                    | ConvertedType::TIME_MILLIS
                    | ConvertedType::TIME_MICROS
                    | ConvertedType::TIMESTAMP_MILLIS
                    | ConvertedType::TIMESTAMP_MICROS
            ),
            Some(logical) => matches!(logical, LogicalType::Integer { .. }),
        },
        Physical::BYTE_ARRAY => match logical {
            None => column.converted_type() != ConvertedType::DECIMAL,
            Some(logical) => matches!(
                logical,
                LogicalType::String | LogicalType::Enum | LogicalType::Json
            ),
        },
        Physical::INT96 | Physical::FIXED_LEN_BYTE_ARRAY => false,
    }
}

/// The words of an error; of a compression that is not built in, what helps.
pub(super) fn told(error: &ParquetError) -> String {
    let text = error.to_string();
    match text.rsplit_once("Disabled feature at compile time: ") {
        Some((_, codec)) => format!(
            "compressed with {codec}, which is not read; write the file anew with zstd, Snappy, gzip or LZ4"
        ),
        None => format!("{text}; expected parquet"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_compression_that_is_not_built_in_is_named() {
        let error = |text: &str| told(&ParquetError::General(text.to_owned()));
        assert_eq!(
            error("Disabled feature at compile time: brotli"),
            "compressed with brotli, which is not read; write the file anew with zstd, Snappy, gzip or LZ4"
        );
        assert_eq!(error("EOF"), "Parquet error: EOF; expected parquet");
    }
}
