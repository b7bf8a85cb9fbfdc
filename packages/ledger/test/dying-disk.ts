import { writeFile } from "node:fs/promises";
import { type Disk, machineDisk } from "../src/disk.ts";

/**
 * The machine's disk under a process that dies at its n-th change (from 0): that change is not made, or half made where
 * it can be, and nothing after it happens at all.
 */
export function dyingDisk(death: number): Disk & { readonly died: () => boolean } {
  let changes = 0;
  const dead = new Error("the process is dead");
  const died = () => changes > death;
  const alive = async <Result>(work: () => Promise<Result>): Promise<Result> => {
    if (died()) throw dead;
    return work();
  };
  const change = async <Result>(work: () => Promise<Result>, half?: () => Promise<void>): Promise<Result> => {
    if (died()) throw dead;
    changes += 1;
    if (!died()) return work();
    await half?.();
    throw dead;
  };
  return {
    died,
    folder: (path) => alive(() => machineDisk.folder(path)),
    names: (path) => alive(() => machineDisk.names(path)),
    read: (path, most) => alive(() => machineDisk.read(path, most)),
    has: (path) => alive(() => machineDisk.has(path)),
    makeFolder: (path) => change(() => machineDisk.makeFolder(path)),
    create: (path, bytes) =>
      change(
        () => machineDisk.create(path, bytes),
        () => writeFile(path, bytes.subarray(0, bytes.length / 2), { mode: 0o600 }),
      ),
    rename: (from, to) => change(() => machineDisk.rename(from, to)),
    remove: (path) => change(() => machineDisk.remove(path)),
    sync: (path) => change(() => machineDisk.sync(path)),
  };
}
