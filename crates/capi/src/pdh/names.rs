//! Names: paths, instances, the contents of a data source.

use std::mem::offset_of;

use tachograph_pdh::{PathElements, Result, make_counter_path, parse_counter_path, parse_instance_name};

use super::boundary::{In, Out, Plain, Text};
use super::buffer::{BufferContents, capacity, write_out};
use super::character::{Character, list, terminated};
use super::objects::Source;
use super::structures::PathElementsBlock;

/// The index that Windows programs pass for an instance without an index: -1.
const NO_INDEX: u32 = u32::MAX;

/// Writes the elements of a path to the structure at offset `at`.
pub(super) fn write_elements<C: Character>(
    contents: &mut BufferContents,
    at: usize,
    elements: &PathElements,
) {
    type Elements = PathElementsBlock<u8>;
    // As on Windows, the name of a machine includes its backslashes.
    let machine = elements.machine.as_ref().map(|name| format!(r"\\{name}"));
    contents.write_optional_text::<C>(at + offset_of!(Elements, machine), machine.as_deref());
    contents.write_text::<C>(at + offset_of!(Elements, object), &elements.object);
    contents.write_optional_text::<C>(at + offset_of!(Elements, instance), elements.instance.as_deref());
    contents.write_optional_text::<C>(at + offset_of!(Elements, parent), elements.parent.as_deref());
    contents.write_u32(at + offset_of!(Elements, index), elements.index);
    contents.write_text::<C>(at + offset_of!(Elements, counter), &elements.counter);
}

pub(super) fn validate<C: Character + Plain>(source: Source<C>, path: Text<C>) -> Result<()> {
    let path = path.get()?;
    source.open()?.validate_path(&path)
}

pub(super) fn parse_path<C: Character + Plain>(
    path: Text<C>,
    elements: Out<u8>,
    size: Out<u32>,
    flags: u32,
) -> Result<()> {
    let path = path.get()?;
    capacity(elements, size)?;
    let parsed = parse_counter_path(&path, flags)?;
    let mut contents = BufferContents::new(elements.address(), size_of::<PathElementsBlock<C>>());
    write_elements::<C>(&mut contents, 0, &parsed);
    write_out(contents.bytes(), elements, size)
}

pub(super) fn make_path<C: Character + Plain>(
    elements: In<PathElementsBlock<C>>,
    buffer: Out<C>,
    size: Out<u32>,
    flags: u32,
) -> Result<()> {
    let elements = elements.get()?;
    capacity(buffer, size)?;
    // Programs also pass empty strings for absent parts.
    let optional_name = |text: Text<C>| text.optional().map(|name| name.filter(|name| !name.is_empty()));
    let elements = PathElements {
        machine: elements.machine.optional()?,
        object: elements.object.get()?,
        instance: optional_name(elements.instance)?,
        parent: optional_name(elements.parent)?,
        index: if elements.index == NO_INDEX { 0 } else { elements.index },
        counter: elements.counter.get()?,
    };
    write_out(&terminated(&make_counter_path(&elements, flags)?), buffer, size)
}

pub(super) fn parse_instance<C: Character + Plain>(
    text: Text<C>,
    (name, name_size): (Out<C>, Out<u32>),
    (parent, parent_size): (Out<C>, Out<u32>),
    index: Out<u32>,
) -> Result<()> {
    let text = text.get()?;
    capacity(name, name_size)?;
    capacity(parent, parent_size)?;
    index.check()?;
    let elements = parse_instance_name(&text)?;
    let results = [
        write_out(&terminated(&elements.name), name, name_size),
        write_out(&terminated(elements.parent.as_deref().unwrap_or_default()), parent, parent_size),
    ];
    index.set(elements.index);
    results.into_iter().collect()
}

pub(super) fn expand<C: Character + Plain>(
    source: Source<C>,
    path: Text<C>,
    buffer: Out<C>,
    size: Out<u32>,
    flags: u32,
) -> Result<()> {
    let path = path.get()?;
    capacity(buffer, size)?;
    write_out(&list(source.open()?.expand_wild_card_path(&path, flags)?), buffer, size)
}

pub(super) fn connect<C: Character + Plain>(machine: Text<C>) -> Result<()> {
    let machine = machine.optional()?;
    Source::<C>::MACHINE.open()?.connect_machine(machine.as_deref())
}

pub(super) fn machines<C: Character + Plain>(
    source: Source<C>,
    buffer: Out<C>,
    size: Out<u32>,
) -> Result<()> {
    capacity(buffer, size)?;
    write_out(&list(source.open()?.machines()?), buffer, size)
}

pub(super) fn sets<C: Character + Plain>(
    source: Source<C>,
    machine: Text<C>,
    buffer: Out<C>,
    size: Out<u32>,
    detail_level: u32,
) -> Result<()> {
    capacity(buffer, size)?;
    let sets = source.open()?.objects(machine.optional()?.as_deref(), detail_level)?;
    write_out(&list(sets), buffer, size)
}

/// Writes the counters and the instances of a set. Each of the two lists is written if it fits, even if the other does
/// not.
pub(super) fn items<C: Character + Plain>(
    source: Source<C>,
    (machine, set): (Text<C>, Text<C>),
    (counters, counters_size): (Out<C>, Out<u32>),
    (instances, instances_size): (Out<C>, Out<u32>),
    detail_level: u32,
) -> Result<()> {
    let set = set.get()?;
    capacity(counters, counters_size)?;
    capacity(instances, instances_size)?;
    let items = source.open()?.object_items(machine.optional()?.as_deref(), &set, detail_level)?;
    // If the set cannot have instances, nothing is written, and the length is 0. If it currently has none, an empty list is
    // written.
    let names = items.instances.map(list).unwrap_or_default();
    let results = [
        write_out(&list(items.counters), counters, counters_size),
        write_out(&names, instances, instances_size),
    ];
    results.into_iter().collect()
}

pub(super) fn default_set<C: Character + Plain>(
    source: Source<C>,
    machine: Text<C>,
    buffer: Out<C>,
    size: Out<u32>,
) -> Result<()> {
    capacity(buffer, size)?;
    let name = source.open()?.default_object(machine.optional()?.as_deref())?;
    write_out(&terminated(&name), buffer, size)
}

pub(super) fn default_counter<C: Character + Plain>(
    source: Source<C>,
    (machine, set): (Text<C>, Text<C>),
    buffer: Out<C>,
    size: Out<u32>,
) -> Result<()> {
    let set = set.get()?;
    capacity(buffer, size)?;
    let name = source.open()?.default_counter(machine.optional()?.as_deref(), &set)?;
    write_out(&terminated(&name), buffer, size)
}
