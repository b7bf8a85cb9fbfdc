import { open, readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { membersOf } from "@reins/acp";
import { Catalogue } from "@reins/agents";
import { type ModelPrice, PriceList } from "@reins/gateway";
import { LoopbackServer, sseText } from "@reins/kit";
import { hold, reply, ScriptedModel, say, scene, scenes } from "@reins/scripted-model";
import { describe, expect, onTestFinished, test } from "vitest";
import { NEEDS_REGISTRY, registryAnswers } from "../../../scripts/test/registry.ts";
import { govern } from "./fixtures/governed.ts";
import { openTestHome, type TestHome } from "./fixtures/home.ts";
import { INSTALL_MS, meteredAccess, openRealAgent, REAL_AGENTS } from "./fixtures/real-agents.ts";

const KEY = "scripted-key";

const rules = (own: string, limits = "") => `
tool_rules:
  ${own}
  - { name: all, condition: {}, verdict: allowed }
limits: [${limits}]
`;

/** The verdicts on calls to models, and what came of them. */
async function callsIn({ entries }: Pick<TestHome, "entries">) {
  const ofCalls = async (quality: string) =>
    (await entries(quality))
      .filter(({ target }) => target === "model/call")
      .map(({ payload }) => membersOf(payload));
  return { verdicts: await ofCalls("policy_verdict"), results: await ofCalls("tool_result") };
}

/** What a request is besides its body. */
interface Sent {
  readonly path?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** A session of a scripted agent, and a lease of the gateway for it. */
async function openMetered(constitution: string, url: string, unknown?: ModelPrice) {
  const home = await openTestHome({ rules: constitution });
  const governed = await govern({ home });
  const id = await governed.begin();
  const own = { m: { input: 1_000_000, output: 1_000_000 } };
  const models = meteredAccess({ url, key: KEY }, new PriceList(own, unknown));
  onTestFinished(() => models.close());
  const lease = await models.lease(Catalogue.load().entry("claude"));
  if (!lease?.endpoint) throw new Error("there is no lease");
  lease.govern(() => governed.governor.sessions);
  const { endpoint } = lease;
  const ask = (body: object, { path = "/v1/messages", headers = {} }: Sent = {}) =>
    fetch(`${endpoint.url}${path}`, {
      method: "POST",
      headers: { ...headers, "x-api-key": endpoint.key },
      body: JSON.stringify({ model: "m", max_tokens: 100, messages: [], ...body }),
    });
  const { identity, supervisor } = home.harness;
  const subject = identity.subjectFor({
    principal: identity.local(),
    ...{ agent: "claude", hosted: true, session: id, enforcement: "asked" },
  });
  const used = async () => {
    const [first] = await supervisor.budget(subject);
    return { tokens: first?.used.tokens, cost: first?.used.cost };
  };
  return { ...home, ...governed, id, lease, ask, used };
}

describe.skipIf(!registryAnswers).each([...REAL_AGENTS, "native"])(
  `%s reaches its model through the gateway alone${NEEDS_REGISTRY}`,
  (agent) => {
    test(
      "with every call decided and counted, and no key in its environment, memory or home",
      async () => {
        const home = await openTestHome({
          rules: rules("", "{ name: tokens, per: session, within: 1h, tokens: 1000000 }"),
        });
        const over = Promise.withResolvers<void>();
        const script = scenes(scene("GREET", reply(say("Good "), hold(over.promise), say("morning."))));
        const real = await openRealAgent(agent, { script, home, metered: true });
        const id = await real.begin();
        const answering = real.prompt(id, "GREET me");
        await expect.poll(() => real.model.requests.length, { timeout: 60_000 }).toBeGreaterThan(0);
        for (const { process, home: folder } of real.hub.pool.running) {
          if (process) await expectNoKey(process.pid);
          if (folder !== undefined) await expectNoKeyIn(folder);
        }
        over.resolve();
        expect(await answering).toMatchObject({ stopReason: "end_turn" });
        expect(real.client.said.join("")).toContain("Good morning.");
        expect(new Set(real.model.requests.map(({ key }) => key))).toEqual(new Set([KEY]));
        const { identity, supervisor } = real.harness;
        const subject = identity.subjectFor({
          ...{ principal: identity.local(), agent, hosted: true, session: id, enforcement: "asked" },
        });
        // Agents ask for titles on the side, also after the turn. Their own word is not charged beside what is counted.
        const counts = async () => {
          const { length: asked } = real.model.requests;
          const { verdicts, results } = await callsIn(real);
          const used = (await supervisor.budget(subject))[0]?.used.tokens;
          return { asked, verdicts: verdicts.length, results: results.length, used };
        };
        await expect
          .poll(async () => {
            const { asked, verdicts, results, used } = await counts();
            return [verdicts - asked, results - asked, used === 15 * asked];
          })
          .toEqual([0, 0, true]);
        const { verdicts, results } = await callsIn(real);
        for (const { verdict, enforcement } of verdicts)
          expect([verdict, enforcement]).toEqual(["allowed", "performed"]);
        expect(new Set(results.map(({ verdict }) => verdict)).size).toBe(results.length);
        expect(results.map(({ usage }) => membersOf(usage).tokens)).toEqual(results.map(() => 15));
        expect(results[0]).toMatchObject({ provider: expect.any(String), model: expect.any(String) });
        const [turn] = await real.entries("turn");
        expect(Number(membersOf(membersOf(turn?.payload).usage).tokens) % 15).toBe(0);
        expect(JSON.stringify(await real.entries("policy_verdict"))).not.toContain("reins_gw_");
      },
      INSTALL_MS,
    );
  },
);

/** Expects that neither a process nor any that it started has the key in its environment or its memory. */
async function expectNoKey(root: number): Promise<void> {
  const environmentOf = (pid: string) => readFile(`/proc/${pid}/environ`, "utf8").catch(() => "");
  // Reins marks the processes of an agent, so that those that have left their parent are found, too.
  const marked = /REINS_PROCESS=[^\0]+/.exec(await environmentOf(String(root)))?.[0] ?? "";
  expect(marked).not.toBe("");
  const found: string[] = [];
  const remembered: string[] = [];
  for (const pid of await readdir("/proc").then((all) => all.filter((name) => /^\d+$/.test(name)))) {
    const environment = await environmentOf(pid);
    if (!environment.includes(marked)) continue;
    found.push(environment);
    remembered.push(...(await wordsInMemory(pid, [KEY, "reins_gw_"])));
  }
  expect(await environmentOf(String(root))).toContain("reins_gw_");
  expect(found.length).toBeGreaterThan(0);
  for (const environment of found) expect(environment).not.toContain(KEY);
  // That its token is found shows that memory was read.
  expect(new Set(remembered)).toEqual(new Set(["reins_gw_"]));
}

const PAGE = 4096;
/** The most pages that are read at once. */
const PAGES_AT_ONCE = 1024;

/** Which of some words are anywhere in what a process may write of its memory. */
async function wordsInMemory(pid: string, words: readonly string[]): Promise<readonly string[]> {
  const maps = await readFile(`/proc/${pid}/maps`, "utf8").catch(() => "");
  const [memory, pagemap] = await Promise.all([
    open(`/proc/${pid}/mem`).catch(() => undefined),
    open(`/proc/${pid}/pagemap`).catch(() => undefined),
  ]);
  const found = new Set<string>();
  const piece = Buffer.alloc(PAGES_AT_ONCE * PAGE);
  const present = Buffer.alloc(PAGES_AT_ONCE * 8);
  const search = async (page: number, pages: number) => {
    const reading = memory?.read(piece, 0, pages * PAGE, BigInt(page) * BigInt(PAGE));
    // Guard pages and the like cannot be read.
    const { bytesRead = 0 } = (await reading?.catch(() => undefined)) ?? {};
    const bytes = piece.subarray(0, bytesRead);
    for (const word of words) if (bytes.includes(word)) found.add(word);
  };
  try {
    for (const [, from = "", to = ""] of maps.matchAll(/^([0-9a-f]+)-([0-9a-f]+) rw/gm)) {
      const last = Number(BigInt(`0x${to}`) / BigInt(PAGE));
      // A page twice: a word may lie on the border of two pieces.
      for (let page = Number(BigInt(`0x${from}`) / BigInt(PAGE)); page < last; page += PAGES_AT_ONCE - 1) {
        const pages = Math.min(PAGES_AT_ONCE, last - page);
        await pagemap?.read(present, 0, pages * 8, page * 8).catch(() => present.fill(0xff));
        // Much of what a runtime reserves is never used: only what is in memory or swapped out is read.
        let run = 0;
        for (let at = 0; at <= pages; at += 1) {
          if (at < pages && (present[at * 8 + 7] ?? 0) >= 0x40) run += 1;
          else if (run > 0) {
            await search(page + at - run, run);
            run = 0;
          }
        }
      }
    }
  } finally {
    await Promise.all([memory?.close(), pagemap?.close()]);
  }
  return [...found];
}

async function expectNoKeyIn(folder: string): Promise<void> {
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true }))
    if (entry.isFile()) {
      const path = join(entry.parentPath, entry.name);
      expect([path, (await readFile(path, "latin1")).includes(KEY)]).toEqual([path, false]);
    }
}

describe("rules speak of", () => {
  const blocked = (condition: string) =>
    rules(`- { name: no, condition: ${condition}, verdict: blocked, reason: not this one }`);
  test.each([
    ["the model", '{ arguments: { model: "opus*" } }', { model: "opus-4" }, { model: "haiku" }],
    [
      "the tools on offer",
      `{ arguments: { tools: '*"Bash"*' } }`,
      { tools: [{ name: "Bash" }] },
      { tools: [{ name: "Read" }] },
    ],
    [
      "the models that may answer in its place",
      `{ arguments: { other_models: '*"opus*' } }`,
      { fallbacks: [{ model: "opus-4" }] },
      { fallbacks: [{ model: "haiku" }] },
    ],
    [
      "what the provider keeps",
      `{ arguments: { stored: '*"msg_*' } }`,
      { thread: { type: "continue", previous_message_id: "msg_1" } },
      { thread: { type: "create" } },
    ],
    ["the host", "{ event: pre_prompt, hosts: { any: 127.0.0.1 } }", {}, undefined],
    [
      "secrets in what is sent",
      '{ arguments: { secrets: "true" } }',
      { system: "AKIAIOSFODNN7EXAMPLE and ghp_16C7e42F292c6912E7710c838347Ae178B4a" },
      { system: "nothing" },
    ],
    ["models without a price", '{ arguments: { priced: "false" } }', { model: "unheard-of" }, { model: "m" }],
  ])("%s", async (_, condition, refused, passed) => {
    await using model = await ScriptedModel.listen({ script: () => reply(say("yes")) });
    const metered = await openMetered(blocked(condition), model.endpoint.url);
    const response = await metered.ask(refused);
    expect(response.status).toBe(403);
    expect(await response.text()).toContain("not this one");
    expect(model.requests).toEqual([]);
    if (passed) expect((await metered.ask(passed)).status).toBe(200);
    const { verdicts } = await callsIn(metered);
    expect(verdicts.map(({ verdict }) => verdict)).toEqual(passed ? ["blocked", "allowed"] : ["blocked"]);
    expect(JSON.stringify(verdicts)).not.toContain("ghp_16C7");
  });
});

test("an observer learns what a call used, by kind, and how it ended", async () => {
  await using model = await ScriptedModel.listen({ script: () => reply(say("yes")) });
  const metered = await openMetered(
    rules("- { name: begin, condition: {}, verdict: allowed }"),
    model.endpoint.url,
  );
  const seen: unknown[] = [];
  const payloads: unknown[] = [];
  onTestFinished(
    metered.harness.supervisor.observe({
      decided: (_verdict, _ms, { event }) => payloads.push(event.payload),
      settled: ({ call, end, usage }) => seen.push({ entry: call?.entry, end, cost: usage.cost }),
      turnEnded: () => undefined,
    }),
  );
  await (await metered.ask({})).text();
  const { verdicts, results } = await callsIn(metered);
  expect(payloads).toMatchObject([
    { tool_name: "model/call", arguments: { provider: expect.any(String), model: "m", max_tokens: 100 } },
  ]);
  expect(seen).toEqual([
    {
      entry: results[0]?.verdict,
      end: {
        ...{ event_type: "pre_prompt", entry: results[0]?.verdict, outcome: "completed" },
        tokens: { inputTokens: 10, outputTokens: 5, cachedReadTokens: 0, cachedWriteTokens: 0 },
      },
      cost: 15,
    },
  ]);
  expect(verdicts).toHaveLength(1);
});

test("secrets are found in every part of a conversation, also where a call before had most of it", async () => {
  await using model = await ScriptedModel.listen({ script: () => reply(say("yes")) });
  const rule =
    '- { name: no, condition: { arguments: { secrets: "true" } }, verdict: blocked, reason: a secret }';
  const metered = await openMetered(rules(rule), model.endpoint.url);
  const part = (content: unknown) => ({ role: "user", content });
  const token = "ghp_16C7e42F292c6912E7710c838347Ae178B4a";
  const plain = [part("hello"), part([{ type: "text", text: "go on" }])];
  const statuses: number[] = [];
  for (const messages of [
    plain,
    [...plain, part(`use ${token}`)],
    [...plain, part(`use ${token}`)],
    [...plain, part("and now")],
    [part([{ type: "tool_result", content: [{ type: "text", text: token }] }]), ...plain],
    ["--token", token],
    plain,
  ])
    statuses.push((await metered.ask({ messages })).status);
  expect(statuses).toEqual([200, 403, 403, 200, 403, 403, 200]);
  expect((await metered.ask({ messages: plain, system: token })).status).toBe(403);
  expect((await metered.ask({ messages: plain, metadata: { password: "hunter2hunter2" } })).status).toBe(403);
});

test("secrets are found in headers and in the query, before anything is sent", async () => {
  const asked: string[] = [];
  const server = await LoopbackServer.listen();
  onTestFinished(() => server.close());
  server.serve((request, response) => {
    asked.push(String(request.url));
    response.end("{}");
  });
  const rule =
    '- { name: no, condition: { arguments: { secrets: "true" } }, verdict: blocked, reason: a secret }';
  const metered = await openMetered(rules(rule), server.url);
  const token = "ghp_16C7e42F292c6912E7710c838347Ae178B4a";
  const statusOf = async (headers: Record<string, string>, path = "/v1/messages") =>
    (await metered.ask({}, { headers, path })).status;
  // What agents send.
  const usual = {
    ...{ "anthropic-beta": "claude-code-20250219,interleaved-thinking-2025-05-14", "x-app": "cli" },
    ...{ session_id: "0199f0c2-6b5e-7a31-9d51-6a1f0e6c1a2b", "x-stainless-runtime-version": "v24.1.0" },
    ...{ "x-request-id": "2f1e7a0c9b3d4e5f8a7b6c5d4e3f2a1b", originator: "codex_cli_rs" },
  };
  expect(await statusOf(usual)).toBe(200);
  expect(await statusOf(usual, "/v1/messages?beta=true")).toBe(200);
  expect(asked).toHaveLength(2);
  expect(await statusOf({ "x-note": `use ${token}` })).toBe(403);
  expect(await statusOf(usual, `/v1/messages?beta=true&note=${token}`)).toBe(403);
  expect(await statusOf(usual, `/v1/messages?${token.replace("_", "%5F")}=1`)).toBe(403);
  expect(asked).toHaveLength(2);
});

test("a verdict is in the ledger before anything reaches the provider", async () => {
  const before: number[] = [];
  const server = await LoopbackServer.listen();
  onTestFinished(() => server.close());
  const metered = await openMetered(rules(""), server.url);
  server.serve(async (_, response) => {
    before.push((await callsIn(metered)).verdicts.length);
    response.end("{}");
  });
  await (await metered.ask({})).text();
  await (await metered.ask({})).text();
  expect(before).toEqual([1, 2]);
});

test("a call whose verdict cannot be written is not made", async () => {
  await using model = await ScriptedModel.listen({ script: () => reply(say("yes")) });
  const metered = await openMetered(rules(""), model.endpoint.url);
  const { ledger } = metered;
  const { record } = ledger;
  ledger.record = async () => {
    throw new Error("the disk is full");
  };
  const response = await metered.ask({});
  ledger.record = record;
  expect([response.status, model.requests]).toEqual([403, []]);
});

test("a token is worth nothing when its agent has no session, or has ended", async () => {
  await using model = await ScriptedModel.listen({ script: () => reply(say("yes")) });
  const metered = await openMetered(rules(""), model.endpoint.url);
  metered.lease.govern(() => []);
  expect((await metered.ask({})).status).toBe(403);
  metered.lease.revoke();
  expect((await metered.ask({})).status).toBe(401);
  expect(model.requests).toEqual([]);
});

describe("a budget", () => {
  const usage = { input_tokens: 50, output_tokens: 50 };
  /** A provider whose every answer uses 100 tokens, and what it was asked. */
  async function provider() {
    const server = await LoopbackServer.listen();
    onTestFinished(() => server.close());
    const counted = { calls: 0 };
    server.serve((request, response) => {
      counted.calls += 1;
      request.resume();
      setTimeout(() => {
        response.setHeader("content-type", "application/json");
        response.end(JSON.stringify({ type: "message", usage }));
      }, 5);
    });
    return { url: server.url, counted };
  }

  test("of 1,000 tokens is crossed by no more than one call's most, over 100 calls at once", async () => {
    const { url, counted } = await provider();
    const metered = await openMetered(
      rules("", "{ name: few, per: session, within: 1h, tokens: 1000 }"),
      url,
    );
    const rounds: number[] = [];
    for (let round = 0; round < 4; round += 1) {
      const statuses = await Promise.all(
        Array.from({ length: 100 }, async () => {
          const response = await metered.ask({});
          await response.text();
          return response.status;
        }),
      );
      rounds.push(statuses.filter((status) => status === 200).length);
    }
    const { tokens = 0 } = await metered.used();
    expect(tokens).toBe(counted.calls * 100);
    expect(tokens).toBeGreaterThanOrEqual(1_000);
    // Each reserves its input, of a few tokens, and 100.
    expect(tokens).toBeLessThanOrEqual(1_000 + 120);
    expect(rounds[0]).toBeGreaterThan(1);
    expect(rounds.at(-1)).toBe(0);
  });

  test("of tokens holds for long inputs at once, also of one word and of other scripts", async () => {
    for (const content of ["a,b;".repeat(10_000), "漢字".repeat(5_000)]) {
      const server = await LoopbackServer.listen();
      onTestFinished(() => server.close());
      server.serve((request, response) => {
        request.resume();
        const json = { type: "message", usage: { input_tokens: 10_000, output_tokens: 1 } };
        setTimeout(() => response.setHeader("content-type", "application/json").end(JSON.stringify(json)), 5);
      });
      const limit = "{ name: few, per: session, within: 1h, tokens: 50000 }";
      const metered = await openMetered(rules("", limit), server.url);
      const messages = [{ role: "user", content }];
      await Promise.all(
        Array.from({ length: 40 }, async () => (await metered.ask({ messages })).arrayBuffer()),
      );
      const { tokens = 0 } = await metered.used();
      expect(tokens).toBeGreaterThanOrEqual(50_000);
      expect(tokens).toBeLessThanOrEqual(50_000 + 10_001);
    }
  });

  test("in money is charged by the price of the model, and refuses the next call", async () => {
    const { url, counted } = await provider();
    const metered = await openMetered(rules("", "{ name: money, per: user, within: 1h, cost: 99 }"), url);
    await (await metered.ask({})).text();
    expect(await metered.used()).toEqual({ tokens: 100, cost: 100 });
    const refused = await metered.ask({});
    expect([refused.status, await refused.text()]).toEqual([403, expect.stringContaining("is used up")]);
    expect(counted.calls).toBe(1);
  });

  test("in money refuses a model without a price, by name and with what to do, and no other limit does", async () => {
    const { url, counted } = await provider();
    const limit = (bound: string) => rules("", `{ name: money, per: user, within: 1h, ${bound} }`);
    const metered = await openMetered(limit("cost: 99"), url);
    const refused = await metered.ask({ model: "unheard-of" });
    expect([refused.status, await refused.text()]).toEqual([
      403,
      expect.stringMatching(/money.*unheard-of.*gateway\.prices.*gateway\.unknown_price/),
    ]);
    expect([counted.calls, await metered.used()]).toEqual([0, { tokens: 0, cost: 0 }]);
    const inTokens = await openMetered(limit("tokens: 99"), url);
    expect((await inTokens.ask({ model: "unheard-of" })).status).toBe(200);
    const { results } = await callsIn(inTokens);
    expect(membersOf(results[0]?.usage)).not.toHaveProperty("cost");
  });

  test("in money counts a model without a price at the price that is stated for such", async () => {
    const { url } = await provider();
    const limit = rules("", "{ name: money, per: user, within: 1h, cost: 99 }");
    const metered = await openMetered(limit, url, { input: 2_000_000, output: 2_000_000 });
    await (await metered.ask({ model: "unheard-of" })).text();
    expect(await metered.used()).toEqual({ tokens: 100, cost: 200 });
    const refused = await metered.ask({ model: "unheard-of" });
    expect([refused.status, await refused.text()]).toEqual([403, expect.stringContaining("is used up")]);
  });

  test("gives back what was kept for calls that came to nothing", async () => {
    const server = await LoopbackServer.listen();
    onTestFinished(() => server.close());
    server.serve((_, response) => void response.writeHead(529).end("{}"));
    const metered = await openMetered(
      rules("", "{ name: few, per: session, within: 1h, tokens: 150 }"),
      server.url,
    );
    for (let call = 0; call < 5; call += 1) expect((await metered.ask({})).status).toBe(529);
    expect(await metered.used()).toEqual({ tokens: 0, cost: 0 });
  });

  test("cuts a stream off that would cross it, and counts what was said", async () => {
    const server = await LoopbackServer.listen();
    onTestFinished(() => server.close());
    server.serve((_, response) => {
      response.writeHead(200, { "content-type": "text/event-stream" });
      const timer = setInterval(
        () => response.write(sseText({ json: { delta: { text: "x".repeat(400) } } })),
        1,
      );
      response.once("close", () => clearInterval(timer));
    });
    const metered = await openMetered(
      rules("", "{ name: few, per: session, within: 1h, tokens: 1000 }"),
      server.url,
    );
    const text = await (await metered.ask({ max_tokens: 100_000 })).text();
    expect(text).toContain("a budget is used up");
    const { tokens = 0 } = await metered.used();
    expect(tokens).toBeGreaterThan(1_000);
    expect(tokens).toBeLessThan(10_000);
    const { results } = await callsIn(metered);
    expect(results).toMatchObject([{ outcome: "cut", usage: { estimated: true } }]);
  });
});
