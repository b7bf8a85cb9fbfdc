import { writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { join } from "node:path";
import { type AhpEvent, AhpServer, type Decision, mountHttp, serveHttp } from "@reins/ahp";
import { Backtest, type ExternalHarness } from "@reins/policy";
import { describe, expect, onTestFinished, test } from "vitest";
import { Harnesses } from "../src/decision/harnesses.ts";
import { eventually } from "./fixtures/eventually.ts";
import { newHome, policyOf, supervise, toolEvent } from "./fixtures/supervised.ts";

function newHarnesses(): Harnesses {
  const harnesses = new Harnesses();
  onTestFinished(() => harnesses.close());
  return harnesses;
}

/** A harness that blocks with a reason by which it is known. */
async function blocking(reason: string): Promise<string> {
  const served = await serveHttp(new AhpServer({ event: async () => ({ decision: "block", reason }) }));
  onTestFinished(() => served.close());
  return served.address;
}

/** A harness over WebSocket that greets and answers nothing, with the connections that it holds. */
async function silent() {
  const mount = mountHttp(new AhpServer({ event: () => new Promise(() => {}) }), {
    allowedHosts: ["127.0.0.1"],
  });
  const open = new Set<Socket>();
  let connections = 0;
  const server = createServer();
  server.on("upgrade", (request, socket: Socket, head) => {
    connections += 1;
    open.add(socket);
    socket.once("close", () => open.delete(socket));
    void mount.upgrade(request, socket, head);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(async () => {
    for (const socket of open) socket.destroy();
    await new Promise((resolve) => server.close(resolve));
  });
  const { port } = server.address() as AddressInfo;
  return { url: `ws://127.0.0.1:${port}/ahp`, open, connections: () => connections };
}

const named = (name: string, url: string, timeout = "5s"): ExternalHarness => ({
  name,
  url,
  timeout,
  fail: "closed",
});

test("a harness gets the whole event as its agent sent it, and the credential from its file", async () => {
  const seen: AhpEvent[] = [];
  const told: AhpEvent[] = [];
  const token = join(await newHome(), "token");
  const server = new AhpServer(
    {
      event: async (event) => {
        seen.push(event);
        return { decision: "allow" };
      },
      notification: async (event) => void told.push(event),
    },
    { info: { name: "other", version: "1", capabilities: ["pre_action", "pre_prompt", "session_start"] } },
  );
  const served = await serveHttp(server, {
    authenticate: async (credential) => (credential?.value === "s3cret" ? "reins" : undefined),
  });
  onTestFinished(() => served.close());
  await writeFile(token, `${new URL(served.address).origin} s3cret\n`);
  const harnesses = newHarnesses();
  const company = { ...named("company", served.address), token_file: token };
  const envelope = { session_id: "s-7", agent_id: "reed", depth: 2, timestamp: "2026-01-02T03:04:05Z" };
  const context = { current_task: "tidy" };
  const metadata = { trace: "abc", session_token: "of a child" };
  for (const event_type of ["pre_action", "pre_prompt", "session_start"] as const) {
    const event = {
      ...envelope,
      event_type,
      context,
      metadata,
      payload: { tool_name: "ls", type: event_type },
    };
    const [answer] = await harnesses.ask([company], event);
    expect(answer).toMatchObject({ verdict: "allowed" });
  }
  const expected = (event_type: string) => ({
    ...{ ...envelope, event_type, context, metadata: { trace: "abc" } },
    payload: { tool_name: "ls", type: event_type },
  });
  expect(seen).toMatchObject([expected("pre_action"), expected("pre_prompt")]);
  await expect.poll(() => told).toMatchObject([expected("session_start")]);
  expect(JSON.stringify([seen, told])).not.toContain("of a child");
  const [refused] = await harnesses.ask([named("company", served.address)], toolEvent("ls"));
  expect(refused).toMatchObject({ verdict: "blocked", reason: expect.stringContaining("401") });
  const elsewhere = { ...named("company", await blocking("elsewhere")), token_file: token };
  const [kept] = await harnesses.ask([elsewhere], toolEvent("ls"));
  expect(kept?.reason).toContain("the credential file holds no");
});

test("two constitutions may call different harnesses by one name, and each is asked its own", async () => {
  const harnesses = newHarnesses();
  const [acme, globex] = [await blocking("acme"), await blocking("globex")];
  const [first] = await harnesses.ask([named("company", acme)], toolEvent("ls"));
  const [second] = await harnesses.ask([named("company", globex)], toolEvent("ls"));
  expect(first?.reason).toBe('the harness "company" blocks it: acme');
  expect(second?.reason).toBe('the harness "company" blocks it: globex');
});

test("a harness that fails again and again holds no connection", async () => {
  const harnesses = newHarnesses();
  const { url, open, connections } = await silent();
  for (let time = 0; time < 3; time += 1) {
    const [answer] = await harnesses.ask([named("mute", url, "100ms")], toolEvent("ls"));
    expect(answer).toMatchObject({ verdict: "blocked" });
  }
  expect(connections()).toBe(3);
  await eventually(() => expect(open.size).toBe(0));
});

describe("a harness that modifies", () => {
  const RULES = `
tool_rules:
  - { name: never, condition: { arguments: { size: '0' } }, verdict: blocked, reason: too small }
  - { name: question, condition: { arguments: { size: '1' } }, verdict: ask }
  - { name: rule, condition: { arguments: { size: '9' } }, verdict: modify, patch: { size: 5 } }
  - { name: rest, condition: {}, verdict: allowed }
`;
  type Decide = (event: AhpEvent) => Decision;

  /** A supervisor that asks these harnesses, and what they were shown. */
  async function asking(...decides: readonly Decide[]) {
    const shown: unknown[] = [];
    const named = await Promise.all(
      decides.map(async (decide, index) => {
        const event = async (sent: AhpEvent) => {
          shown.push([index, Object(sent.payload).arguments]);
          return decide(sent);
        };
        const served = await serveHttp(new AhpServer({ event }));
        onTestFinished(() => served.close());
        return `{ name: h${index}, url: "${served.address}" }`;
      }),
    );
    const rules = `${RULES}harnesses: [${named.join(", ")}]`;
    return { ...(await supervise(rules, { harnesses: newHarnesses() })), shown, rules };
  }

  const to =
    (modified_payload: unknown): Decide =>
    () =>
      ({ decision: "modify", modified_payload }) as Decision;
  const allow: Decide = () => ({ decision: "allow" });
  const sizeOf = ({ payload }: AhpEvent) => Object(payload).arguments.size;

  test.each([
    ["the arguments", { size: 4 }],
    ["the whole payload", { tool_name: "big", arguments: { size: 4 } }],
  ])(
    "%s has the action decided again, by rules and by every harness, as what it becomes",
    async (_, payload) => {
      const { decide, ledger, shown, supervisor, rules } = await asking(to(payload), allow);
      const decided = await decide("big", { size: 7 });
      expect(decided).toMatchObject({
        verdict: "modify",
        rule: "h0",
        reason: 'the harness "h0" changes it',
        modified_arguments: { size: 4 },
      });
      expect(shown).toHaveLength(4);
      expect(shown).toEqual(
        expect.arrayContaining([
          [1, { size: 7 }],
          [1, { size: 4 }],
        ]),
      );
      await supervisor.close();
      const [placed] = await ledger.read({ quality: "policy_verdict" });
      expect(placed?.entry.payload).toMatchObject({
        verdict: "modify",
        facts: { arguments: { size: 4 } },
        modified_by: { harness: "h0", facts: { arguments: { size: 7 } } },
        policy: { verdict: "allowed", rule: "rest" },
      });
      const backtest = new Backtest(policyOf(rules));
      backtest.add(placed?.entry.cid ?? "", placed?.entry.payload);
      expect(backtest.report()).toMatchObject({ unchanged: 1, contradicted: 0 });
    },
  );

  test.each<[string, unknown, object, readonly Decide[]]>([
    ["into what a rule blocks", 7, { verdict: "blocked", rule: "never" }, [to({ size: 0 })]],
    ["into what a rule asks about", 7, { verdict: "ask", rule: "question" }, [to({ size: 1 })]],
    [
      "into what a rule would modify",
      7,
      { verdict: "blocked", reason: expect.stringContaining("two ways") },
      [to({ size: 9 })],
    ],
    [
      "what a rule modified otherwise",
      9,
      { verdict: "blocked", reason: expect.stringContaining("two ways") },
      [to({ size: 4 })],
    ],
    [
      "what a rule modified alike",
      9,
      { verdict: "modify", modified_arguments: { size: 5 } },
      [to({ size: 5 })],
    ],
    ["nothing", 7, { verdict: "allowed" }, [to({ size: 7 })]],
    [
      "unlike another harness",
      7,
      { verdict: "blocked", reason: expect.stringContaining("two ways") },
      [to({ size: 4 }), to({ size: 3 })],
    ],
    [
      "like another harness",
      7,
      { verdict: "modify", modified_arguments: { size: 4 } },
      [to({ size: 4 }), to({ size: 4 })],
    ],
    [
      "again and again",
      7,
      { verdict: "blocked", reason: expect.stringContaining("two ways") },
      [(event) => ({ decision: "modify", modified_payload: { size: sizeOf(event) - 1 } }) as Decision],
    ],
    [
      "into what another harness blocks",
      7,
      { verdict: "blocked", rule: "h1" },
      [
        to({ size: 4 }),
        (event) => (sizeOf(event) === 4 ? { decision: "block", reason: "four" } : { decision: "allow" }),
      ],
    ],
    [
      "what another harness blocks",
      7,
      { verdict: "blocked", rule: "h1" },
      [to({ size: 4 }), () => ({ decision: "block", reason: "no" })],
    ],
    [
      "into another tool",
      7,
      { verdict: "blocked", reason: expect.stringContaining("another tool") },
      [to({ tool_name: "rm", arguments: {} })],
    ],
    [
      "into no payload",
      7,
      { verdict: "blocked", reason: expect.stringContaining("no payload") },
      [to("text")],
    ],
  ])("%s", async (_, size, expected, decides) => {
    const { decide } = await asking(...decides);
    expect(await decide("big", { size })).toMatchObject(expected);
  });
});

const LISTED = [
  ...["session_start", "session_end", "post_action", "post_response"],
  ...["run_lifecycle", "task_list", "verification", "success", "error", "heartbeat"],
] as const;

test("events without a decision are forwarded with their envelope to harnesses that list them, and to no other", async () => {
  const told: AhpEvent[][] = [[], []];
  const harnesses = newHarnesses();
  const named = await Promise.all(
    [[...LISTED], ["pre_action"]].map(async (capabilities, index) => {
      const server = new AhpServer(
        {
          event: async () => ({ decision: "allow" }),
          notification: async (event) => void told[index]?.push(event),
        },
        { info: { name: "other", version: "1", capabilities } },
      );
      const served = await serveHttp(server);
      onTestFinished(() => served.close());
      return { name: `h${index}`, url: served.address, timeout: "5s", fail: "closed" as const };
    }),
  );
  const envelope = { session_id: "s-7", agent_id: "reed", depth: 2, timestamp: "2026-01-02T03:04:05Z" };
  const run = { run_id: "r", session_id: "s-7", updated_at: "2026-01-02T03:04:05Z" };
  const payloads: Record<string, object> = {
    run_lifecycle: { ...run, status: "created" },
    task_list: { ...run, tasks: [] },
    verification: { ...run, status: "passed", checks: [] },
  };
  for (const event_type of [...LISTED, "pre_action", "idle"] as const) {
    const payload = payloads[event_type] ?? { of: event_type };
    const metadata = { trace: "abc", session_token: "of a child" };
    await harnesses.forward(named, { ...envelope, event_type, payload, metadata });
  }
  await expect.poll(() => told[0]?.map(({ event_type }) => event_type)).toEqual(LISTED);
  for (const event of told[0] ?? []) expect(event).toMatchObject({ ...envelope, metadata: { trace: "abc" } });
  expect(JSON.stringify(told)).not.toContain("of a child");
  expect(told[1]).toEqual([]);
});
