import { chmod, mkdir, readdir, readFile, rename, stat, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { rejectionOf } from "../../test/rejection.ts";
import { scratchFolder } from "../../test/scratch-folder.ts";
import { blake3Hex } from "../canonical.ts";
import { machineDisk } from "../disk.ts";
import { KeyFolder, LOG_HOLDER } from "./key-folder.ts";
import { verifySignature } from "./signer.ts";

const DATA = Buffer.from("what happened");
const NOON = new Date("2026-11-15T12:00:00.000Z");

async function keyFolder() {
  const path = join(await scratchFolder(), "keys");
  return { path, keys: new KeyFolder(path) };
}

const fileOf = (path: string, holder: string) => join(path, `signing-${blake3Hex(holder)}.json`);
const modeOf = async (path: string) => (await stat(path)).mode & 0o777;

describe("the first use of a holder", () => {
  it("makes a key that later uses find again", async () => {
    const { path, keys } = await keyFolder();
    const first = await keys.signer("agent-7");
    const again = await new KeyFolder(path).signer("agent-7");
    expect([first.created, again.created]).toEqual([true, false]);
    expect(again.keyId).toBe(first.keyId);
    expect(again.sign(DATA)).toEqual(first.sign(DATA));
  });

  it("makes a key of its own for each holder", async () => {
    const { keys } = await keyFolder();
    const signers = await Promise.all(
      ["ada", "agent-7", "reins:system", LOG_HOLDER].map((holder) => keys.signer(holder)),
    );
    expect(new Set(signers.map(({ keyId }) => keyId)).size).toBe(4);
  });

  it("makes one key for concurrent callers, and reports it as created to one of them", async () => {
    const { path, keys } = await keyFolder();
    const folders = [keys, new KeyFolder(path), new KeyFolder(`${path}/../keys`)];
    const signers = await Promise.all(
      Array.from({ length: 12 }, (_, index) => folders[index % 3]!.signer("ada")),
    );
    expect(new Set(signers.map(({ keyId }) => keyId)).size).toBe(1);
    expect(signers.filter(({ created }) => created)).toHaveLength(1);
    expect(await readdir(path)).toHaveLength(1);
  });

  it("gives no other user access to folder and file", async () => {
    const { path, keys } = await keyFolder();
    await keys.signer("ada");
    expect(await modeOf(path)).toBe(0o700);
    expect(await modeOf(fileOf(path, "ada"))).toBe(0o600);
  });

  it.each(["../../ada", "a/b", "\u0000", ".", "ünï 🔑", "x".repeat(5000), "con", "A", "a"])(
    "takes any name: %j",
    async (holder) => {
      const { path, keys } = await keyFolder();
      const { keyId } = await keys.signer(holder);
      expect(await keys.list()).toMatchObject([{ holder, keyId }]);
      expect(await readdir(path)).toEqual([`signing-${blake3Hex(holder)}.json`]);
    },
  );

  it.each(["", "\ud800"])("refuses what is no name: %j", async (holder) => {
    const { keys } = await keyFolder();
    expect((await rejectionOf(() => keys.signer(holder))).code).toBe("invalid");
  });

  it("takes entropy and time from its ports", async () => {
    const path = await scratchFolder();
    const keys = new KeyFolder(path, {
      randomBytes: (size) => new Uint8Array(size).fill(7),
      now: () => NOON,
    });
    await keys.signer("ada");
    const { active } = JSON.parse(await readFile(fileOf(path, "ada"), "utf8"));
    expect(active.private_key).toBe(Buffer.alloc(32, 7).toString("base64"));
    expect(active.created_at).toBe("2026-11-15T12:00:00.000Z");
  });
});

describe("a rotation", () => {
  it("destroys the old private key and keeps what checks its signatures", async () => {
    const { path, keys } = await keyFolder();
    const old = await keys.signer("ada");
    const signature = old.sign(DATA);
    const secret = JSON.parse(await readFile(fileOf(path, "ada"), "utf8")).active.private_key;

    const { signer, retiredKeyId } = await keys.rotate("ada");
    expect(retiredKeyId).toBe(old.keyId);
    expect(signer).toMatchObject({ created: true, holder: "ada" });
    expect((await keys.signer("ada")).keyId).toBe(signer.keyId);
    for (const file of await readdir(path))
      expect(await readFile(join(path, file), "utf8")).not.toContain(secret);

    const retired = (await keys.list()).find(({ keyId }) => keyId === old.keyId)!;
    expect(retired.status).toBe("retired");
    expect(verifySignature(retired.publicKey, DATA, signature)).toBe(true);
    expect(verifySignature(signer.publicKey, DATA, signature)).toBe(false);
  });

  it("is listed with its times, the oldest key first", async () => {
    let seconds = 0;
    const now = () => {
      seconds += 1;
      return new Date(NOON.getTime() + seconds * 1000);
    };
    const keys = new KeyFolder(await scratchFolder(), { now });
    await keys.signer("zoe");
    await keys.signer("ada");
    await keys.rotate("ada");
    await keys.rotate("ada");
    const listed = await keys.list();
    expect(listed.map(({ holder, status }) => `${holder} ${status}`)).toEqual([
      "ada retired",
      "ada retired",
      "ada active",
      "zoe active",
    ]);
    expect(listed[0]!.createdAt < listed[1]!.createdAt).toBe(true);
    expect(listed[0]!.retiredAt! > listed[1]!.createdAt).toBe(true);
    expect(listed[2]!.retiredAt).toBeNull();
  });

  it("one after the other loses no key", async () => {
    const { keys } = await keyFolder();
    await keys.signer("ada");
    const rotations = await Promise.all([keys.rotate("ada"), keys.rotate("ada"), keys.rotate("ada")]);
    const listed = await keys.list();
    expect(listed).toHaveLength(4);
    for (const { retiredKeyId } of rotations)
      expect(listed.find(({ keyId }) => keyId === retiredKeyId)?.status).toBe("retired");
    expect(listed.filter(({ status }) => status === "active")).toHaveLength(1);
  });

  it("lets the old key announce the new one", async () => {
    const { path, keys } = await keyFolder();
    const old = await keys.signer("reins:system");
    const announced: string[] = [];
    const { signer } = await keys.rotate("reins:system", async (next) => {
      announced.push(next.keyId);
      expect((await keys.signer("reins:system")).keyId).toBe(old.keyId);
      expect((await new KeyFolder(path).list()).map(({ status }) => status)).toEqual(["active", "next"]);
      await keys.signer("a new holder");
    });
    expect(announced).toEqual([signer.keyId]);
    expect((await keys.signer("reins:system")).keyId).toBe(signer.keyId);
  });

  it("whose announcement fails leaves the old key, and offers the same new one again", async () => {
    const { keys } = await keyFolder();
    const old = await keys.signer("ada");
    const offered: string[] = [];
    const fail = async ({ keyId }: { keyId: string }) => {
      offered.push(keyId);
      throw new Error("the store is closed");
    };
    await expect(keys.rotate("ada", fail)).rejects.toThrow("the store is closed");
    expect((await keys.signer("ada")).keyId).toBe(old.keyId);
    const { signer } = await keys.rotate("ada");
    expect(offered).toEqual([signer.keyId]);
  });

  it("is refused to who has no key, and to the log", async () => {
    const { keys } = await keyFolder();
    await keys.signer(LOG_HOLDER);
    expect((await rejectionOf(() => keys.rotate("ada"))).code).toBe("not_found");
    expect((await rejectionOf(() => keys.rotate(LOG_HOLDER))).code).toBe("invalid");
  });

  it("that another process undid meanwhile is reported", async () => {
    const { path, keys } = await keyFolder();
    await keys.signer("ada");
    const before = await readFile(fileOf(path, "ada"), "utf8");
    const undo = () => writeFile(fileOf(path, "ada"), before);
    expect((await rejectionOf(() => keys.rotate("ada", undo))).code).toBe("conflict");
  });
});

describe("a key file is refused", () => {
  it.each([0o644, 0o660, 0o604, 0o610])("when its mode is %o, saying what to do", async (mode) => {
    const { path, keys } = await keyFolder();
    await keys.signer("ada");
    const file = fileOf(path, "ada");
    await chmod(file, mode);
    const error = await rejectionOf(() => new KeyFolder(path).signer("ada"));
    expect(error).toMatchObject({
      code: "unreadable",
      message: expect.stringContaining(`chmod 600 '${file}'`),
    });
    expect((await rejectionOf(() => keys.list())).code).toBe("unreadable");
    expect((await rejectionOf(() => keys.rotate("ada"))).code).toBe("unreadable");
    await chmod(file, 0o400);
    expect((await new KeyFolder(path).signer("ada")).created).toBe(false);
  });

  it("when others may write to its folder", async () => {
    const { path, keys } = await keyFolder();
    await mkdir(path);
    await chmod(path, 0o770);
    const error = await rejectionOf(() => keys.signer("ada"));
    expect(error).toMatchObject({
      code: "unreadable",
      message: expect.stringContaining(`chmod 700 '${path}'`),
    });
    expect(await readdir(path)).toEqual([]);
  });

  it("when it belongs to another user", async () => {
    const { path, keys } = await keyFolder();
    await keys.signer("ada");
    const disk = {
      ...machineDisk,
      read: async (file: string, most: number) => {
        const found = await machineDisk.read(file, most);
        return found && { ...found, ours: false };
      },
    };
    const error = await rejectionOf(() => new KeyFolder(path, { disk }).signer("ada"));
    expect(error).toMatchObject({ code: "unreadable", message: expect.stringContaining("another user") });
  });

  it("when its folder belongs to another user", async () => {
    const { path } = await keyFolder();
    const disk = { ...machineDisk, folder: async () => ({ mode: 0o700, ours: false }) };
    const error = await rejectionOf(() => new KeyFolder(path, { disk }).signer("ada"));
    expect(error).toMatchObject({ code: "unreadable", message: expect.stringContaining("another user") });
  });

  it("when its private and public parts are of two keys", async () => {
    const { path, keys } = await keyFolder();
    await keys.signer("ada");
    const file = fileOf(path, "ada");
    const { private_key } = JSON.parse(await readFile(file, "utf8")).active;
    await keys.rotate("ada");
    const content = JSON.parse(await readFile(file, "utf8"));
    await writeFile(file, JSON.stringify({ ...content, active: { ...content.active, private_key } }));
    const error = await rejectionOf(() => keys.signer("ada"));
    expect(error).toMatchObject({ code: "corrupt", message: expect.stringContaining("belong together") });
  });

  it("when the system does not let us read it", async () => {
    const { path, keys } = await keyFolder();
    await keys.signer("ada");
    const denied = Object.assign(new Error("permission denied"), { code: "EACCES" });
    const disk = { ...machineDisk, read: () => Promise.reject(denied) };
    const error = await rejectionOf(() => new KeyFolder(path, { disk }).signer("ada"));
    expect(error).toMatchObject({ code: "unreadable", message: expect.stringContaining("another user") });
  });

  it("when it is a link", async () => {
    const { path, keys } = await keyFolder();
    await keys.signer("ada");
    await rename(fileOf(path, "ada"), join(path, "elsewhere"));
    await symlink(join(path, "elsewhere"), fileOf(path, "ada"));
    const error = await rejectionOf(() => new KeyFolder(path).signer("ada"));
    expect(error).toMatchObject({ code: "corrupt", message: expect.stringContaining("link") });
  });

  it("when it was put in another holder's place", async () => {
    const { path, keys } = await keyFolder();
    await keys.signer("ada");
    await rename(fileOf(path, "ada"), fileOf(path, "reins:system"));
    const error = await rejectionOf(() => keys.signer("reins:system"));
    expect(error).toMatchObject({ code: "corrupt", message: expect.stringContaining('"ada"') });
    expect((await rejectionOf(() => keys.list())).code).toBe("corrupt");
  });

  it.each([
    ["cut short", (text: string) => text.slice(0, text.length / 2)],
    ["empty", () => ""],
    ["of another format", (text: string) => text.replace("keys/1", "keys/2")],
    ["with an unknown member", (text: string) => text.replace('"holder"', '"x": 1, "holder"')],
    ["with another's public key", (text: string) => text.replace(/"public_key": "./, '"public_key": "/')],
    ["with another's name", (text: string) => text.replace(/"key_id": "\w{4}/, '"key_id": "zzzz')],
  ])("when it is %s, without a word of its secret", async (_, damage) => {
    const { path, keys } = await keyFolder();
    await keys.signer("ada");
    const file = fileOf(path, "ada");
    const text = await readFile(file, "utf8");
    await writeFile(file, damage(text));
    const error = await rejectionOf(() => new KeyFolder(path).signer("ada"));
    expect(error).toMatchObject({ code: "corrupt", message: expect.stringContaining(file) });
    expect(error.message).not.toContain(JSON.parse(text).active.private_key);
    expect(error.cause).toBeUndefined();
  });
});

it("files of others in the folder are left alone", async () => {
  const { path, keys } = await keyFolder();
  await mkdir(path, { mode: 0o700 });
  await writeFile(join(path, ".DS_Store"), "");
  await writeFile(join(path, "notes.json"), "{}");
  expect(await keys.list()).toEqual([]);
  await keys.signer("ada");
  expect(await readdir(path)).toHaveLength(3);
});

it("a folder that is not there has no keys", async () => {
  const { path, keys } = await keyFolder();
  expect(await keys.list()).toEqual([]);
  await expect(stat(path)).rejects.toThrow("ENOENT");
});
