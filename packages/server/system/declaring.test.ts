import { mkdtemp, realpath, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Catalogue } from "@reins/agents";
import { type Conversation, call, type ModelStep, reply, ScriptedModel, say } from "@reins/scripted-model";
import { describe, expect, onTestFinished, test } from "vitest";
import { NEEDS_REGISTRY, registryAnswers } from "../../../scripts/test/registry.ts";
import { openAgentHome } from "./fixtures/agent-home.ts";
import { serveAgents } from "./fixtures/agents.ts";
import { ask } from "./fixtures/ask.ts";
import {
  block,
  declaringScript,
  effectsIn,
  FREE_RULES,
  lastShownTo,
  shownTo,
  TEN_ACTIONS,
} from "./fixtures/declaring.ts";
import { type Messages, type Reached, RpcClient } from "./fixtures/rpc-client.ts";
import { ServerProcess } from "./fixtures/server-process/server-process.ts";

interface Started extends Reached {
  readonly server: ServerProcess;
}

/** A folder for a home, and a model that outlives its servers. */
async function openHome() {
  const base = await realpath(await mkdtemp(join(tmpdir(), "declaring-")));
  const model = await ScriptedModel.listen({
    script: declaringScript,
    wordings: Catalogue.load().wordings,
  });
  onTestFinished(async () => {
    await model[Symbol.asyncDispose]();
    await rm(base, { recursive: true, force: true });
  });
  const start = async (): Promise<Started> => {
    const { endpoint } = model;
    const order = { base, rules: FREE_RULES, model: endpoint, declares: ["claude"] };
    const server = await ServerProcess.start(order);
    onTestFinished(() => server.kill());
    const { address, token } = server;
    return {
      server,
      address,
      access: { token },
      ask: (method, path, { as = token, headers, ...asked } = {}) =>
        ask(address, method, path, { ...asked, headers: { authorization: `Bearer ${as}`, ...headers } }),
    };
  };
  return { model, start };
}

/** Begins a session whose agent declares. */
async function beginSession(reached: Reached, workspace: string, agent: string) {
  const client = await RpcClient.open(reached, { agent });
  const id = await client.begin(workspace, agent);
  if (agent === "native") await client.result("session/set_mode", { sessionId: id, modeId: "protocol" });
  return { client, id, stream: await client.stream() };
}

const pendingIn = async ({ ask: get }: Started) =>
  Object((await get("GET", "/v1/approvals?state=pending")).body).approvals as { readonly id: string }[];

/** The graphs that a model was shown. */
const graphsIn = async (reached: Reached, shown: readonly string[]) => {
  const ids = shown.flatMap((text) => [...text.matchAll(/run_id: `([^`]+)`/g)].map(([, id]) => id));
  return Promise.all(
    [...new Set(ids)].map(async (id) => Object((await reached.ask("GET", `/v1/runs/${id}/graph`)).body)),
  );
};

const shownBy = ({ requests }: ScriptedModel) => requests.map(({ conversation }) => shownTo(conversation));

const updatesIn = ({ messages }: Messages, kind: string): Record<string, unknown>[] =>
  messages
    .map(({ params }) => Object(Object(params).update))
    .filter(({ sessionUpdate }) => sessionUpdate === kind);

const TEN = Array.from({ length: 10 }, (_, index) => `a${index + 1}`);

describe.each(["native", "claude"])("%s", (agent) => {
  test.skipIf(agent !== "native" && !registryAnswers)(
    `completes ten actions with an approval in the middle${NEEDS_REGISTRY}`,
    async () => {
      const { start, model } = await openHome();
      const started = await start();
      const { client, id, stream } = await beginSession(started, started.server.workspace, agent);
      const turn = client.prompt(id, "BEGIN");
      await expect.poll(() => stream.asked.length, { timeout: 60_000 }).toBe(1);
      expect(await effectsIn(started.server.workspace)).toEqual(["a1", "a2", "a3", "a4"]);
      await client.answer(Object(stream.asked[0]), "allow_once");
      expect(await turn).toMatchObject({ body: { result: { stopReason: "end_turn" } } });
      expect(await effectsIn(started.server.workspace)).toEqual(TEN);
      await expect.poll(() => stream.said.join("")).toBe("All ten are done.");
      expect(await graphsIn(started, shownBy(model))).toMatchObject([
        { status: "completed", title: "Ten actions", durable: true },
      ]);
      expect(updatesIn(stream, "tool_call").map(({ _meta }) => Object(_meta).reins.action)).toEqual(TEN);
      const { entries } = updatesIn(stream, "plan").at(-1) ?? {};
      expect(entries).toHaveLength(10);
      expect(Object(entries).every(({ status }: { status: string }) => status === "completed")).toBe(true);
    },
    120_000,
  );

  test.skipIf(agent !== "native" && !registryAnswers)(
    `completes them after the server was killed while it waits, and shows the model what came of them${NEEDS_REGISTRY}`,
    async () => {
      const { start, model } = await openHome();
      const first = await start();
      const { client, id, stream } = await beginSession(first, first.server.workspace, agent);
      client.prompt(id, "BEGIN").catch(() => undefined);
      await expect.poll(() => stream.asked.length, { timeout: 60_000 }).toBe(1);
      const [before] = await pendingIn(first);
      await first.server.kill();
      await stream.ended;

      const again = await start();
      await expect.poll(() => pendingIn(again)).toMatchObject([{ id: before?.id }]);
      expect(await effectsIn(again.server.workspace)).toEqual(["a1", "a2", "a3", "a4"]);
      const answered = await again.ask("POST", `/v1/approvals/${before?.id}/answer`, {
        body: { decision: "allow_once" },
      });
      expect(answered.status).toBe(200);
      await expect.poll(() => effectsIn(again.server.workspace)).toEqual(TEN);

      const back = new RpcClient(again, client.as);
      back.connection = client.connection;
      const after = await back.stream({ "last-event-id": String(stream.ids.at(-1)) });
      model.forget();
      expect(await back.prompt(id, "What came of it?")).toMatchObject({
        body: { result: { stopReason: "end_turn" } },
      });
      await expect.poll(() => after.said.join("")).toContain("All ten are done.");
      expect(after.said[0]).toContain("The turn was cut off");
      expect(await effectsIn(again.server.workspace)).toEqual(TEN);
      expect(await graphsIn(again, shownBy(model))).toMatchObject([{ status: "completed" }]);
      expect(await pendingIn(again)).toEqual([]);
    },
    180_000,
  );
});

describe("a turn of the native agent that is cancelled while a run waits for a person", () => {
  test.each([
    ["leaves a durable run going", {}, TEN],
    ["cancels a run that is not to last", { persist: false, execution: undefined }, TEN.slice(0, 4)],
  ])("%s", async (_, more, effects) => {
    const { start, model } = await openHome();
    const started = await start();
    const { client, id, stream } = await beginSession(started, started.server.workspace, "native");
    model.play((conversation) =>
      lastShownTo(conversation).includes("run_id")
        ? reply(say("I see."))
        : reply(say(block({ ...TEN_ACTIONS, ...more }))),
    );
    const turn = client.prompt(id, "BEGIN");
    await expect.poll(() => stream.asked.length).toBe(1);
    const [approval] = await pendingIn(started);
    await client.notify("session/cancel", { sessionId: id });
    expect(await turn).toMatchObject({ body: { result: { stopReason: "cancelled" } } });
    const answered = await started.ask("POST", `/v1/approvals/${approval?.id}/answer`, {
      body: { decision: "allow_once" },
    });
    expect(answered.status).toBe(effects.length === 10 ? 200 : 409);
    await expect.poll(() => effectsIn(started.server.workspace)).toEqual(effects);
    await client.prompt(id, "What came of it?");
    const status = effects.length === 10 ? "completed" : "canceled";
    // The last effect is there before the run is over.
    await expect.poll(() => graphsIn(started, shownBy(model))).toMatchObject([{ status }]);
  });
});

const act = (id: string, command: string, depends_on: readonly string[] = []) => ({
  ...{ id, depends_on, executor: { type: "tool", target: "run_command" }, input: { command } },
});
const EXPAND = { type: "agent.protocol", version: "1", intent: "expand_ref" };

describe("a model of the native agent", () => {
  const READ = { kind: "act", calls: [{ id: "look", type: "tool", name: "list_files", args: {} }] };

  /** Prompts a model that answers with these steps, one for each request. */
  async function prompted(...steps: readonly (ModelStep | ((run: string) => ModelStep))[]) {
    let requests = 0;
    const script = (conversation: Conversation) => {
      requests += 1;
      const step = steps[requests - 1] ?? reply(say("Done."));
      const [, run = ""] = /run_id: `([^`]+)`/.exec(shownTo(conversation)) ?? [];
      return typeof step === "function" ? step(run) : step;
    };
    const model = await ScriptedModel.listen({ script });
    const { url, key } = model.endpoint;
    const environment = { ANTHROPIC_BASE_URL: url, ANTHROPIC_API_KEY: key };
    const home = await openAgentHome({ rules: FREE_RULES, environment });
    onTestFinished(async () => {
      await home.close();
      await model[Symbol.asyncDispose]();
      await rm(home.base, { recursive: true, force: true });
    });
    const served = await serveAgents(home);
    const { client, id, stream } = await beginSession(served, home.workspace, "native");
    const answer = await client.prompt(id, "go");
    expect(answer).toMatchObject({ body: { result: { stopReason: "end_turn" } } });
    await expect.poll(() => stream.said.join("")).toContain("Done.");
    const shown = shownBy(model);
    const { compliance } = home.hosting.protocol;
    const verdicts = await home.ledger.read({ quality: "policy_verdict", limit: 100 });
    const decided = verdicts.map(({ entry }) => entry.target);
    return { shown, stream, compliance, decided, graphs: await graphsIn(served, shown) };
  }

  test("expands a part of a result, and sees which lines these are", async () => {
    const args = { command: "seq 1 50" };
    const count = { kind: "act", calls: [{ id: "count", type: "tool", name: "run_command", args }] };
    const expand = (ref: string, range: object) =>
      reply(say(block({ ...EXPAND, payload: { refs: [{ ref, range }] } })));
    const { shown } = await prompted(
      reply(call("AgentProtocolOutput", count)),
      expand("artifact://call_count", { from_line: 40, to_line: 42 }),
      (run) => expand(`runtime://${run}/actions/count/output`, { from_line: 900, to_line: 999 }),
      expand("runtime://run_other/actions/count/output", {}),
    );
    expect(shown[2]).toContain("## Expanded reference");
    expect(shown[2]).toContain("39\n40\n41\n");
    expect(shown[2]).toContain("These are lines 40 to 42 of 51.");
    expect(shown[3]).toContain("These are lines 51 to 51 of 51.");
    expect(shown[4]).toContain("there is no run run_other");
  });

  test.each([
    ["decides about", "decide", { action_id: "try", decision: "retry" }, "completed"],
    ["revises", "revise", { actions: [act("try", "true"), act("next", "true", ["try"])] }, "completed"],
    ["cancels", "cancel", {}, "canceled"],
  ])("%s its run once that needs it", async (_, intent, payload, status) => {
    const first = { ...act("try", "test -e there || { touch there; false; }"), failure_policy: "ask_model" };
    const declared = { ...TEN_ACTIONS, payload: { actions: [first, act("next", "true", ["try"])] } };
    const control = (run: string) =>
      reply(say(block({ ...EXPAND, intent, payload: { run_id: run, ...payload } })));
    const { shown, graphs } = await prompted(reply(say(block(declared))), control);
    expect(shown[1]).toMatch(/Status: blocked[\s\S]*### Result for try\s+Status: failed/);
    expect(graphs).toMatchObject([{ status }]);
    expect(shown[2]).toContain(`### Result for next\n\nStatus: ${status}`);
  });

  test("that calls the carrier twice runs nothing, and is asked again", async () => {
    const twice = reply(call("AgentProtocolOutput", READ), call("AgentProtocolOutput", READ));
    const { shown, graphs, compliance } = await prompted(twice);
    expect(graphs).toEqual([]);
    expect(compliance).toMatchObject({ messages: 1, errors: 1, compliant: 0 });
    expect(shown).toHaveLength(2);
    expect(shown[1]).toContain("2 calls of AgentProtocolOutput in one message");
  });

  test("that requests a tool directly is recovered, which is visible and counted", async () => {
    const { shown, graphs, compliance, decided } = await prompted(reply(call("list_files", {})));
    expect(decided.filter((target) => target === "list_files")).toHaveLength(1);
    expect(compliance).toMatchObject({ messages: 1, recovered: 1, compliant: 0, violations: 1 });
    expect(graphs).toMatchObject([
      {
        carrier: "recovered",
        status: "completed",
        violations: [expect.stringContaining("list_files")],
      },
    ]);
    expect(shown[1]).toContain("Status: completed");
  });

  test("that writes a block beside a call has the call count, and the block recorded", async () => {
    const both = reply(
      say(block({ type: "agent.protocol", version: "1", intent: "execute", payload: { actions: [] } })),
      call("AgentProtocolOutput", READ),
    );
    const { graphs, compliance } = await prompted(both);
    expect(compliance).toMatchObject({ messages: 1, recovered: 0, violations: 1 });
    expect(graphs).toMatchObject([
      { carrier: "native", status: "completed", actions: [{ id: "look" }], violations: [expect.any(String)] },
    ]);
  });

  test("that gives a tool arguments beside its schema runs nothing, and gets the error", async () => {
    const calls = [{ id: "look", type: "tool", name: "list_files", args: { path: 5 } }];
    const { shown, graphs, decided } = await prompted(
      reply(call("AgentProtocolOutput", { kind: "act", calls })),
    );
    expect(graphs).toEqual([]);
    expect(decided).not.toContain("list_files");
    expect(shown[1]).toMatch(/## Protocol error\s[\s\S]*path/);
  });

  test("that has something to say to people says it before anything is run", async () => {
    const actions = [{ id: "look", executor: { type: "tool", target: "list_files" }, input: {} }];
    const declared = { type: "agent.protocol", version: "1", intent: "execute", payload: { actions } };
    const { stream } = await prompted(reply(say(`${block(declared)}\n\n## user.visible\n\nI will look.`)));
    expect(stream.said.join("")).toBe("I will look.Done.");
    const kinds = stream.messages.map(({ params }) => Object(Object(params).update).sessionUpdate);
    expect(kinds.indexOf("agent_message_chunk")).toBeLessThan(kinds.indexOf("tool_call"));
  });

  test("that quotes a block has said a text", async () => {
    const quoted = block(READ)
      .split("\n")
      .map((line) => `> ${line}`)
      .join("\n");
    const { shown, graphs, stream } = await prompted(reply(say(`Done. They wrote:\n\n${quoted}`)));
    expect(graphs).toEqual([]);
    expect(shown).toHaveLength(1);
    expect(stream.said.join("")).toContain(quoted);
  });
});
