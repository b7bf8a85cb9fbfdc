import { readdir, readFile, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { Vault } from "@reins/supervisor";
import { expect, test, vi } from "vitest";
import { SealedArtifacts } from "../src/graph/sealed-artifacts.ts";
import { command, openGraphHome } from "./fixtures/graph-home.ts";

const CANARY = "canary-91c4e7";

/** The names of the files of a home that hold a text, as it is or as base64. */
async function filesWith(home: string, text: string): Promise<readonly string[]> {
  const names = await readdir(home, { recursive: true, withFileTypes: true });
  const found: string[] = [];
  for (const entry of names) {
    if (!entry.isFile()) continue;
    const bytes = await readFile(join(entry.parentPath, entry.name));
    if (bytes.includes(text) || bytes.includes(Buffer.from(text).toString("base64url")))
      found.push(entry.name);
  }
  return found;
}

const actions = [
  { id: "read", executor: { target: "read_file" }, input: { path: "key.txt" } },
  {
    id: "merge",
    executor: { type: "runtime", target: "merge" },
    context_refs: ["action:read.output", "input:word"],
    result_policy: { return_to_model: "full" },
  },
];
const more = { context: { word: CANARY } };

/** Runs a graph about a secret in a session whose transcript names it, too. */
async function runSecret(home: Awaited<ReturnType<typeof openGraphHome>>) {
  await writeFile(join(home.workspace, "key.txt"), CANARY);
  const run = await home.run(actions, more, { title: CANARY, persist: true });
  const service = home.hosting.protocol.serviceFor("default");
  await service.begin(run.session_id, `What is ${CANARY}?`);
  return run;
}

test("what is exact is sealed in the database and in the artifacts", async () => {
  const home = await openGraphHome({ rules: NO_RECORD });
  const run = await runSecret(home);
  expect(await home.output(run.run_id, "merge")).toContain(CANARY);
  await home.close();
  const found = await filesWith(home.home, CANARY);
  // The log of the session's clients has the card and the plan, which people are shown.
  expect(found.filter((name) => !name.startsWith("reins.db"))).toEqual([]);
  const { DatabaseSync } = await import("node:sqlite");
  const database = new DatabaseSync(join(home.home, "reins.db"));
  for (const table of ["declared_runs", "declared_turns", "graph_runs", "graph_entries"]) {
    const rows = JSON.stringify(database.prepare(`SELECT * FROM ${table}`).all());
    expect([table, rows.length > 2, rows.includes(CANARY)]).toEqual([table, true, false]);
  }
  database.close();
});

test("it is sealed with the newest key after a rotation, and still there", async () => {
  const first = await openGraphHome({ rules: NO_RECORD });
  const { run_id, session_id } = await runSecret(first);
  await first.close();
  const former = (await Vault.open(join(first.home, "keys"))).keyId;
  await Vault.rotate(join(first.home, "keys"));
  const second = await openGraphHome({ rules: NO_RECORD, folder: dirname(first.home) });
  expect(await second.get(run_id)).toMatchObject({ status: "completed", title: CANARY });
  expect(await second.output(run_id, "merge")).toContain(CANARY);
  const service = second.hosting.protocol.serviceFor("default");
  expect(await service.transcript(session_id)).toContain(CANARY);
  await second.close();
  expect((await Vault.open(join(first.home, "keys"))).formerKeys).toEqual([]);
  expect(await filesWith(first.home, `v1.${former}.`)).toEqual([]);
});

test("runs, transcripts, journals and outputs are forgotten after the retention time", async () => {
  const home = await openGraphHome({ retentionMs: -60_000 });
  const over = await runSecret(home);
  const { run_id: waiting } = await home.start([command("later", "true", { requires_approval: true })]);
  await home.pending(1);
  const stored = async () =>
    (await readdir(join(home.home, "artifacts"), { recursive: true })).filter((name) => name.length > 60)
      .length;
  expect(await stored()).toBe(2);
  await home.hosting.hub.reap();
  await expect(home.get(over.run_id)).rejects.toThrow("there is no run");
  expect(await home.get(waiting)).toMatchObject({ status: "waiting" });
  expect(await stored()).toBe(0);
  const service = home.hosting.protocol.serviceFor("default");
  expect(await service.transcript(over.session_id)).not.toContain(CANARY);
  await home.close();
  const { DatabaseSync } = await import("node:sqlite");
  const database = new DatabaseSync(join(home.home, "reins.db"));
  const count = (table: string) => Object(database.prepare(`SELECT count(*) AS n FROM ${table}`).get()).n;
  expect(["declared_runs", "declared_turns", "graph_runs"].map(count)).toEqual([1, 0, 1]);
  database.close();
});

test("of the outputs of an action its newest and the one before are kept, and forgotten with its run", async () => {
  const home = await openGraphHome({ retentionMs: -60_000 });
  const stored = async () =>
    (await readdir(join(home.home, "artifacts"), { recursive: true })).filter((name) => name.length > 60)
      .length;
  const { run_id } = await home.run([command("again", "date +%N", { loop: { max_iterations: 5 } })]);
  expect(await home.get(run_id)).toMatchObject({ actions: [{ iterations: 5 }] });
  await expect.poll(stored).toBe(2);
  expect(await home.output(run_id, "again")).toMatch(/\d/);
  await home.hosting.hub.reap();
  expect(await stored()).toBe(0);
});

test.each([
  ["is not left where its run continues", true],
  ["is not left where its run has failed with the process", false],
])("an output that was written as Reins was killed, before its result, %s", async (_, persist) => {
  const first = await openGraphHome({ rules: NO_RECORD });
  const stored = async () =>
    (await readdir(join(first.home, "artifacts"), { recursive: true })).filter((name) => name.length > 60);
  const { put } = SealedArtifacts.prototype;
  const written = vi.spyOn(SealedArtifacts.prototype, "put").mockImplementationOnce(async function (
    this: SealedArtifacts,
    ...given
  ) {
    await put.apply(this, given);
    return new Promise(() => undefined);
  });
  const { run_id } = await first.start(
    [
      { id: "one", ...MARK },
      { id: "two", ...MARK, depends_on: ["one"] },
    ],
    {},
    { persist },
  );
  await expect.poll(stored).toHaveLength(1);
  const [left] = await stored();
  await first.close();
  written.mockRestore();
  const second = await openGraphHome({ rules: NO_RECORD, folder: dirname(first.home) });
  const { status } = await second.ended(run_id);
  expect(status).toBe(persist ? "completed" : "failed");
  await expect.poll(stored).not.toContain(left);
  expect(await stored()).toHaveLength(persist ? 2 : 0);
});

test("the result of an action that does not persist is not waited for on the disk, where it may be done again", async () => {
  const home = await openGraphHome();
  await writeFile(join(home.workspace, "a.txt"), "a");
  const record = vi.spyOn(home.harness, "record");
  const read = { executor: { target: "read_file" }, input: { path: "a.txt" } };
  const declared = [
    { id: "kept", ...read },
    { id: "read", ...read, persist: false },
    command("run", "true", { persist: false }),
  ];
  const { run_id, status } = await home.run(declared, {}, { persist: true });
  expect(status).toBe("completed");
  const isDurable = (action: string) => {
    const isResult = (tags: readonly string[] = []) =>
      tags.includes("completed") && tags.includes(`call:${run_id}/${action}/1`);
    return record.mock.calls.find(([[draft]]) => isResult(draft?.tags))?.[1]?.durable;
  };
  expect(["kept", "read", "run"].map(isDurable)).toEqual([true, false, true]);
});

test("without the key that it was sealed with it is gone, and everything else works", async () => {
  const first = await openGraphHome({ rules: NO_RECORD });
  const { run_id, session_id } = await runSecret(first);
  await first.start([command("open", "true", { requires_approval: true })], {}, { persist: true });
  await first.pending(1);
  await first.close();
  await rm(join(first.home, "keys", "vault.key"));
  const second = await openGraphHome({ rules: NO_RECORD, folder: dirname(first.home) });
  await expect(second.get(run_id)).rejects.toThrow("there is no run");
  expect(await second.hosting.protocol.serviceFor("default").transcript(session_id)).not.toContain(CANARY);
  expect((await second.run([command("new", "true")])).status).toBe("completed");
  expect(String(second.errors[0])).toContain("sealed with the key");
});

const MARK = { executor: { type: "runtime", target: "checkpoint" } };
const NO_RECORD = "tool_rules:\n  - { name: all, condition: {}, verdict: allowed }\n";
