import type { Stats } from "node:fs";
import { basename, sep } from "node:path";
import { errorMessage, hasCode } from "@reins/kit";
import type { CallerAccess, EndAccess, FileCaller } from "../files/caller-access.ts";
import { FileFault, pathFault } from "../files/file-fault.ts";
import { HeldFolder } from "../files/held-folder.ts";
import type { TenantRoom } from "../files/tenant-room.ts";
import { versionOf } from "../files/unpack.ts";
import type { FileSnapshots, PlannedRestore, SnapshotPlace } from "./file-snapshots.ts";

/** What becomes of a file in a rewind. */
export interface RewoundFile {
  readonly path: string;
  readonly change: "write" | "remove" | "none";
  readonly state: "pending" | "restored" | "unchanged" | "conflict" | "lost" | "failed";
  readonly reason?: string;
}

/** How many files are decided about at the same time. */
const AT_ONCE = 32;

/** What restoring a state is decided as. */
const TOOLS: Readonly<Record<PlannedRestore["target"]["kind"], string>> = {
  absent: "fs/delete_entry",
  file: "fs/write_file",
  link: "fs/write_file",
  folder: "fs/mkdir",
  other: "fs/write_file",
};

/** Has every file decided about, as any other change of a caller; none is begun where one is not allowed. */
export async function decideRestores(
  access: CallerAccess,
  caller: FileCaller,
  restores: readonly PlannedRestore[],
): Promise<ReadonlyMap<string, EndAccess>> {
  const begun = new Map<string, EndAccess>();
  const decide = async ({ path, target }: PlannedRestore) => {
    const resolved = await access.resolve(caller, TOOLS[target.kind], { path });
    if (resolved.targets[0]?.real !== path) throw new FileFault("conflict", `${path} leads elsewhere by now`);
    begun.set(path, await access.begin(resolved, { isPart: true }));
  };
  for (let from = 0; from < restores.length; from += AT_ONCE) {
    const decided = await Promise.allSettled(restores.slice(from, from + AT_ONCE).map(decide));
    const refused = decided.find(({ status }) => status === "rejected");
    if (refused?.status !== "rejected") continue;
    for (const end of begun.values()) await end("failed");
    throw refused.reason;
  }
  return begun;
}

interface Restoring {
  readonly caller: FileCaller;
  readonly place: SnapshotPlace;
  readonly room: TenantRoom;
  readonly snapshots: FileSnapshots;
}

/** Restores one entry, and records how that ended. */
export async function restoreFile(
  restoring: Restoring,
  one: PlannedRestore,
  end: EndAccess | undefined,
): Promise<Pick<RewoundFile, "state" | "reason">> {
  const { path, target, current } = one;
  try {
    restoring.caller.signal.throwIfAborted();
    await putBack(restoring, one);
    const written =
      target.kind === "file" && target.hash !== undefined
        ? [{ path, content_hash: target.hash, bytes: target.size }]
        : [];
    await end?.("completed", written);
    return { state: "restored" };
  } catch (error) {
    await end?.("failed");
    if (hasCode(error, "ENOTEMPTY") && current.kind === "folder" && target.kind === "absent")
      return { state: "unchanged", reason: "it holds what Reins did not put there" };
    return { state: "failed", reason: errorMessage(pathFault(path, error)) };
  }
}

/** Puts an entry as it was, if it still is as it was when that was planned. */
async function putBack(
  { caller, place, room, snapshots }: Restoring,
  { path, target, current, version }: PlannedRestore,
): Promise<void> {
  const name = basename(path);
  const content = target.kind === "file" ? await snapshots.content(place, target.hash ?? "") : undefined;
  const parent = await HeldFolder.parent(path, { make: target.kind !== "absent" });
  try {
    const found = await parent.look(name);
    if (kindOf(found) !== current.kind || (found?.isFile() && versionOf(found) !== version))
      throw new FileFault("conflict", `${path} was changed meanwhile`);
    if (found && !(found.isFile() && content)) await parent.remove(name);
    if (target.kind === "link") await parent.makeLink(name, target.target);
    if (target.kind === "folder") await parent.makeFolder(name, target.mode ?? 0o755);
    if (content && target.kind === "file") {
      const taken = room.begin(caller.principal, parent);
      try {
        await taken.take(content.length);
        await putContent(parent, name, content, target.mode ?? 0o644);
      } catch (error) {
        taken.release();
        throw error;
      }
    }
    await parent.sync();
  } finally {
    await parent.close();
  }
}

/** Writes a file under another name, which takes the place of the file when all of it is on the disk. */
async function putContent(folder: HeldFolder, name: string, content: Buffer, mode: number): Promise<void> {
  const made = await folder.create();
  try {
    try {
      await made.file.writeFile(content);
      await made.file.chmod(mode);
      await made.file.sync();
    } finally {
      await made.file.close();
    }
    await folder.place(folder, made.name, name, { replaces: true });
  } catch (error) {
    await folder.discard(made.name);
    throw error;
  }
}

/** Whether an entry is restored: with force also one that was changed otherwise, where no link or folder is in the way. */
export function isRestorable({ state, current }: PlannedRestore, force: boolean): boolean {
  if (state === "restore") return true;
  return force && state === "conflict" && (current.kind === "file" || current.kind === "absent");
}

/** What is removed comes first, from the inside out; the rest from the outside in. */
export function byOrder(one: PlannedRestore, other: PlannedRestore): number {
  const [removes, alsoRemoves] = [one.target.kind === "absent", other.target.kind === "absent"];
  if (removes !== alsoRemoves) return removes ? -1 : 1;
  const deeper = one.path.split(sep).length - other.path.split(sep).length;
  return removes ? -deeper : deeper;
}

/** What is to become of a file. */
export function shownFile(one: PlannedRestore, force: boolean): RewoundFile {
  const { path, target, state, reason } = one;
  const change = state === "unchanged" ? "none" : target.kind === "absent" ? "remove" : "write";
  const shown = state === "restore" || isRestorable(one, force) ? "pending" : state;
  return { path, change, state: shown, ...(reason !== undefined && { reason }) };
}

function kindOf(found: Stats | undefined): PlannedRestore["current"]["kind"] {
  if (!found) return "absent";
  if (found.isFile()) return "file";
  if (found.isDirectory()) return "folder";
  return found.isSymbolicLink() ? "link" : "other";
}
