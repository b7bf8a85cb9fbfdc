import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { requirement } from "../../../scripts/test/requirement.ts";
import { ofType, saidIn, serveHaak } from "./fixtures/haak.ts";

const { ANTHROPIC_API_KEY: key, ANTHROPIC_BASE_URL: url } = process.env;
const LONG_MS = 120_000;

/** `/ws` with the native agent, which thinks with the model that is paid for. */
async function serve() {
  const environment = { ANTHROPIC_API_KEY: key ?? "", ...(url && { ANTHROPIC_BASE_URL: url }) };
  const serving = await serveHaak({ environment, runner: { backend: "native" } });
  const client = await serving.connect();
  const row = async (key: string, of = "") =>
    Object((await serving.served.ask("GET", `/v1/haak/sessions/${encodeURIComponent(key)}${of}`)).body);
  return { ...serving, client, row };
}

const needsKey = requirement(
  "a model that is paid for",
  Boolean(key),
  "ANTHROPIC_API_KEY is not set",
  // Local runs need no paid model.
  false,
);

needsKey("HAAK's integration tests, with a real model", () => {
  test("happy path", { timeout: LONG_MS }, async () => {
    const { client, row } = await serve();
    const { result } = await client.ask("session.init", { agent_id: "coder" });
    const session_key = String(result?.session_key);
    const turn = await client.ask("turn.run", { session_key, message: "Say hello in one short sentence." });
    expect(ofType(turn, "text_delta").length).toBeGreaterThan(0);
    expect(turn.events.at(-1)).toMatchObject({ type: "done", stop_reason: "end_turn" });
    const numbers = turn.events.map(({ seq }) => seq);
    expect(numbers).toEqual([...new Set(numbers)].toSorted((left, right) => left - right));
    expect(turn.result).toEqual({ status: "complete" });
    expect(await row(session_key)).toMatchObject({ id: result?.session_id, state: "idle" });
    expect((await row(session_key, "/turns")).turns).toMatchObject([{ stop_reason: "end_turn" }]);
  });

  test("constitutional bind", { timeout: LONG_MS }, async () => {
    const { client, ledger } = await serve();
    const { result } = await client.ask("session.init", { agent_id: "stranger" });
    const session_key = String(result?.session_key);
    const properties = { command: { type: "string" } };
    const bash = {
      name: "bash",
      description: "Runs a command",
      input_schema: { type: "object", properties },
    };
    const message = "Run `ls` with bash. If you cannot, say so in one sentence.";
    const turn = await client.ask("turn.run", { session_key, message, tools: [bash] });
    expect(ofType(turn, "policy_gate")).toContainEqual(
      expect.objectContaining({ tool: "bash", verdict: "blocked" }),
    );
    expect(ofType(turn, "tool_call")).toEqual([]);
    expect(ofType(turn, "text_delta").length).toBeGreaterThan(0);
    const gates = await ledger.read({ entity_id: session_key, quality: "policy_verdict", tag: "tool_offer" });
    expect(gates).toMatchObject([
      { entry: { payload: { verdict: "blocked", withheld: [{ tool: "bash" }] } } },
    ]);
  });

  test("mandate injection", { timeout: LONG_MS }, async () => {
    const { client } = await serve();
    const { result } = await client.ask("session.init", { agent_id: "reed" });
    const message = "In one sentence: what is your role here? Use the words of your mandate.";
    const turn = await client.ask("turn.run", { session_key: result?.session_key, message });
    expect(saidIn(turn)).toMatch(/reed/i);
    expect(saidIn(turn)).not.toContain("stranger");
  });

  test("ledger hash chain", { timeout: LONG_MS }, async () => {
    const { client, row } = await serve();
    const session_key = "coder:real:chain";
    await client.ask("session.init", { agent_id: "coder", session_key, mode: "persistent" });
    for (const message of ["Say one.", "Say two."]) await client.ask("turn.run", { session_key, message });
    const { turns } = await row(session_key, "/turns");
    expect(turns.map(({ prev_cid }: { prev_cid: string }) => prev_cid)).toEqual([null, turns[0].id]);
  });

  test("tool execution", { timeout: LONG_MS }, async () => {
    const { client, workspace } = await serve();
    await writeFile(join(workspace, "constitution.md"), "Article one: everybody shares the marmalade.\n");
    const { result } = await client.ask("session.init", { agent_id: "coder" });
    const message = "Read constitution.md with read_file, and quote its first article.";
    const turn = await client.ask("turn.run", { session_key: result?.session_key, message });
    expect(ofType(turn, "tool_call")).toContainEqual(expect.objectContaining({ name: "read_file" }));
    expect(saidIn(turn)).toContain("marmalade");
  });

  test("OpenClaw compatibility", { timeout: LONG_MS }, async () => {
    const { connect, served, row } = await serve();
    const client = await connect(`/?token=${served.access.token}`, {});
    const session_key = "agent:telegram:@zach";
    const { result } = await client.ask("session.init", { agent_id: "agent", session_key });
    expect(result?.session_key).toBe(session_key);
    const turn = await client.ask("turn.run", { session_key, message: "Say hi." });
    expect(ofType(turn, "text_delta").length).toBeGreaterThan(0);
    expect(turn.events.at(-1)).toMatchObject({ type: "done" });
    expect(await row(session_key)).toMatchObject({ session_key, agent_id: "agent" });
  });

  test("cancellation", { timeout: LONG_MS }, async () => {
    const { client, connect } = await serve();
    const other = await connect();
    const { result } = await client.ask("session.init", { agent_id: "coder" });
    const session_key = String(result?.session_key);
    const message = "Write an essay of three thousand words about rivers. Use no tools.";
    const running = client.ask("turn.run", { session_key, message }, "long");
    const deltas = () => client.frames.filter(({ event }) => event?.type === "text_delta").length;
    await client.until(() => deltas() >= 3);
    expect((await other.ask("session.cancel", { session_key })).result).toEqual({ ok: true });
    expect(ofType(await running, "text_delta").length).toBeLessThan(30);
    const { result: status } = await other.ask("session.status", { session_key });
    expect(["cancelled", "idle", "closed"]).toContain(status?.state);
  });
});
