//! Whole screens as text. `TACHO_UPDATE=1` writes what is shown now into `shown/`, to be looked at before it is kept.

mod behaviour;
mod made;
mod pictures;
