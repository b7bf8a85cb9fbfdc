import { appendFile, mkdir, readdir, readFile, readlink, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { PolicyKeeper } from "../src/policies/policy-keeper.ts";
import { RosterFile } from "../src/policies/roster-file.ts";
import { Home, temporaryFolder } from "../test/identity-home.ts";

async function open() {
  const folder = await temporaryFolder();
  const home = await Home.open(folder.path);
  const policies = await PolicyKeeper.open({ home: folder.path, ledger: home.ledger, everyMs: 60_000 });
  let isOpen = true;
  const close = async () => {
    if (isOpen) await home[Symbol.asyncDispose]();
    isOpen = false;
  };
  onTestFinished(async () => {
    policies.close();
    await close();
    await folder[Symbol.asyncDispose]();
  });
  const path = join(folder.path, "agent-roster.jsonl");
  const options = { home: folder.path, ledger: home.ledger, policies };
  return { ...home, options, path, close, operator: home.identity.local(), policies, folder: folder.path };
}

describe("a roster", () => {
  test("comes to be with its first agent, for this user only", async () => {
    const { options, path, operator, policies } = await open();
    const added = await new RosterFile(options).add(
      { session_id: "reed", kind: "role", state: "live" },
      operator,
    );
    expect(added).toEqual({ session_id: "reed", kind: "role", state: "live" });
    expect(await readFile(path, "utf8")).toBe('{"session_id":"reed","kind":"role","state":"live"}\n');
    expect(policies.roster.trustOf("reed")).toBe("standing");
  });

  test("is not touched when the change cannot be recorded, and nothing is left behind", async () => {
    const { options, path, operator, close, folder } = await open();
    await writeFile(path, '{"session_id":"reed"}\n');
    await close();
    await expect(new RosterFile(options).set("reed", { state: "dead" }, operator)).rejects.toThrow();
    expect(await readFile(path, "utf8")).toBe('{"session_id":"reed"}\n');
    expect((await readdir(folder)).filter((name) => name.startsWith("agent-roster"))).toEqual([
      "agent-roster.jsonl",
    ]);
  });

  test("loses nothing to another writer while the change is recorded", async () => {
    const { options, path, operator, ledger } = await open();
    let others = 0;
    const record: typeof ledger.record = async (drafts, given) => {
      others += 1;
      if (others < 3) await appendFile(path, `{"session_id":"other-${others}"}\n`);
      return ledger.record(drafts, given);
    };
    await new RosterFile({ ...options, ledger: { record } }).add({ session_id: "reed" }, operator);
    const lines = (await readFile(path, "utf8")).trimEnd().split("\n");
    expect(lines.map((line) => JSON.parse(line).session_id)).toEqual(["other-1", "other-2", "reed"]);
    const busy: typeof ledger.record = async (drafts, given) => {
      await appendFile(path, "\n");
      return ledger.record(drafts, given);
    };
    const never = new RosterFile({ ...options, ledger: { record: busy } }).add(
      { session_id: "newt" },
      operator,
    );
    await expect(never).rejects.toMatchObject({ code: "conflict" });
  });

  test("that lies elsewhere stays there", async () => {
    const { options, path, operator, folder } = await open();
    await mkdir(join(folder, "data"));
    const real = join(folder, "data", "agent-roster.jsonl");
    await writeFile(real, '{"session_id":"reed"}\n');
    await symlink(real, path);
    await new RosterFile(options).set("reed", { state: "idle" }, operator);
    expect(await readlink(path)).toBe(real);
    expect(await readFile(real, "utf8")).toBe('{"session_id":"reed","state":"idle"}\n');
  });

  test("counts the last line about an agent, and changes that one", async () => {
    const { options, path, operator } = await open();
    await writeFile(path, '{"session_id":"reed","n":1}\n{"session_id":"reed","n":2}\n');
    await new RosterFile(options).set("reed", { state: "idle" }, operator);
    expect(await readFile(path, "utf8")).toBe(
      '{"session_id":"reed","n":1}\n{"session_id":"reed","n":2,"state":"idle"}\n',
    );
  });

  test("that would stay the same is not written, nor recorded", async () => {
    const { options, path, operator, ledger } = await open();
    await writeFile(path, '{"session_id":"reed","state":"live"}\n');
    await new RosterFile(options).set("reed", { state: "live" }, operator);
    expect(await ledger.read({ tag: "roster" })).toEqual([]);
  });

  test("is the default tenant's to change, by an admin who is no agent", async () => {
    const { options, identity } = await open();
    const file = new RosterFile(options);
    const person = async (tenant: string, roles: string[], kind: "user" | "agent") => {
      const id = `${tenant}-${roles.join()}-${kind}`;
      await identity.addUser({ id, tenant, name: id, email: "a@example.com", roles, scopes: [] });
      const { secret } = await identity.createToken({ user: id, tenant, kind });
      const principal = await identity.authenticate(secret);
      if (!principal) throw new Error("no principal");
      return principal;
    };
    await file.add({ session_id: "a" }, await person("default", ["admin"], "user"));
    for (const who of [
      await person("default", ["dev"], "user"),
      await person("default", ["admin"], "agent"),
      await person("acme", ["admin"], "user"),
    ])
      await expect(file.add({ session_id: "b" }, who)).rejects.toMatchObject({ code: "forbidden" });
  });
});
