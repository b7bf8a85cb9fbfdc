import { cp, mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import { AhpClient } from "@reins/ahp";
import type { PlacedEntry } from "@reins/ledger";
import { ledgerTables } from "@reins/ledger";
import { openSqlite } from "@reins/store";
import { describe, expect, it } from "vitest";
import { folder, listening, Reins, runReins } from "./support/reins.ts";

let count = 0;

/** A home that no other test uses. */
function newHome(): string {
  count += 1;
  return join(folder, `home-${count}`);
}

const ledger = (home: string, ...args: string[]) => runReins(["ledger", ...args], { REINS_HOME: home });
const up = (home: string) => listening(["up", "--port", "0", "--home", home]);

/** Stops a Reins as Ctrl-C does, and waits until it has. */
async function stop(reins: Reins): Promise<void> {
  reins.signal("SIGINT");
  expect((await reins.ended).code).toBe(0);
}

/** Has a Reins decide, and gives the reason. */
async function reasonFrom(home: string, ...tools: string[]): Promise<string> {
  const transport = { type: "unix", path: join(home, "ahp.sock") } as const;
  const client = await AhpClient.connect(transport, { reconnect: false, agentId: "reed", sessionId: "s-1" });
  try {
    await client.handshake(["pre_action"]);
    let reason = "";
    for (const tool_name of tools) {
      const payload = { tool_name, arguments: { command: "export TOKEN=hunter2" } };
      const decision = await client.sendEvent("pre_action", payload);
      expect(decision.decision).toBe("block");
      reason = "reason" in decision ? String(decision.reason) : "";
    }
    return reason;
  } finally {
    await client.close();
  }
}

/** A home whose Reins has decided about some tools and stopped. */
async function usedHome(...tools: string[]): Promise<string> {
  const home = newHome();
  const reins = await up(home);
  await reasonFrom(home, ...tools);
  await stop(reins);
  return home;
}

async function entriesOf(home: string, ...filters: string[]): Promise<PlacedEntry[]> {
  const { stdout } = await ledger(home, "log", "--json", ...filters);
  return stdout
    .split("\n")
    .filter(Boolean)
    .map((line) => JSON.parse(line));
}

describe("reins up", () => {
  it("records its start, sessions, verdicts and its stop, without the content", async () => {
    const home = newHome();
    const reins = await up(home);
    const client = await AhpClient.connect(
      { type: "unix", path: join(home, "ahp.sock") },
      { reconnect: false, agentId: "reed", sessionId: "s-1" },
    );
    await client.handshake([]);
    await client.sendNotification("session_start", { task: "hunter2" });
    expect((await client.sendEvent("pre_prompt", { prompt: "hunter2" })).decision).toBe("allow");
    await client.sendNotification("session_end", {});
    await client.sendEvent("pre_action", { tool_name: "bash", arguments: "hunter2" });
    await client.close();
    // Readers can open it while it runs.
    const { code, stdout } = await ledger(
      home,
      "log",
      "--session",
      "reed:ahp:s-1",
      "--quality",
      "policy_verdict",
    );
    expect(code).toBe(0);
    expect(stdout.split("\n").slice(0, -1)).toEqual([
      expect.stringMatching(
        / policy_verdict +reed +[0-9a-f]{12} {2}allowed pre_prompt: beginning a session and asking a model/,
      ),
      expect.stringMatching(
        / policy_verdict +reed +bash +[0-9a-f]{12} {2}blocked pre_action: the agent is not on the roster/,
      ),
    ]);
    await stop(reins);
    const entries = await entriesOf(home);
    expect(entries.map(({ entry }) => [entry.quality, entry.actor])).toEqual([
      ["policy_change", "reins:system"],
      ["session_lifecycle", "reins:system"],
      ["policy_change", "reins:system"],
      ["session_lifecycle", "reed"],
      ["policy_verdict", "reed"],
      ["session_lifecycle", "reed"],
      ["policy_verdict", "reed"],
      ["session_lifecycle", "reins:system"],
    ]);
    expect(await entriesOf(home, "--actor", "reed", "--since", "1h")).toEqual(entries.slice(3, -1));
    expect(await entriesOf(home, "--until", "2000-01-01")).toEqual([]);
    expect(await entriesOf(home, "--newest", "--limit", "2")).toEqual(entries.slice(-2).reverse());
    expect(entries.at(-2)?.entry).toMatchObject({
      entity_id: "reed:ahp:s-1",
      payload: {
        verdict: "blocked",
        event_type: "pre_action",
        facts: { tool: "bash" },
        enforcement: "asked",
        payload_commitment: expect.stringMatching(/^hmac-sha256:/),
      },
    });
    const database = await readFile(join(home, "reins.db"));
    expect(database.includes("policy_verdict")).toBe(true);
    expect(database.includes("hunter2")).toBe(false);
  });

  it("decides against everything as long as it cannot record, and says why", async () => {
    const home = newHome();
    await mkdir(home, { recursive: true });
    const other = await openSqlite({ path: join(home, "reins.db"), tables: [ledgerTables] });
    const reins = await up(home);
    await reins.printed("the home cannot be opened");
    expect(await reasonFrom(home, "bash")).toContain("in use by another process");
    await other.close();
    await expect.poll(() => reasonFrom(home, "bash")).toContain("not on the roster");
    await stop(reins);
    expect((await ledger(home, "verify")).code).toBe(0);
  });

  it("keeps others from writing meanwhile", async () => {
    const home = newHome();
    const reins = await up(home);
    await reins.printed("are recorded");
    const outcomes = [
      await ledger(home, "keys", "rotate", "reins:system"),
      await ledger(home, "import", "-"),
    ];
    for (const { code, stderr } of outcomes) {
      expect(code).toBe(4);
      expect(stderr).toContain("Is Reins running on this home?");
    }
  });
});

describe("reins ledger", () => {
  it("says that there is none", async () => {
    for (const args of [
      ["show"],
      ["log"],
      ["get", "abcd"],
      ["export"],
      ["prove", "abcd"],
      ["checkpoint"],
      ["keys"],
      ["verify"],
    ]) {
      const { code, stdout, stderr } = await ledger(newHome(), ...args);
      expect({ args, code, stdout }).toEqual({ args, code: 3, stdout: "" });
      expect(stderr).not.toContain("    at ");
    }
  });

  it("shows what it is, one entry, and the newest checkpoint", async () => {
    const home = await usedHome("bash");
    const shown = await ledger(home, "show", "--json");
    const summary = JSON.parse(shown.stdout);
    expect(summary).toMatchObject({
      origin: expect.stringMatching(/^reins\/[0-9a-f]{16}$/),
      size: 5,
      checkpoint: { size: 5 },
      sessions: { count: 1, recent: [{ entity_id: "reed:ahp:s-1", seq: 3 }] },
      keys: [{ holder: "reins:system", retired_at: null }],
    });
    expect((await ledger(home, "show")).stdout).toContain("reed:ahp:s-1");
    const note = await ledger(home, "checkpoint");
    expect(note).toEqual({ code: 0, stdout: summary.checkpoint.note, stderr: "" });
    const [verdict] = await entriesOf(home, "--quality", "policy_verdict");
    const prefix = verdict?.entry.cid.slice(0, 16) ?? "";
    expect(JSON.parse((await ledger(home, "get", prefix)).stdout)).toEqual(verdict);
    expect(JSON.parse((await ledger(home, "get", prefix, "--json")).stdout)).toEqual(verdict);
    expect(await ledger(home, "get", "f".repeat(64))).toMatchObject({ code: 1, stdout: "" });
    expect(await ledger(home, "get", "xyz")).toMatchObject({ code: 2, stdout: "" });
  });

  it("rotates a key, and what was signed before still holds", async () => {
    const home = await usedHome("bash");
    const rotated = JSON.parse((await ledger(home, "keys", "rotate", "reins:system", "--json")).stdout);
    expect(rotated.keys).toMatchObject([{ retired_at: expect.any(String) }, { retired_at: null }]);
    const listed = JSON.parse((await ledger(home, "keys", "--json")).stdout);
    expect(listed.keys).toEqual(rotated.keys);
    expect((await ledger(home, "verify", "--key", listed.log_key)).code).toBe(0);
    expect(await ledger(home, "keys", "rotate", "unknown")).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("unknown has no key"),
    });
  });

  it("follows what is recorded, each entry once", { timeout: 60_000 }, async () => {
    const home = newHome();
    await up(home);
    await reasonFrom(home, "first");
    const log = new Reins(["ledger", "log", "-f", "--json", "--quality", "policy_verdict", "--home", home]);
    await log.printed('"first"');
    for (const tool of ["second", "third"]) {
      await reasonFrom(home, tool);
      await log.printed(`"${tool}"`);
    }
    await reasonFrom(home, ...Array.from({ length: 20 }, (_, number) => `tool-${number}`));
    await log.printed('"tool-19"');
    log.signal("SIGINT");
    const { code, stdout } = await log.ended;
    expect(code).toBe(0);
    const tools = stdout
      .split("\n")
      .filter(Boolean)
      .map((line) => JSON.parse(line).entry.target);
    expect(tools).toEqual(["first", "second", "third", ...Array.from({ length: 20 }, (_, n) => `tool-${n}`)]);
  });

  it("exports, verifies, and takes over elsewhere", { timeout: 60_000 }, async () => {
    const home = await usedHome("bash", "read");
    const file = join(folder, "audit.jsonl.gz");
    expect(await ledger(home, "export", file)).toMatchObject({ code: 0, stdout: "" });
    expect((await ledger(home, "export", file)).stderr).toContain("already exists");
    const plain = await ledger(home, "export");
    expect(gunzipSync(await readFile(file)).toString()).toBe(plain.stdout);
    const verified = await ledger(home, "verify", file);
    expect(verified).toMatchObject({ code: 0, stderr: "" });
    expect(verified.stdout).toMatch(/\nVERIFIED: everything holds\n$/);
    const copy = newHome();
    const imported = await ledger(copy, "import", file, "--json");
    expect(JSON.parse(imported.stdout)).toMatchObject({ entries: 6, added: 6 });
    expect((await ledger(copy, "verify")).code).toBe(0);
    expect((await ledger(copy, "export")).stdout).toBe(plain.stdout);
    const again = await runReins(["ledger", "import", "-", "--json", "--home", copy], {}, plain.stdout);
    expect(JSON.parse(again.stdout)).toMatchObject({ entries: 6, added: 0 });
    const reins = await up(copy);
    expect(await reasonFrom(copy, "bash")).toContain("is a copy of the ledger");
    await reins.kill();
    const other = await usedHome("bash");
    expect(await ledger(other, "import", file)).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("holds the ledger"),
    });
  });

  it("names the entry that was altered in an export, and takes nothing of it over", async () => {
    const home = await usedHome("bash", "read");
    const { stdout } = await ledger(home, "export");
    const altered = stdout.replace('"tool":"read"', '"tool":"write"');
    const file = join(folder, "altered.jsonl");
    await writeFile(file, altered);
    const verified = await ledger(home, "verify", file);
    expect(verified.code).toBe(1);
    expect(verified.stdout).toMatch(/^entry 4 \([0-9a-f]{16}\): .*\[cid_mismatch\]\n/);
    expect(verified.stdout).toMatch(/\nNOT VERIFIED: \d+ faults?, the first at entry 4 .*\n$/);
    const report = JSON.parse((await ledger(home, "verify", file, "--json")).stdout);
    expect(report).toMatchObject({ ok: false, faults: [{ code: "cid_mismatch", seq: 4 }] });
    const copy = newHome();
    expect(await ledger(copy, "import", file)).toMatchObject({ code: 1, stdout: "" });
    expect((await ledger(copy, "show")).code).toBe(3);
    const piped = await runReins(["ledger", "verify", "-"], {}, stdout);
    expect(piped.code).toBe(0);
  });

  it("proves one entry to a verifier without the ledger", async () => {
    const home = await usedHome("bash");
    const [verdict] = await entriesOf(home, "--quality", "policy_verdict");
    const [change] = await entriesOf(home, "--quality", "policy_change");
    for (const { entry } of [verdict!, change!]) {
      const file = join(folder, `${entry.cid}.json`);
      expect((await ledger(home, "prove", entry.cid.slice(0, 12), "-o", file)).code).toBe(0);
      const elsewhere = { HOME: join(folder, "other-user") };
      expect((await runReins(["ledger", "verify", file], elsewhere)).code).toBe(0);
      const proof = await readFile(file, "utf8");
      await writeFile(file, proof.replace(entry.timestamp, "2020-01-01T00:00:00.000Z"));
      expect((await runReins(["ledger", "verify", file], elsewhere)).code).toBe(1);
    }
  });

  it("says what it cannot reach, read or understand", async () => {
    const unreachable = ["verify", "http://127.0.0.1:1/ledger"];
    for (const args of [["verify", join(folder, "missing.jsonl")], unreachable]) {
      const { code, stdout, stderr } = await ledger(newHome(), ...args);
      expect({ code, stdout }).toEqual({ code: 3, stdout: "" });
      expect(stderr).toContain("There is nothing to verify");
    }
    for (const flags of [
      ["--key", "nonsense"],
      ["--seen", "a\nb\n"],
      ["--seen", "/no/such/file"],
    ])
      expect((await ledger(newHome(), "verify", join(folder, "audit.jsonl.gz"), ...flags)).code).toBe(2);
    expect((await ledger(newHome(), "log", "--quality", "nonsense")).code).toBe(2);
  });
});

describe("a home that was rolled back", () => {
  it("is noticed by whatever is run next, and nothing is added to it", { timeout: 60_000 }, async () => {
    const home = await usedHome("bash");
    const old = join(folder, "old");
    await cp(home, old, { recursive: true });
    const reins = await up(home);
    await reasonFrom(home, "read", "write");
    await stop(reins);
    const note = join(folder, "seen.note");
    await writeFile(note, (await ledger(home, "checkpoint")).stdout);
    expect((await ledger(home, "show")).stderr).toBe("");
    await rm(home, { recursive: true });
    await cp(old, home, { recursive: true });
    const shown = await ledger(home, "show");
    expect(shown).toMatchObject({ code: 1, stdout: "" });
    expect(shown.stderr).toMatch(
      /is shorter than before.*\n {2}Seen before: .* 9 entries.*\n {2}Found now: .* 5 entries/,
    );
    const refused = new Reins(["up", "--port", "0", "--home", home]);
    await refused.printed("is shorter than before");
    await stop(refused);
    const verified = await ledger(home, "verify");
    expect(verified.code).toBe(1);
    expect(verified.stdout).toContain("[seen_shorter]");
    const elsewhere = { HOME: join(folder, "other-user") };
    expect((await runReins(["ledger", "verify", home], elsewhere)).code).toBe(0);
    expect((await runReins(["ledger", "verify", home, "--seen", note], elsewhere)).code).toBe(1);
  });
});
