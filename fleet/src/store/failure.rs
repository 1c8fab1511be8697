//! What can go wrong with the database, and what is only a matter of time.

use windlass_store::StoreError;

/// Why a step was not done.
#[derive(Debug)]
pub(super) enum Fault {
    /// The store's own rules; nothing was written.
    Refused(StoreError),
    /// The connection was lost, or the database starts or ends: whether the step was written is unknown.
    Away(sqlx::Error),
    Failed(sqlx::Error),
}

impl From<StoreError> for Fault {
    fn from(refusal: StoreError) -> Self {
        Fault::Refused(refusal)
    }
}

impl From<sqlx::Error> for Fault {
    fn from(error: sqlx::Error) -> Self {
        let code = error.as_database_error().and_then(|error| error.code());
        let is_away = match code.as_deref() {
            // Connections, too many of them, a server that ends or starts, and transactions that met.
            Some(code) => {
                code.starts_with("08") || code.starts_with("57P") || ["53300", "40001", "40P01"].contains(&code)
            }
            None => matches!(error, sqlx::Error::Io(_) | sqlx::Error::PoolTimedOut | sqlx::Error::Protocol(_)),
        };
        if is_away { Fault::Away(error) } else { Fault::Failed(error) }
    }
}

pub(super) fn failed(error: sqlx::Error) -> StoreError {
    StoreError::Database { what: "the fleet's database failed".to_owned(), source: Some(error.into()) }
}

/// What no other try would change.
pub(super) fn wrong(what: impl Into<String>) -> StoreError {
    StoreError::Database { what: what.into(), source: None }
}
