import { existsSync } from "node:fs";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { HaakClient } from "./support/haak-client.ts";
import { OperatedHome } from "./support/operated-home.ts";
import { folder, listening, type Reins, runReins } from "./support/reins.ts";

/** `reins up` with flags, on a home that may have been furnished. */
async function up(home: OperatedHome, ...flags: string[]): Promise<Reins> {
  const args = ["up", "--port", "0", "--workspace", home.workspace, ...flags];
  const reins = await listening(args, home.environment);
  await reins.printed("rules are in force");
  return reins;
}

/** Where OpenClaw's clients connect to: the address alone. */
function addressOf(reins: Reins): string {
  return reins.addressOf("websocket").replace(/ahp$/, "");
}

/** A home with a standing agent, and rules in HAAK's form. */
async function haakHome(): Promise<OperatedHome> {
  const home = new OperatedHome();
  await mkdir(join(home.path, "mandates"), { recursive: true, mode: 0o700 });
  const line = { session_id: "reed", kind: "role", state: "live", mandate: "mandates/reed.md" };
  await writeFile(join(home.path, "agent-roster.jsonl"), `${JSON.stringify(line)}\n`);
  await writeFile(join(home.path, "mandates", "reed.md"), "You are the keeper of the reeds.");
  return home;
}

describe("/ws of reins up", () => {
  it("serves one prompt on a fresh home, with no key: token in the address, no path", async () => {
    const home = new OperatedHome();
    const reins = await up(home);
    await writeFile(join(home.workspace, "notes.txt"), "x");
    const client = await HaakClient.connect(`${addressOf(reins)}?token=${await home.startToken()}`);
    const begun = await client.init({ agent_id: "native" });
    expect(begun).toMatchObject({ trust: "registered", backend: "native", model: "demo", mode: "domain" });
    const { text, events, answer } = await client.turn(begun.session_key, "what is in this folder");
    expect(text).toContain("notes.txt");
    expect(events.at(-1)).toMatchObject({ type: "done", stop_reason: "end_turn" });
    expect(answer?.result).toEqual({ status: "complete" });
    await expect(HaakClient.connect(`${addressOf(reins)}ws`)).rejects.toThrow("401");
    const row = await fetch(
      `${addressOf(reins).replace(/^ws/, "http")}v1/haak/sessions/${String(begun.session_id)}`,
      { headers: { authorization: `Bearer ${await home.startToken()}` } },
    );
    expect(await row.json()).toMatchObject({ session_key: begun.session_key, state: "idle" });
  });

  it("lets strangers of this machine in where reins.yaml says so, and never trusts them", async () => {
    const home = new OperatedHome();
    await mkdir(home.path, { mode: 0o700 });
    await writeFile(join(home.path, "reins.yaml"), "ws: { auth: none }\n");
    const reins = await up(home);
    const client = await HaakClient.connect(addressOf(reins));
    const begun = await client.init({ agent_id: "native" });
    expect(begun.trust).toBe("unknown");
    const { events } = await client.turn(begun.session_key, "run the tests");
    expect(events).toContainEqual(expect.objectContaining({ tool: "run_command", verdict: "blocked" }));
    const exposed = await runReins(
      ["up", "--bind", "0.0.0.0", "--token", "x", "--port", "0"],
      home.environment,
    );
    expect(exposed).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("only allowed on this machine"),
    });
  });
});

describe("HAAK's flags", () => {
  it("say where database and constitution lie, and give standing agents their sessions", async () => {
    const home = await haakHome();
    const place = join(folder, "haak-files");
    await mkdir(place);
    const [rules, prose, db] = [join(place, "rules.yaml"), join(place, "prose.md"), join(place, "r.db")];
    await writeFile(rules, "tool_rules: [{ name: everything, condition: {}, verdict: allowed }]\n");
    await writeFile(prose, "Be kind.\n");
    const reins = await up(
      home,
      ...["--bind", "127.0.0.1", "--db", db, "--policy", rules, "--constitution", prose],
      ...["--ttl", "5", "--preload-standing", "--heartbeat-interval", "1"],
    );
    expect(existsSync(db)).toBe(true);
    expect(existsSync(join(home.path, "constitution.yaml"))).toBe(false);
    const client = await HaakClient.connect(`${addressOf(reins)}ws?token=${await home.startToken()}`);
    const state = async () => {
      const [frame] = await client.ask("session.status", { session_key: "reed:cli:local" });
      return frame?.result?.state;
    };
    await expect.poll(state).toBe("idle");
    // The heartbeat wakes it, and its turn takes the mail.
    await home.done("mailbox", "send", "reed", "--subject", "rain", "it comes tonight");
    const path = "/v1/haak/sessions/reed%3Acli%3Alocal/turns";
    const base = addressOf(reins).replace(/^ws/, "http").replace(/\/$/, "");
    const headers = { authorization: `Bearer ${await home.startToken()}` };
    const turns = async () => Object(await (await fetch(base + path, { headers })).json()).turns;
    await expect.poll(turns).toHaveLength(1);
    const exported = await home.done("ledger", "export");
    const second = await runReins(["ledger", "import", "-"], home.environment, exported);
    expect(second).toMatchObject({ code: 4, stderr: expect.stringContaining("in use by another process") });
    await home.stop(reins);
    const checked = await runReins(["policy", "check"], { ...home.environment, REINS_POLICY: rules });
    expect(checked).toMatchObject({ code: 0, stdout: expect.stringContaining(rules) });
    expect(await home.done("ledger", "verify")).toContain("VERIFIED: everything holds");
    expect(await readFile(join(home.path, "agent-mailbox.jsonl"), "utf8")).not.toContain('"read":true');
  });

  it("are refused with a reason when they make no sense", async () => {
    const home = new OperatedHome();
    const refused = async (...flags: string[]) => {
      const { code, stderr } = await runReins(["up", "--port", "0", ...flags], home.environment);
      expect(code).toBe(2);
      return stderr;
    };
    expect(await refused("--ttl", "soon")).toContain('--ttl is "soon", which is not a number of minutes.');
    expect(await refused("--no-heartbeat", "--heartbeat-interval", "5")).toContain("contradict each other");
    expect(await refused("--workspace", "/nowhere")).toContain("--workspace cannot be used");
    expect(await refused("--policy", "/nowhere/rules.yaml")).toContain("The rules at /nowhere/rules.yaml");
    expect(await refused("--constitution", "/nowhere/prose.md")).toContain("REINS_CONSTITUTION");
  });
});
