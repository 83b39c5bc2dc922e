//! What the store promises, shown on real files.

mod numbers;
