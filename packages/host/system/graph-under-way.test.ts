import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { rm, writeFile } from "node:fs/promises";
import { createServer, type RequestListener, type ServerResponse } from "node:http";
import { dirname, join } from "node:path";
import { JournalEngine } from "@reins/graph";
import { ArtifactStore } from "@reins/ledger";
import { StoreError } from "@reins/store";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import type { GraphSettings } from "../src/graph/graph-runs.ts";
import { RunStore } from "../src/graph/run-store.ts";
import { command, declarationOf, openGraphHome } from "./fixtures/graph-home.ts";
import { textIn } from "./fixtures/home.ts";

/** A service on this machine; returns its address. */
async function serve(listener: RequestListener): Promise<string> {
  const server = createServer(listener);
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const address = server.address();
  return `http://127.0.0.1:${typeof address === "object" ? address?.port : ""}`;
}

/** The address of a service that is not there any more. */
async function unreachable(): Promise<string> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  return `http://127.0.0.1:${typeof address === "object" ? address?.port : ""}`;
}

const service = (id: string, path: string, more: object = {}) => ({
  id,
  executor: { type: "service", target: "tickets" },
  input: { path },
  ...more,
});

describe("the kill switch", () => {
  test.each([
    ["everything", () => ({ kind: "all" }) as const],
    ["an agent", () => ({ kind: "agent", name: "native" }) as const],
    ["a session", (session: string) => ({ kind: "session", name: session }) as const],
  ])("that ends %s ends the runs under way", async (_, target) => {
    // With one process more to end, the other is seen to end before the order is carried out.
    const straggler = "(trap '' TERM; sleep 20) < /dev/null > /dev/null 2>&1 &";
    const home = await openGraphHome({ killSocket: true });
    const { run_id, session_id } = await home.start(
      [
        command("slow", `${straggler} sleep 20; echo late > late.txt`),
        command("next", "true", { depends_on: ["slow"] }),
      ],
      {},
      { persist: true },
    );
    await expect.poll(async () => (await home.get(run_id)).actions[0]?.status).toBe("running");
    const order = { id: randomUUID(), tenant: null, by: "user:default/operator", reason: null };
    const killed = await home.hosting.kills?.kill({ ...order, target: target(session_id) });
    expect(killed?.report.sessions).toContain(session_id);
    const run = await home.ended(run_id);
    expect(run.status).toBe("canceled");
    expect(run.actions.map(({ status }) => status)).toEqual(["canceled", "canceled"]);
    expect(await textIn(join(home.workspace, "late.txt"))).toBeUndefined();
    // The native agent itself stays.
    await expect.poll(() => home.hosting.register.all.length).toBeLessThan(2);
  });
});

test("the kill switch ends runs that have just begun, or continue after their end", async () => {
  const home = await openGraphHome({ killSocket: true });
  const { graphs, kills } = home.hosting;
  const wait = { executor: { type: "runtime", target: "wait" }, input: { seconds: 2_000_000 } };
  const killed = async (id: string): Promise<void> => {
    await expect
      .poll(async () => (await graphs.get(home.principal, id).catch(() => undefined))?.status, {
        interval: 0,
      })
      .toBe("running");
    const order = { id: randomUUID(), tenant: null, by: "user:default/operator", reason: null };
    await kills?.kill({ ...order, target: { kind: "all" } as const });
    expect(await home.ended(id)).toMatchObject({ status: "canceled" });
  };
  for (const run_id of ["one", "two", "three"]) {
    const starting = home.start([{ id: "wait", ...wait }], { run_id }, { persist: true });
    await Promise.all([starting.catch(() => undefined), killed(run_id)]);
  }
  for (const run_id of ["four", "five", "six"]) {
    await home.run([command("a", "test -e go && sleep 60")], { run_id }, { persist: true });
    await writeFile(join(home.workspace, "go"), "");
    const deciding = graphs.decide(home.principal, run_id, { action: "a", decision: "retry" });
    await Promise.all([deciding, killed(run_id)]);
    await rm(join(home.workspace, "go"));
  }
});

test("a run that is canceled as soon as it is found does nothing", async () => {
  const home = await openGraphHome();
  const { graphs } = home.hosting;
  const cancel = async (id: string): Promise<void> => {
    await expect
      .poll(() => graphs.get(home.principal, id).catch(() => undefined), { interval: 0 })
      .toBeDefined();
    await graphs.cancel(home.principal, id);
  };
  for (const id of ["one", "two", "three", "four", "five"]) {
    const line = `sleep 0.2; echo ${id} >> done.txt`;
    const started = home.start([command("a", line)], { run_id: id }, { persist: true, title: id });
    await Promise.all([started, cancel(id)]);
    expect(await home.get(id)).toMatchObject({ status: "canceled", actions: [{ status: "canceled" }] });
  }
  // What a canceled run left under way would be done before this.
  await home.run([command("after", "sleep 0.4; echo after >> done.txt")]);
  expect(await textIn(join(home.workspace, "done.txt"))).toBe("after\n");
});

test("a run that is revised as soon as it has failed is not shown as failed after that", async () => {
  const home = await openGraphHome();
  const { graphs } = home.hosting;
  for (const id of ["one", "two", "three", "four", "five", "six", "seven", "eight"]) {
    await home.start([command("a", "false")], { run_id: id }, { persist: true });
    await expect.poll(async () => (await home.get(id)).ended_at, { interval: 0 }).toBeDefined();
    const declaration = {
      ...{ type: "agent.protocol", version: "1", intent: "revise" },
      payload: { run_id: id, actions: [command("b", "true")] },
    };
    await graphs.start(home.principal, { declaration });
    expect(await home.ended(id)).toMatchObject({ status: "completed" });
  }
});

test("a run that is canceled as soon as it continues does nothing more", async () => {
  const home = await openGraphHome();
  const { graphs } = home.hosting;
  const { run_id } = await home.run([command("a", "sleep 0.2; false")]);
  const deciding = graphs.decide(home.principal, run_id, { action: "a", decision: "retry" });
  const status = async () => (await home.get(run_id)).status;
  await expect.poll(status, { interval: 0 }).toBe("running");
  expect(await graphs.cancel(home.principal, run_id)).toMatchObject({ status: "canceled" });
  await deciding;
  expect(await home.ended(run_id)).toMatchObject({ status: "canceled" });
});

test("a wait that is ended has not waited: nothing follows it", async () => {
  const home = await openGraphHome();
  const wait = { id: "wait", executor: { type: "runtime", target: "wait" }, input: { seconds: 2_000_000 } };
  const after = command("after", "echo after >> done.txt", { depends_on: ["wait"] });
  const { run_id } = await home.start([wait, after], {}, { persist: true });
  await expect.poll(async () => (await home.get(run_id)).actions[0]?.status).toBe("running");
  await home.hosting.graphs.cancel(home.principal, run_id, ["wait"]);
  const canceled = await home.ended(run_id);
  expect(canceled.actions.map(({ status }) => status)).toEqual(["canceled", "canceled"]);
  const late = await home.run([{ ...wait, budget: { seconds: 0.2 } }, after]);
  expect(late.actions.map(({ status }) => status)).toEqual(["failed", "canceled"]);
  expect(await textIn(join(home.workspace, "done.txt"))).toBeUndefined();
});

test("an input that no executor takes is refused in words", async () => {
  const home = await openGraphHome();
  const wait = { id: "wait", executor: { type: "runtime", target: "wait" } };
  await expect(home.start([{ ...wait, input: { seconds: "1" } }])).rejects.toThrow(
    /^actions\.0\.input: seconds has to be a number, not a text$/,
  );
  const late = await home.run([
    command("number", "echo 1"),
    { ...wait, input: { seconds: { $ref: "action:number.output" } } },
  ]);
  expect(late.actions[1]).toMatchObject({
    status: "failed",
    status_reason: expect.stringMatching(/^seconds has to be a number/),
  });
});

test("a run that cannot begin has failed, and is not continued after a restart", async () => {
  const home = await openGraphHome();
  const begin = vi.spyOn(JournalEngine.prototype, "start").mockRejectedValue(new Error("no room"));
  onTestFinished(() => begin.mockRestore());
  const act = [command("a", "echo a >> done.txt")];
  await expect(home.start(act, {}, { persist: true })).rejects.toThrow(/no room/);
  const failed = {
    ...{ status: "failed", status_reason: "it could not begin: no room" },
    actions: [{ status: "canceled" }],
  };
  expect(await home.start(act, { run_id: "one" }, { persist: true })).toMatchObject(failed);
  begin.mockRestore();
  await home.close();
  const again = await openGraphHome({ folder: dirname(home.home) });
  expect(await again.get("one")).toMatchObject(failed);
  expect(await textIn(join(home.workspace, "done.txt"))).toBeUndefined();
});

test("what is known of an action is stored with its result, also where nothing else is", async () => {
  const home = await openGraphHome();
  const flush = vi.spyOn(RunStore.prototype, "flush").mockResolvedValue();
  onTestFinished(() => flush.mockRestore());
  const { run_id } = await home.start(
    [
      command("done", "echo done"),
      command("own", "true", { requires_approval: true }),
      { id: "wait", executor: { target: "wait" }, input: { seconds: 2_000_000 } },
    ],
    {},
    { persist: true },
  );
  for (const { id } of await home.pending(1)) await home.answer(id, "deny");
  await expect.poll(async () => (await home.get(run_id)).actions[1]?.status).toBe("blocked");
  const before = await home.get(run_id);
  const { details_ref: ref = "" } = before.actions[0] ?? {};
  const { text } = await home.hosting.graphs.expand(home.principal, run_id, ref, {});
  await home.close();
  flush.mockRestore();

  const again = await openGraphHome({ folder: dirname(home.home) });
  await expect.poll(async () => (await again.get(run_id)).actions[1]?.status).toBe("blocked");
  const after = await again.get(run_id);
  const times = { started_at: expect.any(String), ended_at: expect.any(String) };
  for (const index of [0, 1]) expect(after.actions[index]).toEqual({ ...before.actions[index], ...times });
  expect((await again.hosting.graphs.expand(again.principal, run_id, ref, {})).text).toBe(text);
  const passed = { action: "own", decision: "continue" } as const;
  await expect(again.hosting.graphs.decide(again.principal, run_id, passed)).rejects.toThrow(
    /a person did not agree/,
  );
});

describe("a full disk", () => {
  test("keeps a result until it can be stored, does nothing twice, and ends nothing", async () => {
    const home = await openGraphHome();
    const { store } = home.harness;
    const commit = store.commit.bind(store);
    let isFull = false;
    vi.spyOn(store, "commit").mockImplementation(((...given: Parameters<typeof commit>) =>
      isFull
        ? Promise.reject(new StoreError("full", "the disk is full; make room"))
        : commit(...given)) as never);
    const { run_id } = await home.start(
      [
        command("one", "echo one >> done.txt; sleep 1.5"),
        command("two", "echo two >> done.txt", { depends_on: ["one"] }),
      ],
      {},
      { persist: true },
    );
    await expect.poll(() => textIn(join(home.workspace, "done.txt"))).toBe("one\n");
    isFull = true;
    await expect
      .poll(async () => (await home.get(run_id)).status_reason)
      .toMatch(/waits until it can be stored: the disk is full/);
    expect((await home.get(run_id)).status).toBe("running");
    await expect(home.start([command("new", "true")])).rejects.toThrow(/full/);
    isFull = false;
    const run = await home.ended(run_id);
    expect([run.status, run.status_reason]).toEqual(["completed", undefined]);
    expect(await textIn(join(home.workspace, "done.txt"))).toBe("one\ntwo\n");
  });

  test("fails no action whose result has no room: it waits, and is done once", async () => {
    const graphs: GraphSettings = {
      pipelines: {
        twice: {
          description: "Writes twice.",
          steps: ["three", "four"].map((word) => ({
            tool: "run_command",
            input: { command: `echo ${word} >> done.txt` },
          })),
        },
      },
    };
    const home = await openGraphHome({ graphs });
    const { supervisor } = home.harness;
    const settle = supervisor.settle.bind(supervisor);
    const full = new StoreError("full", "the disk is full; make room");
    const settling = vi.spyOn(supervisor, "settle");
    const put = vi.spyOn(ArtifactStore.prototype, "put");
    onTestFinished(() => put.mockRestore());
    put.mockRejectedValue(Object.assign(new Error("no space left on device"), { code: "ENOSPC" }));
    const retry = { failure_policy: "retry" };
    const pipe = {
      id: "pipe",
      executor: { type: "pipeline", target: "twice" },
      depends_on: ["one"],
      ...retry,
    };
    const actions = [command("one", "echo one >> done.txt", retry), pipe];
    const { run_id } = await home.start(actions, {}, { persist: true });
    const reason = async () => (await home.get(run_id)).status_reason;
    await expect.poll(reason).toMatch(/waits until it can be stored: no space left/);
    // From here on no outcome is settled at the first attempt.
    let calls = 0;
    settling.mockImplementation((...given) => {
      calls += 1;
      return calls % 2 === 1 ? Promise.reject(full) : settle(...given);
    });
    put.mockRestore();
    const run = await home.ended(run_id);
    expect(run.actions.map(({ status, attempts }) => [status, attempts])).toEqual(
      Array(2).fill(["completed", 1]),
    );
    expect(calls).toBe(8);
    expect(await textIn(join(home.workspace, "done.txt"))).toBe("one\nthree\nfour\n");
  });

  test("keeps no cancel from ending what runs, which is stored once there is room", async () => {
    const home = await openGraphHome();
    const { store } = home.harness;
    const line = "while true; do echo tick >> ticks.txt; sleep 0.05; done";
    const { run_id } = await home.start([command("one", line)], {}, { persist: true });
    const ticks = async () => (await textIn(join(home.workspace, "ticks.txt")))?.length ?? 0;
    await expect.poll(ticks).toBeGreaterThan(0);
    const full = vi.spyOn(store, "commit").mockRejectedValue(new StoreError("full", "the disk is full"));
    const canceling = home.hosting.graphs.cancel(home.principal, run_id);
    const isQuiet = async () => {
      const before = await ticks();
      await new Promise((resolve) => setTimeout(resolve, 300));
      return (await ticks()) === before;
    };
    await expect.poll(isQuiet).toBe(true);
    expect((await home.get(run_id)).ended_at).toBeUndefined();
    full.mockRestore();
    expect(await canceling).toMatchObject({ status: "canceled" });
  });

  test("refuses to continue a run that is over, which stays over", async () => {
    const home = await openGraphHome();
    const { store } = home.harness;
    const { run_id } = await home.run([command("one", "false")], {}, { persist: true });
    const before = await home.get(run_id);
    const full = vi
      .spyOn(store, "commit")
      .mockRejectedValue(new StoreError("full", "the disk is full; make room"));
    const retry = { action: "one", decision: "retry" } as const;
    await expect(home.hosting.graphs.decide(home.principal, run_id, retry)).rejects.toThrow(/full/);
    full.mockRestore();
    expect(await home.get(run_id)).toEqual(before);
    await home.hosting.graphs.decide(home.principal, run_id, retry);
    expect((await home.ended(run_id)).actions[0]?.attempts).toBe(2);
  });

  test("shows a run as over once its end is stored, and says meanwhile what it waits for", async () => {
    const home = await openGraphHome();
    const { store } = home.harness;
    const commit = store.commit.bind(store);
    let isFull = true;
    vi.spyOn(store, "commit").mockImplementation(((...given: Parameters<typeof commit>) =>
      isFull && given[0].some(({ tables, name }) => tables === "graph" && name === "end")
        ? Promise.reject(new StoreError("full", "the disk is full; make room"))
        : commit(...given)) as never);
    const { run_id } = await home.start([command("one", "false")], {}, { persist: true });
    const shown = async () => (await home.get(run_id)).status_reason;
    await expect.poll(shown).toMatch(/waits until it can be stored: the disk is full/);
    expect(await home.get(run_id)).toMatchObject({ status: "running", actions: [{ status: "failed" }] });
    expect((await home.get(run_id)).ended_at).toBeUndefined();
    isFull = false;
    expect(await home.ended(run_id)).toMatchObject({ status: "failed" });
  });
});

describe("a service", () => {
  const settings = (url: string, more: object = {}) => ({
    services: { tickets: { description: "Tickets.", url, ...more } },
  });

  test("that does not answer in time fails its action, and the run goes on by its policy", async () => {
    const url = await serve((request, response) => {
      // One sends nothing, another a byte now and then, without end.
      if (request.url === "/drip") setInterval(() => response.write("."), 50).unref();
    });
    const home = await openGraphHome({ graphs: settings(url, { timeoutMs: 400 }) });
    const run = await home.run([
      service("silent", "x", { failure_policy: "continue" }),
      service("drip", "drip", { failure_policy: "continue" }),
      command("after", "echo after > after.txt", { depends_on: ["silent", "drip"] }),
    ]);
    expect(run.actions.map(({ status }) => status)).toEqual(["failed", "failed", "completed"]);
    expect(run.actions[0]?.status_reason).toMatch(/abort|time/i);
  });

  test.each([
    ["says nothing", () => undefined],
    ["is behind a gateway that lost it", (response: ServerResponse) => void response.writeHead(504).end()],
    ["answers with too much", (response: ServerResponse) => void response.end("x".repeat(2_000))],
  ])("that %s may have done what changes something: no policy sends that again", async (_, answer) => {
    const got: unknown[] = [];
    const url = await serve((request, response) => {
      got.push(request.url);
      answer(response);
    });
    const graphs = settings(url, { timeoutMs: 400, maxBytes: 1_000, methods: ["GET", "POST"] });
    const home = await openGraphHome({ graphs });
    const input = { path: "pay", method: "POST", body: { amount: 1 } };
    const { actions } = await home.run([
      { ...service("pay", ""), input, failure_policy: "retry" },
      service("read", "read", { failure_policy: { on_failure: "retry", max_attempts: 2 } }),
    ]);
    expect(actions.map(({ status, attempts }) => [status, attempts])).toEqual([
      ["failed", 1],
      ["failed", 2],
    ]);
    expect(got.filter((path) => path === "/pay")).toHaveLength(1);
    const results = (await home.entries("tool_result")).filter(({ target }) => target === "graph/service");
    expect(results.map(({ payload }) => Object(payload).outcome).sort()).toEqual([
      "failed",
      "failed",
      "unknown",
    ]);
  });

  test("that makes one effect of a key gets the same for each attempt at a request, and another for another", async () => {
    const keys: unknown[] = [];
    const url = await serve((request, response) => {
      keys.push(request.headers["idempotency-key"]);
      if (keys.length > 2) response.end("{}");
    });
    const home = await openGraphHome({
      graphs: settings(url, { timeoutMs: 400, methods: ["POST"], idempotent: true }),
    });
    const input = { path: "pay", method: "POST", body: { amount: 1 } };
    const { status } = await home.run([
      { ...service("pay", ""), input, failure_policy: "retry" },
      { ...service("twice", ""), input, loop: { max_iterations: 2 }, depends_on: ["pay"] },
    ]);
    expect(status).toBe("completed");
    expect(keys).toHaveLength(5);
    expect(new Set(keys.slice(0, 3)).size).toBe(1);
    expect(new Set(keys).size).toBe(3);
  });

  test("that was never reached may be tried again", async () => {
    const home = await openGraphHome({ graphs: settings(await unreachable(), { methods: ["POST"] }) });
    const input = { path: "pay", method: "POST" };
    const { actions } = await home.run([{ ...service("pay", ""), input, failure_policy: "retry" }]);
    expect(actions[0]).toMatchObject({ status: "failed", attempts: 3 });
  });

  test("that repeats its secrets in an address, in JSON or in part has them shown nowhere", async () => {
    const password = 'pass/word"of-operator';
    const crumbs = "crumbs-of-operator";
    const url = await serve((request, response) => {
      const places: Readonly<Record<string, string>> = {
        "/away": `http://evil.test/?a=${encodeURIComponent(password)}`,
        "/on": `/here?a=${password}`,
        "/name": `http://${crumbs}.evil.test/`,
        "/none": "http://[",
      };
      const location = places[request.url ?? ""];
      if (location !== undefined) return void response.writeHead(302, { location }).end();
      const echo = { [password]: [crumbs], deep: request.headers };
      const text = JSON.stringify(echo).replaceAll("/", "\\/").replaceAll("o", "\\u006f");
      response.writeHead(200, { "content-type": "application/json" }).end(text);
    });
    const authorization = `Basic ${Buffer.from(`operator:${password}`).toString("base64")}`;
    const headers = { authorization, cookie: `session=${crumbs}; theme=dark` };
    const home = await openGraphHome({ graphs: settings(url, { headers }) });
    const kept = (id: string) => service(id, id, { failure_policy: "continue" });
    const run = await home.run(["away", "on", "name", "none", "echo"].map(kept));
    expect(run.actions.map(({ status }) => status)).toEqual([...Array(4).fill("failed"), "completed"]);
    const expanded = await home.output(run.run_id, "echo");
    expect(expanded).toContain("[redacted]");
    const log = await home.hosting.hub.log.page("default", [run.session_id], 0);
    const shown = JSON.stringify([run, expanded, log, await home.entries("policy_verdict")]);
    for (const secret of ["word", "crumbs", authorization.slice(6)]) expect(shown).not.toContain(secret);
  });

  test("that answers with JSON that is nested very deep is read as text", async () => {
    const nested = "[".repeat(50_000) + "]".repeat(50_000);
    const url = await serve((_, response) =>
      response.writeHead(200, { "content-type": "application/json" }).end(nested),
    );
    const home = await openGraphHome({ graphs: settings(url) });
    const run = await home.run([service("deep", "deep")]);
    expect(run.actions[0]).toMatchObject({
      status: "completed",
      result_summary: expect.stringContaining("[[[["),
    });
  });

  test("that is called in a run that is canceled is not waited for", async () => {
    const url = await serve(() => undefined);
    const home = await openGraphHome({ graphs: settings(url) });
    const { run_id } = await home.start([service("silent", "x")]);
    await expect.poll(async () => (await home.get(run_id)).actions[0]?.status).toBe("running");
    await home.hosting.graphs.cancel(home.principal, run_id);
    expect(await home.get(run_id)).toMatchObject({ status: "canceled" });
  });

  test("that echoes secrets has them shown nowhere, though what is done with them is exact", async () => {
    const secret = `ghp_${"a1B2c3D4e5F6".repeat(3)}`;
    const own = "token-of-the-operator";
    const url = await serve((request, response) => {
      response.writeHead(request.url === "/bad" ? 500 : 200, { "content-type": "text/plain" });
      response.end(`you sent ${request.headers.authorization}, and get ${secret}`);
    });
    const home = await openGraphHome({
      graphs: settings(url, { headers: { authorization: `Bearer ${own}` } }),
    });
    const run = await home.run([
      service("echo", "ok", { result_policy: { return_to_model: "full" } }),
      service("fails", "bad", { failure_policy: "continue" }),
      {
        id: "keep",
        executor: { target: "write_file" },
        input: { path: "kept.txt", content: { $ref: "action:echo.summary" } },
      },
    ]);
    const kept = await textIn(join(home.workspace, "kept.txt"));
    expect(kept).toContain(secret);
    // What a service is called with is the operator's alone.
    expect(kept).not.toContain(own);
    const transcript = await home.hosting.protocol.serviceFor("default").transcript(run.session_id);
    const log = await home.hosting.hub.log.page("default", [run.session_id], 0);
    const expanded = await home.output(run.run_id, "echo");
    await home.harness.supervisor.close();
    const entries = await home.ledger.read({ limit: 1_000 });
    const shown = JSON.stringify([run, transcript, log, expanded, entries]);
    for (const one of [secret, own]) expect(shown).not.toContain(one);
  });

  test("whose request was decided in an earlier process is decided again where it is another by now", async () => {
    const asked: string[] = [];
    const listen: RequestListener = (request, response) => {
      asked.push(`${request.headers.host}`);
      if (asked.length > 1) response.end("done");
    };
    const [one, two] = [await serve(listen), await serve(listen)];
    const rules = `
tool_rules:
  - { name: other, condition: { tool_name_matches: [graph/service], arguments: { url: "${two}*" } }, verdict: ask }
  - { name: all, condition: {}, verdict: allowed }
`;
    const first = await openGraphHome({ rules, graphs: settings(one) });
    const { run_id } = await first.start([service("call", "x")], {}, { persist: true });
    await expect.poll(() => asked.length).toBe(1);
    await first.close();
    const folder = dirname(first.home);
    const second = await openGraphHome({ folder, rules, graphs: settings(two) });
    const [approval] = await second.pending(1);
    expect(approval).toMatchObject({ tool: "graph/service" });
    expect(asked).toHaveLength(1);
    await second.answer(approval?.id ?? "", "allow_once");
    expect((await second.ended(run_id)).status).toBe("completed");
    const verdicts = (await second.entries("policy_verdict")).filter(
      ({ target }) => target === "graph/service",
    );
    const results = (await second.entries("tool_result")).filter(({ target }) => target === "graph/service");
    const allowed = verdicts.filter(({ tags }) => tags.includes("allowed"));
    expect(allowed).toHaveLength(2);
    // One result for each verdict: of the first, nothing is known.
    const outcomes = results.map(({ payload }) => [Object(payload).verdict, Object(payload).outcome]);
    expect(outcomes.toSorted()).toEqual(
      [
        [allowed[0]?.cid, "unknown"],
        [allowed[1]?.cid, "completed"],
      ].toSorted(),
    );
  });
});

describe("an action that is declared to be done once", () => {
  test("is not done again after a stop, also where its executor could repeat it", async () => {
    let calls = 0;
    const url = await serve((_, response) => {
      calls += 1;
      if (calls > 2) response.end("done");
    });
    const graphs = {
      services: { tickets: { description: "Tickets.", url, methods: ["POST"], idempotent: true } },
    };
    const first = await openGraphHome({ graphs });
    const post = (id: string, more: object = {}) => ({
      ...service(id, id, more),
      ...{ input: { method: "POST", path: id }, resources: { writes: [id] } },
    });
    const { run_id } = await first.start(
      [post("pay", { idempotency: "once" }), post("note")],
      {},
      { persist: true },
    );
    await expect.poll(() => calls).toBe(2);
    await first.close();
    const second = await openGraphHome({ folder: dirname(first.home), graphs });
    const { actions } = await second.ended(run_id);
    expect(actions.map(({ status }) => status)).toEqual(["failed", "completed"]);
    expect(actions[0]?.status_reason).toMatch(/outcome is unknown/);
    expect(calls).toBe(3);
  });
});

describe("the runs of a user", () => {
  test("are bounded in number, also where they are declared at once", async () => {
    const home = await openGraphHome({ graphs: { open: 2 } });
    const gate = () => home.start([command("gate", "true", { requires_approval: true })]);
    const started = await Promise.allSettled([gate(), gate(), gate()]);
    expect(started.map(({ status }) => status).toSorted()).toEqual(["fulfilled", "fulfilled", "rejected"]);
    await expect(gate()).rejects.toThrow(/has 2 runs under way, which is the most/);
    const [first] = started.flatMap((one) => (one.status === "fulfilled" ? one.value.run_id : []));
    await home.hosting.graphs.cancel(home.principal, first ?? "");
    await expect(gate()).resolves.toMatchObject({ status: "running" });
  });

  test("count once each, however far the beginning of one is", async () => {
    const home = await openGraphHome({ graphs: { open: 2 } });
    const { store } = home.harness;
    const commit = store.commit.bind(store);
    const gate = () =>
      home.start([command("gate", "true", { requires_approval: true })], {}, { persist: true });
    let isLast = false;
    for (let step = 1; !isLast; step += 1) {
      const { promise: reached, resolve: reach } = Promise.withResolvers<void>();
      const { promise: released, resolve: release } = Promise.withResolvers<void>();
      let commits = 0;
      let isBegun = false;
      const spy = vi.spyOn(store, "commit").mockImplementation((async (
        ...given: Parameters<typeof commit>
      ) => {
        const isCounted = !isBegun && given[0].some(({ tables }) => /^graph/.test(tables));
        if (isCounted) commits += 1;
        const isHeld = isCounted && commits === step;
        const results = await commit(...given);
        if (isHeld) reach();
        if (isHeld) await released;
        return results;
      }) as never);
      const first = gate();
      await Promise.race([reached, first]);
      isBegun = true;
      isLast = commits < step;
      const second = await gate();
      release();
      spy.mockRestore();
      const runs = [await first, second];
      await expect(gate(), `commit ${step}`).rejects.toThrow(/has 2 runs under way, which is the most/);
      await Promise.all(runs.map(({ run_id }) => home.hosting.graphs.cancel(home.principal, run_id)));
    }
  });

  test("are repeated by the same request alone, and say what differs", async () => {
    const home = await openGraphHome();
    const { graphs } = home.hosting;
    const request = {
      run_id: "mine",
      declaration: declarationOf([
        { id: "m", executor: { type: "runtime", target: "merge" }, context_refs: ["md:note", "input:x"] },
      ]),
      sections: { note: "One." },
      context: { x: 1 },
    };
    const both = await Promise.all([
      graphs.start(home.principal, request),
      graphs.start(home.principal, request),
    ]);
    expect(new Set(both.map(({ session_id }) => session_id)).size).toBe(1);
    await expect(graphs.start(home.principal, request)).resolves.toMatchObject({ run_id: "mine" });
    for (const [member, value] of [
      ["sections", { note: "Two." }],
      ["context", { x: 2 }],
      ["cwd", home.workspace],
      ["declaration", declarationOf([])],
    ] as const) {
      const other = graphs.start(home.principal, { ...request, [member]: value });
      await expect(other).rejects.toMatchObject({
        code: "conflict",
        message: `there is a run mine already, with another ${member}`,
      });
    }
  });

  test("are decided in the mode that their session was put into, also while its agent does not run", async () => {
    const rules = `
tool_rules:
  - { name: begin, condition: { event: [session_start, pre_prompt] }, verdict: allowed }
  - { name: modes, condition: { tool_name_matches: [session/set_mode], origin: client }, verdict: allowed }
  - { name: planning, condition: { mode: plan, tool_name_matches: [run_command] }, verdict: blocked, reason: it plans }
  - { name: rest, condition: {}, verdict: allowed }
`;
    const home = await openGraphHome({ rules, parts: [] });
    const begun = await home.run([command("before", "true")]);
    expect(begun.status).toBe("completed");
    const session = begun.session_id;
    const { hub } = home.hosting;
    const connection = await hub.connect({ principal: home.principal, agent: "native" });
    const { signal } = new AbortController();
    const params = { sessionId: session, cwd: home.workspace, mcpServers: [] };
    await hub.request(connection, "session/load", params, signal);
    await hub.request(connection, "session/set_mode", { sessionId: session, modeId: "plan" }, signal);
    const blocked = await home.run([command("during", "true")], { session });
    expect(blocked.actions[0]).toMatchObject({ status: "blocked", status_reason: "it plans" });
    const agent = hub.live(session)?.agent;
    if (!agent) throw new Error("the agent of the session does not run");
    await hub.restart(agent, "a test");
    expect(hub.live(session)?.agent).toBeUndefined();
    const after = await home.run([command("after", "true")], { session });
    expect(after.actions[0]).toMatchObject({ status: "blocked", status_reason: "it plans" });
  });
});

test("what was under way in a turn that was cut off has one result for one verdict", async () => {
  const first = await openGraphHome();
  const slow = (id: string, more: object = {}) => command(id, `echo ${id} >> done.txt; sleep 30`, more);
  const { run_id, session_id } = await first.start(
    [slow("once", { failure_policy: "continue" }), command("after", "true", { depends_on: ["once"] })],
    {},
    { persist: true },
  );
  await expect.poll(() => textIn(join(first.workspace, "done.txt"))).toBe("once\n");
  // As if the model had declared it in a turn that runs.
  await first.hosting.hub.live(session_id)?.apply({ type: "prompted", turn_after: 0 });
  await first.close();
  const second = await openGraphHome({ folder: dirname(first.home) });
  const run = await second.ended(run_id);
  expect(run.actions.map(({ status }) => status)).toEqual(["failed", "completed"]);
  expect(run.actions[0]?.status_reason).toContain("outcome is unknown");
  const verdicts = (await second.entries("policy_verdict")).filter(({ target }) => target === "run_command");
  const results = (await second.entries("tool_result")).filter(({ target }) => target === "run_command");
  const outcomeOf = (cid: string) =>
    results.flatMap(({ payload }) => (Object(payload).verdict === cid ? Object(payload).outcome : []));
  expect(verdicts.map(({ cid }) => outcomeOf(cid))).toEqual([["unknown"], ["completed"]]);
  expect(results).toHaveLength(2);
  expect(await second.entries("session_lifecycle")).toContainEqual(
    expect.objectContaining({ tags: ["interrupted"] }),
  );
});

test("a run that is reopened is reported as one that goes on", async () => {
  const home = await openGraphHome();
  const { run_id } = await home.run([command("go", "test -e go")]);
  await writeFile(join(home.workspace, "go"), "");
  await home.hosting.graphs.decide(home.principal, run_id, { action: "go", decision: "retry" });
  expect((await home.ended(run_id)).status).toBe("completed");
  const states = () => home.harness.runs.find(home.principal, run_id);
  const lifecycle = async () =>
    (await states()).find(({ contract }) => contract === "run_lifecycle")?.payload;
  await expect.poll(lifecycle).toMatchObject({ status: "completed", metadata: { reopened: 1 } });
  expect(await home.harness.runs.faults(home.principal, run_id)).toEqual([]);
  expect(home.errors).toEqual([]);
});

describe("a part of an action that waits for a person", () => {
  const rules = [
    "tool_rules:",
    "  - { name: asked, condition: { tool_name_matches: [delete_file] }, verdict: ask }",
    `  - { name: moved, condition: { arguments: { url: "*/moved" } }, verdict: ask }`,
    "  - { name: rest, condition: {}, verdict: allowed }",
  ].join("\n");

  test("goes on waiting after a restart, and what was done before it is not done again", async () => {
    const got: string[] = [];
    const url = await serve((request, response) => {
      got.push(`${request.method} ${request.url}`);
      if (request.url === "/moved") response.end("there");
      else response.writeHead(307, { location: "/moved" }).end();
    });
    const graphs = {
      services: { tickets: { description: "Tickets.", url, methods: ["POST"] } },
      pipelines: {
        release: {
          description: "Appends, deletes, appends.",
          steps: [
            { tool: "run_command", input: { command: "echo one >> done.txt" } },
            { tool: "delete_file", input: { path: "old.txt" } },
            { tool: "run_command", input: { command: "echo three >> done.txt" } },
          ],
        },
      },
    };
    const first = await openGraphHome({ rules, graphs });
    await writeFile(join(first.workspace, "old.txt"), "x");
    const { run_id } = await first.start(
      [
        {
          ...{ id: "release", executor: { type: "pipeline", target: "release" } },
          resources: { writes: ["done.txt", "old.txt"] },
        },
        service("move", "x", { input: { method: "POST", path: "x" }, resources: { writes: ["b"] } }),
      ],
      {},
      { persist: true },
    );
    const before = (await first.pending(2)).map(({ id }) => id).toSorted();
    expect((await first.get(run_id)).actions.map(({ status }) => status)).toEqual(["waiting", "waiting"]);
    await first.close();
    const second = await openGraphHome({ folder: dirname(first.home), rules, graphs });
    await expect
      .poll(async () => (await second.get(run_id)).actions.map(({ status }) => status))
      .toEqual(["waiting", "waiting"]);
    const asked = await second.pending(2);
    expect(asked.map(({ id }) => id).toSorted()).toEqual(before);
    for (const { id } of asked) await second.answer(id, "allow_once");
    const run = await second.ended(run_id);
    expect(run.actions.map(({ status, status_reason }) => [status, status_reason])).toEqual([
      ["completed", undefined],
      ["completed", undefined],
    ]);
    expect(await textIn(join(second.workspace, "done.txt"))).toBe("one\nthree\n");
    expect(got).toEqual(["POST /x", "POST /moved"]);
  });
});
