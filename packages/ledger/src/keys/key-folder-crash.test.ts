import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, it } from "vitest";
import { dyingDisk } from "../../test/dying-disk.ts";
import { scratchFolder } from "../../test/scratch-folder.ts";
import { machineDisk } from "../disk.ts";
import { KeyFolder } from "./key-folder.ts";

const TWO_HOURS = 2 * 60 * 60 * 1000;
const later = () => new Date(Date.now() + TWO_HOURS);

/** Runs the same work with a process that dies at its first change, its second, and so on until it lives. */
async function atEveryDeath(work: (death: ReturnType<typeof dyingDisk>) => Promise<void>): Promise<number> {
  for (let death = 0; ; death += 1) {
    const disk = dyingDisk(death);
    await work(disk);
    if (!disk.died()) return death;
  }
}

it("a first use cut short leaves a whole key or none", async () => {
  const deaths = await atEveryDeath(async (disk) => {
    const path = join(await scratchFolder(), "keys");
    const made = await new KeyFolder(path, { disk }).signer("ada").catch(() => undefined);

    const keys = new KeyFolder(path, { now: later });
    const before = await keys.list();
    const signer = await keys.signer("ada");
    if (made) expect(signer.keyId).toBe(made.keyId);
    expect(signer.created).toBe(before.length === 0);
    await keys.signer("another");
    expect(await readdir(path)).toHaveLength(2);
  });
  expect(deaths).toBeGreaterThanOrEqual(4);
});

it("a rotation cut short leaves the old key whole, or the new one and nothing of the old but its public part", async () => {
  const deaths = await atEveryDeath(async (disk) => {
    const path = join(await scratchFolder(), "keys");
    const old = await new KeyFolder(path).signer("ada");
    const [file] = await readdir(path);
    const secret = JSON.parse(await readFile(join(path, file!), "utf8")).active.private_key;
    const rotation = await new KeyFolder(path, { disk }).rotate("ada").catch(() => undefined);

    const keys = new KeyFolder(path, { now: later });
    const now = await keys.signer("ada");
    expect(now.created).toBe(false);
    if (rotation) expect(now.keyId).toBe(rotation.signer.keyId);
    const listed = (await keys.list())
      .filter(({ status }) => status !== "next")
      .map(({ keyId, status }) => `${keyId} ${status}`);
    const renewed = now.keyId !== old.keyId;
    expect(listed).toEqual(
      renewed ? [`${old.keyId} retired`, `${now.keyId} active`] : [`${old.keyId} active`],
    );

    await keys.signer("another");
    const files = await readdir(path);
    expect(files).toHaveLength(2);
    const texts = await Promise.all(files.map((name) => readFile(join(path, name), "utf8")));
    expect(texts.some((text) => text.includes(secret))).toBe(!renewed);
  });
  expect(deaths).toBeGreaterThanOrEqual(8);
});

it.each(["create", "rename"] as const)(
  "a failed %s is reported, leaves no litter, and a later use succeeds",
  async (step) => {
    const path = join(await scratchFolder(), "keys");
    const full = Object.assign(new Error("no space left on device"), { code: "ENOSPC" });
    const disk = { ...machineDisk, [step]: () => Promise.reject(full) };
    await expect(new KeyFolder(path, { disk }).signer("ada")).rejects.toBe(full);
    expect(await readdir(path)).toEqual([]);
    expect((await new KeyFolder(path).signer("ada")).created).toBe(true);
  },
);

it("what may still be in the making is not swept away", async () => {
  const path = join(await scratchFolder(), "keys");
  await new KeyFolder(path).signer("ada");
  const recent = `.new-${Date.now().toString(36)}-00`;
  const old = `.new-${(Date.now() - TWO_HOURS).toString(36)}-00`;
  for (const name of [recent, old]) await machineDisk.create(join(path, name), new Uint8Array(4));
  await new KeyFolder(path).signer("zoe");
  const names = await readdir(path);
  expect(names).toContain(recent);
  expect(names).not.toContain(old);
});
