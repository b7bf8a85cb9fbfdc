import { chmod, readFile, rm, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { RunEvent, RunEventPage } from "@reins/api";
import { Redactor } from "@reins/supervisor";
import { describe, expect, onTestFinished, test } from "vitest";
import { Events } from "./fixtures/events.ts";
import { harnessForAll, newHome, openHarness, RULES, Served } from "./fixtures/home.ts";

const harness = harnessForAll();

describe("the identity API", () => {
  test("allows admins to change users and tokens of their tenant, and the operator of any", async () => {
    const served = await Served.open(harness());
    const admin = await served.person({ tenant: "acme", roles: ["admin"] });
    const as = admin.secret;
    const carl = { id: "carl", name: "Carl", email: "carl@example.com", roles: [], scopes: ["a"] };
    expect(await served.ask("POST", "/v1/identity/users", { as, body: carl })).toMatchObject({
      status: 201,
      body: { id: "carl", tenant: "acme" },
    });
    const changed = await served.ask("PATCH", "/v1/identity/users/carl?tenant=acme", {
      body: { name: "Carla" },
    });
    expect(changed).toMatchObject({ status: 200, body: { name: "Carla" } });
    const token = await served.ask("POST", "/v1/identity/tokens", { as, body: { user: "carl" } });
    expect(token).toMatchObject({ status: 201, headers: { "cache-control": "no-store" } });
    const { id, secret } = Object(token.body);
    expect((await served.ask("GET", "/v1/runs", { as: secret })).status).toBe(200);
    const listed = await served.ask("GET", "/v1/identity/tokens", { as });
    expect(listed.text).toContain(id);
    expect(listed.text).not.toContain(secret);
    expect((await served.ask("DELETE", `/v1/identity/tokens/${id}`, { as })).status).toBe(204);
    expect((await served.ask("GET", "/v1/runs", { as: secret })).status).toBe(401);
    expect((await served.ask("DELETE", "/v1/identity/users/carl", { as })).status).toBe(204);
  });

  test("rejects principals that are no admins, and reports users of another tenant as not found", async () => {
    const served = await Served.open(harness());
    const admin = await served.person({ tenant: "acme", roles: ["admin"] });
    const user = await served.person();
    const agent = await served.person({ kind: "agent", roles: ["admin"] });
    const users = (as: string, query = "") => served.ask("GET", `/v1/identity/users${query}`, { as });
    expect(await users(user.secret)).toMatchObject({ status: 403, body: { code: "forbidden" } });
    expect(await users(agent.secret)).toMatchObject({ status: 403, body: { code: "forbidden" } });
    expect(await users(admin.secret, "?tenant=default")).toMatchObject({ status: 404 });
    expect(await users(served.access.token, "?tenant=acme")).toMatchObject({ status: 200 });
  });

  test("reports one error per invalid member", async () => {
    const served = await Served.open(harness());
    const body = { id: "no name!", name: "N", email: "no address", roles: [], scopes: [] };
    const answer = await served.ask("POST", "/v1/identity/users", { body });
    expect(answer).toMatchObject({
      status: 400,
      body: { type: "urn:reins:problem:invalid", code: "invalid" },
    });
    expect(Object(answer.body).errors.map(({ path }: { path: string }) => path)).toEqual(["id", "email"]);
  });
});

describe("the policy", () => {
  test("is shown as it is in force and as it is on disk", async () => {
    const served = await Served.open(harness());
    const ann = await served.person();
    const { status, body } = await served.ask("GET", "/v1/policy", { as: ann.secret });
    expect(status).toBe(200);
    expect(body).toMatchObject({
      tenant: "default",
      in_force: {
        rules_hash: expect.stringMatching(/^[0-9a-f]{64}$/),
        rules: [{ name: "never", verdict: "blocked" }, { name: "question" }, { name: "rest" }],
        tests: [{ name: "a deletion", expect: "blocked" }],
      },
      waiting: null,
      fault: null,
      rules: RULES,
      prose: "Be kind.\n",
    });
    const agent = await served.person({ kind: "agent" });
    expect((await served.ask("GET", "/v1/policy", { as: agent.secret })).status).toBe(403);
  });

  test("is shown without secrets, including those that only this server knows", async () => {
    const secret = "correct horse battery staple";
    const home = await newHome(RULES.replace("careful", `"careful, not ${secret}"`));
    const { harness: own, close } = await openHarness(home, {
      redactor: Redactor.create({ values: [secret] }),
    });
    onTestFinished(async () => {
      await close();
      await rm(home, { recursive: true });
    });
    const { status, text } = await (await Served.open(own)).ask("GET", "/v1/policy");
    expect(status).toBe(200);
    expect(text).toContain("careful, not ");
    expect(text).not.toContain(secret);
  });

  test("that allows more waits until an admin accepts exactly the version seen", async () => {
    const served = await Served.open(harness());
    const file = join(served.harness.home, "constitution.yaml");
    const user = await served.person();
    const reload = (as?: string) => served.ask("POST", "/v1/policy/reload", { as });
    const accept = (body?: unknown, as?: string) => served.ask("POST", "/v1/policy/accept", { as, body });
    expect(await accept()).toMatchObject({ status: 404 });
    await writeFile(file, RULES.replace("verdict: ask", "verdict: allowed"));
    expect((await reload(user.secret)).status).toBe(403);
    const looser = await reload();
    const { rules_hash } = Object(looser.body).waiting;
    expect(looser.body).toMatchObject({ in_force: { rules: expect.arrayContaining([]) }, fault: null });
    expect((await accept({ rules_hash }, user.secret)).status).toBe(403);
    expect(await accept({ rules_hash: "0".repeat(64) })).toMatchObject({ status: 409 });
    const accepted = await accept({ rules_hash });
    expect(accepted.body).toMatchObject({ in_force: { rules_hash }, waiting: null });
    await writeFile(file, "tool_rules: [{ name: x, verdict: perhaps }]");
    const faulty = await reload();
    expect(faulty.body).toMatchObject({
      in_force: { rules_hash },
      fault: expect.stringMatching(/^constitution\.yaml:1:\d+: /),
    });
    expect(faulty.text).not.toContain(served.harness.home);
    await writeFile(file, RULES);
    expect((await reload()).body).toMatchObject({ waiting: null, fault: null });
  });

  test("of a tenant is its own, or else the default tenant's", async () => {
    const served = await Served.open(harness());
    const ann = await served.person({ tenant: "globex" });
    const before = await served.ask("GET", "/v1/policy", { as: ann.secret });
    expect(before).toMatchObject({ status: 404, body: { code: "not_found" } });
    await served.ask("POST", "/v1/policy/reload");
    const after = await served.ask("GET", "/v1/policy", { as: ann.secret });
    expect(after.body).toMatchObject({ tenant: "globex", rules: RULES });
    const operators = await served.ask("GET", "/v1/policy?tenant=globex");
    expect(operators.body).toEqual(after.body);
    const foreign = await served.ask("GET", "/v1/policy?tenant=default", { as: ann.secret });
    expect(foreign.status).toBe(404);
  });
});

describe("runs", () => {
  test("are listed with their state for their owner and admins of the tenant", async () => {
    const served = await Served.open(harness());
    const { runs, identity } = served.harness;
    const member = await served.person();
    const owner = await identity.authenticate(member.secret);
    if (!owner) throw new Error("the token is not known");
    const agentOfOwner = await identity.createToken({ user: owner.user, kind: "agent", agents: ["*"] });
    const run = { run_id: "r1", session_id: "s1", updated_at: "2026-01-01T00:00:01Z" };
    await runs.note(owner, "run_lifecycle", { ...run, status: "created" });
    await runs.note(identity.local(), "task_list", { ...run, updated_at: "2026-01-01T00:00:02Z", tasks: [] });
    await runs.note(identity.local(), "run_lifecycle", {
      ...run,
      run_id: "r2",
      session_id: "s2",
      status: "created",
    });
    const got = await served.ask("GET", "/v1/runs/r1");
    expect(got.body).toMatchObject({
      run_id: "r1",
      session_id: "s1",
      updated_at: "2026-01-01T00:00:02Z",
      run_lifecycle: { status: "created" },
      task_list: { tasks: [] },
    });
    const listed = await served.ask("GET", "/v1/runs?session=s1");
    expect(listed.body).toMatchObject({ runs: [{ run_id: "r1" }] });
    expect(Object((await served.ask("GET", "/v1/runs")).body).runs).toHaveLength(2);
    const seenBy = async ({ secret: as }: { secret: string }) => {
      const all = Object((await served.ask("GET", "/v1/runs", { as })).body).runs;
      const statuses = await Promise.all(
        ["r1", "r2"].map(async (id) => (await served.ask("GET", `/v1/runs/${id}`, { as })).status),
      );
      return [all.map(({ run_id }: { run_id: string }) => run_id), statuses];
    };
    expect(await seenBy(member)).toEqual([["r1"], [200, 404]]);
    expect(await seenBy(agentOfOwner)).toEqual([[], [404, 404]]);
    expect(await seenBy(await served.person())).toEqual([[], [404, 404]]);
    expect(await seenBy(await served.person({ roles: ["admin"] }))).toEqual([
      ["r1", "r2"],
      [200, 200],
    ]);
    const outsider = await served.person({ tenant: "acme" });
    expect((await served.ask("GET", "/v1/runs/r1", { as: outsider.secret })).status).toBe(404);
    expect((await served.ask("GET", "/v1/runs", { as: outsider.secret })).body).toEqual({ runs: [] });
  });

  test("of a user are all found, page by page, whatever number others have", async () => {
    const served = await Served.open(harness());
    const { runs, identity } = served.harness;
    const member = await served.person();
    const owner = await identity.authenticate(member.secret);
    if (!owner) throw new Error("the token is not known");
    const at = (second: number) => new Date(Date.UTC(2026, 0, 1) + second * 1_000).toISOString();
    const note = (by: typeof owner, run_id: string, second: number) =>
      runs.note(by, "run_lifecycle", { run_id, session_id: "s", status: "created", updated_at: at(second) });
    const own = Array.from({ length: 7 }, (_, index) => `own-${index}`);
    // Three of them at the same instant.
    await Promise.all(own.map((run, index) => note(owner, run, Math.max(3, index))));
    const others = Array.from({ length: 1_200 }, (_, index) =>
      note(identity.local(), `other-${index}`, 60 + index),
    );
    await Promise.all(others);
    expect(Object((await served.ask("GET", "/v1/runs", { as: member.secret })).body).runs).toHaveLength(7);
    const found: string[] = [];
    for (let after = ""; found.length < 20; ) {
      const { body } = await served.ask("GET", `/v1/runs?limit=2${after}`, { as: member.secret });
      const { runs: page, next } = Object(body);
      found.push(...page.map(({ run_id }: { run_id: string }) => run_id));
      if (next === undefined) break;
      after = `&after=${next}`;
    }
    expect(found).toEqual(own.toReversed());
  });

  test("have every transition stored and streamed, also rejected ones, for principals that may see the run", async () => {
    const served = await Served.open(harness());
    const { runs, identity } = served.harness;
    const member = await served.person();
    const owner = await identity.authenticate(member.secret);
    if (!owner) throw new Error("the token is not known");
    const note = async (run_id: string, status: "created" | "executing" | "completed", second: number) => {
      const updated_at = `2026-01-01T00:00:0${second}Z`;
      const by = run_id === "mine" ? owner : identity.local();
      await runs.note(by, "run_lifecycle", { run_id, session_id: "s9", status, updated_at });
    };
    const stream = await Events.open(served, {}, member.secret, "/v1/runs/stream");
    const start = await stream.next();
    await note("mine", "created", 1);
    await note("other", "created", 1);
    await note("mine", "executing", 2);
    await expect(note("mine", "created", 3)).rejects.toThrow("does not become created");
    await note("mine", "completed", 4);
    const expected = [
      ["created", null],
      ["executing", null],
      ["created", "a run that is executing does not become created"],
      ["completed", null],
    ];
    const statusOf = (event: unknown) => {
      const { run_id, contract, payload, fault } = RunEvent.parse(event);
      expect([run_id, contract]).toEqual(["mine", "run_lifecycle"]);
      return [Object(payload).status, fault];
    };
    const live = await stream.take(4);
    expect(live.map(({ data }) => statusOf(data))).toEqual(expected);
    const path = "/v1/runs/stream?run=mine&session=s9";
    const again = await Events.open(served, { "last-event-id": live[1]?.id ?? "" }, undefined, path);
    expect(await again.next()).toEqual({ id: live[1]?.id });
    expect(await again.take(2)).toEqual(live.slice(2));
    const all = await Events.open(served, { "last-event-id": start?.id ?? "" }, undefined, path);
    await all.next();
    expect(await all.take(4)).toEqual(live);
    const page = async (query: string, as = member.secret) => {
      const { status, body } = await served.ask("GET", `/v1/runs/mine/events${query}`, { as });
      return status === 200 ? RunEventPage.parse(body) : status;
    };
    const first = RunEventPage.parse(await page("?limit=3"));
    const second = RunEventPage.parse(await page(`?limit=3&after=${first.next}`));
    expect([...first.events, ...second.events].map(statusOf)).toEqual(expected);
    expect(second.next).toBeUndefined();
    for (const outsider of [await served.person(), await served.person({ tenant: "acme" })])
      expect(await page("", outsider.secret)).toBe(404);
    await runs.prune(new Date(Date.now() + 60_000));
    expect(await page("")).toBe(404);
    expect((await served.ask("GET", "/v1/runs/mine")).status).toBe(404);
    await note("mine", "created", 5);
    expect(Object(await page("")).events[0].seq).toBeGreaterThan(Number(live[3]?.id));
  });

  test("keep a limited number of their newest events", async () => {
    const { runs, identity } = harness();
    const note = (run_id: string, n: number) => {
      const updated_at = new Date(n * 1_000).toISOString();
      return runs.note(identity.local(), "task_list", { run_id, session_id: "s", tasks: [], updated_at });
    };
    await note("quiet", 0);
    await Promise.all(Array.from({ length: 5_010 }, (_, n) => note("busy", n)));
    const count = async (run: string) =>
      (await runs.events(identity.local(), { run, after: 0, limit: 10_000 })).events.length;
    expect([await count("busy"), await count("quiet")]).toEqual([5_000, 1]);
  });
});

describe("the roster", () => {
  const rosterOf = (served: Served) => join(served.harness.home, "agent-roster.jsonl");

  test("is changed line by line, and a change takes effect at once", async () => {
    const served = await Served.open(harness());
    const path = rosterOf(served);
    await writeFile(
      path,
      '{"session_id":"coder","state":"live","since":7}\nnot json\n{ "session_id": "reed" }',
    );
    await chmod(path, 0o640);
    await served.harness.policies.refresh();
    const added = await served.ask("POST", "/v1/roster", {
      body: { session_id: "newt", kind: "role", state: "live", mandate: "mandates/newt.md", extra: { a: 1 } },
    });
    expect(added).toMatchObject({ status: 201, body: { agent: "newt", trust: "standing" } });
    const set = await served.ask("PATCH", "/v1/roster/coder", {
      body: { state: "dead", since: null, more: 1 },
    });
    expect(set).toMatchObject({ status: 200, body: { agent: "coder", trust: "unknown" } });
    expect(await readFile(path, "utf8")).toBe(
      [
        '{"session_id":"coder","state":"dead","more":1}',
        "not json",
        '{ "session_id": "reed" }',
        '{"session_id":"newt","kind":"role","state":"live","mandate":"mandates/newt.md","extra":{"a":1}}',
        "",
      ].join("\n"),
    );
    expect((await stat(path)).mode & 0o777).toBe(0o640);
    const ann = await served.person({ tenant: "acme" });
    const seen = await served.ask("GET", "/v1/roster", { as: ann.secret });
    expect(seen.body).toMatchObject({
      agents: [
        { agent: "coder" },
        { agent: "reed", trust: "registered" },
        { agent: "newt", entry: { extra: { a: 1 } } },
      ],
      faults: ["line 2 is no roster entry"],
    });
    expect(served.harness.policies.roster.trustOf("newt")).toBe("standing");
  });

  test("is changed only after the change is in the ledger", async () => {
    const served = await Served.open(harness());
    await served.ask("POST", "/v1/roster", { body: { session_id: "owl", state: "live", token: "hunter2" } });
    const [found] = await served.harness.ledger.read({ tag: "roster", order: "newest", limit: 1 });
    expect(found?.entry).toMatchObject({
      quality: "policy_change",
      actor: "user:default/operator",
      target: "owl",
      payload: { change: "agent_added", agent: "owl", before: null, after: { state: "live" } },
    });
    expect(JSON.stringify(found)).not.toContain("hunter2");
  });

  test("reports why a change is rejected", async () => {
    const served = await Served.open(harness());
    const admin = await served.person({ tenant: "acme", roles: ["admin"] });
    const user = await served.person();
    await served.ask("POST", "/v1/roster", { body: { session_id: "fox" } });
    const before = await readFile(rosterOf(served), "utf8");
    const cases: readonly [string, string, unknown, number, string?][] = [
      ["POST", "/v1/roster", { session_id: "fox" }, 409],
      ["PATCH", "/v1/roster/missing", { state: "live" }, 404],
      ["PATCH", "/v1/roster/fox", { session_id: "wolf" }, 400],
      ["PATCH", "/v1/roster/fox", { state: 7 }, 400],
      ["POST", "/v1/roster", { session_id: "a\nb" }, 400],
      ["POST", "/v1/roster", { session_id: "x", mandate: "/etc/passwd" }, 400],
      ["POST", "/v1/roster", { session_id: "x", mandate: "mandates/../../keys/a" }, 400],
      ["POST", "/v1/roster", {}, 400],
      ["POST", "/v1/roster", [], 400],
      ["POST", "/v1/roster", { session_id: "x" }, 403, user.secret],
      ["POST", "/v1/roster", { session_id: "x" }, 403, admin.secret],
    ];
    for (const [method, path, body, status, as] of cases) {
      const answer = await served.ask(method, path, { body, as });
      expect([path, body, answer.status]).toEqual([path, body, status]);
    }
    expect(await readFile(rosterOf(served), "utf8")).toBe(before);
  });

  test("loses no change when many are made concurrently", async () => {
    const served = await Served.open(harness());
    const names = Array.from({ length: 20 }, (_, n) => `herd-${n}`);
    const answers = await Promise.all(
      names.map((session_id) => served.ask("POST", "/v1/roster", { body: { session_id, state: "live" } })),
    );
    expect(answers.every(({ status }) => status === 201)).toBe(true);
    await Promise.all(
      names.map((name) => served.ask("PATCH", `/v1/roster/${name}`, { body: { state: "idle" } })),
    );
    const lines = (await readFile(rosterOf(served), "utf8"))
      .split("\n")
      .filter((line) => line.includes("herd-"));
    expect(lines.map((line) => JSON.parse(line))).toEqual(
      expect.arrayContaining(names.map((session_id) => ({ session_id, state: "idle" }))),
    );
    expect(lines).toHaveLength(20);
  });
});
