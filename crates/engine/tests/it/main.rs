//! Use cases with a real PostgreSQL and a real Redis Cluster, where both are needed at once.

#[cfg(test)]
mod locks;
