import { mkdtemp, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Draft, Ledger } from "@reins/ledger";
import { describe, expect, onTestFinished, test } from "vitest";
import type { Principal } from "../identity/principal.ts";
import { RosterFile } from "./roster-file.ts";

const ADMIN: Principal = {
  ...{ id: "tok_1", kind: "user", user: "ann", tenant: "default", roles: ["admin"] },
  ...{ scopes: ["*"], agents: [], started: "interactive" },
};

/** A roster in a folder of its own, with what is recorded of its changes. */
async function open(text?: string) {
  const home = await mkdtemp(join(tmpdir(), "roster-"));
  onTestFinished(() => rm(home, { recursive: true, force: true }));
  const path = join(home, "agent-roster.jsonl");
  if (text !== undefined) await writeFile(path, text, { mode: 0o644 });
  const records: Draft[] = [];
  let refreshed = 0;
  const ledger = {
    record: async (drafts: readonly Draft[]) => {
      records.push(...drafts);
      return { entries: [], results: [] };
    },
  } as unknown as Pick<Ledger, "record">;
  const roster = new RosterFile({
    home,
    ledger,
    policies: {
      refresh: async () => {
        refreshed += 1;
      },
    },
  });
  const content = () => readFile(path, "utf8");
  return { roster, path, records, content, refreshed: () => refreshed };
}

describe("a change of the roster", () => {
  test("leaves other lines as they are, byte for byte, also those that are no entries", async () => {
    const others = '# comment\r\n{ "session_id" : "newt" }\n\n{"session_id":"reed","state":"live"}\n';
    const { roster, content } = await open(others);
    await roster.set("reed", { state: "dead" }, ADMIN);
    expect(await content()).toBe(others.replace("live", "dead"));
  });

  test("keeps unknown members in their order, and their numbers as they were spelled", async () => {
    const line =
      '{"z":1.0,"session_id":"reed","big":12345678901234567890,"e":1e3,"list":[-0],"state":"live"}';
    const { roster, content } = await open(`${line}\n`);
    await roster.set("reed", { state: "dead" }, ADMIN);
    expect(await content()).toBe(`${line.replace("live", "dead")}\n`);
  });

  test("takes a member out that becomes null, and adds one at the end", async () => {
    const { roster, content } = await open('{"session_id":"reed","state":"live"}\n');
    await roster.set("reed", { state: null, mandate: "mandates/reed.md" }, ADMIN);
    expect(await content()).toBe('{"session_id":"reed","mandate":"mandates/reed.md"}\n');
  });

  test("changes the last line about an agent, which is the one that counts", async () => {
    const { roster, content } = await open('{"session_id":"reed"}\n{"session_id":"reed","kind":"role"}\n');
    await roster.set("reed", { kind: "agent" }, ADMIN);
    expect(await content()).toBe('{"session_id":"reed"}\n{"session_id":"reed","kind":"agent"}\n');
  });

  test("that changes nothing is neither written nor recorded", async () => {
    const { roster, records, refreshed } = await open('{"session_id":"reed","kind":"role"}\n');
    await roster.set("reed", { kind: "role" }, ADMIN);
    expect([records, refreshed()]).toEqual([[], 0]);
  });

  test("ends a last line without an end before it adds another", async () => {
    const { roster, content } = await open('{"session_id":"reed"}');
    await roster.add({ session_id: "newt" }, ADMIN);
    expect(await content()).toBe('{"session_id":"reed"}\n{"session_id":"newt"}\n');
  });

  test("leaves the file as open as it was, and makes a new one for this user only", async () => {
    const known = await open('{"session_id":"reed"}\n');
    await known.roster.add({ session_id: "newt" }, ADMIN);
    expect((await stat(known.path)).mode & 0o777).toBe(0o644);
    const fresh = await open();
    await fresh.roster.add({ session_id: "newt" }, ADMIN);
    expect((await stat(fresh.path)).mode & 0o777).toBe(0o600);
  });

  test("is recorded with the members that changed, and the values of known ones alone", async () => {
    const { roster, records, refreshed } = await open('{"session_id":"reed","kind":"role","note":"a"}\n');
    await roster.set("reed", { kind: "agent", note: "b" }, ADMIN);
    expect(records).toMatchObject([
      {
        quality: "policy_change",
        actor: "user:default/ann",
        target: "reed",
        payload: {
          change: "agent_changed",
          members: ["kind", "note"],
          before: { kind: "role", state: null, mandate: null },
          after: { kind: "agent", state: null, mandate: null },
          by: { principal: "tok_1", user: "ann" },
        },
      },
    ]);
    expect(JSON.stringify(records)).not.toContain('"b"');
    expect(refreshed()).toBe(1);
  });

  test("made at the same time as another loses none of the two", async () => {
    const { roster, content } = await open("");
    const names = ["a", "b", "c", "d"];
    await Promise.all(names.map((session_id) => roster.add({ session_id }, ADMIN)));
    const lines = (await content()).trimEnd().split("\n");
    expect(lines.map((line) => JSON.parse(line).session_id)).toEqual(names);
  });
});

describe("a change of the roster is refused", () => {
  test.each<[string, Partial<Principal>]>([
    ["of a user without the role", { roles: [] }],
    ["of an admin of another tenant", { tenant: "acme" }],
    ["of an agent, whatever its roles", { kind: "agent" }],
  ])("%s", async (_, who) => {
    const { roster, content } = await open('{"session_id":"reed"}\n');
    const by = { ...ADMIN, ...who };
    await expect(roster.add({ session_id: "newt" }, by)).rejects.toMatchObject({ code: "forbidden" });
    await expect(roster.set("reed", { state: "dead" }, by)).rejects.toMatchObject({ code: "forbidden" });
    expect(await content()).toBe('{"session_id":"reed"}\n');
  });

  test.each([
    ["a mandate above the home", { session_id: "newt", mandate: "../secret.md" }],
    ["a mandate in a folder above", { session_id: "newt", mandate: "mandates/../../secret.md" }],
    ["an absolute mandate", { session_id: "newt", mandate: "/etc/passwd.md" }],
    ["a mandate that is no text", { session_id: "newt", mandate: "keys/id_ed25519" }],
    ["an empty name", { session_id: "" }],
    ["no name", { kind: "role" }],
    ["a line that is too long", { session_id: "newt", note: "x".repeat(70_000) }],
    ["a kind that is no word", { session_id: "newt", kind: "" }],
  ])("for %s", async (_, entry) => {
    const { roster, content } = await open("");
    await expect(roster.add(entry, ADMIN)).rejects.toMatchObject({ code: "invalid" });
    expect(await content()).toBe("");
  });

  test("for an agent that is there already, one that is not, and another name", async () => {
    const { roster } = await open('{"session_id":"reed"}\n');
    await expect(roster.add({ session_id: "reed" }, ADMIN)).rejects.toMatchObject({ code: "conflict" });
    await expect(roster.set("newt", {}, ADMIN)).rejects.toMatchObject({ code: "not_found" });
    await expect(roster.set("reed", { session_id: "newt" }, ADMIN)).rejects.toThrow("keeps its id");
  });
});
