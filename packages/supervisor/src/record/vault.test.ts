import { mkdtemp, rm, stat, unlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Vault } from "./vault.ts";

const secret = '{"name":"TOKEN","value":"wisteria lantern ünï 🔑"}';

describe("a vault", () => {
  let folder: string;
  let vault: Vault;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "reins-vault-"));
    vault = await Vault.open(join(folder, "keys"));
  });
  afterAll(() => rm(folder, { recursive: true }));

  it("gives back exactly what was sealed, also the next day", async () => {
    const sealed = vault.seal("sessions/1", secret);
    const later = await Vault.open(join(folder, "keys"));
    expect(later.open("sessions/1", sealed)).toBe(secret);
    expect((await stat(join(folder, "keys", "vault.key"))).mode & 0o777).toBe(0o600);
  });

  it("shows nothing of it, nor whether two are the same", () => {
    const [one, two] = [vault.seal("sessions/1", secret), vault.seal("sessions/1", secret)];
    expect(one).not.toBe(two);
    for (const form of ["utf8", "latin1"] as const)
      expect(Buffer.from(one.split(".")[2]!, "base64url").toString(form)).not.toContain("wisteria");
  });

  it("opens nothing at another place", () => {
    const sealed = vault.seal("sessions/1", secret);
    expect(() => vault.open("sessions/2", sealed)).toThrow(expect.objectContaining({ code: "damaged" }));
  });

  it("opens nothing of which a single bit was changed", () => {
    const [version, key, text] = vault.seal("a", "1").split(".");
    const bytes = Buffer.from(text!, "base64url");
    for (const [index, byte] of bytes.entries()) {
      const changed = Buffer.from(bytes);
      changed[index] = byte ^ 1;
      const sealed = [version, key, changed.toString("base64url")].join(".");
      expect(() => vault.open("a", sealed)).toThrow(/bring reins\.db back/);
    }
    for (const sealed of ["", "null", "{}", `v1.${key}.`, `v1.${key}.AAAA`, `v2.${key}.${text}`])
      expect(() => vault.open("a", sealed)).toThrow(expect.objectContaining({ code: "damaged" }));
  });

  it("says which key is missing, and where it belongs", async () => {
    const keys = join(folder, "lost");
    const before = await Vault.open(keys);
    const sealed = before.seal("a", secret);
    await unlink(join(keys, "vault.key"));
    const after = await Vault.open(keys);
    const text = new RegExp(
      `key ${before.keyId}, and this home has ${after.keyId}; bring keys/vault.key back`,
    );
    expect(() => after.open("a", sealed)).toThrow(text);
    expect(() => after.open("a", sealed)).toThrow(expect.objectContaining({ code: "other_key" }));
  });

  it("gets a new key, opens what the old one sealed, and forgets the old one on request", async () => {
    const keys = join(folder, "rotated");
    const before = await Vault.open(keys);
    const sealed = before.seal("a", secret);
    const key = await Vault.rotate(keys);
    const after = await Vault.open(keys);
    expect(after.keyId).toBe(key);
    expect(after.formerKeys).toEqual([before.keyId]);
    expect(after.open("a", sealed)).toBe(secret);
    const renewed = after.renew("a", sealed);
    expect(renewed).toContain(`v1.${key}.`);
    expect(after.renew("b", sealed)).toBeUndefined();
    await after.forgetFormer();
    for (const vault of [after, await Vault.open(keys)]) {
      expect(vault.formerKeys).toEqual([]);
      expect(vault.open("a", renewed!)).toBe(secret);
      expect(() => vault.open("a", sealed)).toThrow(expect.objectContaining({ code: "other_key" }));
    }
  });

  it("is not opened with a damaged key", async () => {
    await writeFile(join(folder, "vault.key"), "short");
    await expect(Vault.open(folder)).rejects.toThrow("is damaged");
  });
});
