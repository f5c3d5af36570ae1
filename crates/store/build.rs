//! Migrations and the descriptions of queries are compiled in; a new file among them must compile
//! the crate again.

fn main() {
    println!("cargo:rerun-if-changed=migrations");
    println!("cargo:rerun-if-changed=.sqlx");
}
