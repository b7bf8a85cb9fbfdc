import {
  chmod,
  link,
  mkdir,
  mkdtemp,
  realpath,
  rename,
  rm,
  symlink,
  truncate,
  writeFile,
} from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ManualClock, settled } from "@reins/kit/manual-clock";
import { type Principal, QuotaError, Quotas } from "@reins/supervisor";
import { expect, onTestFinished, test } from "vitest";
import { FileFault } from "./file-fault.ts";
import { ENTRY_BYTES, TenantRoom } from "./tenant-room.ts";

const MEBIBYTE = 1024 * 1024;
const ann: Principal = {
  ...{ id: "ann", kind: "user", user: "ann", tenant: "acme", started: "api" },
  ...{ roles: [], scopes: [], agents: [] },
};
const admin: Principal = { ...ann, id: "root", tenant: "default", roles: ["admin"] };
const plenty = { space: async () => ({ free: 2 ** 40, total: 2 ** 41 }) };

async function opened(file_bytes: number, roots?: readonly string[]) {
  const folder = await realpath(await mkdtemp(join(tmpdir(), "reins-room-")));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const clock = new ManualClock("2026-11-18T09:00:00.000Z");
  const quotas = new Quotas({ tenant: { file_bytes } });
  let measures = 0;
  const rootsOf = async () => {
    measures += 1;
    return roots?.map((root) => join(folder, root)) ?? [folder];
  };
  const room = new TenantRoom({ quotas, clock, rootsOf });
  return { folder, clock, room, measures: () => measures };
}

test("a tenant has as much room as its quota leaves beside what is in its folders, each entry counted once", async () => {
  const { folder, room } = await opened(3 * MEBIBYTE + 3 * ENTRY_BYTES, [".", "inner"]);
  await mkdir(join(folder, "inner"));
  await writeFile(join(folder, "inner", "one"), "x".repeat(MEBIBYTE));
  // Neither what a link leads to nor what a sparse file could hold is on the disk.
  await symlink("/", join(folder, "elsewhere"));
  await writeFile(join(folder, "sparse"), "");
  await truncate(join(folder, "sparse"), 2 ** 40);
  const taken = room.begin(ann, plenty);
  await taken.take(MEBIBYTE);
  await taken.take(MEBIBYTE);
  await expect(taken.take(1)).rejects.toThrow(QuotaError);
  await expect(room.require(ann)).rejects.toThrow("this tenant has");
});

test("empty files take room, too", async () => {
  const { folder, room } = await opened(8 * ENTRY_BYTES);
  await writeFile(join(folder, "0"), "");
  for (let count = 1; count < 8; count += 1) await link(join(folder, "0"), join(folder, String(count)));
  await expect(room.require(ann)).rejects.toThrow(QuotaError);
});

test.skipIf(process.platform !== "linux")(
  "what lies under names that are not UTF-8 counts, of files and of folders",
  async () => {
    const { folder, room } = await opened(3 * MEBIBYTE);
    const odd = (name: string) => Buffer.concat([Buffer.from(`${folder}/${name}`), Buffer.from([0xff])]);
    await mkdir(odd("folder"));
    await writeFile(Buffer.concat([odd("folder"), Buffer.from("/file")]), "x".repeat(MEBIBYTE));
    await writeFile(odd("file"), "x".repeat(MEBIBYTE));
    await room.require(ann);
    await expect(room.require(ann, MEBIBYTE)).rejects.toThrow(QuotaError);
  },
);

test("a folder whose path is too long to be measured leaves no room until it is moved or removed", async () => {
  const { folder, room, clock } = await opened(MEBIBYTE);
  const chain = Array.from({ length: 10 }, () => "d".repeat(200));
  const [deep, deeper] = [join(folder, ...chain), join(folder, "e", ...chain)];
  await mkdir(deep, { recursive: true });
  await mkdir(deeper, { recursive: true });
  await writeFile(join(deeper, "f".repeat(100)), "x");
  // The file has a longer path than the system takes, and so could any folder beside it.
  await rename(join(folder, "e"), join(deep, "e"));
  await expect(room.require(ann)).rejects.toThrow(/ddd.* holds cannot be measured/);
  await rename(join(deep, "e"), join(folder, "e"));
  clock.advance(5_001);
  await room.require(ann);
});

test.skipIf(process.getuid?.() === 0)(
  "a folder that is closed to Reins leaves no room until it is open",
  async () => {
    const { folder, room, clock } = await opened(MEBIBYTE);
    await mkdir(join(folder, "closed"));
    for (const mode of [0o000, 0o400]) {
      await writeFile(join(folder, "closed", "file"), "x");
      await chmod(join(folder, "closed"), mode);
      await expect(room.require(ann)).rejects.toThrow("closed holds cannot be measured");
      await chmod(join(folder, "closed"), 0o700);
      clock.advance(5_001);
      await room.require(ann);
      clock.advance(600_000);
    }
  },
);

test("writes that are under way count, and those that failed no more", async () => {
  const { room } = await opened(2 * MEBIBYTE);
  const [one, other] = [room.begin(ann, plenty), room.begin({ ...ann, id: "ben" }, plenty)];
  await one.take(2 * MEBIBYTE);
  await expect(other.take(1)).rejects.toThrow(QuotaError);
  one.release();
  one.release();
  await other.take(2 * MEBIBYTE);
  await expect(one.take(1)).rejects.toThrow(QuotaError);
});

test("what was removed is room again after some seconds, and folders are not measured for each write", async () => {
  const { folder, clock, room, measures } = await opened(MEBIBYTE);
  await writeFile(join(folder, "full"), "x".repeat(MEBIBYTE));
  await expect(room.require(ann)).rejects.toThrow(QuotaError);
  await rm(join(folder, "full"));
  await expect(room.require(ann)).rejects.toThrow(QuotaError);
  clock.advance(6_000);
  await Promise.all([room.require(ann), room.require(ann), room.require(ann)]);
  const before = measures();
  for (let count = 0; count < 10; count += 1) await room.require(ann);
  expect(measures()).toBe(before);
  clock.advance(11 * 60_000);
  await Promise.all([room.require(ann), room.require(ann)]);
  expect(measures()).toBe(before + 1);
});

test("a write does not wait long for folders that take long to measure, and the measure counts when it is there", async () => {
  const clock = new ManualClock("2026-11-18T09:00:00.000Z");
  const quotas = new Quotas({ tenant: { file_bytes: 100 } });
  const folder = await realpath(await mkdtemp(join(tmpdir(), "reins-room-")));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  await writeFile(join(folder, "one"), "x");
  const roots = Promise.withResolvers<readonly string[]>();
  const room = new TenantRoom({ quotas, clock, rootsOf: () => roots.promise });
  const first = room.require(ann);
  await settled();
  clock.advance(2_000);
  await first;
  roots.resolve([folder]);
  await expect.poll(() => room.require(ann).then(String, String)).toContain("file_bytes");
});

test("a disk keeps something free, also while a file is written", async () => {
  const { room } = await opened(2 ** 50);
  const disk = { free: 2 ** 31, total: 2 ** 40 };
  const taken = room.begin(ann, { space: async () => disk });
  await taken.take(1);
  disk.free = 2 ** 30 - 1;
  await taken.take(1);
  await expect(taken.take(MEBIBYTE)).rejects.toThrow(FileFault);
  const small = room.begin(ann, { space: async () => ({ free: 5_000, total: 100_000 }) });
  await small.take(1);
});

test("those who reach every folder have no bound", async () => {
  const { folder, room } = await opened(0);
  await writeFile(join(folder, "one"), "x");
  const taken = room.begin(admin, { space: async () => ({ free: 0, total: 1 }) });
  await taken.take(2 ** 40);
  await room.require(admin);
});
