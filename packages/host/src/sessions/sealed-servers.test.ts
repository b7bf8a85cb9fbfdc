import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { CODE, RpcError } from "@reins/acp";
import { Vault } from "@reins/supervisor";
import * as fc from "fast-check";
import { afterAll, beforeAll, expect, test } from "vitest";
import { openServers, renewServers, sealServers } from "./sealed-servers.ts";
import type { SessionRecord } from "./session-record.ts";

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "sealed-servers-"));
});
afterAll(() => rm(folder, { recursive: true }));

const servers = [
  { name: "files", command: "serve", args: ["--root", "/w"], env: [{ name: "T", value: "s3cret" }] },
];

test("the servers of a session come back as they were, whatever their clients named", async () => {
  const vault = await Vault.open(join(folder, "same"));
  const names = fc.string({ unit: fc.constantFrom("\\", "\n", '"', "a", "\u2028"), maxLength: 3 });
  const server = fc.dictionary(names, fc.oneof(fc.string(), fc.dictionary(names, fc.string())));
  fc.assert(
    fc.property(fc.array(server, { maxLength: 4 }), (given) => {
      const sealed_servers = sealServers(vault, "one", given);
      const expected = JSON.stringify(given);
      expect(
        JSON.stringify(openServers(vault, { id: "one", ...(sealed_servers && { sealed_servers }) })),
      ).toBe(expected);
    }),
  );
});

test("no server is stored as nothing, and nothing of one can be read where it is stored", async () => {
  const vault = await Vault.open(join(folder, "hidden"));
  expect(sealServers(vault, "one", [])).toBeUndefined();
  const sealed = sealServers(vault, "one", servers) ?? "";
  expect(sealed).toMatch(/^v1\./);
  for (const word of ["files", "s3cret", "serve"]) {
    expect(sealed).not.toContain(word);
    expect(Buffer.from(sealed.split(".")[2] ?? "", "base64url").toString()).not.toContain(word);
  }
});

test.each([
  ["of another session", async (vault: Vault) => ({ vault, id: "two" })],
  ["in another home", async () => ({ vault: await Vault.open(join(folder, "other")), id: "one" })],
])("the servers %s are not opened: the session is not resumed without them", async (_, elsewhere) => {
  const own = await Vault.open(join(folder, "own"));
  const sealed_servers = sealServers(own, "one", servers) ?? "";
  const { vault, id } = await elsewhere(own);
  const error = (() => {
    try {
      return openServers(vault, { id, sealed_servers });
    } catch (thrown) {
      return thrown;
    }
  })();
  if (!(error instanceof RpcError)) throw new Error("they were opened");
  expect(error.code).toBe(CODE.internal);
  expect(error.message).toContain("name them anew, or start a new session");
});

test("after a new key, servers are sealed anew, and those that cannot be opened stay as they are", async () => {
  const home = join(folder, "rotated");
  const former = await Vault.open(home);
  const record = { id: "one", sealed_servers: sealServers(former, "one", servers) } as SessionRecord;
  await Vault.rotate(home);
  const vault = await Vault.open(home);
  const renewed = renewServers(vault, record);
  expect(renewed.sealed_servers).toContain(`v1.${vault.keyId}.`);
  await vault.forgetFormer();
  expect(openServers(vault, renewed)).toEqual(servers);
  expect(() => openServers(vault, record)).toThrow(/cannot be opened/);
  expect(renewServers(vault, record)).toEqual(record);
  const without = { id: "two" } as SessionRecord;
  expect(renewServers(vault, without)).toBe(without);
});
