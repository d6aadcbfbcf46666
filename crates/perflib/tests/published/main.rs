//! Published counter sets, read as those of a registry: what is shown, who is told apart, who is trusted, how it ends.

mod aggregates;
mod asked;
mod hostile;
mod life;
mod made;
mod seeds;
mod sets;
mod trust;
