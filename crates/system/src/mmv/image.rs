//! Counter sets over an MMV file in memory.

use std::sync::Arc;

use tachograph_perflib::registration::CounterSetInfo;
use tachograph_perflib::{Failure, Provider, Rows};

use super::LayoutError;
use super::layout::Layout;
use super::plan::{Origin, Plan, plan};
use super::raw::Bytes;
use super::set::{Reasons, fill};

/// The counter sets of the bytes of an MMV file: of one that was kept, or comes from another machine.
///
/// Every collection gives the values that stand there. Whether the process that wrote them runs is not asked.
///
/// # Errors
///
/// The first field that breaks the format, and generations that differ.
pub fn image_providers(name: &str, image: &[u8]) -> Result<Vec<Box<dyn Provider>>, LayoutError> {
    let layout = Layout::parse(Bytes(image))?;
    let origin = Origin { name, source: name, uid: None, identity: layout.header.generation };
    let (plan, _) = plan(&layout, &origin);
    let start = plan.values.offset as usize;
    let values = image.get(start..start + plan.values.bytes() as usize).unwrap_or_default();
    let (plan, values) = (Arc::new(plan), Arc::<[u8]>::from(values));
    let provider = |place| -> Box<dyn Provider> {
        let (plan, values) = (Arc::clone(&plan), Arc::clone(&values));
        Box::new(ImageSet { plan, place, values, reasons: Reasons::new() })
    };
    Ok((0..plan.sets.len()).map(provider).collect())
}

struct ImageSet {
    plan: Arc<Plan>,
    place: usize,
    values: Arc<[u8]>,
    reasons: Reasons,
}

impl Provider for ImageSet {
    fn info(&self) -> &Arc<CounterSetInfo> {
        &self.plan.sets[self.place].info
    }

    fn collect(&mut self, rows: &mut Rows) -> Result<(), Failure> {
        fill(&self.plan.sets[self.place], &self.plan, &self.values, rows, &self.reasons);
        Ok(())
    }
}
