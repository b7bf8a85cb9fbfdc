import { mkdir, readdir, readFile, rm, stat, symlink, truncate, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { dyingDisk } from "../../test/dying-disk.ts";
import { rejectionOf } from "../../test/rejection.ts";
import { scratchFolder } from "../../test/scratch-folder.ts";
import { blake3Hex } from "../canonical.ts";
import { machineDisk } from "../disk.ts";
import { ArtifactStore, MAX_ARTIFACT_SIZE } from "./artifact-store.ts";

const SECRET = Buffer.from("a secret");

async function artifactStore() {
  const path = join(await scratchFolder(), "artifacts");
  return { path, store: new ArtifactStore(path) };
}

const fileOf = (path: string, digest: string) => join(path, digest.slice(0, 2), digest);
const all = (store: ArtifactStore) => Array.fromAsync(store.list());

describe("an artifact", () => {
  it("is kept as the format says: salt and content, named by their digest", async () => {
    const { path, store } = await artifactStore();
    const { digest, size } = await store.put(SECRET);
    const bytes = await readFile(fileOf(path, digest));
    expect(size).toBe(SECRET.length);
    expect(bytes.length).toBe(32 + SECRET.length);
    expect(bytes.subarray(32)).toEqual(SECRET);
    expect(digest).toBe(blake3Hex(bytes));
    expect(Buffer.from((await store.get(digest))!)).toEqual(SECRET);
    expect(Buffer.from((await store.readRaw(digest))!)).toEqual(bytes);
  });

  it("is for the owner's eyes", async () => {
    const { path, store } = await artifactStore();
    const { digest } = await store.put(SECRET);
    const modes = await Promise.all(
      [path, join(path, "incoming"), join(path, digest.slice(0, 2)), fileOf(path, digest)].map(
        async (place) => (await stat(place)).mode & 0o777,
      ),
    );
    expect(modes).toEqual([0o700, 0o700, 0o700, 0o600]);
  });

  it("has another digest each time, so that it cannot be guessed", async () => {
    const { store } = await artifactStore();
    const digests = await Promise.all(
      Array.from({ length: 20 }, async () => (await store.put(SECRET)).digest),
    );
    expect(new Set(digests).size).toBe(20);
    expect(await all(store)).toEqual(digests.toSorted());
  });

  it("may be empty", async () => {
    const { store } = await artifactStore();
    const { digest, size } = await store.put(new Uint8Array());
    expect(size).toBe(0);
    expect(await store.get(digest)).toHaveLength(0);
  });

  it("is what it was when it was given, whatever the caller does to it next", async () => {
    const { store } = await artifactStore();
    const content = Buffer.from("original");
    const kept = store.put(content);
    content.fill(0);
    expect(Buffer.from((await store.get((await kept).digest))!).toString()).toBe("original");
  });

  it("has a bound", async () => {
    const { path, store } = await artifactStore();
    const error = await rejectionOf(() => store.put(new Uint8Array(MAX_ARTIFACT_SIZE + 1)));
    expect(error.code).toBe("invalid");
    await expect(stat(path)).rejects.toThrow("ENOENT");
  });
});

describe("erasing", () => {
  it("leaves nothing", async () => {
    const { path, store } = await artifactStore();
    const { digest } = await store.put(SECRET);
    const other = await store.put(SECRET);
    expect(await store.has(digest)).toBe(true);
    expect(await store.erase(digest)).toBe(true);
    expect(await store.erase(digest)).toBe(false);
    expect(await store.has(digest)).toBe(false);
    expect(await store.get(digest)).toBeUndefined();
    expect(await store.readRaw(digest)).toBeUndefined();
    expect(await all(store)).toEqual([other.digest]);
    await expect(stat(fileOf(path, digest))).rejects.toThrow("ENOENT");
  });

  it("settles only once the folder is on the disk", async () => {
    const { path, store } = await artifactStore();
    const { digest } = await store.put(SECRET);
    const log: string[] = [];
    const disk = {
      ...machineDisk,
      remove: (file: string) => {
        log.push(`remove ${file}`);
        return machineDisk.remove(file);
      },
      sync: (folder: string) => {
        log.push(`sync ${folder}`);
        return machineDisk.sync(folder);
      },
    };
    await new ArtifactStore(path, { disk }).erase(digest);
    expect(log).toEqual([`remove ${fileOf(path, digest)}`, `sync ${join(path, digest.slice(0, 2))}`]);
  });
});

describe("a digest that is none", () => {
  it.each([
    "",
    "..",
    "../../keys",
    `../${"a".repeat(61)}`,
    "A".repeat(64),
    "a".repeat(63),
    `${"a".repeat(64)}\n`,
  ])("reaches nothing: %j", async (digest) => {
    const { store } = await artifactStore();
    for (const call of [
      () => store.get(digest),
      () => store.readRaw(digest),
      () => store.has(digest),
      () => store.erase(digest),
      () => store.writeRaw(digest, SECRET),
    ])
      expect((await rejectionOf(call)).code).toBe("invalid");
  });
});

describe("damage is found", () => {
  it.each([
    ["a changed byte", async (file: string) => writeFile(file, (await readFile(file)).fill(1, 39, 40))],
    ["a lost end", (file: string) => truncate(file, 33)],
    ["nothing left", (file: string) => truncate(file, 0)],
    ["something added", (file: string) => writeFile(file, "more", { flag: "a" })],
  ])("%s", async (_, damage) => {
    const { path, store } = await artifactStore();
    const { digest } = await store.put(SECRET);
    await damage(fileOf(path, digest));
    expect((await rejectionOf(() => store.get(digest))).code).toBe("corrupt");
    expect((await rejectionOf(() => store.readRaw(digest))).code).toBe("corrupt");
  });

  it("a link or a folder in its place", async () => {
    const { path, store } = await artifactStore();
    const { digest } = await store.put(SECRET);
    const bytes = await readFile(fileOf(path, digest));
    await writeFile(join(path, "elsewhere"), bytes);
    await rm(fileOf(path, digest));
    await symlink(join(path, "elsewhere"), fileOf(path, digest));
    expect((await rejectionOf(() => store.get(digest))).code).toBe("corrupt");
    expect(await store.has(digest)).toBe(false);
    await rm(fileOf(path, digest));
    await mkdir(fileOf(path, digest));
    expect((await rejectionOf(() => store.get(digest))).code).toBe("corrupt");
  });
});

describe("what comes from an export", () => {
  it("is kept under its digest", async () => {
    const [{ store: from }, { store: to }] = [await artifactStore(), await artifactStore()];
    const { digest } = await from.put(SECRET);
    const bytes = (await from.readRaw(digest))!;
    await to.writeRaw(digest, bytes);
    await to.writeRaw(digest, bytes);
    expect(Buffer.from((await to.get(digest))!)).toEqual(SECRET);
  });

  it("is refused under another, and when it has no salt", async () => {
    const { store } = await artifactStore();
    const { digest } = await store.put(SECRET);
    const short = Buffer.alloc(31);
    expect((await rejectionOf(() => store.writeRaw(digest, Buffer.alloc(40)))).code).toBe("corrupt");
    expect((await rejectionOf(() => store.writeRaw(blake3Hex(short), short))).code).toBe("corrupt");
    expect(await all(store)).toEqual([digest]);
  });
});

describe("the folder", () => {
  it("that is not there holds nothing", async () => {
    const { store } = await artifactStore();
    expect(await all(store)).toEqual([]);
    expect(await store.has("a".repeat(64))).toBe(false);
  });

  it("may hold what is no artifact", async () => {
    const { path, store } = await artifactStore();
    const { digest } = await store.put(SECRET);
    await writeFile(join(path, "README"), "");
    await mkdir(join(path, "zz"));
    await writeFile(
      join(path, digest.slice(0, 2), "b".repeat(64).replace(/^b/, digest[0] === "b" ? "c" : "b")),
      "",
    );
    await writeFile(join(path, digest.slice(0, 2), ".notes"), "");
    expect(await all(store)).toEqual([digest]);
  });
});

it("a put cut short by a crash leaves a whole artifact or none, and its leftovers go in time", async () => {
  for (let death = 0; ; death += 1) {
    const { path, store } = await artifactStore();
    const disk = dyingDisk(death);
    const put = await new ArtifactStore(path, { disk }).put(SECRET).catch(() => undefined);
    const found = await all(store);
    for (const digest of found) expect(Buffer.from((await store.get(digest))!)).toEqual(SECRET);
    if (put) expect(found).toEqual([put.digest]);
    const later = () => new Date(Date.now() + 2 * 60 * 60 * 1000);
    await new ArtifactStore(path, { now: later }).put(SECRET);
    expect(await readdir(join(path, "incoming"))).toEqual([]);
    if (!disk.died()) return;
  }
});

it("a full disk is reported as such and leaves nothing behind", async () => {
  const { path, store } = await artifactStore();
  const full = Object.assign(new Error("no space left on device"), { code: "ENOSPC" });
  const disk = { ...machineDisk, rename: () => Promise.reject(full) };
  await expect(new ArtifactStore(path, { disk }).put(SECRET)).rejects.toBe(full);
  expect(await readdir(join(path, "incoming"))).toEqual([]);
  expect(await all(store)).toEqual([]);
});
