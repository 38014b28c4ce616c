"""Print how one gets a C compiler, and Python's headers, on this system: the build's last sentence where there is none."""

import platform
import sys

#: By what `/etc/os-release` calls a system, or what it is like.
COMMANDS = {
    "debian": "apt-get install build-essential python3-dev",
    "ubuntu": "apt-get install build-essential python3-dev",
    "fedora": "dnf install gcc python3-devel",
    "rhel": "dnf install gcc python3-devel",
    "suse": "zypper install gcc python3-devel",
    "arch": "pacman -S gcc",
    "alpine": "apk add build-base python3-dev",
}
#: By `sys.platform`.
OTHERS = {
    "darwin": "xcode-select --install",
    "win32": "winget install Microsoft.VisualStudio.2022.BuildTools --override '--add Microsoft.VisualStudio.Workload.VCTools'",
}


def command() -> str:
    """The command for this system; the empty string where none is known."""
    if sys.platform != "linux":
        return OTHERS.get(sys.platform, "")
    try:
        release = platform.freedesktop_os_release()
    except OSError:
        return ""
    names = [release.get("ID", ""), *release.get("ID_LIKE", "").split()]
    return next((COMMANDS[name] for name in names if name in COMMANDS), "")


if __name__ == "__main__":
    found = command()
    print(f"Install it: {found}" if found else "Install a C compiler and Python's headers, and try again")
