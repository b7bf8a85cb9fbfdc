import { glob, mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { CODE, RpcError } from "@reins/acp";
import { ManualClock, settled } from "@reins/kit/manual-clock";
import type { Draft } from "@reins/ledger";
import { Vault } from "@reins/supervisor";
import * as fc from "fast-check";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { SessionRecord } from "./session-record.ts";
import { openServers, renewServers, Sessions, sealServers } from "./sessions.ts";

const entry: Draft = { quality: "session_lifecycle", actor: "a", target: "b", tags: [], payload: {} };
const record = (title: string) => ({ id: "one", title }) as SessionRecord;

function open() {
  const written: unknown[] = [];
  const recorded = Promise.withResolvers<void>();
  const harness = {
    store: {
      commit: async (changes: readonly { args: SessionRecord }[]) => written.push(changes[0]?.args.title),
    },
    record: async (_: unknown, options: { with: readonly { args: SessionRecord }[] }) => {
      await recorded.promise;
      written.push(options.with[0]?.args.title);
    },
  };
  const clock = new ManualClock();
  const records = new Sessions({ harness, clock, onError: () => undefined } as never);
  return { records, written, recorded, clock };
}

test("writes of a session are committed in the order of the calls, though one waits for the ledger", async () => {
  const { records, written, recorded } = open();
  const started = records.put(record("started"), { entry });
  const changed = records.put(record("changed"));
  await settled();
  expect(written).toEqual([]);
  recorded.resolve();
  await Promise.all([started, changed]);
  expect(written).toEqual(["started", "changed"]);
});

test("a write that may wait is merged with the next, and no record is written twice", async () => {
  const { records, written, clock } = open();
  const session = { record: record("first") };
  records.putLater(session);
  session.record = record("second");
  await clock.advanceAndSettle(20);
  expect(written).toEqual(["second"]);
  await records.put(session.record);
  expect(written).toEqual(["second"]);
  expect(records.isStored(session.record)).toBe(true);
  expect(records.isStored(record("other"))).toBe(false);
});

test("no other source of the host writes a session's record", async () => {
  const source = join(import.meta.dirname, "..");
  const writers: string[] = [];
  for await (const path of glob("**/*.ts", { cwd: source }))
    if (
      !path.endsWith(".test.ts") &&
      /change\(\s*sessionTables/.test(await readFile(join(source, path), "utf8"))
    )
      writers.push(path);
  expect(writers).toEqual([join("sessions", "sessions.ts")]);
});

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
