#!/bin/sh
# The first process of an instance, in its own mount, pid, uts, ipc and cgroup namespaces: lays the instance's own
# directories over the suite's root, which stays read-only, makes that the root, and becomes init.py.
# init.sh ROOT INSTANCE HOSTNAME SYS CGROUP OWNER-FD READY-FD DIRECTORY...
set -eu
root=$1 instance=$2 hostname=$3 sys=$4 cgroup=$5 owner=$6 ready=$7
shift 7
top=$instance/root

hostname "$hostname"
mount --make-rprivate /
mount --bind "$root" "$top"
mount -o remount,bind,ro "$top"
for dir; do mount --bind "$instance/fs/$dir" "$top/$dir"; done

mount -t proc proc "$top/proc"
mount -t tmpfs -o mode=755,size=256m dev "$top/dev"
mknod -m 666 "$top/dev/null" c 1 3
mknod -m 666 "$top/dev/zero" c 1 5
mknod -m 666 "$top/dev/full" c 1 7
mknod -m 666 "$top/dev/random" c 1 8
mknod -m 666 "$top/dev/urandom" c 1 9
mknod -m 666 "$top/dev/tty" c 5 0
mkdir -m 1777 "$top/dev/shm"
mkdir "$top/dev/pts"
mount -t devpts -o newinstance,ptmxmode=0666,mode=620 devpts "$top/dev/pts"
ln -s pts/ptmx "$top/dev/ptmx"
ln -s /proc/self/fd "$top/dev/fd"
ln -s /proc/self/fd/0 "$top/dev/stdin"
ln -s /proc/self/fd/1 "$top/dev/stdout"
ln -s /proc/self/fd/2 "$top/dev/stderr"

case $sys in
own) mount -t sysfs -o ro sysfs "$top/sys" ;; # shows no cgroup
host) mount --rbind /sys "$top/sys" ;;        # Slurm 22.05 loads a cgroup plugin whatever it is told
esac
# Seen from the cgroup namespace, a fresh mount shows this instance's group as if it were the top.
if [ -n "$cgroup" ]; then
    mount -t tmpfs -o mode=755,size=1m cgroup "$top/sys/fs/cgroup"
    mkdir "$top/sys/fs/cgroup/memory"
    mount -t cgroup -o memory cgroup "$top/sys/fs/cgroup/memory"
fi

cd "$top"
pivot_root . .
umount -l .
cd /
exec /usr/bin/python3 -ISs /run/lab-init.py "$owner" "$ready"
