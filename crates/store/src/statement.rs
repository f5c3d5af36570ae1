//! SQL that is built at run time, from constant pieces and parameter numbers only. Values are
//! always bound.

use sqlx::error::BoxDynError;
use sqlx::postgres::{PgArguments, PgHasArrayType};
use sqlx::{Arguments, Encode, Postgres, Type};

use crate::error::StoreError;

/// Converts the error for a value that its wire format cannot encode.
pub(crate) fn encoded(outcome: Result<(), BoxDynError>) -> Result<(), StoreError> {
    outcome.map_err(|error| StoreError::Database(sqlx::Error::Encode(error)))
}

/// One statement with many parts, each a common table expression.
#[derive(Debug, Default)]
pub(crate) struct Statement {
    pub sql: String,
    pub arguments: PgArguments,
}

impl Statement {
    pub fn bind<'t, T>(&mut self, value: T) -> Result<usize, StoreError>
    where
        T: Encode<'t, Postgres> + Type<Postgres>,
    {
        encoded(self.arguments.add(value))?;
        Ok(self.arguments.len())
    }

    pub fn list<'t, T>(&mut self, values: Vec<T>, kind: &'static str) -> Result<String, StoreError>
    where
        T: Encode<'t, Postgres> + Type<Postgres> + PgHasArrayType,
    {
        let number = self.bind(values)?;
        Ok(format!("${number}::{kind}[]"))
    }

    pub fn cell<'t, T>(&mut self, value: T, kind: &'static str) -> Result<String, StoreError>
    where
        T: Encode<'t, Postgres> + Type<Postgres>,
    {
        let number = self.bind(value)?;
        Ok(format!("${number}::{kind}"))
    }

    pub fn part(&mut self, name: &str, text: &str) {
        let before = if self.sql.is_empty() { "WITH " } else { ", " };
        self.sql.extend([before, name, " AS (", text, ")"]);
    }
}

/// The rows of one table, stored column by column. `bind` returns the text after FROM, named
/// `given`, with the position of each row in `place`. A single row becomes a row of values, which
/// the planner can inline; several rows become one array per column, so that the text does not
/// depend on their number. (Each array is a function call: for a single row, fifty of them cost
/// more than the row.)
macro_rules! columns {
    ($rows:ident of $row:ident { $($field:ident: $type:ty => $kind:literal,)+ }) => {
        #[derive(Debug)]
        pub(crate) struct $row {
            $(pub $field: $type,)+
        }

        #[derive(Debug, Default)]
        pub(crate) struct $rows {
            $($field: Vec<$type>,)+
        }

        impl $rows {
            pub fn push(&mut self, row: $row) {
                $(self.$field.push(row.$field);)+
            }

            pub fn count(&self) -> usize {
                [$(self.$field.len(),)+].into_iter().max().unwrap_or_default()
            }

            pub fn bind(
                self,
                statement: &mut $crate::statement::Statement,
            ) -> Result<String, $crate::error::StoreError> {
                let names = [$(stringify!($field),)+].join(", ");
                if self.count() == 1 {
                    let mut cells = Vec::new();
                    $(for value in self.$field {
                        cells.push(statement.cell(value, $kind)?);
                    })+
                    let cells = cells.join(", ");
                    return Ok(format!("(VALUES ({cells}, 1)) AS given ({names}, place)"));
                }
                let lists = [$(statement.list(self.$field, $kind)?,)+].join(", ");
                Ok(format!("unnest({lists}) WITH ORDINALITY AS given ({names}, place)"))
            }
        }
    };
}
pub(crate) use columns;
