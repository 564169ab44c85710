"""Which file system a path lies on."""

import pytest

from reporting.filesystems import LOCAL, fstype

MOUNTS = """\
22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw
23 22 0:40 / /shared rw - nfs4 server:/export rw
24 22 0:41 / /with\\040blank rw - lustre x rw
25 23 0:42 / /shared/scratch rw - tmpfs none rw
26 22 0:43 / /twice rw - ext4 a rw
27 22 0:44 / /twice rw - beegfs b rw
a line that is none
"""


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("/x", "ext4"),
        ("/shared", "nfs4"),
        ("/shared/a/b", "nfs4"),
        ("/sharedother", "ext4"),
        ("/shared/scratch/x", "tmpfs"),
        ("/with blank/x", "lustre"),
        ("/twice/x", "beegfs"),
    ],
)
def test_the_longest_mount_point_above_a_path_decides(tmp_path, path, expected):
    mounts = tmp_path / "mountinfo"
    mounts.write_text(MOUNTS)

    assert fstype(type(tmp_path)(path), mounts) == expected


def test_a_link_counts_as_what_it_leads_to(tmp_path):
    mounts = tmp_path / "mountinfo"
    mounts.write_text(f"1 1 0:1 / / rw - nfs x rw\n2 1 0:2 / {tmp_path}/disk rw - xfs y rw\n")
    (tmp_path / "disk").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "disk")

    assert fstype(tmp_path / "link", mounts) == "xfs"


def test_what_cannot_be_told_is_not_called_local(tmp_path):
    assert fstype(tmp_path, tmp_path / "absent") == ""
    assert "" not in LOCAL
    assert not LOCAL & {"nfs", "nfs4", "lustre", "beegfs", "gpfs", "ceph", "fuse", "9p"}


def test_this_machine_has_an_answer(tmp_path):
    assert fstype(tmp_path)
