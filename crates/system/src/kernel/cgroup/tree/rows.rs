//! The rows of a group: the values of its files.

use std::os::fd::BorrowedFd;
use std::sync::Arc;

use tachograph_perflib::{InstanceKey, Row, Rows};

use super::{FileError, Folders, Group, Groups, HierarchyFiles, MAX_HIERARCHIES, Shown, Walk};
use crate::kernel::cgroup::disks;
use crate::kernel::cgroup::table::IDS;
use crate::kernel::cgroup::values::Memory;
use crate::ordered::split_complete_lines;

/// The group was removed.
struct Gone;

impl Walk {
    /// Adds a row for each disk of the groups with the same path.
    pub(super) fn add_disk_rows(
        &mut self,
        files: &mut [Option<&mut HierarchyFiles>; MAX_HIERARCHIES],
        groups: &mut Groups<'_>,
        parents: Folders<'_>,
        rows: &mut Rows,
    ) {
        for index in 0..MAX_HIERARCHIES {
            let (Some(files), Some(group), Some(parent)) =
                (files[index].as_deref_mut(), groups[index].as_deref_mut(), parents[index])
            else {
                continue;
            };
            let HierarchyFiles { tables, requested, .. } = files;
            for (file, table) in tables.iter().enumerate().filter(|(file, _)| requested[*file]) {
                let group_file = &mut group.files[file];
                let Ok(length) = self.read_file(&group.name, group.inode, group_file, table.name, parent)
                else {
                    continue;
                };
                if let Shown::Disks(names) = &self.shown {
                    let text = split_complete_lines(&self.buffer[..length]).0;
                    disks::read(&mut group.disks, &table.form, text, self.number, &group.instance, names);
                }
            }
            disks::push_rows(&mut group.disks, self.number, rows);
        }
    }

    /// Adds the row of the groups with the same path.
    pub(super) fn add_row(
        &mut self,
        files: &mut [Option<&mut HierarchyFiles>; MAX_HIERARCHIES],
        groups: &mut Groups<'_>,
        parents: Folders<'_>,
        instance: &Arc<InstanceKey>,
        depth: u32,
        rows: &mut Rows,
    ) {
        let row_index = rows.instances().len();
        let mut row = rows.push(instance);
        let mut ids = 0;
        // Version 2 is last, so that its processor time replaces that of version 1.
        for index in (0..MAX_HIERARCHIES).rev() {
            let (Some(files), Some(group), Some(parent)) =
                (files[index].as_deref_mut(), groups[index].as_deref_mut(), parents[index])
            else {
                continue;
            };
            match self.set_values(files, group, parent, depth, &mut row) {
                Ok(()) => ids |= files.ids,
                Err(Gone) => groups[index] = None,
            }
        }
        if groups.iter().all(Option::is_none) {
            rows.truncate(row_index);
            return;
        }
        // These counters come from hierarchies without the group.
        for id in (0..IDS as u32).filter(|id| ids & 1 << id == 0) {
            row.omit(id);
        }
    }

    /// Sets the values of the files of a group.
    fn set_values(
        &mut self,
        files: &mut HierarchyFiles,
        group: &mut Group,
        parent: BorrowedFd<'_>,
        depth: u32,
        row: &mut Row<'_>,
    ) -> Result<(), Gone> {
        let mut memory = Memory::default();
        let HierarchyFiles { tables, is_legacy, has_kernel_root, reasons, requested, ids } = files;
        for (index, table) in tables.iter().enumerate().filter(|(index, _)| requested[*index]) {
            let group_file = &mut group.files[index];
            match self.read_file(&group.name, group.inode, group_file, table.name, parent) {
                Ok(length)
                    if *has_kernel_root
                        && depth == 0
                        && table.is_uncounted_in_root(&self.buffer[..length]) =>
                {
                    table.ids().for_each(|id| row.omit(id));
                }
                Ok(length) => {
                    let text = &self.buffer[..length];
                    reasons.set(row, *ids, &table.form, text, &mut group.counted, &mut memory);
                }
                Err(FileError::Gone) => return Err(Gone),
                // The root of a hierarchy of version 1 has no limits.
                Err(FileError::Absent) if *is_legacy && depth == 0 => table.ids().for_each(|id| row.omit(id)),
                Err(FileError::Absent) => reasons.fail_absent(row, index, table),
                Err(FileError::Error(error)) => reasons.fail(row, index, table, error),
            }
        }
        reasons.set_used(row, memory);
        Ok(())
    }
}
