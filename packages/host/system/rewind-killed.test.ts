import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, mkdtemp, readdir, readFile, realpath, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { type Principal, Quotas } from "@reins/supervisor";
import { expect, onTestFinished, test } from "vitest";
import { seededRandom } from "../../../scripts/torture/random.ts";
import { TenantRoom } from "../src/files/tenant-room.ts";
import { FileSnapshots } from "../src/rewind/file-snapshots.ts";
import { byOrder, restoreFile } from "../src/rewind/restore-files.ts";

const WRITER = fileURLToPath(new URL("./fixtures/snapshot-writer.ts", import.meta.url));
const PLACE = { tenant: "default", session: "s1" };
const ROUNDS = 6;

async function treeOf(folder: string): Promise<Record<string, string>> {
  const found = await readdir(folder, { withFileTypes: true, recursive: true });
  // A file that was being written lies beside its place.
  const whole = found.filter(({ name }) => !name.endsWith(".reins-partial"));
  const files = whole.map(async (entry) => {
    const path = join(entry.parentPath, entry.name);
    return [path.slice(folder.length), entry.isFile() ? await readFile(path, "utf8") : "folder"] as const;
  });
  return Object.fromEntries(await Promise.all(files));
}

test("files that were changed and taken back by a process that is killed at any moment can be restored", {
  timeout: 60_000,
}, async () => {
  const random = seededRandom(11);
  const base = await realpath(await mkdtemp(join(tmpdir(), "rewind-killed-")));
  onTestFinished(() => rm(base, { recursive: true, force: true }));
  const [home, folder] = [join(base, "home"), join(base, "work")];
  await mkdir(home);
  await mkdir(join(folder, "d/e"), { recursive: true });
  for (const name of ["a", "d/a", "d/e/b"]) await writeFile(join(folder, name), `${name}, as it was`);
  const room = new TenantRoom({ quotas: new Quotas({}), rootsOf: async () => [folder] });
  const principal: Principal = {
    ...{ id: "root", kind: "user", user: "root", tenant: "default", started: "api" },
    ...{ roles: ["admin"], scopes: [], agents: [] },
  };
  const caller = { principal, signal: new AbortController().signal };
  const tree = await treeOf(folder);
  for (let round = 0; round < ROUNDS; round += 1) {
    const known = new Set((await new FileSnapshots({ home }).turns(PLACE)).turns.map(({ id }) => id));
    const writer = spawn(process.execPath, [WRITER, home, folder, String(round * 100_000)], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    await once(writer.stdout, "data");
    await wait(20 + random.int(200));
    writer.kill("SIGKILL");
    await once(writer, "exit");
    const snapshots = new FileSnapshots({ home });
    const { turns } = await snapshots.turns(PLACE);
    const since = new Set(turns.map(({ id }) => id).filter((id) => !known.has(id)));
    expect(since.size).toBeGreaterThan(0);
    const planned = (await snapshots.plan(PLACE, since)).toSorted(byOrder);
    expect(planned.filter(({ state }) => state === "conflict" || state === "lost")).toEqual([]);
    for (const one of planned.filter(({ state }) => state === "restore"))
      expect(await restoreFile({ caller, place: PLACE, room, snapshots }, one, undefined)).toEqual({
        state: "restored",
      });
    expect(await treeOf(folder)).toEqual(tree);
  }
});
