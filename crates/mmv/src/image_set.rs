//! Counter sets from an MMV file in memory.

use std::sync::Arc;

use tachograph_perflib::registration::CounterSetInfo;
use tachograph_perflib::{Failure, Provider, Rows};

use super::error::LayoutError;
use super::layout::Layout;
use super::mmv_set::{Reasons, fill};
use super::plan::{Origin, Plan, build_plan};
use super::raw::Bytes;

/// The counter sets of an MMV file in memory, such as an archived file or one from another machine.
///
/// Every collection returns the values in these bytes, even if the process that wrote them has ended.
///
/// # Errors
///
/// A field breaks the format, or the two generations differ.
pub fn image_providers(name: &str, image: &[u8]) -> Result<Vec<Box<dyn Provider>>, LayoutError> {
    let layout = Layout::parse(Bytes(image))?;
    let origin = Origin { name, source: name, uid: None, identity: layout.header.generation };
    let (plan, _) = build_plan(&layout, &origin);
    let start = plan.values.offset as usize;
    let values = image.get(start..start + plan.values.bytes() as usize).unwrap_or_default();
    let (plan, values) = (Arc::new(plan), Arc::<[u8]>::from(values));
    let provider = |index| -> Box<dyn Provider> {
        let (plan, values) = (Arc::clone(&plan), Arc::clone(&values));
        Box::new(ImageSet { plan, index, values, reasons: Reasons::new() })
    };
    Ok((0..plan.sets.len()).map(provider).collect())
}

/// A counter set whose values never change.
struct ImageSet {
    plan: Arc<Plan>,
    /// The index of the set in the plan.
    index: usize,
    /// The values section of the file.
    values: Arc<[u8]>,
    reasons: Reasons,
}

impl Provider for ImageSet {
    fn info(&self) -> &Arc<CounterSetInfo> {
        &self.plan.sets[self.index].info
    }

    fn collect(&mut self, rows: &mut Rows) -> Result<(), Failure> {
        fill(&self.plan.sets[self.index], &self.plan, &self.values, rows, &self.reasons);
        Ok(())
    }
}
