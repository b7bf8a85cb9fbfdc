import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import type { JsonObject } from "@reins/acp";
import type { McpGate } from "@reins/mcp";
import { describe, expect, test } from "vitest";
import { recordInterruption } from "../src/hub/interruption.ts";
import type { SessionRecord } from "../src/sessions/session-record.ts";
import { bash, govern, UNASKED } from "./fixtures/governed.ts";
import { openTestHome, type TestHome, textIn } from "./fixtures/home.ts";

/** A user with a token, and how the user or the token loses its rights. */
async function openUser() {
  const home = await openTestHome();
  const { identity } = home.harness;
  await identity.addUser({ id: "eve", name: "Eve", email: "eve@example.com", roles: [], scopes: ["*"] });
  const { id, secret } = await identity.createToken({ user: "eve", agents: ["claude"] });
  const principal = await identity.authenticate(secret);
  const { workspace } = home;
  const folders = { admit: async () => ({ cwd: workspace, additional: [], real: [workspace] }) } as never;
  const lose = {
    "a revoked token": () => identity.revokeToken(id),
    "a removed user": () => identity.removeUser({ id: "eve" }),
  };
  return { home, lose, options: { home, folders, ...(principal && { principal }) } };
}

const verdictsOf = async ({ entries }: Pick<TestHome, "entries">) =>
  (await entries("policy_verdict"))
    .map(({ target, payload }) => ({ target, ...(payload as { verdict: string; event_type: string }) }))
    .filter(({ event_type }) => event_type === "pre_action" || event_type === "post_action")
    .map(({ target, verdict }) => `${target} ${verdict}`);

const cancels = ({ agent }: { agent: { got: readonly { method: string }[] } }) =>
  agent.got.filter(({ method }) => method === "session/cancel").length;

describe.each(["a revoked token", "a removed user"] as const)("%s", (how) => {
  test("writes no file, though a person allows it afterwards", async () => {
    const { home, lose, options } = await openUser();
    const asked = Promise.withResolvers<void>();
    const answered = Promise.withResolvers<string>();
    const person = () => {
      asked.resolve();
      return answered.promise;
    };
    const governed = await govern({ ...options, person });
    await mkdir(join(home.workspace, ".github/workflows"), { recursive: true });
    const path = join(home.workspace, ".github/workflows/ci.yml");
    await governed.prompt(await governed.begin(), async ({ request }) => {
      const writing = request("fs/write_text_file", { path, content: "too late" }).catch(String);
      await asked.promise;
      await lose[how]();
      answered.resolve("allow_once");
      expect(await writing).toContain("was revoked, has expired or does not exist");
      return undefined;
    });
    expect(await textIn(path)).toBeUndefined();
    expect(await verdictsOf(home)).toEqual(["fs/write_text_file ask"]);
    expect(cancels(governed)).toBe(1);
    expect(await home.harness.approvals.list({ tenant: "default", state: "pending" })).toEqual([]);
    expect(await home.entries("turn")).toHaveLength(1);
  });

  test("ends the turn, of which everything is on the record", async () => {
    const { home, lose, options } = await openUser();
    const stopped: string[] = [];
    const governed = await govern({ ...options, stop: (reason) => void stopped.push(reason) });
    const id = await governed.begin();
    await governed.prompt(id, async ({ ask, update }) => {
      expect(await ask(bash("ls", "l"))).toBe("allow_once");
      await lose[how]();
      await update({ sessionUpdate: "tool_call_update", toolCallId: "l", status: "completed" });
      await update(UNASKED);
      expect(await ask(bash("ls -l", "m"))).toBe("cancelled");
      return undefined;
    });
    expect(cancels(governed)).toBe(1);
    expect(await verdictsOf(home)).toEqual(["Bash allowed", "Bash blocked"]);
    const results = (await home.entries("tool_result")).map(({ tags, payload }) => [
      (payload as JsonObject).outcome,
      tags?.includes("ungated"),
    ]);
    expect(results).toEqual([
      ["completed", false],
      ["completed", true],
    ]);
    expect(await home.entries("turn")).toHaveLength(1);
    await expect.poll(() => stopped).toHaveLength(1);
    await governed.call("session/close", { sessionId: id });
    const lifecycle = (await home.entries("session_lifecycle")).map(({ tags }) => tags?.[0]);
    expect(lifecycle).toEqual(["session_start", "session_end"]);
    expect(governed.faults).toEqual([]);
  });

  test("gets no further prompt passed on, with a verdict that says why", async () => {
    const { home, lose, options } = await openUser();
    const governed = await govern(options);
    const id = await governed.begin();
    await lose[how]();
    expect(await governed.prompt(id, () => expect.fail("the agent was prompted"))).toMatchObject({
      stopReason: "refusal",
    });
    const prompts = (await home.entries("policy_verdict"))
      .map(({ payload }) => payload as { event_type: string; verdict: string; reason: string })
      .filter(({ event_type }) => event_type === "pre_prompt");
    expect(prompts).toMatchObject([{ verdict: "blocked", reason: expect.stringContaining("was revoked") }]);
  });
});

test("the turn of a removed user that a restart finds cut off is on the record as interrupted", async () => {
  const { home, lose } = await openUser();
  await lose["a removed user"]();
  const record = {
    ...{
      id: "s",
      key: "claude:acp:s",
      agent: "claude",
      tenant: "default",
      user: "eve",
      principal: "tok_gone",
    },
    last_activity: new Date().toISOString(),
  } as unknown as SessionRecord;
  const log = { page: async () => [] } as never;
  expect(await recordInterruption({ harness: home.harness, log }, record)).toBe(true);
  expect(await home.entries("session_lifecycle")).toMatchObject([
    { actor: "claude", entity_id: "claude:acp:s", tags: ["interrupted"] },
  ]);
});

test("a tool of an MCP server is refused with the reason when its principal has lost its rights", async () => {
  const { lose, options } = await openUser();
  let gate: McpGate | undefined;
  const wrap = async (server: unknown, given: McpGate) => {
    gate = given;
    return { server, close: async () => undefined } as never;
  };
  const governed = await govern({ ...options, servers: { wrap }, person: () => "allow_once" });
  await governed.begin({ mcpServers: [{ name: "lab", command: "/bin/true", args: [], env: [] }] });
  await lose["a revoked token"]();
  const tool = { server: "lab", name: "post" };
  expect(await gate?.mayUse(tool)).toBe(false);
  expect(gate?.reasonAgainst?.(tool)).toContain("was revoked, has expired or does not exist");
});
