import {
  existsSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
} from "node:fs";
import { networkInterfaces } from "node:os";
import { join } from "node:path";
import { talkProxyIntoIt } from "./proxy-attempt.ts";
import { firstOf, holding, opened, quietly, run, secret, shell, type Try, targets, write } from "./tools.ts";

/** The number of the system call. */
const PTRACE = new Map([
  ["x64", 101],
  ["arm64", 117],
]);
const DEVICES = [
  "mem",
  "kmem",
  "port",
  "kmsg",
  "kvm",
  "fuse",
  "net/tun",
  "tty",
  "loop-control",
  ...diskNames(),
];
const KNOBS = [
  "/proc/sys/kernel/core_pattern",
  "/proc/sys/kernel/modprobe",
  "/proc/sys/vm/panic_on_oom",
  "/proc/mtrr",
  "/proc/sysrq-trigger",
  "/sys/kernel/uevent_helper",
  "/sys/fs/cgroup/cgroup.procs",
  "/sys/fs/cgroup/release_agent",
  "/sys/power/state",
  "/sys/module/module/parameters/sig_enforce",
  ...["irq", "bus", "fs", "driver", "acpi", "scsi"].flatMap((name) => filesIn(`/proc/${name}`)),
];

/** What could harm a machine that does not stop it. */
export const CONFINED_ATTEMPTS: Readonly<Record<string, Try>> = {
  "trace a process of the machine": () => traced(),
  "read memory of a process of the machine": () => opened(`/proc/${targets.pid}/mem`, "r"),

  "write into the system": () =>
    firstOf(["/etc/hosts", "/usr/bin/env", "/bin/sh", "/etc/ld.so.cache"], (path) => opened(path, "a")),
  "link a file in and change it": () => {
    linkSync(targets.outside, join(targets.workspace, "linked"));
    return write(join(targets.workspace, "linked"));
  },
  "rename a file out": () => {
    write(join(targets.workspace, "mine"));
    renameSync(join(targets.workspace, "mine"), targets.outside);
    return "put a file outside";
  },
  "take the mask away": () => {
    shell(`umount ${targets.reins}; umount -l ${targets.reins}; true`);
    return holding(readFileSync(secret, "utf8"));
  },
  "make the machine writable": () => {
    shell("mount -o remount,rw /; mount -o remount,rw,bind /; true");
    return opened("/etc/hosts", "a");
  },
  "mount a hidden folder elsewhere": () => {
    const place = join(targets.workspace, "mnt");
    mkdirSync(place);
    return holding(
      shell(`mount --bind ${targets.reins} ${place} && { cat ${place}/*.db; umount ${place}; }`),
    );
  },
  "make a user namespace": () => {
    run("unshare", "--user", "--map-root-user", "true");
    return "made one";
  },
  "unmount in a user namespace": () =>
    holding(run("unshare", "-Urm", "sh", "-c", `umount -l ${targets.reins}; cat ${secret}`)),

  "open a device of the machine": () => firstOf(DEVICES, (name) => opened(`/dev/${name}`, "r")),
  "make a device": () =>
    firstOf(["c 1 1", "c 1 2", ...disks()], (numbers) => {
      const node = join(targets.workspace, "device");
      shell(`rm -f ${node}; mknod ${node} ${numbers}`);
      return opened(node, "r");
    }),
  "turn a knob of the kernel": () => firstOf(KNOBS.filter(existsSync), (path) => opened(path, "r+")),
  "keep a privilege": () => {
    const status = readFileSync("/proc/self/status", "utf8");
    const without = [/^CapEff:\t0+$/m, /^CapPrm:\t0+$/m, /^NoNewPrivs:\t1$/m].every((line) =>
      line.test(status),
    );
    return without ? undefined : "capabilities, or the right to gain some";
  },
  "use a descriptor that was left open": () =>
    firstOf(readdirSync("/proc/self/fd"), (name) => {
      const path = readlinkSync(`/proc/self/fd/${name}`);
      return /^\/(?!dev\/|proc\/)/.test(path) && !path.startsWith(targets.workspace) ? path : undefined;
    }),
  "see a network": () =>
    Object.values(networkInterfaces())
      .flat()
      .find((one) => one?.internal === false)?.address,
  "talk the proxy into it": () => (targets.proxied ? talkProxyIntoIt() : undefined),
};

/** PTRACE_ATTACH, which only a program with system calls at hand can ask for. */
function traced(): string | undefined {
  const call = PTRACE.get(process.arch);
  if (call === undefined || quietly(() => run("perl", "-e", "1")) === undefined)
    throw Object.assign(new Error(), { untried: "there is no perl here to make the system call with" });
  return (
    run("perl", "-e", `print syscall(${call}, 16, ${targets.pid}, 0, 0) == 0 ? "attached" : ""`) || undefined
  );
}

function filesIn(folder: string): string[] {
  const entries = quietly(() => readdirSync(folder, { recursive: true, withFileTypes: true })) ?? [];
  return entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
}

function partitions(): string[][] {
  const table = quietly(() => readFileSync("/proc/partitions", "utf8")) ?? "";
  return [...table.matchAll(/^ +(\d+) +(\d+) +\d+ (\S+)$/gm)].map((match) => [...match]);
}

function disks(): string[] {
  return partitions().map(([, major, minor]) => `b ${major} ${minor}`);
}

function diskNames(): string[] {
  return partitions().map(([, , , name]) => name ?? "");
}
