//! One way to read and write a database: SQLite in a file or in memory, or Postgres.
//!
//! In: statements that both understand, in transactions. Out: what they gave, or an error and nothing written.
//! [`connection`] is the only file that tells the two apart.

mod access;
mod connection;
mod faults;
mod handle;
mod migrations;
mod pool;
mod postgres_address;
mod postgres_mode;
mod postgres_tls;
mod postgresql;
mod sqlite;
mod value;

pub use faults::{FaultPlan, Faults};
pub(crate) use handle::storable;
pub use handle::{Database, Location, Sql};
pub(crate) use postgres_address::{PostgresAddress, PostgresFailure};
pub(crate) use postgres_tls::{read_certificates, read_file};
pub use value::{Row, SqlValue};
