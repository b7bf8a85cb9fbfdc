import { mkdtemp, realpath, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Catalogue } from "@reins/agents";
import { RunGraph } from "@reins/api";
import { call, hold, type ModelStep, reply, ScriptedModel, say, scene, scenes } from "@reins/scripted-model";
import { describe, expect, onTestFinished, test } from "vitest";
import { NEEDS_REGISTRY, registryAnswers } from "../../../scripts/test/registry.ts";
import { ask } from "./fixtures/ask.ts";
import { EFFECTS, effectsIn } from "./fixtures/declaring.ts";
import { ServerProcess } from "./fixtures/server-process/server-process.ts";

const RULES = `
tool_rules:
  - { name: people, condition: { arguments: { command: "echo asked*" } }, verdict: ask, reason: people decide }
  - { name: rest, condition: {}, verdict: allowed }
`;

/** A step of an agent that leaves a line. */
const leaving =
  (agent: string) =>
  (line: string, more = "") =>
    reply(
      call(agent === "claude" ? "Bash" : "run_command", { command: `echo ${line} >> ${EFFECTS}${more}` }),
    );
const never = new Promise(() => undefined);

/** A home whose model works on a task before a restart and after it. */
async function openHome(before: readonly ModelStep[], after: readonly ModelStep[]) {
  const base = await realpath(await mkdtemp(join(tmpdir(), "children-")));
  const model = await ScriptedModel.listen({
    wordings: Catalogue.load().wordings,
    script: scenes(
      scene("Judge what was done", reply(say("It is good."))),
      scene("Reins was restarted", ...after),
      scene("Do the work", ...before),
    ),
  });
  onTestFinished(async () => {
    await model[Symbol.asyncDispose]();
    await rm(base, { recursive: true, force: true });
  });
  const start = async () => {
    const server = await ServerProcess.start({ base, rules: RULES, model: model.endpoint });
    onTestFinished(() => server.kill());
    const headers = { authorization: `Bearer ${server.token}` };
    const request = async (method: string, path: string, body?: object) => {
      const answer = await ask(server.address, method, path, { headers, ...(body && { body }) });
      expect(answer.status, answer.text).toBeLessThan(300);
      return Object(answer.body);
    };
    const graph = async () => RunGraph.parse(await request("GET", "/v1/runs/work/graph"));
    return {
      ...{ server, call: request, graph },
      effects: () => effectsIn(server.workspace),
      pending: async (): Promise<{ readonly id: string; readonly reason: string }[]> =>
        (await request("GET", "/v1/approvals?state=pending")).approvals,
      ended: async () => {
        await expect.poll(async () => (await graph()).ended_at, { timeout: 60_000 }).toBeDefined();
        return graph();
      },
    };
  };
  return { start, model };
}

type Started = Awaited<ReturnType<Awaited<ReturnType<typeof openHome>>["start"]>>;

/** Starts a durable run: an agent works, and another gets what it left. */
async function work({ call: request }: Started, agent: string): Promise<void> {
  const payload = {
    type: "action_graph",
    actions: [
      { id: "do", executor: { type: "agent", target: agent }, prompt_ref: "md:do" },
      {
        id: "judge",
        executor: { type: "agent", target: "native" },
        prompt_ref: "md:judge",
        depends_on: ["do"],
      },
    ],
  };
  const execution = { mode: "durable", strategy: "dag" };
  const declaration = {
    type: "agent.protocol",
    version: "1",
    intent: "execute",
    persist: true,
    execution,
    payload,
  };
  const sections = { do: "Do the work", judge: "Judge what was done" };
  await request("POST", "/v1/runs", { run_id: "work", declaration, sections });
}

const shown = ({ requests }: ScriptedModel) =>
  JSON.stringify(requests.map(({ conversation }) => conversation));

/** Waits until the result of a call was shown to its agent, and recorded: an agent may know of it first. */
async function untilResult({ call: request }: Started, model: ScriptedModel): Promise<void> {
  await expect.poll(() => shown(model), { timeout: 60_000 }).toContain('"role":"tool"');
  const recorded = async () => JSON.stringify(await request("GET", "/v1/ledger?limit=100"));
  await expect.poll(recorded, { timeout: 60_000 }).toContain('"quality":"tool_result"');
}

describe.each(["native", "claude"])(
  "%s on an action of a durable run, after a kill",
  {
    timeout: 180_000,
  },
  (agent) => {
    const leave = leaving(agent);
    const needed = agent === "native" ? "" : NEEDS_REGISTRY;
    const tested = test.skipIf(agent !== "native" && !registryAnswers);

    tested(`while it waits for a person goes on once that has answered${needed}`, async () => {
      const { start, model } = await openHome(
        [leave("one"), leave("asked")],
        [leave("asked"), leave("three"), reply(say("All is done."))],
      );
      const first = await start();
      await work(first, agent);
      await expect.poll(first.pending, { timeout: 60_000 }).toHaveLength(1);
      await expect.poll(async () => (await first.graph()).status).toBe("waiting");
      const [asked] = await first.pending();
      const before = (await first.graph()).actions[0];
      await first.server.kill();

      const second = await start();
      await expect.poll(async () => (await second.graph()).actions[0]?.status).toBe("waiting");
      expect((await second.pending()).map(({ id }) => id)).toEqual([asked?.id]);
      expect(shown(model)).not.toContain("Reins was restarted");
      await second.call("POST", `/v1/approvals/${asked?.id}/answer`, { decision: "allow_once" });
      const run = await second.ended();
      expect(run, JSON.stringify(run.actions)).toMatchObject({ status: "completed" });
      expect(run.actions[0]).toMatchObject({
        result_summary: expect.stringContaining("All is done."),
        attempts: 1,
        child_session: before?.child_session,
      });
      expect(await second.effects()).toEqual(["one", "asked", "three"]);
      expect(await second.pending()).toEqual([]);
      // The next agent gets the handoff of the one that went on.
      expect(shown(model)).toContain("artifact://work/do");
    });

    tested(`in the middle of its turn goes on, and repeats nothing that was done${needed}`, async () => {
      const { start, model } = await openHome(
        [leave("one"), reply(say("I thi"), hold(never))],
        [leave("two"), reply(say("I think it is done."))],
      );
      const first = await start();
      await work(first, agent);
      await untilResult(first, model);
      await first.server.kill();
      const second = await start();
      const run = await second.ended();
      expect(run.actions.map(({ status, result_summary }) => [status, result_summary])).toEqual([
        ["completed", "I think it is done."],
        ["completed", "It is good."],
      ]);
      expect(await second.effects()).toEqual(["one", "two"]);
    });
  },
);

describe("native, on an action of a durable run, after a kill", { timeout: 180_000 }, () => {
  const agent = "native";
  const leave = leaving(agent);

  test("and is canceled while it waits, ends with its session, and does nothing more", async () => {
    const { start, model } = await openHome([leave("asked")], [leave("asked"), reply(say("No."))]);
    const first = await start();
    await work(first, agent);
    await expect.poll(first.pending, { timeout: 60_000 }).toHaveLength(1);
    await first.server.kill();
    const second = await start();
    await expect.poll(async () => (await second.graph()).actions[0]?.status).toBe("waiting");
    await second.call("POST", "/v1/runs/work/cancel", {});
    const run = await second.ended();
    expect(run.actions.map(({ status }) => status)).toEqual(["canceled", "canceled"]);
    await expect.poll(second.pending).toEqual([]);
    const child = await second.call("GET", `/v1/sessions/${run.actions[0]?.child_session}`);
    expect(JSON.stringify(child)).toContain("ended");
    expect(await second.effects()).toEqual([]);
    expect(shown(model)).not.toContain("Reins was restarted");
  });

  test.each(["kill", "stop"] as const)(
    "(%s) that begins anew asks a person before it repeats what was done, and does nothing twice",
    async (how) => {
      const all = [leave("one"), leave("two"), reply(say("All is done."))];
      const { start, model } = await openHome([leave("one"), reply(say("I thi"), hold(never))], all);
      const first = await start();
      await work(first, agent);
      await untilResult(first, model);
      await first.server[how]();
      const second = await start();
      await expect
        .poll(second.pending, { timeout: 60_000 })
        .toMatchObject([{ reason: expect.stringMatching(/did the same before Reins stopped/) }]);
      const [asked] = await second.pending();
      await second.call("POST", `/v1/approvals/${asked?.id}/answer`, { decision: "deny" });
      expect((await second.ended()).actions[0]).toMatchObject({ status: "completed", attempts: 1 });
      expect(await second.effects()).toEqual(["one", "two"]);
    },
  );

  test("in the middle of an effect asks a person before it does that again", async () => {
    const { start, model } = await openHome(
      [leave("one", "; sleep 60")],
      [leave("one", "; sleep 60"), reply(say("It was not done again."))],
    );
    const first = await start();
    await work(first, agent);
    await expect.poll(first.effects, { timeout: 60_000 }).toEqual(["one"]);
    await first.server.kill();
    const second = await start();
    await expect
      .poll(second.pending, { timeout: 60_000 })
      .toMatchObject([{ reason: expect.stringMatching(/was under way when Reins stopped/) }]);
    const [asked] = await second.pending();
    await second.call("POST", `/v1/approvals/${asked?.id}/answer`, { decision: "deny" });
    const run = await second.ended();
    expect(run.actions[0]).toMatchObject({
      status: "completed",
      result_summary: "It was not done again.",
    });
    expect(await second.effects()).toEqual(["one"]);
    expect(shown(model)).toContain("Of this it is not known whether it was done");
  });
});

/** A server whose stub agents do what a prompt says, line by line, and a run of one of them that may be tried thrice. */
async function runStub(lines: (file: string) => readonly string[], persist: boolean, more: object = {}) {
  const base = await realpath(await mkdtemp(join(tmpdir(), "children-")));
  onTestFinished(() => rm(base, { recursive: true, force: true }));
  const server = await ServerProcess.start({ base, rules: RULES, agents: ["stub"] });
  onTestFinished(() => server.kill());
  const headers = { authorization: `Bearer ${server.token}` };
  const request = async (method: string, path: string, body?: object) => {
    const answer = await ask(server.address, method, path, { headers, ...(body && { body }) });
    expect(answer.status, answer.text).toBeLessThan(300);
    return Object(answer.body);
  };
  const action = {
    ...{ id: "do", executor: { type: "agent", target: "stub" }, prompt_ref: "md:do" },
    failure_policy: { on_failure: "retry", max_attempts: 3, backoff_ms: 1_000 },
    ...more,
  };
  const declaration = {
    ...{ type: "agent.protocol", version: "1", intent: "execute", persist },
    payload: { type: "action_graph", actions: [action] },
  };
  const sections = { do: lines(join(server.workspace, EFFECTS)).join("\n") };
  await request("POST", "/v1/runs", { run_id: "work", agent: "stub", declaration, sections });
  const graph = async () => RunGraph.parse(await request("GET", "/v1/runs/work/graph"));
  return {
    request,
    effects: () => effectsIn(server.workspace),
    pending: async (): Promise<readonly { readonly id: string; readonly reason: string }[]> =>
      (await request("GET", "/v1/approvals?state=pending")).approvals,
    ended: async () => {
      await expect.poll(async () => (await graph()).ended_at, { timeout: 60_000 }).toBeDefined();
      return (await graph()).actions[0];
    },
  };
}

describe.each([false, true])(
  "an agent (durable: %s) whose process is killed",
  { timeout: 120_000 },
  (durable) => {
    test("in the middle of an effect is not tried again, whatever the failure policy, until a person decides", async () => {
      const { ended, effects, pending, request } = await runStub((file) => [`half ${file}`], durable);
      expect(await ended()).toMatchObject({
        ...{ status: "failed", attempts: 1 },
        status_reason: expect.stringMatching(/it is not known whether Write was done/),
      });
      expect(await effects()).toEqual(["done"]);
      await request("POST", "/v1/runs/work/decide", { action: "do", decision: "retry" });
      // The next attempt asks before it does what may have been done.
      await expect
        .poll(pending, { timeout: 60_000 })
        .toMatchObject([{ reason: expect.stringMatching(/was under way when an earlier attempt failed/) }]);
      expect(await effects()).toEqual(["done"]);
    });

    test("after an effect is tried again, and does that again only where a person allows it", async () => {
      const { ended, effects, pending, request } = await runStub(
        (file) => [`write ${file}`, "crash"],
        durable,
      );
      for (const _ of [2, 3]) {
        await expect
          .poll(pending, { timeout: 60_000 })
          .toMatchObject([{ reason: expect.stringMatching(/did the same in an earlier attempt/) }]);
        const [asked] = await pending();
        expect(await effects()).toEqual(["done"]);
        await request("POST", `/v1/approvals/${asked?.id}/answer`, { decision: "deny" });
        await expect.poll(async () => (await pending())[0]?.id, { timeout: 60_000 }).not.toBe(asked?.id);
      }
      expect(await ended()).toMatchObject({ status: "failed", attempts: 3 });
      expect(await effects()).toEqual(["done"]);
    });

    test("before it did anything is tried again as often as the failure policy says", async () => {
      const { ended } = await runStub(() => ["crash"], durable);
      expect(await ended()).toMatchObject({ status: "failed", attempts: 3 });
    });
  },
);

test("an agent writes what its action declares and nothing else", { timeout: 120_000 }, async () => {
  const { ended, effects } = await runStub((file) => [`write ${file}`, `write ${file}.other`], false, {
    resources: { writes: [`./${EFFECTS}`] },
  });
  const action = await ended();
  expect(action).toMatchObject({ status: "completed", attempts: 1, result_summary: "yesno" });
  expect(await effects()).toEqual(["done"]);
});
