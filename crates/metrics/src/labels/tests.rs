use super::*;
use crate::mounts::MountedFileSystem;

fn labels_of(
    labelling: Labelling,
    instances: &[(Option<&str>, &str, u32)],
    mounts: Option<&Arc<MountTable>>,
) -> Vec<String> {
    let keys: Vec<Arc<InstanceKey>> = (10..)
        .zip(instances)
        .map(|(id, &(parent, name, _))| {
            let key = match parent {
                Some(parent) => InstanceKey::with_parent(parent, name, id, 0),
                None => InstanceKey::new(name, id, 0),
            };
            Arc::new(if name.ends_with("_Total") { key.reserved() } else { key })
        })
        .collect();
    let instances: Instances =
        instances.iter().map(|&(parent, name, index)| Arc::new(Instance::new(parent, name, index))).collect();
    let mut labels = Labels::default();
    assert!(labels.update(labelling, &instances, &keys, mounts));
    assert!(!labels.update(labelling, &instances, &keys, mounts));
    (0..instances.len()).map(|row| labels.for_row(row).to_owned()).collect()
}

#[test]
fn labels_have_name_number_and_parent() {
    let instances = [(None, "sda", 0), (None, "bash", 2), (Some("explorer"), "7", 1)];
    assert_eq!(
        labels_of(Labelling::NameAndParent, &instances, None),
        ["{name=\"sda\"}", "{name=\"bash#2\"}", "{name=\"7#1\",parent=\"explorer\"}"]
    );
    assert_eq!(
        labels_of(Labelling::NamedPair("process", "thread"), &instances[2..], None),
        ["{process=\"explorer\",thread=\"7#1\"}"]
    );
    let bonds = [(None, "bond0", 0), (Some("bond0"), "eth0", 0), (Some("_Total"), "_Total", 0)];
    assert_eq!(
        labels_of(Labelling::NamedPair("bond", "device"), &bonds, None),
        ["{device=\"bond0\"}", "{bond=\"bond0\",device=\"eth0\"}", "{device=\"_Total\"}"]
    );
}

#[test]
fn processors_are_labelled_with_the_kernels_number() {
    let processors = [(None, "0,0", 0), (None, "1,0", 0), (None, "1,_Total", 0)];
    assert_eq!(
        labels_of(Labelling::Id("cpu"), &processors, None),
        ["{cpu=\"10\"}", "{cpu=\"11\"}", "{cpu=\"1,_Total\"}"]
    );
}

#[test]
fn names_with_two_parts_have_two_labels() {
    let pair = |separator, is_last| Labelling::Pair { first: "a", second: "b", separator, is_last };
    let names = [(None, "x:y:12", 0), (None, "plain", 0), (None, "_Total", 0), (None, "n:7", 1)];
    assert_eq!(
        labels_of(pair(':', true), &names, None),
        ["{a=\"x:y\",b=\"12\"}", "{a=\"plain\"}", "{a=\"_Total\"}", "{a=\"n\",b=\"7#1\"}"]
    );
    assert_eq!(labels_of(pair(' ', false), &[(None, "36 virtio 0", 0)], None), ["{a=\"36\",b=\"virtio 0\"}"]);
}

#[test]
fn mounts_have_device_and_type_if_known() {
    let mounted = |mount_point: &str, fs_type: &str| MountedFileSystem {
        mount_point: mount_point.to_owned(),
        device: "/dev/sda1".to_owned(),
        fs_type: fs_type.to_owned(),
    };
    let mounts: Arc<MountTable> =
        Arc::new([mounted("/", "ext3"), mounted("/", "ext4")].into_iter().collect());
    let instances = [(None, "/", 0), (None, "/gone", 0)];
    assert_eq!(
        labels_of(Labelling::Mount, &instances, Some(&mounts)),
        ["{mountpoint=\"/\",device=\"/dev/sda1\",fstype=\"ext4\"}", "{mountpoint=\"/gone\"}"]
    );
    assert_eq!(labels_of(Labelling::Mount, &instances[..1], None), ["{mountpoint=\"/\"}"]);
}

#[test]
fn labels_change_when_another_file_system_is_mounted() {
    let instances: Instances = [Arc::new(Instance::new(None, "/", 0))].into_iter().collect();
    let keys = [Arc::new(InstanceKey::new("/", 0, 0))];
    let table = |fs_type: &str| {
        let one =
            MountedFileSystem { mount_point: "/".into(), device: "d".into(), fs_type: fs_type.to_owned() };
        Arc::new(MountTable::from_iter([one]))
    };
    let mut labels = Labels::default();
    let (before, after) = (table("ext4"), table("xfs"));
    assert!(labels.update(Labelling::Mount, &instances, &keys, Some(&before)));
    assert!(!labels.update(Labelling::Mount, &instances, &keys, Some(&before)));
    assert!(labels.update(Labelling::Mount, &instances, &keys, Some(&after)));
    assert!(labels.for_row(0).contains("xfs"), "{}", labels.for_row(0));
    // The labels of other sets do not depend on mounted file systems.
    assert!(labels.update(Labelling::Whole("device"), &instances, &keys, Some(&after)));
    assert!(!labels.update(Labelling::Whole("device"), &instances, &keys, Some(&before)));
}

#[test]
fn equal_labels_get_a_suffix() {
    let unique = |labelling, instances: &[(Option<&str>, &str, u32)]| {
        let unique = labels_of(labelling, instances, None);
        assert_eq!(unique.iter().collect::<HashSet<_>>().len(), instances.len(), "{unique:?}");
        unique
    };
    let names = [(None, "a\u{1}", 0), (None, "a\u{2}", 0), (None, "a\u{fffd}~1", 0)];
    assert_eq!(unique(Labelling::NameAndParent, &names)[1], "{name=\"a\u{fffd}~1\"}");
    assert_eq!(unique(Labelling::Whole("device"), &names)[1], "{device=\"a\u{fffd}~1\"}");
    unique(Labelling::NameAndParent, &[(None, "/x", 0), (Some(""), "x", 0)]);
    assert_eq!(
        labels_of(Labelling::NameAndParent, &[(None, "C:\\\"\n", 0)], None),
        ["{name=\"C:\\\\\\\"\\n\"}"]
    );
}
