"""The control-group tiers that the machine of the tests may not have, on a kernel that has only cgroup v2.

Boots a kernel under QEMU with an initramfs of busybox, pitot and its libraries, and looks at what pitot reports there: as
root, as a user with a delegated group, as a user without one, and under a memory limit that is too small. Needs
qemu-system-x86_64, a static busybox, cpio and a kernel image in PITOT_VM_KERNEL (Debian's linux-image-cloud-amd64 will do:
dpkg-deb -x it and name its boot/vmlinuz-*). Software emulation, so that it runs anywhere; about ten seconds.
"""
import json
import os
import pathlib
import re
import shutil
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PITOT = ROOT / "build" / "pitot"

SPIKE = r"""
#include <stdlib.h>
#include <string.h>
#include <time.h>
int main(int argc, char **argv)
{
	size_t size = (size_t)atoi(argv[argc - 1]) << 20;
	char *block = malloc(size);
	memset(block, 1, size);
	nanosleep(&(struct timespec){.tv_nsec = 100000000}, NULL);
	return block[size / 2] != 1;
}
"""

INIT = r"""#!/bin/busybox sh
/bin/busybox --install -s /bin
export PATH=/bin HOME=/root TERM=dumb PITOT_HISTORY=/tmp/history
mount -t proc proc /proc; mount -t sysfs sys /sys; mount -t devtmpfs dev /dev; mount -t tmpfs tmp /tmp; chmod 1777 /tmp
mount -t cgroup2 cgroup /sys/fs/cgroup
show() { echo "BEGIN $1"; pitot report "/tmp/$1.pitot" --format json; echo "END $1"; }
groups=/sys/fs/cgroup

pitot run -q -o /tmp/root.pitot -- spike 100
show root
pitot run -q -o /tmp/many.pitot -- sh -c 'i=0; while [ $i -lt 200 ]; do /bin/busybox true; i=$((i+1)); done'
show many

# A group that was handed to a user, with nothing but pitot in it, as systemd-run --user --scope makes one.
mkdir $groups/slice; echo "+memory +cpu" > $groups/slice/cgroup.subtree_control
mkdir $groups/slice/scope; chown -R 1000:1000 $groups/slice/scope
sh -c "echo \$\$ > $groups/slice/scope/cgroup.procs
       exec su user -c 'export PATH=/bin; exec pitot run -q -o /tmp/delegated.pitot --history /tmp/hu -- spike 64'"
show delegated

su user -c 'export PATH=/bin; exec pitot run -q -o /tmp/plain.pitot --history /tmp/hu -- spike 64'
show plain

mkdir $groups/tight; echo 60M > $groups/tight/memory.max
sh -c "echo \$\$ > $groups/tight/cgroup.procs; exec pitot run -q -o /tmp/oom.pitot -- spike 200"
show oom
echo "LEFT $(find $groups -name 'pitot-[0-9]*' | wc -l)"
poweroff -f
"""


def needs(program):
    if not shutil.which(program):
        pytest.skip(f"{program} is not installed")


def copy_with_libraries(program, tree):
    shutil.copy(program, tree / "bin")
    for library in re.findall(r"/\S+", subprocess.run(["ldd", program], capture_output=True, text=True).stdout):
        library = library.rstrip(":")
        if os.path.isfile(library):
            (tree / library[1:]).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(library, tree / library[1:])


def make_initramfs(folder):
    tree = folder / "tree"
    for name in ("bin", "proc", "sys", "dev", "tmp", "etc", "root"):
        (tree / name).mkdir(parents=True)
    shutil.copy("/bin/busybox", tree / "bin")
    copy_with_libraries(str(PITOT), tree)
    (folder / "spike.c").write_text(SPIKE)
    subprocess.run(["cc", "-O1", "-static", "-o", tree / "bin" / "spike", folder / "spike.c"], check=True)
    (tree / "etc" / "passwd").write_text("root:x:0:0::/root:/bin/sh\nuser:x:1000:1000::/tmp:/bin/sh\n")
    (tree / "init").write_text(INIT)
    (tree / "init").chmod(0o755)
    names = "\n".join(str(p.relative_to(tree)) for p in sorted(tree.rglob("*")))
    archive = subprocess.run(["cpio", "-o", "-H", "newc", "--quiet"], cwd=tree, input=names.encode(), check=True,
                             stdout=subprocess.PIPE).stdout
    (folder / "initramfs").write_bytes(archive)
    return folder / "initramfs"


@pytest.fixture(scope="module")
def console(tmp_path_factory):
    kernel = os.environ.get("PITOT_VM_KERNEL")
    if not kernel:
        pytest.skip("PITOT_VM_KERNEL names no kernel image")
    for program in ("qemu-system-x86_64", "busybox", "cpio"):
        needs(program)
    folder = tmp_path_factory.mktemp("vm")
    run = subprocess.run(["qemu-system-x86_64", "-accel", "tcg", "-m", "1024", "-nographic", "-no-reboot", "-net", "none",
                          "-kernel", kernel, "-initrd", make_initramfs(folder),
                          "-append", "console=ttyS0 quiet panic=-1"],
                         stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace", timeout=300)
    return run.stdout.replace("\r", "")


def metrics(console, name):
    found = re.search(rf"BEGIN {name}\n(.*?)END {name}\n", console, re.S)
    assert found, console[-2000:]
    # The kernel may write a line of its own between ours.
    text = "\n".join(line for line in found.group(1).split("\n") if not re.match(r"\[ *\d+\.\d+\]", line))
    report = json.loads(text)
    return report["stages"][0], report["stages"][0]["metrics"]


def test_cgroup_v2_gives_root_the_exact_peak_and_every_process(console):
    stage, values = metrics(console, "root")
    assert stage["tier"] == "cgroup v2"
    assert values["memory_peak_bytes"]["method"] == "exact"
    assert 100 << 20 <= values["memory_peak_bytes"]["value"] < 110 << 20
    assert metrics(console, "many")[1]["processes"]["value"] == 201


def test_cgroup_v2_serves_a_user_with_a_delegated_group(console):
    stage, values = metrics(console, "delegated")
    assert stage["tier"] == "cgroup v2"
    assert values["memory_peak_bytes"]["method"] == "exact"
    assert 64 << 20 <= values["memory_peak_bytes"]["value"] < 70 << 20
    assert values["processes"]["lower_bound"]


def test_without_delegation_the_peak_comes_from_the_process(console):
    stage, values = metrics(console, "plain")
    assert stage["tier"] == "processes"
    assert values["rss_process_peak_bytes"]["method"] == "exact"
    assert 64 << 20 <= values["rss_process_peak_bytes"]["value"] < 70 << 20


def test_a_stage_stays_inside_the_limit_of_the_group_that_pitot_runs_in(console):
    stage, _ = metrics(console, "oom")
    assert stage["status"] == "error"
    assert "memory ran out" in stage["reason"]


def test_no_group_is_left_behind(console):
    assert "LEFT 0\n" in console
