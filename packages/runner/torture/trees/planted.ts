import { mkdtemp } from "node:fs/promises";
import { join } from "node:path";
import type { Launch } from "../../src/process/spawn.ts";
import type { Sandbox } from "../../src/sandbox/confine.ts";
import type { NastyTree } from "./nasty-tree.ts";

/** A tree and the folder it grows in. */
export interface Planted {
  readonly tree: NastyTree;
  readonly folder: string;
  readonly launch: Launch;
}

/** Makes a tree ready to be started by a Reins of that home. */
export async function plant(
  place: string,
  home: string,
  tree: NastyTree,
  sandbox: Sandbox | undefined,
): Promise<Planted> {
  const folder = await folderIn(place);
  const confinement = sandbox && {
    roots: [folder],
    home: await folderIn(home),
    temporary: await folderIn(home),
    masked: [home],
    network: "off" as const,
  };
  const launch: Launch = {
    command: "/bin/sh",
    args: ["-c", tree.script],
    env: { PATH: "/usr/bin:/bin" },
    cwd: folder,
    label: tree.shape,
    ...(confinement && { confinement }),
  };
  return { tree, folder, launch };
}

/** A new folder in another. */
export function folderIn(place: string): Promise<string> {
  return mkdtemp(join(place, "tree-"));
}
