import { constants } from "node:fs";
import { open, readlink, realpath, stat } from "node:fs/promises";
import { homedir } from "node:os";
import { dirname, resolve, sep } from "node:path";
import { SandboxError } from "../errors.ts";
import type { Confinement } from "./confine.ts";

/** What a confined agent sees of the file system. */
export interface View {
  readonly mounts: readonly Mount[];
  readonly links: readonly SymbolicLink[];
  /** The roots as they are to be found inside, each with what it is. */
  readonly roots: readonly { readonly path: string; readonly identity: string }[];
  readonly home: string;
  readonly temporary: string;
}

/**
 * Hidden from every confined agent: homes; `/run`, where services listen on sockets, which read-only mounts do not
 * prevent; and what only root can read.
 */
const MASKED = [
  ...["/home", "/root", "/run", "/etc/shadow", "/etc/gshadow", "/etc/ssl/private"],
  ...["/sys/kernel/debug", "/sys/kernel/tracing", "/sys/kernel/security", "/sys/firmware"],
  ...["/proc/acpi", "/proc/kcore", "/proc/keys", "/proc/latency_stats", "/proc/sched_debug", "/proc/scsi"],
  ...["/proc/timer_list", "/proc/timer_stats"],
];
/** Settings of the kernel. The files belong to root, which an agent may run as, even without privileges. */
const KNOBS = [
  "/proc/asound",
  "/proc/bus",
  "/proc/fs",
  "/proc/irq",
  "/proc/mtrr",
  "/proc/sys",
  "/proc/sysrq-trigger",
];
const SCRATCH = ["/tmp", "/var/tmp"];

/** Computes the mounts of an agent; every path is resolved now, so that no link is followed later. */
export async function viewOf(confinement: Confinement): Promise<View> {
  const user = (await existing(homedir())) ?? homedir();
  const secret = await resolved(confinement.masked);
  const mounts: Mount[] = [
    ...(await Promise.all([...(await resolved([...MASKED, user])), ...secret].map(mask))),
    ...(await resolved(SCRATCH)).map((path): Mount => ({ path, kind: "scratch" })),
    ...(await resolved(KNOBS)).map((path): Mount => ({ path, kind: "read", source: path })),
    ...(await nameServers()),
  ];
  const roots: SymbolicLink[] = [];
  const checked: { path: string; identity: string }[] = [];
  for (const root of confinement.roots) {
    const target = await required(root);
    checked.push({ path: target, identity: await expectSame(root, target, confinement) });
    expectNarrow(target, user);
    for (const folder of secret)
      if (isInside(target, folder))
        throw new SandboxError(
          "too_wide",
          `The workspace ${root} lies in ${folder}, which has to stay hidden.`,
          "Work in another folder.",
        );
    mounts.push({ path: target, kind: "write", source: target });
    roots.push({ path: resolve(root), target });
  }
  // What is not to be seen stays so even where it lies in a root: it is the more specific of the two.
  const home = await required(confinement.home);
  const temporary = await required(confinement.temporary);
  for (const path of [home, temporary]) mounts.push({ path, kind: "write", source: path });
  for (const { path, access, at } of confinement.binds ?? []) {
    const source = await required(path);
    expectNarrow(source, user);
    mounts.push({ path: at ?? source, kind: access, source });
  }
  // A root may have been named by way of a link that is itself hidden.
  const links = roots.filter(({ path, target }) => path !== target && isHidden(dirname(path), mounts));
  return { mounts, links, roots: checked, home, temporary };
}

/** What a root is now, which is what it was when it was admitted. */
async function expectSame(root: string, target: string, { identities }: Confinement): Promise<string> {
  const identity = await folderIdentity(target);
  const admitted = identities?.[root];
  if (identity !== undefined && (admitted === undefined || admitted === identity)) return identity;
  throw new SandboxError(
    "replaced",
    `${root} is not the folder that was checked; it was replaced.`,
    "Begin a new session in it.",
  );
}

/** A folder with the whole home in it would bring back every credential that is to be hidden. */
function expectNarrow(path: string, user: string): void {
  if (!isInside(user, path)) return;
  throw new SandboxError(
    "too_wide",
    `${path} holds your whole home, with every key in it.`,
    "Name folders inside it instead.",
  );
}

/** Hides a folder behind an empty one, and a file behind one that cannot be read. */
async function mask(path: string): Promise<Mount> {
  const folder = (await stat(path)).isDirectory();
  return folder ? { path, kind: "mask" } : { path, kind: "read", source: "/dev/null" };
}

/** Name resolution may be configured by a file in `/run`. */
async function nameServers(): Promise<Mount[]> {
  const path = await existing("/etc/resolv.conf");
  return path && isInside(path, "/run") ? [{ path, kind: "read", source: path }] : [];
}

async function resolved(paths: readonly string[]): Promise<string[]> {
  const found = await Promise.all(paths.map(existing));
  return [...new Set(found.filter((path) => path !== undefined).filter((path) => path !== "/"))];
}

async function required(path: string): Promise<string> {
  const found = await existing(path);
  if (found !== undefined) return found;
  throw new SandboxError(
    "missing",
    `${path} was to be shown to the agent and is not there.`,
    "Make it, or leave it out.",
  );
}

async function existing(path: string): Promise<string | undefined> {
  return realpath(path).catch(() => undefined);
}

/**
 * What a folder is, whatever its name leads to later: device and inode, as `stat -c %d:%i` prints them. Nothing where the
 * path is no folder, or leads through a link by now: what is described lies where the path says.
 */
export async function folderIdentity(real: string): Promise<string | undefined> {
  const flags = constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW;
  const folder = await open(real, flags).catch(() => undefined);
  if (!folder) return undefined;
  try {
    const { dev, ino } = await folder.stat({ bigint: true });
    // The kernel says where the opened folder lies; elsewhere the name is followed again.
    const there = await readlink(`/proc/self/fd/${folder.fd}`).catch(() => realpath(real));
    return there === real ? `${dev}:${ino}` : undefined;
  } finally {
    await folder.close();
  }
}

/** What is to be seen at one place inside a sandbox. */
export interface Mount {
  readonly path: string;
  /** `mask`: an empty folder; `scratch`: one that can be written, and is gone afterwards. */
  readonly kind: "read" | "write" | "mask" | "scratch";
  /** What is shown, for `read` and `write`. */
  readonly source?: string;
}

/** A name that leads elsewhere. */
export interface SymbolicLink {
  readonly path: string;
  readonly target: string;
}

/** Whether a path is a folder or lies in it. */
export function isInside(path: string, folder: string): boolean {
  return path === folder || path.startsWith(folder.endsWith(sep) ? folder : folder + sep);
}

/** Mounts in the order in which they have to be made, so that the most specific one decides; of equals, the last. */
function inOrder(mounts: readonly Mount[]): Mount[] {
  const byPath = new Map(mounts.map((mount) => [mount.path, mount]));
  return [...byPath.values()].sort((left, right) => depthOf(left.path) - depthOf(right.path));
}

/** The mount that decides what is seen at a path; the rest of the machine is read-only. */
export function mountAt(path: string, mounts: readonly Mount[]): Mount {
  const [deciding] = inOrder(mounts)
    .filter((mount) => isInside(path, mount.path))
    .slice(-1);
  return deciding ?? { path: sep, kind: "read", source: sep };
}

/** Whether nothing of the machine's is seen at a path. */
export function isHidden(path: string, mounts: readonly Mount[]): boolean {
  const { kind } = mountAt(path, mounts);
  return kind === "mask" || kind === "scratch";
}

/** The arguments with which bubblewrap makes the mounts, over a read-only machine. */
export function mountArguments(mounts: readonly Mount[], links: readonly SymbolicLink[]): string[] {
  const ordered = inOrder(mounts);
  return [
    ...["--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc"],
    ...ordered.flatMap(argumentsOf),
    ...links.flatMap(({ path, target }) => ["--symlink", target, path]),
    // Last, because places for other mounts have to be made in them first.
    ...ordered.filter(({ kind }) => kind === "mask").flatMap(({ path }) => ["--remount-ro", path]),
  ];
}

function argumentsOf({ kind, path, source = path }: Mount): string[] {
  switch (kind) {
    case "read":
      return ["--ro-bind", source, path];
    case "write":
      return ["--bind", source, path];
    case "mask":
    case "scratch":
      return ["--tmpfs", path];
  }
}

function depthOf(path: string): number {
  return path === sep ? 0 : path.split(sep).length;
}
