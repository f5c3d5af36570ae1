//! Migrations and query descriptions are compiled in, so a new file among them must trigger a
//! rebuild of the crate.

fn main() {
    println!("cargo:rerun-if-changed=migrations");
    println!("cargo:rerun-if-changed=.sqlx");
}
