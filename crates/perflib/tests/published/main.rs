//! Published counter sets, read as those of a registry: what is shown, who is told apart, who is trusted, how it ends.

mod aggregates;
mod asked;
mod asked_together;
mod hostile;
mod life;
mod made;
mod seeds;
mod sets;
mod trust;
