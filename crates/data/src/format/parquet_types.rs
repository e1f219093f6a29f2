//! Types of parquet that are text in only one way.

use ::parquet::basic::{ConvertedType, LogicalType, Type as Physical};
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
