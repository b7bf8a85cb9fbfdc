import { writeFile } from "node:fs/promises";
import { createServer, type IncomingMessage } from "node:http";
import { join } from "node:path";
import { membersOf } from "@reins/acp";
import { call, reply, say, scene } from "@reins/scripted-model";
import { answererOf } from "@reins/supervisor";
import { describe, expect, onTestFinished, test } from "vitest";
import { type GraphHomeOptions, openGraphHome } from "./fixtures/graph-home.ts";
import { textIn } from "./fixtures/home.ts";

const RULES = `
tool_rules:
  - { name: never, condition: { tool_name_matches: [delete_file] }, verdict: blocked, reason: nothing is deleted }
  - { name: rest, condition: {}, verdict: allowed }
`;

const REPORT = `\`\`\`json agent-report
{ "result_summary": "It is green.", "evidence": ["seed.txt:1"], "unresolved_issues": ["who painted it"] }
\`\`\``;

const open = (options: GraphHomeOptions = {}) => openGraphHome({ rules: RULES, ...options });

describe("the runtime itself", () => {
  test("waits, merges, summarizes, marks and expands", async () => {
    const { run, workspace, output } = await open();
    await writeFile(join(workspace, "a.txt"), "one");
    const runtime = (target: string) => ({ type: "runtime", target });
    const ended = await run([
      { id: "read", executor: { target: "read_file" }, input: { path: "a.txt" } },
      { id: "pause", executor: runtime("wait"), input: { seconds: 0.05 }, depends_on: ["read"] },
      {
        id: "both",
        executor: runtime("merge"),
        context_refs: ["action:read.output", "action:pause.summary"],
      },
      { id: "short", executor: runtime("summarize"), context_refs: ["action:both.output"] },
      { id: "mark", executor: runtime("checkpoint"), input: { name: "here" }, depends_on: ["short"] },
      {
        id: "again",
        executor: runtime("expand"),
        input: { refs: ["artifact:read"] },
        depends_on: ["mark"],
      },
    ]);
    expect(ended, JSON.stringify(ended.actions)).toMatchObject({ status: "completed" });
    expect(await output(ended.run_id, "both")).toBe("one\n\nWaited for 0.05 seconds.");
    expect(await output(ended.run_id, "again")).toBe("one");
  });
});

describe("a person", () => {
  test("approves or denies before an action runs, also where a rule allows it", async () => {
    const { start, ended, harness, hosting, principal, workspace } = await open();
    const write = (id: string) => ({
      id,
      executor: { target: "write_file" },
      input: { path: `${id}.txt`, content: id },
      requires_approval: true,
    });
    const { run_id } = await start([
      write("yes"),
      write("no"),
      { id: "gate", executor: { type: "human", capabilities: ["approval"] }, input: { message: "Go on?" } },
    ]);
    const pending = () => harness.approvals.list({ tenant: "default", state: "pending", order: "oldest" });
    const answer = async () => {
      for (const { id, facts, options } of await pending()) {
        expect(options).toEqual(["allow_once", "deny"]);
        const isNo = membersOf(facts.arguments).path === "no.txt";
        const decision = isNo ? "deny" : "allow_once";
        await harness.approvals.answer(id, { ...answererOf(principal), decision });
      }
      return (await hosting.graphs.get(principal, run_id)).ended_at;
    };
    await expect.poll(answer).toBeDefined();
    const run = await ended(run_id);
    expect(run.actions.map(({ status }) => status)).toEqual(["completed", "blocked", "completed"]);
    expect(await textIn(join(workspace, "yes.txt"))).toBe("yes");
    expect(await textIn(join(workspace, "no.txt"))).toBeUndefined();
  });
});

describe("an agent", () => {
  test("works on an action in a governed child session, and hands over to the next", async () => {
    const parts = [
      scene(
        "Look for the seed",
        reply(call("read_file", { path: "seed.txt" })),
        reply(say(`The seed is green.\n\n${REPORT}`)),
      ),
      scene("Judge it", reply(say('{ "isGood": true, "risks": ["none"] }'))),
    ];
    const { run, workspace, entries, output, model } = await open({ parts });
    await writeFile(join(workspace, "seed.txt"), "green");
    const declared = {
      type: "agent.protocol",
      version: "1",
      intent: "execute",
      payload: {
        actions: [
          { id: "look", executor: { type: "agent", capabilities: ["research"] }, prompt_ref: "md:look" },
          {
            id: "judge",
            executor: { type: "agent" },
            prompt_ref: "md:judge",
            context_refs: ["action:look.output"],
            resources: { writes: [] },
            result_policy: { return_to_model: "structured", priority: ["isGood", "severity"] },
          },
        ],
      },
    };
    const done = await run([], {
      declaration: declared,
      sections: { look: "Look for the seed", judge: "Judge it" },
    });
    expect(done, JSON.stringify(done.actions)).toMatchObject({ status: "completed" });
    expect(done.actions[0]).toMatchObject({
      executor: { type: "agent", target: "native" },
      result_summary: "It is green.\n\nEvidence:\n- seed.txt:1\n\nUnresolved issues:\n- who painted it",
      child_session: expect.any(String),
    });
    // What it reported is no part of its result.
    expect(await output(done.run_id, "look")).toBe("The seed is green.");
    const [look, judge] = done.actions;
    const reported = { evidence: ["seed.txt:1"], risks: [], unresolved_issues: ["who painted it"] };
    expect(look?.assignment).toMatchObject({
      ...{ executor: "agent:native", goal: "Look for the seed", session: look?.child_session },
      ...{ expected_outputs: [], handoffs: [], withheld: [], trace: [look?.verdict] },
      report: { ...reported, result_summary: "It is green.", artifact_refs: [], faults: [] },
      ...{ result: { status: "completed" }, artifacts: [`artifact://${done.run_id}/look`] },
    });
    const artifact = `artifact://${done.run_id}/look`;
    expect(judge?.assignment).toMatchObject({
      ...{ goal: "Judge it", context_refs: ["action:look.output"] },
      expected_outputs: ["isGood", "severity"],
      handoffs: [
        {
          from: { run: done.run_id, action: "look", session: look?.child_session },
          ...{
            ...reported,
            result_summary: "It is green.",
            artifact_refs: [artifact],
            next_goal: "Judge it",
          },
          ...{ constraints: ["Write nothing."], dependencies: ["look"] },
        },
      ],
      report: { risks: ["none"], faults: ["the result has no severity"] },
    });
    const [first, ...others] = (model?.requests ?? []).map(({ conversation }) =>
      JSON.stringify(conversation),
    );
    const handoff = [
      `    Handoff from look of run ${done.run_id}\n\n    Result: It is green.\n`,
      `    Evidence:\n    - seed.txt:1\n\n    Artifacts:\n    - ${artifact}\n`,
      "    Unresolved issues:\n    - who painted it\n\n    Constraints:\n    - Write nothing.\n",
      "    Next goal: Judge it\n",
      "Answer with a JSON object with the members isGood, severity.",
    ];
    expect(first).not.toContain("Handoff from");
    for (const part of handoff) expect(others.at(-1)).toContain(JSON.stringify(part).slice(1, -1));
    const verdicts = (await entries("policy_verdict")).map(({ target }) => target);
    expect(verdicts.filter((target) => target === "spawn_subagent")).toHaveLength(2);
    expect(verdicts).toContain("read_file");
  });

  test.each([
    ["an agent", "planning", { privacy: { replay: "never" } }],
    ["a person", "approval", { data_visibility: ["model", "user"] }],
  ])("leaves %s what may be seen of it, and says whose result is withheld", async (_, capability, hidden) => {
    const canary = "canary-91c0";
    const report = REPORT.replace("It is green.", `It is ${canary}.`);
    const home = await open({
      parts: [
        scene("Find one", reply(say(REPORT))),
        scene("Find two", reply(say(`Found ${canary}.\n${report}`))),
        scene("Go on", reply(say("Gone on."))),
      ],
    });
    const executor = { type: "agent", target: "native" };
    const { run_id } = await home.start([
      { id: "shown", executor, description: "Find one" },
      { id: "hidden", executor, description: "Find two", ...hidden },
      // Whether it is an agent or a person is chosen as it runs: its declaration withholds nothing.
      {
        ...{ id: "next", executor: { capabilities: [capability] } },
        ...{ description: "Go on", depends_on: ["shown", "hidden"] },
      },
    ]);
    if (capability === "approval") {
      const [asked] = await home.pending();
      const { background } = membersOf(asked?.facts.arguments);
      expect(background).toContain("Handoff from shown");
      expect(background).toContain("Withheld: the results of hidden.");
      expect(background).not.toContain(canary);
      await home.answer(asked?.id ?? "", "allow_once");
    } else {
      await expect.poll(() => home.model?.requests.length, { timeout: 30_000 }).toBe(3);
      const last = JSON.stringify(home.model?.requests[2]?.conversation);
      expect(last).toContain("Handoff from shown");
      expect(last).toContain("Withheld: the results of hidden.");
      expect(last).not.toContain(canary);
    }
    const done = await home.ended(run_id);
    expect(done, JSON.stringify(done.actions)).toMatchObject({ status: "completed" });
    const { assignment } = done.actions[2] ?? {};
    expect(assignment?.handoffs.map(({ from }) => from.action)).toEqual(["shown"]);
    expect(assignment?.withheld).toEqual(["hidden"]);
  });

  test("does in one bounded turn what an action for a tool says in words", async () => {
    const parts = [
      scene("Find the seed", reply(call("list_files", {})), reply(say("It is seed.txt."))),
      scene("Make one", reply(call("write_file", { path: "x", content: "x" })), reply(say("I may not."))),
    ];
    const { run, workspace } = await open({ parts });
    await writeFile(join(workspace, "seed.txt"), "green");
    const words = (id: string) => ({
      id,
      executor: { type: "tool", target: "auto", capabilities: ["search"] },
      prompt_ref: `md:${id}`,
    });
    const declaration = {
      type: "agent.protocol",
      version: "1",
      intent: "execute",
      payload: { actions: [words("find"), words("make")] },
    };
    const done = await run([], { declaration, sections: { find: "Find the seed", make: "Make one" } });
    expect(done.actions.map(({ result_summary }) => result_summary)).toEqual([
      "It is seed.txt.",
      "I may not.",
    ]);
    expect(await textIn(join(workspace, "x"))).toBeUndefined();
  });

  test("is needed for words: without a model, nothing runs", async () => {
    const { start } = await open();
    const words = {
      id: "look",
      executor: { type: "tool", capabilities: ["search"] },
      prompt_ref: "input:user.goal",
    };
    const refused = start([words], { context: { user: { goal: "look" } } });
    await expect(refused).rejects.toThrow(/no model is configured/);
  });
});

describe("what an operator configured", () => {
  test("is a pipeline whose steps are decided one by one", async () => {
    const { run, workspace, entries } = await open({
      graphs: {
        pipelines: {
          publish: {
            description: "Writes and shows a file.",
            steps: [
              { tool: "write_file", input: { path: "out.txt", content: { $ref: "input:text.now" } } },
              { tool: "read_file", input: { path: "out.txt" } },
            ],
          },
          clean: { description: "Deletes.", steps: [{ tool: "delete_file", input: { path: "out.txt" } }] },
        },
      },
    });
    const done = await run([
      { id: "publish", executor: { type: "pipeline", target: "publish" }, input: { text: { now: "hello" } } },
      {
        id: "clean",
        executor: { type: "pipeline", target: "clean" },
        depends_on: ["publish"],
        failure_policy: "continue",
      },
    ]);
    expect(done.actions.map(({ status }) => status)).toEqual(["completed", "blocked"]);
    expect(done.actions[1]?.status_reason).toMatch(/nothing is deleted/);
    expect(await textIn(join(workspace, "out.txt"))).toBe("hello");
    const verdicts = (await entries("policy_verdict")).map(({ target }) => target);
    expect(verdicts).toEqual(
      expect.arrayContaining(["graph/pipeline", "write_file", "read_file", "delete_file"]),
    );
  });

  test("is a service that is called below its address only, with a key for each attempt", async () => {
    const got: IncomingMessage[] = [];
    const server = createServer((request, response) => {
      got.push(request);
      if (request.url === "/api/away") return void response.writeHead(302, { location: "/secret" }).end();
      if (request.url === "/api/on") return void response.writeHead(302, { location: "/api/here" }).end();
      if (request.url === "/api/long") return void response.end("x".repeat(5_000));
      response.writeHead(200, { "content-type": "application/json" }).end('{ "is": "here" }');
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    onTestFinished(() => new Promise<void>((resolve) => void server.close(() => resolve())));
    const { port } = server.address() as { port: number };
    const { run, start, output } = await open({
      graphs: {
        services: { api: { description: "An API.", url: `http://127.0.0.1:${port}/api`, maxBytes: 1_000 } },
      },
    });
    const get = (id: string, path: string) => ({
      id,
      executor: { type: "service", target: "api" },
      input: { path },
      failure_policy: "continue",
    });
    const done = await run([get("here", "here"), get("on", "on"), get("away", "away"), get("long", "long")]);
    expect(done.actions.map(({ status }) => status)).toEqual(["completed", "completed", "failed", "failed"]);
    expect(JSON.parse(await output(done.run_id, "on"))).toEqual({ status: 200, body: { is: "here" } });
    expect(done.actions[2]?.status_reason).toMatch(/outside of it/);
    expect(done.actions[3]?.status_reason).toMatch(/longer than 1000 bytes/);
    expect(got.some(({ url }) => url === "/secret")).toBe(false);
    expect(got.every(({ headers }) => typeof headers["idempotency-key"] === "string")).toBe(true);
    for (const path of [
      ...["../secret", "/../secret", "http://other/x", "%2e%2e/secret", "..%2fsecret"],
      ...["x/%2E%2e%2fsecret", "..%5csecret", "..%252fsecret", "x/..%2f..%2fsecret"],
      ...["..;/secret", "..;a=b/secret", "%2e%2e;/secret", "..%3b/secret", "..%20/secret", "..%00/secret"],
      ...["%20../secret", "%c0%ae%c0%ae/secret", "..%c0%afsecret"],
    ])
      await expect(start([get("x", path)])).rejects.toThrow(/outside of the service/);
    await expect(start([{ ...get("x", "here"), input: { path: "here", method: "POST" } }])).rejects.toThrow(
      /takes GET/,
    );
    await expect(start([{ ...get("x", "here"), input: { path: "here", body: {} } }])).rejects.toThrow(
      /a GET has no body/,
    );
  });

  test("is a pipeline that a person can end: what was denied is not asked again, and passed over by nothing", async () => {
    const { start, pending, answer, ended, hosting, principal, workspace, harness } = await open({
      rules: [
        "tool_rules:",
        "  - { name: asked, condition: { tool_name_matches: [write_file] }, verdict: ask }",
        "  - { name: rest, condition: {}, verdict: allowed }",
      ].join("\n"),
      graphs: {
        pipelines: {
          publish: {
            description: "Writes a file.",
            steps: [{ tool: "write_file", input: { path: "out.txt", content: "x" } }],
          },
        },
      },
    });
    const { run_id } = await start([
      {
        ...{ id: "publish", executor: { type: "pipeline", target: "publish" } },
        failure_policy: { on_failure: "continue", max_attempts: 5 },
      },
      { id: "after", executor: { target: "checkpoint" }, depends_on: ["publish"] },
    ]);
    for (const { id } of await pending()) await answer(id, "deny");
    const { actions } = await ended(run_id);
    expect(actions.map(({ status }) => status)).toEqual(["blocked", "canceled"]);
    const passed = hosting.graphs.decide(principal, run_id, { action: "publish", decision: "continue" });
    await expect(passed).rejects.toThrow(/a person did not agree/);
    const asked = await harness.approvals.list({ tenant: "default", order: "oldest" });
    expect(asked).toHaveLength(1);
    expect(await textIn(join(workspace, "out.txt"))).toBeUndefined();
  });

  test("is a service whose redirects are decided, and that shows no secret it is called with", async () => {
    const got: string[] = [];
    const server = createServer((request, response) => {
      got.push(`${request.method} ${request.url}`);
      const location = new URL(request.url ?? "", "http://x").searchParams.get("to");
      if (location !== null) return void response.writeHead(307, { location }).end();
      response.end(JSON.stringify(request.headers));
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    onTestFinished(() => new Promise<void>((resolve) => void server.close(() => resolve())));
    const { port } = server.address() as { port: number };
    const url = `http://127.0.0.1:${port}/api`;
    const { run, output, entries } = await open({
      rules: [
        "tool_rules:",
        `  - { name: admin, condition: { arguments: { url: "*/api/admin" } }, verdict: blocked, reason: not there }`,
        "  - { name: rest, condition: {}, verdict: allowed }",
      ].join("\n"),
      graphs: {
        services: {
          api: {
            ...{ description: "An API.", url, methods: ["GET", "POST"] },
            headers: { authorization: "Bearer canary-4711-token", accept: "application/json" },
          },
        },
      },
    });
    const post = (id: string, to: string) => ({
      ...{ id, executor: { type: "service", target: "api" } },
      input: { method: "POST", path: "go", query: { to }, body: { all: true } },
    });
    const done = await run([post("there", "/api/there"), post("admin", "/api/admin")]);
    expect(done.actions.map(({ status }) => status)).toEqual(["completed", "blocked"]);
    expect(got.filter((one) => one.includes("admin") && !one.includes("?"))).toEqual([]);
    const verdicts = (await entries("policy_verdict")).filter(({ target }) => target === "graph/service");
    expect(verdicts).toHaveLength(4);
    const shown = await output(done.run_id, "there");
    expect(shown).not.toContain("canary-4711");
    expect(shown).toContain("application/json");
  });

  test("is done with the arguments that a verdict put in place of those that were asked for", async () => {
    const got: string[] = [];
    const server = createServer(async (request, response) => {
      got.push(`${request.method} ${request.url} ${Buffer.concat(await request.toArray())}`);
      response.end("done");
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    onTestFinished(() => new Promise<void>((resolve) => void server.close(() => resolve())));
    const { port } = server.address() as { port: number };
    const url = `http://127.0.0.1:${port}/api`;
    const modified = (tool: string, patch: string) =>
      `  - { name: "${tool}", condition: { tool_name_matches: ["${tool}"] }, verdict: modify, patch: ${patch} }`;
    const rules = [
      "tool_rules:",
      modified("graph/service", `{ body: '{"dry":true}' }`),
      modified("graph/pipeline", "{ input: { text: ours } }"),
      modified("graph/merge", "{ one: ours }"),
      "  - { name: rest, condition: {}, verdict: allowed }",
    ].join("\n");
    const steps = [{ tool: "write_file", input: { path: "out.txt", content: { $ref: "input:text" } } }];
    const { run, workspace, output } = await open({
      rules,
      graphs: {
        services: { api: { description: "An API.", url, methods: ["POST"] } },
        pipelines: { publish: { description: "Writes a file.", steps } },
      },
    });
    const input = { method: "POST", path: "pay", body: { dry: false } };
    const done = await run([
      { id: "pay", executor: { type: "service", target: "api" }, input },
      { id: "publish", executor: { type: "pipeline", target: "publish" }, input: { text: "theirs" } },
      { id: "merge", executor: { type: "runtime", target: "merge" }, input: { one: "theirs" } },
    ]);
    expect(done, JSON.stringify(done.actions)).toMatchObject({ status: "completed" });
    expect(got).toEqual(['POST /api/pay {"dry":true}']);
    expect(await textIn(join(workspace, "out.txt"))).toBe("ours");
    expect(await output(done.run_id, "merge")).toBe("ours");
  });
});
