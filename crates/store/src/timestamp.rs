//! Timestamps of the core as `timestamptz`, with microseconds and without a calendar conversion.

use ade_core::time::Timestamp;
use sqlx::encode::IsNull;
use sqlx::error::BoxDynError;
use sqlx::postgres::types::Oid;
use sqlx::postgres::{
    PgArgumentBuffer, PgHasArrayType, PgTypeInfo, PgValueFormat, PgValueRef, Postgres,
};
use sqlx::{Decode, Encode, Type};

const TIMESTAMPTZ: Oid = Oid(1184);
const TIMESTAMPTZ_ARRAY: Oid = Oid(1185);
/// PostgreSQL counts from the year 2000.
const EPOCH_MICROS: i64 = 946_684_800_000_000;
/// The last time that PostgreSQL can store; later values would read as infinity.
const LAST_MICROS: i64 = 9_223_371_331_200_000_000 - EPOCH_MICROS;
/// The first time that PostgreSQL can store, in 4713 BC.
const FIRST_MICROS: i64 = -210_866_803_200_000_000;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PgTimestamp(pub Timestamp);

impl Type<Postgres> for PgTimestamp {
    fn type_info() -> PgTypeInfo {
        PgTypeInfo::with_oid(TIMESTAMPTZ)
    }
}

impl PgHasArrayType for PgTimestamp {
    fn array_type_info() -> PgTypeInfo {
        PgTypeInfo::with_oid(TIMESTAMPTZ_ARRAY)
    }
}

impl Encode<'_, Postgres> for PgTimestamp {
    fn encode_by_ref(&self, buffer: &mut PgArgumentBuffer) -> Result<IsNull, BoxDynError> {
        let micros = self.0.micros();
        if !(FIRST_MICROS..LAST_MICROS).contains(&micros) {
            return Err(format!("{} is outside PostgreSQL's timestamp range", self.0).into());
        }
        <i64 as Encode<Postgres>>::encode(micros - EPOCH_MICROS, buffer)
    }
}

impl<'r> Decode<'r, Postgres> for PgTimestamp {
    fn decode(value: PgValueRef<'r>) -> Result<Self, BoxDynError> {
        match value.format() {
            PgValueFormat::Binary => {
                let micros = <i64 as Decode<Postgres>>::decode(value)?;
                let since_1970 = micros.checked_add(EPOCH_MICROS).filter(|_| micros != i64::MIN);
                let micros = since_1970.ok_or("infinity is not a timestamp")?;
                Ok(Self(Timestamp::from_micros(micros)))
            }
            PgValueFormat::Text => {
                Err("timestamps can only be read from prepared statements".into())
            }
        }
    }
}
