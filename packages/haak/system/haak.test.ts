import { appendFile, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { membersOf } from "@reins/acp";
import { TURN_ENDED } from "@reins/host";
import { call, reply, ScriptedModel, say, scene, scenes } from "@reins/scripted-model";
import type { Principal } from "@reins/supervisor";
import { describe, expect, onTestFinished, test } from "vitest";
import { ofType, openRunner, textIn } from "./fixtures/haak.ts";

type Runner = Awaited<ReturnType<typeof openRunner>>;

/** Creates a token that may act as the named agents. */
async function tokenOf({ home }: Runner, agents: string[], user = "bob"): Promise<Principal> {
  const { identity } = home.harness;
  const users = await identity.listUsers();
  if (!users.some(({ id }) => id === user))
    await identity.addUser({ id: user, name: user, email: "some@example.com", roles: [], scopes: ["*"] });
  const { secret } = await identity.createToken({ user, agents });
  const principal = await identity.authenticate(secret);
  if (!principal) throw new Error("not known");
  return principal;
}

describe("a session", () => {
  test("gets a derived key if its client names none, and an id that depends on it", async () => {
    const { haak, local, views } = await openRunner();
    const begun = await haak.init(local, { agent_id: "coder" });
    expect(begun).toMatchObject({ agent_id: "coder", trust: "registered", backend: "stub", mode: "domain" });
    expect(begun.session_key).toMatch(/^coder:ws:[0-9a-f-]{36}$/);
    const record = await views.find(local, begun.session_key);
    expect(record).toMatchObject({ id: begun.session_id, acts_as: "coder", agent: "stub" });
    const other = await haak.init(local, { agent_id: "a:b/c" });
    expect(other.session_key).toMatch(/^a%3Ab%2Fc:ws:/);
  });

  test("keeps its key and is the same session at every init", async () => {
    const { haak, local, hosting, run } = await openRunner();
    const session_key = "agent:telegram:@zach";
    const [first, second] = await Promise.all([
      haak.init(local, { agent_id: "openclaw", session_key }),
      haak.init(local, { agent_id: "openclaw", session_key }),
    ]);
    expect(first).toMatchObject({ session_key, trust: "unknown" });
    expect(second).toEqual(first);
    await run(session_key, { message: "say one" });
    await run(session_key, { message: "say two" });
    expect(await hosting.hub.running()).toHaveLength(1);
  });

  test("streams the text of a turn, then done, with growing numbers", async () => {
    const { haak, local, run } = await openRunner();
    const { session_key } = await haak.init(local, { agent_id: "coder" });
    const events = await run(session_key, { message: "say hello\nsay world" });
    expect(textIn(events)).toBe("helloworld");
    expect(events.at(-1)).toMatchObject({ type: "done", stop_reason: "end_turn" });
    const again = await run(session_key, { messages: [{ role: "user", content: "say more" }] });
    const numbers = [...events, ...again].map(({ seq }) => seq);
    expect(numbers).toEqual([...new Set(numbers)].toSorted((left, right) => left - right));
  });

  test("chains its turns: a turn's id is its entry's, and its parent the turn before", async () => {
    const { haak, local, run, views, home } = await openRunner();
    const { session_key } = await haak.init(local, { agent_id: "coder", mode: "persistent" });
    const [first, second] = [
      await run(session_key, { message: "say one" }),
      await run(session_key, { message: "say two" }),
    ];
    const record = await views.find(local, session_key);
    if (!record) throw new Error("the session is gone");
    const turns = await views.turns(record, { limit: 10 });
    expect(turns.map(({ seq, prev_cid }) => [seq, prev_cid])).toEqual([
      [0, null],
      [1, turns[0]?.id],
    ]);
    const entry = await home.ledger.get(String(turns[1]?.id));
    expect(entry?.entry.parents).toEqual([turns[0]?.id]);
    expect(turns[0]).toMatchObject({ stop_reason: "end_turn", proof: { type: "attestation" } });
    for (const [index, events] of [first, second].entries())
      expect(ofType(events, "ledger_append")).toContainEqual(
        expect.objectContaining({ cid: turns[index]?.id, quality: "turn" }),
      );
    expect(await views.turns(record, { after: 0, limit: 10 })).toEqual(turns.slice(1));
    expect((await views.row(record)).pubkey).toMatch(/^[A-Za-z0-9+/]{43}=$/);
  });

  test("of the mode oneshot closes after its turn", async () => {
    const { haak, local, run, views } = await openRunner();
    const { session_key } = await haak.init(local, { agent_id: "coder", mode: "oneshot" });
    expect(textIn(await run(session_key, { message: "say once" }))).toBe("once");
    expect(await haak.status(local, session_key)).toBe("closed");
    await expect(run(session_key, { message: "say twice" })).rejects.toMatchObject({
      code: "session_closed",
    });
    const record = await views.find(local, session_key);
    expect(record && (await views.row(record))).toMatchObject({ state: "closed", close_reason: "oneshot" });
  });

  test("runs no turn that waited when its agent was killed", async () => {
    const { haak, local, run, hosting, home } = await openRunner({ killSocket: true });
    const { session_key, session_id } = await haak.init(local, { agent_id: "coder" });
    const running = run(session_key, { message: "say begun\nwait" });
    await expect.poll(() => hosting.hub.live(session_id)?.record.state).toBe("running");
    const waiting = run(session_key, { message: "write late.txt" });
    await expect.poll(() => haak.sessions.used(session_id)?.turns.size).toBe(2);
    const by = "user:default/operator";
    const target = { kind: "agent", name: "stub" } as const;
    await hosting.kills?.kill({ id: "1", target, tenant: null, by, reason: "a test" });
    expect((await running).at(-1)).toMatchObject({ type: "error" });
    const why = expect.stringContaining("was killed before the prompt's turn came");
    expect(await waiting).toMatchObject([{ type: "error", message: why }]);
    expect(await hosting.hub.running()).toEqual([]);
    expect(await home.entries("kill")).toHaveLength(1);
  });

  test("stays on disk after close and continues when it is reopened", async () => {
    const runner = await openRunner();
    const { haak, local, run, hosting, home } = runner;
    const { session_key, session_id } = await haak.init(local, { agent_id: "coder" });
    await run(session_key, { message: "say one" });
    await haak.close(local, session_key, "enough");
    expect(hosting.hub.live(session_id)).toBeUndefined();
    expect(await haak.status(local, session_key)).toBe("closed");
    const changes = (await home.entries("session_lifecycle")).map(({ payload }) => membersOf(payload).change);
    expect(changes).toEqual(["session_start", "session_end"]);
    const again = await haak.init(local, { agent_id: "coder", session_key });
    expect(again.session_id).toBe(session_id);
    await run(session_key, { message: "say two" });
    const record = await runner.views.find(local, session_key);
    expect(record && (await runner.views.turns(record, { limit: 9 }))).toHaveLength(2);
  });

  test("belongs to its principal: others do not find it, and its key is taken", async () => {
    const runner = await openRunner();
    const { haak, local, run } = runner;
    const bob = await tokenOf(runner, ["coder"]);
    await haak.init(local, { agent_id: "coder", session_key: "coder:x:1" });
    await expect(haak.status(bob, "coder:x:1")).rejects.toMatchObject({ code: "session_conflict" });
    await expect(run("coder:x:1", { message: "say hi" }, bob)).rejects.toMatchObject({
      code: "session_conflict",
    });
    await expect(haak.init(bob, { agent_id: "coder", session_key: "coder:x:1" })).rejects.toMatchObject({
      code: "session_conflict",
    });
    await expect(haak.status(bob, "nowhere")).rejects.toMatchObject({ code: "session_not_found" });
    await expect(haak.init(local, { agent_id: "reed", session_key: "coder:x:1" })).rejects.toMatchObject({
      code: "session_conflict",
    });
  });

  test("cannot take the key of another ledger chain", async () => {
    const runner = await openRunner();
    const { haak, local } = runner;
    const stranger = await tokenOf(runner, []);
    for (const session_key of ["reins:system", "acme/x", "x:ahp:s1", "x:acp:s1", "a\nb"])
      await expect(haak.init(local, { agent_id: "x", session_key }), session_key).rejects.toMatchObject({
        code: "invalid_params",
      });
    await expect(haak.init(stranger, { agent_id: "reed", session_key: "reed:cli:local" })).rejects.toThrow(
      "may not act as reed",
    );
  });

  test("works in the workspace, or in the folder that an admin names", async () => {
    const runner = await openRunner();
    const { haak, local, home } = runner;
    const bob = await tokenOf(runner, []);
    const inside = join(home.workspace, "inside");
    await mkdir(inside);
    await haak.init(bob, { agent_id: "x", cwd: inside });
    await expect(haak.init(bob, { agent_id: "x", cwd: "/" })).rejects.toMatchObject({ code: "refused" });
    const elsewhere = await mkdtemp(join(tmpdir(), "elsewhere-"));
    onTestFinished(() => rm(elsewhere, { recursive: true }));
    await expect(haak.init(bob, { agent_id: "x", cwd: elsewhere })).rejects.toMatchObject({
      code: "refused",
    });
    await expect(haak.init(local, { agent_id: "x", cwd: elsewhere })).resolves.toBeDefined();
  });

  test("sends one error per turn while its agent is not available, and works once it is", async () => {
    const { haak, local, run } = await openRunner();
    const { session_key } = await haak.init(local, { agent_id: "coder", backend: "nonesuch" });
    expect(await haak.status(local, session_key)).toBe("idle");
    const events = await run(session_key, { message: "say hi" });
    expect(events).toEqual([
      {
        type: "error",
        code: "backend_unavailable",
        message: expect.stringContaining('no agent "nonesuch"'),
        seq: 1,
      },
    ]);
    await haak.close(local, session_key);
  });

  test("does not install the agent that a client names, and uses it once it is installed", async () => {
    const there = new Set(["stub"]);
    const { haak, local, run } = await openRunner({ isInstalled: async (agent) => there.has(agent) });
    there.delete("stub");
    const { session_key } = await haak.init(local, { agent_id: "coder", backend: "stub" });
    expect(await run(session_key, { message: "say hi" })).toMatchObject([
      {
        type: "error",
        code: "backend_unavailable",
        message: expect.stringContaining("reins agents install stub"),
      },
    ]);
    const [again] = await run(session_key, { message: "say hi" });
    there.add("stub");
    const events = await run(session_key, { message: "say hi" });
    expect(textIn(events)).toBe("hi");
    expect([again?.seq, Number(events[0]?.seq) > 2]).toEqual([2, true]);
    there.delete("stub");
    const later = { agent_id: "coder", session_key: "coder:x:later" };
    await haak.init(local, later);
    there.add("stub");
    await haak.init(local, later);
    expect(textIn(await run("coder:x:later", { message: "say later" }))).toBe("later");
  });

  test("begins once if many turns wait for its agent", async () => {
    const there = new Set<string>();
    const isInstalled = async (agent: string) => there.has(agent);
    const { haak, local, run, hosting } = await openRunner({ isInstalled });
    const { session_key } = await haak.init(local, { agent_id: "coder", backend: "stub" });
    there.add("stub");
    const turns = ["one", "two", "three"].map((word) => run(session_key, { message: `say ${word}` }));
    expect((await Promise.all(turns)).map(textIn)).toEqual(["one", "two", "three"]);
    expect(await hosting.hub.list(local)).toHaveLength(1);
  });

  test("exists even if its agent lacks the requested model", async () => {
    const { haak, local, run } = await openRunner();
    const asked = { agent_id: "coder", session_key: "coder:x:1", model: "nonesuch" };
    expect(await haak.init(local, asked)).toMatchObject({ session_key: "coder:x:1", backend: "stub" });
    expect(await run("coder:x:1", { message: "say hi" })).toMatchObject([
      { type: "error", code: "backend_unavailable", message: expect.stringContaining("no model nonesuch") },
    ]);
    expect(await haak.init(local, { ...asked, model: "other" })).toMatchObject({ session_key: "coder:x:1" });
    expect(textIn(await run("coder:x:1", { message: "say hi" }))).toBe("hi");
  });

  test("sends an error if its agent dies during a turn, and runs the next turn", async () => {
    const { haak, local, run } = await openRunner();
    const { session_key } = await haak.init(local, { agent_id: "coder" });
    const events = await run(session_key, { message: "say before\ncrash" });
    expect(events.at(-1)).toMatchObject({ type: "error", message: expect.stringContaining("code 3") });
    expect(textIn(await run(session_key, { message: "say after" }))).toContain("after");
  });
});

describe("turns", () => {
  test("of one session run one at a time, with eight in the queue; the next gets queue_full", async () => {
    const { haak, local, run } = await openRunner();
    const { session_key } = await haak.init(local, { agent_id: "coder" });
    const running = run(session_key, { message: "wait" });
    await expect.poll(() => haak.status(local, session_key)).toBe("running");
    const order: number[] = [];
    const waiting = Array.from({ length: 8 }, async (_, n) => {
      const events = await run(session_key, { message: `say ${n}` });
      order.push(n);
      return textIn(events);
    });
    await expect(run(session_key, { message: "say too much" })).rejects.toMatchObject({ code: "queue_full" });
    await haak.cancel(local, session_key);
    expect((await running).at(-1)).toMatchObject({ type: "done", stop_reason: "cancelled" });
    expect(await Promise.all(waiting)).toEqual(["0", "1", "2", "3", "4", "5", "6", "7"]);
    expect(order).toEqual([0, 1, 2, 3, 4, 5, 6, 7]);
  });

  test("begin in the order of their requests", async () => {
    const { haak, local, run, hosting } = await openRunner();
    const { session_key, session_id } = await haak.init(local, { agent_id: "coder" });
    const { hub } = hosting;
    const countsOf = hub.countsOf.bind(hub);
    const { promise: released, resolve: release } = Promise.withResolvers<void>();
    let counts = 0;
    hub.countsOf = async (...given) => {
      counts += 1;
      if (counts > 1) await released;
      return countsOf(...given);
    };
    const order: number[] = [];
    const begin = (n: number, message = `say ${n}`) =>
      run(session_key, { message }).then(() => order.push(n));
    const waiting = () => haak.sessions.used(session_id)?.turns.size;
    const turns = [begin(0, "wait"), begin(1)];
    await expect.poll(() => haak.status(local, session_key)).toBe("running");
    turns.push(begin(2));
    await expect.poll(waiting).toBeGreaterThan(1);
    release();
    await expect.poll(waiting).toBe(3);
    await haak.cancel(local, session_key);
    await Promise.all(turns);
    expect(order).toEqual([0, 1, 2]);
  });

  test("are streamed completely even if the end of the one before is logged late", async () => {
    const { haak, local, run, hosting } = await openRunner();
    const { session_key } = await haak.init(local, { agent_id: "coder" });
    const { log } = hosting.hub;
    const append = log.append.bind(log);
    const { promise: begun, resolve: begin } = Promise.withResolvers<void>();
    let prompts = 0;
    log.append = (event, how) => {
      const { method, params } = event.message;
      if (method === TURN_ENDED && prompts < 2) return begun.then(() => append(event, how));
      const appended = append(event, how);
      const { sessionUpdate } = membersOf(membersOf(params).update);
      prompts += sessionUpdate === "user_message_chunk" ? 1 : 0;
      if (prompts === 2) begin();
      return appended;
    };
    const first = await run(session_key, { message: "say one" });
    const second = await run(session_key, { message: "say two" });
    expect([first, second].map(textIn)).toEqual(["one", "two"]);
    const entries = [first, second].map((events) =>
      ofType(events, "ledger_append").filter(({ quality }) => quality === "turn"),
    );
    expect(entries.map(({ length }) => length)).toEqual([1, 1]);
    expect(entries[0]?.[0]?.cid).not.toBe(entries[1]?.[0]?.cid);
  });

  test("of different sessions run at the same time", async () => {
    const { haak, local, run } = await openRunner();
    const keys = await Promise.all(
      ["a", "b"].map(async (peer) => {
        const { session_key } = await haak.init(local, { agent_id: "coder", session_key: `coder:x:${peer}` });
        return session_key;
      }),
    );
    const turns = keys.map((key) => run(key, { message: "wait" }));
    for (const key of keys) await expect.poll(() => haak.status(local, key)).toBe("running");
    for (const key of keys) await haak.cancel(local, key);
    for (const events of await Promise.all(turns)) expect(events.at(-1)).toMatchObject({ type: "done" });
  });

  test("can be cancelled by another client, and the session stays usable", async () => {
    const { haak, local, run } = await openRunner();
    const { session_key } = await haak.init(local, { agent_id: "coder" });
    const turn = run(session_key, { message: "say begun\nwait" });
    await expect.poll(() => haak.status(local, session_key)).toBe("running");
    await haak.cancel(local, session_key);
    expect((await turn).at(-1)).toMatchObject({ type: "done", stop_reason: "cancelled" });
    expect(await haak.status(local, session_key)).toBe("cancelled");
    expect(textIn(await run(session_key, { message: "say more" }))).toBe("more");
    expect(await haak.status(local, session_key)).toBe("idle");
  });

  test("of other clients of the same session are not streamed as one's own", async () => {
    const { haak, local, run, hosting } = await openRunner();
    const { session_key, session_id } = await haak.init(local, { agent_id: "coder" });
    const connection = await hosting.hub.connect({ principal: local });
    const { signal } = new AbortController();
    const prompt = [{ type: "text", text: "say theirs\nwait" }];
    const theirs = connection.request("session/prompt", { sessionId: session_id, prompt }, signal);
    await expect.poll(() => haak.status(local, session_key)).toBe("running");
    const ours = run(session_key, { message: "say ours" });
    await connection.notification("session/cancel", { sessionId: session_id });
    await theirs;
    const events = await ours;
    expect(textIn(events)).toBe("ours");
    expect(ofType(events, "ledger_append").filter(({ quality }) => quality === "turn")).toHaveLength(1);
  });

  test("stream tool calls with their verdicts, each call and each result once", async () => {
    const { haak, local, run } = await openRunner();
    const { session_key } = await haak.init(local, { agent_id: "coder" });
    const events = await run(session_key, { message: "run ls" });
    const [call] = ofType(events, "tool_call");
    expect(call).toMatchObject({ name: "Bash", input: { command: "ls" } });
    expect(ofType(events, "tool_result")).toEqual([
      expect.objectContaining({ id: call?.id, is_error: false }),
    ]);
    expect(ofType(events, "policy_gate")).toEqual([
      expect.objectContaining({ tool: "Bash", verdict: "allowed", rule: "registered" }),
    ]);
  });

  test("stream every event of a call that a person allows and the client runs", async () => {
    const script = scenes(scene("look", reply(call("lookup", { key: "a" })), reply(say("It is 1."))));
    const model = await ScriptedModel.listen({ script });
    onTestFinished(() => model.close());
    const { haak, local, run, home, hosting } = await openRunner({
      rules: `tool_rules:
  - { name: lookups, condition: { tool_name_matches: [lookup] }, verdict: ask, reason: look first }
  - { name: rest, condition: {}, verdict: allowed }
`,
      backend: "native",
      environment: { ANTHROPIC_API_KEY: model.endpoint.key, ANTHROPIC_BASE_URL: model.endpoint.url },
    });
    const { session_key } = await haak.init(local, { agent_id: "coder" });
    const { log } = hosting.hub;
    const append = log.append.bind(log);
    const late: (() => unknown)[] = [];
    // The events of the call while the client runs it.
    log.append = (event, how) => {
      const { status } = membersOf(membersOf(event.message.params).update);
      if (status !== "in_progress") return append(event, how);
      late.push(() => append(event, how));
    };
    const tools = [{ name: "lookup", input_schema: { type: "object" } }];
    const asking = run(session_key, { message: "look it up", tools });
    const { approvals } = home.harness;
    const { tenant } = local;
    await expect.poll(async () => (await approvals.list({ tenant })).length).toBe(1);
    const [approval] = await approvals.list({ tenant });
    await approvals.answer(String(approval?.id), {
      by: "ann",
      roles: ["approver"],
      tenant,
      decision: "allow_once",
    });
    const first = await asking;
    expect(first.at(-1)).toMatchObject({ type: "done", stop_reason: "tool_use" });
    const { ledger } = home.harness;
    const read = ledger.read.bind(ledger);
    let looks = 0;
    ledger.read = (...given) => read(...given).finally(() => (looks += 1));
    await expect.poll(() => late.length).toBe(1);
    for (const tell of late) await tell();
    await expect.poll(() => looks).toBeGreaterThan(0);
    const content = [
      { type: "tool_result", tool_use_id: ofType(first, "tool_call")[0]?.id, content: "a is 1" },
    ];
    const second = await run(session_key, { messages: [{ role: "user", content }] });
    expect(textIn(second)).toBe("It is 1.");
    const told = [...first, ...second];
    const cids = ofType(told, "ledger_append").map(({ cid }) => cid);
    const entries = await home.ledger.read({ entity_id: session_key, limit: 100 });
    const turn = entries.filter(({ entry }) => cids.includes(entry.cid)).map(({ seq }) => seq);
    const missing = entries.filter(({ seq, entry }) => seq > Math.min(...turn) && !cids.includes(entry.cid));
    expect(missing.map(({ entry }) => entry.quality)).toEqual([]);
    expect(ofType(told, "policy_gate").map(({ tool, verdict }) => [tool, verdict])).toEqual([
      ["lookup", "ask"],
      ["lookup", "ask"],
      ["lookup", "allowed"],
    ]);
  });

  test("of unknown agents cannot do what the constitution blocks", async () => {
    const { haak, local, run } = await openRunner();
    const { session_key } = await haak.init(local, { agent_id: "stranger" });
    const events = await run(session_key, {
      message: "run ls\nsay still here",
      tools: [
        { name: "bash", description: "a shell", input_schema: { type: "object" } },
        { name: "read_file", description: "reads", input_schema: { type: "object" } },
      ],
    });
    const gates = ofType(events, "policy_gate");
    expect(gates[0]).toMatchObject({ tool: "bash", verdict: "blocked", rule: "no_shell" });
    expect(gates[0]?.constitution_hash).toMatch(/^[0-9a-f]{64}$/);
    expect(gates[1]).toMatchObject({
      tool: "read_file",
      verdict: "blocked",
      reason: "stub brings its own tools",
    });
    expect(gates[2]).toMatchObject({ tool: "Bash", verdict: "blocked" });
    const firstText = events.findIndex(({ type }) => type === "text_delta");
    expect(events.findIndex(({ type }) => type === "policy_gate")).toBeLessThan(firstText);
    expect(textIn(events)).toBe("nostill here");
    expect(ofType(events, "tool_result")).toEqual([expect.objectContaining({ is_error: true })]);
  });
});

describe("the context before a prompt", () => {
  const heard = async (runner: Runner, agent_id: string) => {
    const { session_key } = await runner.haak.init(runner.local, { agent_id });
    return textIn(await runner.run(session_key, { message: "hear" }));
  };

  test("has the constitution and the agent's trust", async () => {
    const runner = await openRunner();
    const { home, harness } = runner.home;
    await writeFile(join(home, "board.md"), "the mill is closed\n");
    const standing = await heard(runner, "reed");
    expect(standing).toContain("Trust level: standing");
    expect(standing).toContain("You are the keeper of the reeds.");
    expect(standing).toContain("the mill is closed");
    expect(standing).toContain(
      `[constitution: ${harness.policies.inForce.get("default")?.hashes.constitution_hash}]`,
    );
    for (const agent of ["stranger", "ghost"]) {
      const unknown = await heard(runner, agent);
      expect(unknown).toContain("Trust level: unknown");
      expect(unknown).toContain("You are a stranger here.");
    }
  });

  test("has its mail, recorded and streamed before any text, once", async () => {
    const { haak, local, run, home } = await openRunner();
    const letter = { id: "m1", from: "coder", to: "reed", subject: "rain", body: "it comes tonight" };
    await appendFile(join(home.home, "agent-mailbox.jsonl"), `${JSON.stringify(letter)}\n`);
    const { session_key } = await haak.init(local, { agent_id: "reed" });
    const events = await run(session_key, { message: "hear" });
    expect(textIn(events)).toContain("it comes tonight");
    const injected = events.findIndex(({ type }) => type === "mailbox_injected");
    expect(events[injected]).toMatchObject({ from: "coder", subject: "rain" });
    expect(events[injected + 1]).toMatchObject({ type: "ledger_append", quality: "mailbox_inject" });
    expect(injected).toBeLessThan(events.findIndex(({ type }) => type === "text_delta"));
    expect(ofType(await run(session_key, { message: "hear" }), "mailbox_injected")).toEqual([]);
  });

  test("has the transcript of an earlier conversation in a new session", async () => {
    const { haak, local, run } = await openRunner();
    const { session_key } = await haak.init(local, { agent_id: "coder" });
    const messages = [
      { role: "user", content: "the word is heather" },
      { role: "assistant", content: [{ type: "text", text: "I will remember" }] },
      { role: "user", content: [{ type: "text", text: "hear" }] },
    ];
    expect(textIn(await run(session_key, { messages }))).toContain("User: the word is heather");
    expect(textIn(await run(session_key, { messages }))).not.toContain("heather");
  });
});
