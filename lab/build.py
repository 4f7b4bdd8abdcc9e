"""Build a suite's root file system: debootstrap, then Slurm and what it needs by apt inside it."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

from lab.host import LAB_DIR, SUITES, LabUnavailable, locked, require_host, root_dir
from lab.mirror import find_mirror

HOSTNAME = "labctl"
"""The host name of every instance: slurmctld insists that SlurmctldHost is the host's own name."""

USERS = {"alice": 2001, "bob": 2002}

_PACKAGES = [
    "slurm-wlm",
    "munge",
    "slurmdbd",
    "slurmrestd",
    "mariadb-server-core",
    "mariadb-client-core",
    "openssh-server",
    "python3",
    "procps",
]
_PACKAGES_SINCE_TRIXIE = ["slurm-wlm-mysql-plugin", "slurm-wlm-jwt-plugin"]

# No documentation and no syncs: the root is scratch, and this is a third of the time and of the space.
_DPKG_CONF = """force-unsafe-io
path-exclude=/usr/share/doc/*
path-exclude=/usr/share/man/*
path-exclude=/usr/share/locale/*
path-exclude=/usr/share/info/*
"""
# A dated mirror, or a host whose clock is off, must not fail the build; signatures are checked all the same.
_APT_CONF = """APT::Install-Recommends "false";
Acquire::Check-Valid-Until "false";
Acquire::Check-Date "false";
Acquire::Languages "none";
Acquire::Retries "3";
"""


def is_built(suite: str) -> bool:
    """Tell whether the suite's root is complete."""
    return (root_dir(suite) / ".lab-built").exists()


def build_root(suite: str) -> Path:
    """Build the suite's root unless it is there already, and name it. Half a minute; one builder at a time."""
    root = root_dir(suite)
    if is_built(suite):
        return root
    with locked(LAB_DIR / f"{suite}.lock"):
        if not is_built(suite):
            _build(suite, root)
    return root


def _build(suite: str, root: Path) -> None:
    require_host()
    mirror = find_mirror()
    debootstrap = _debootstrap()
    half = root.with_name(f"{suite}.half")
    shutil.rmtree(half, ignore_errors=True)
    shutil.rmtree(root, ignore_errors=True)
    log = root.with_name(f"{suite}.build.log")
    print(
        f"building {suite} (Slurm {SUITES[suite]}) under {root}; log: {log}",
        file=sys.stderr,
        flush=True,
    )
    with log.open("w") as out:
        # An older debootstrap has no script named after a newer suite; that of sid serves all three.
        script = "/usr/share/debootstrap/scripts/sid"
        _step(
            [debootstrap, "--variant=minbase", *_keyring(), suite, str(half), mirror, script],
            out.fileno(),
            log,
        )
        _configure(half)
        _step(
            ["unshare", "--mount", "--pid", "--fork", "sh", "-euc", _install_script(suite, half)],
            out.fileno(),
            log,
        )
    (half / ".lab-built").touch()
    half.rename(root)


def _debootstrap() -> str:
    found = shutil.which("debootstrap")
    if found is None and shutil.which("apt-get") is not None:
        subprocess.run(
            ["apt-get", "install", "-y", "--no-install-recommends", "debootstrap"],
            check=False,
            capture_output=True,
        )
        found = shutil.which("debootstrap")
    if found is None:
        raise LabUnavailable("the lab needs the package debootstrap")
    return found


def _keyring() -> list[str]:
    keyring = Path("/usr/share/keyrings/debian-archive-keyring.gpg")
    return [f"--keyring={keyring}"] if keyring.exists() else []


def _configure(root: Path) -> None:
    shutil.copy("/etc/resolv.conf", root / "etc/resolv.conf")
    # No daemon starts while packages are installed: they would run outside of any instance.
    policy = root / "usr/sbin/policy-rc.d"
    policy.write_text("#!/bin/sh\nexit 101\n")
    policy.chmod(0o755)
    (root / "etc/dpkg/dpkg.cfg.d/lab").write_text(_DPKG_CONF)
    (root / "etc/apt/apt.conf.d/99lab").write_text(_APT_CONF)
    (root / "etc/hosts").write_text(f"127.0.0.1 localhost {HOSTNAME}\n")


def _install_script(suite: str, root: Path) -> str:
    packages = _PACKAGES + ([] if suite == "bookworm" else _PACKAGES_SINCE_TRIXIE)
    # sshd refuses accounts locked with '!' when it runs without PAM, hence the password '*'.
    users = "\n".join(
        f"chroot . useradd -M -d /home/{u} -p '*' -u {n} -s /bin/bash {u}" for u, n in USERS.items()
    )
    return f"""cd {root}
        mount -t proc proc proc; mount --bind /dev dev
        export DEBIAN_FRONTEND=noninteractive LC_ALL=C
        chroot . apt-get -q update
        chroot . apt-get -q -y install {" ".join(packages)}
        chroot . apt-get clean
        chroot . useradd -r -M -d /nonexistent -s /bin/false mysql
        rm -rf var/lib/apt/lists/* var/cache/apt/*.bin var/log/* tmp/* etc/slurm/*
        mkdir -p root etc/slurm etc/munge var/lib/munge var/lib/slurm var/lib/mysql
        {users}"""


def _step(argv: list[str], out: int, log: Path) -> None:
    env = {
        k: v
        for k, v in os.environ.items()
        if k in ("http_proxy", "https_proxy", "no_proxy", "HOME")
    }
    env["PATH"] = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
    done = subprocess.run(
        argv, check=False, stdin=subprocess.DEVNULL, stdout=out, stderr=out, env=env
    )
    if done.returncode != 0:
        tail = "\n".join(log.read_text(errors="replace").splitlines()[-15:])
        raise LabUnavailable(f"the build failed ({log}):\n{tail}")
