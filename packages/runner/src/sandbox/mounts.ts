import { sep } from "node:path";

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
