//! What the store promises, shown on real files.

mod child;
mod crash;
mod full;
mod numbers;
mod opening;
