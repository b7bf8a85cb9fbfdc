import { mkdir, writeFile } from "node:fs/promises";
import type { ServerResponse } from "node:http";
import { join } from "node:path";
import { AhpServer } from "@reins/ahp";
import { KeyFolder, Ledger, ledgerTables } from "@reins/ledger";
import type { Policy } from "@reins/policy";
import { openSqlite } from "@reins/store";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { supervisorHandlers } from "../src/ahp/handlers.ts";
import type { Decided } from "../src/decision/decision.ts";
import { Harnesses } from "../src/decision/harnesses.ts";
import { Supervisor, type SupervisorOptions } from "../src/decision/supervisor.ts";
import { Harness } from "../src/harness/harness.ts";
import { harnessTables } from "../src/harness/tables.ts";
import { Identity } from "../src/identity/identity.ts";
import { writeFirstFiles } from "../src/policies/policy-files.ts";
import { PolicyKeeper } from "../src/policies/policy-keeper.ts";
import { Commitment } from "../src/record/record.ts";
import { Reports } from "../src/reports/reports.ts";
import { Runs } from "../src/runs/runs.ts";
import { badHarness } from "./fixtures/bad-harness.ts";
import { FullDisk } from "./fixtures/full-disk.ts";
import {
  newHome,
  openParts,
  plainFacts,
  policyOf,
  requestContext,
  supervise,
  testSubject,
  toolEvent,
} from "./fixtures/supervised.ts";

/** Allows everything if nothing fails. */
const ALLOW = "tool_rules: [{ name: all, condition: {}, verdict: allowed }]\n";
const ASK = "tool_rules: [{ name: all, condition: {}, verdict: ask }]\n";
const BLOCK = "tool_rules: [{ name: none, condition: {}, verdict: blocked, reason: not any more }]\n";

let parts: Awaited<ReturnType<typeof openParts>>;
let commitment: Commitment;
const ends: (() => Promise<void>)[] = [];

beforeAll(async () => {
  const home = await newHome((undo) => ends.push(undo));
  parts = await openParts(home, {}, (undo) => ends.push(undo));
  commitment = await Commitment.open(join(home, "keys"));
});
afterAll(async () => {
  for (const undo of ends.reverse()) await undo();
});

/** A supervisor on the database of all tests. */
function supervisorWith(rules: string, options: Partial<SupervisorOptions> = {}): Supervisor {
  const policy = policyOf(rules);
  return new Supervisor({
    ...parts,
    commitment,
    policies: { get: () => policy },
    gatherFacts: plainFacts,
    ...options,
  });
}

/** What comes of asking once, after which everything that is to be written is. */
async function askOnce(supervisor: Supervisor, event = toolEvent("ls")): Promise<Decided> {
  const decided = await supervisor.decide(event, testSubject, requestContext);
  await supervisor.close();
  return decided;
}

/** A block for a reason, and the ledger says so. */
async function expectRecordedBlock(decided: Decided, reason: RegExp | string): Promise<void> {
  expect(decided).toMatchObject({
    verdict: "blocked",
    reason: expect.stringMatching(reason),
    entry: undefined,
  });
  const [newest] = await parts.ledger.read({ quality: "policy_verdict", order: "newest", limit: 1 });
  expect(newest?.entry.payload).toMatchObject({ verdict: "blocked", reason: decided.reason });
  expect(await decided.written).toBe(newest?.entry.cid);
}

const broken = () => {
  throw new Error("on fire");
};

describe("a part that throws blocks, with the reason", () => {
  class BrokenHarnesses extends Harnesses {
    override ask(): never {
      throw new Error("on fire");
    }
  }

  test.each<[string, string, Partial<SupervisorOptions>]>([
    ["finding out the facts", ALLOW, { gatherFacts: broken }],
    ["finding out the facts, later", ALLOW, { gatherFacts: () => Promise.reject(new Error("on fire")) }],
    ["something that is no error", ALLOW, { gatherFacts: () => Promise.reject("on fire") }],
    ["looking at the targets", ASK, { targetState: broken }],
    [
      "asking other harnesses",
      `${ALLOW}harnesses: [{ name: h, url: "http://h" }]`,
      { harnesses: new BrokenHarnesses() },
    ],
    ["committing to the payload", ALLOW, { commitment: { to: broken } }],
  ])("%s", async (_, rules, options) => {
    const decided = await askOnce(supervisorWith(rules, options));
    expect(decided).toMatchObject({ verdict: "blocked", reason: expect.stringContaining("on fire") });
    if (!options.commitment) await expectRecordedBlock(decided, /on fire/);
  });

  test.each<[string, Partial<SupervisorOptions>]>([
    ["the clock", { clock: { now: broken, after: () => () => {} } }],
    [
      "the clock, with a time that is none",
      { clock: { now: () => new Date(Number.NaN), after: () => () => {} } },
    ],
    ["the policy", { policies: { get: broken } }],
    [
      "everything, and the error listener",
      { policies: { get: broken }, clock: { now: broken, after: broken }, onRecordError: broken },
    ],
  ])("%s", async (_, options) => {
    const decided = await askOnce(supervisorWith(ALLOW, options));
    expect(decided).toMatchObject({ verdict: "blocked", reason: expect.stringMatching(/./) });
  });

  test("and what it had reserved of a budget is given back", async () => {
    const limited = `${ASK.replace("ask }", "allowed }")}limits: [{ name: one, per: session, within: 1h, calls: 1 }]
harnesses: [{ name: h, url: "http://h" }]`;
    let fails = true;
    class SometimesBroken extends Harnesses {
      override ask() {
        return fails ? Promise.reject(new Error("on fire")) : Promise.resolve([]);
      }
    }
    const supervisor = supervisorWith(limited, { harnesses: new SometimesBroken() });
    const subject = { ...testSubject, session: "given-back" };
    expect((await supervisor.decide(toolEvent("ls"), subject, requestContext)).verdict).toBe("blocked");
    fails = false;
    expect((await supervisor.decide(toolEvent("ls"), subject, requestContext)).verdict).toBe("allowed");
  });
});

describe("an external harness that does not decide blocks", () => {
  const asJson = (response: ServerResponse, body: unknown) =>
    void response.setHeader("Content-Type", "application/json").end(JSON.stringify(body));

  test.each<[string, (response: ServerResponse, id: string) => void]>([
    ["hangs", () => {}],
    ["begins to answer and hangs", (response) => void response.writeHead(200).write("{")],
    ["answers with nothing", (response) => void response.end()],
    ["answers with something else", (response) => void response.end("<html>hello</html>")],
    ["answers with an error", (response) => void response.writeHead(500).end("no")],
    [
      "answers another question",
      (response) => asJson(response, { jsonrpc: "2.0", id: "other", result: { decision: "allow" } }),
    ],
    [
      "decides something unknown",
      (response, id) =>
        asJson(response, { jsonrpc: "2.0", id: JSON.parse(id), result: { decision: "perhaps" } }),
    ],
    [
      "decides nothing",
      (response, id) => asJson(response, { jsonrpc: "2.0", id: JSON.parse(id), result: {} }),
    ],
    [
      "would change it into no call",
      (response, id) =>
        asJson(response, {
          jsonrpc: "2.0",
          id: JSON.parse(id),
          result: { decision: "modify", modified_payload: "x" },
        }),
    ],
    [
      "blocks in half a character and a thousand words",
      (response, id) =>
        asJson(response, {
          jsonrpc: "2.0",
          id: JSON.parse(id),
          result: { decision: "block", reason: `\ud800${"word ".repeat(1_000)}` },
        }),
    ],
    ["hangs up", (response) => void response.socket?.destroy()],
    [
      "hangs up in the middle",
      (response) =>
        void response
          .writeHead(200, { "Content-Length": "100" })
          .write("{", () => response.socket?.destroy()),
    ],
  ])("one that %s", async (_, answer) => {
    const url = await badHarness(answer);
    const harnesses = new Harnesses();
    onTestFinished(() => harnesses.close());
    const rules = `${ALLOW}harnesses: [{ name: other, url: "${url}", timeout: 300ms }]`;
    await expectRecordedBlock(await askOnce(supervisorWith(rules, { harnesses })), /^the harness "other" /);
  });

  test.each(["http://127.0.0.1:1/", "ws://127.0.0.1:1/", "unix:/nowhere/harness.sock"])(
    "one that is not there: %s",
    async (url) => {
      const harnesses = new Harnesses();
      onTestFinished(() => harnesses.close());
      const rules = `${ALLOW}harnesses: [{ name: other, url: "${url}", timeout: 300ms }]`;
      await expectRecordedBlock(
        await askOnce(supervisorWith(rules, { harnesses })),
        /^the harness "other" did not decide: /,
      );
    },
  );
});

describe("a verdict that cannot be written is a block", () => {
  test.each([ALLOW, ASK])("because the store is closed: %s", async (rules) => {
    const { decide, store } = await supervise(rules);
    await store.close();
    expect(await decide("ls")).toMatchObject({
      verdict: "blocked",
      reason: expect.stringContaining("closed"),
    });
  });

  test.each([ALLOW, ASK])("because the disk is full: %s", async (rules) => {
    const disk = new FullDisk();
    const told: unknown[] = [];
    const { decide, supervisor } = await supervise(rules, {
      wrap: disk.wrap,
      onRecordError: (error) => told.push(error),
    });
    disk.fill();
    expect(await decide("ls")).toMatchObject({
      verdict: "blocked",
      reason: expect.stringContaining("the disk is full"),
    });
    await supervisor.close();
    expect(told).not.toEqual([]);
  });

  test("because the entry would be too long", async () => {
    const rules = "tool_rules: [{ name: all, condition: { arguments: { text: '*' } }, verdict: allowed }]";
    const event = toolEvent("ls", { text: "x".repeat(2_000_000) });
    await expectRecordedBlock(await askOnce(supervisorWith(rules), event), /could not be written: .* bytes/);
  });

  test("and counts for nothing", async () => {
    const rules = `
tool_rules:
  - { name: deploy, condition: { tool_name_matches: [deploy], after: { of: { tool_name_matches: [test] } } }, verdict: allowed }
  - { name: test, condition: { tool_name_matches: [test], arguments: { text: '*' } }, verdict: allowed }`;
    const supervisor = supervisorWith(rules);
    const subject = { ...testSubject, session: "counts-for-nothing" };
    const decide = async (tool: string, args: unknown) =>
      (await supervisor.decide(toolEvent(tool, args), subject, requestContext)).verdict;
    expect(await decide("test", { text: "x".repeat(2_000_000) })).toBe("blocked");
    expect(await decide("deploy", {})).toBe("blocked");
    expect(await decide("test", {})).toBe("allowed");
    expect(await decide("deploy", {})).toBe("allowed");
  });
});

describe("a clock that jumps opens nothing", () => {
  const HOUR = 3_600_000;
  const rules = `
tool_rules:
  - { name: often, condition: { tool_name_matches: [ls], count: { of: { tool_name_matches: [ls] }, within: 1h, at_least: 1 } }, verdict: blocked }
  - { name: rest, condition: {}, verdict: allowed }
limits: [{ name: one, per: user, within: 1h, calls: 1, condition: { tool_name_matches: [cat] } }]`;

  test.each<[string, number[]]>([
    ["back", [-24 * HOUR]],
    ["forward, within the time that counts", [HOUR - 1]],
    ["back and forward again", [-24 * HOUR, 24 * HOUR]],
    ["forward and back again", [HOUR / 2, -48 * HOUR]],
  ])("%s", async (name, jumps) => {
    let now = Date.parse("2026-01-10T00:00:00Z");
    const clock = { now: () => new Date(now), after: () => () => {} };
    const supervisor = supervisorWith(rules, { clock });
    const subject = { ...testSubject, user: `clock ${name}`, session: `clock ${name}` };
    const decide = async (tool: string) =>
      (await supervisor.decide(toolEvent(tool), subject, requestContext)).verdict;
    expect([await decide("ls"), await decide("cat")]).toEqual(["allowed", "allowed"]);
    for (const jump of jumps) {
      now += jump;
      expect([await decide("ls"), await decide("cat")]).toEqual(["blocked", "blocked"]);
    }
  });
});

describe("without a policy everything is blocked", () => {
  /** What decides in a home, and what it says to an agent on the roster. */
  async function decidedIn(home: string, agent = "claude", tenant?: string): Promise<Decided> {
    const store = await openSqlite({
      path: join(home, "reins.db"),
      tables: [ledgerTables, ...harnessTables],
    });
    onTestFinished(() => store.close());
    const signers = new KeyFolder(join(home, "keys"));
    const ledger = await Ledger.open({ store, signers, newOrigin: () => "reins/test" });
    const harness = await Harness.open({ home, userHome: home, store, ledger });
    onTestFinished(() => harness.close());
    const { identity } = harness;
    const ann = { id: "ann", name: "ann", email: "ann@example.com", roles: [], scopes: ["*"] };
    if (tenant !== undefined) await identity.addUser({ ...ann, tenant });
    const principal = { ...identity.local(), ...(tenant !== undefined && { tenant }) };
    const { roster } = harness.policies;
    const who = { principal, agent, session: "s", enforcement: "asked", roster } as const;
    const event = toolEvent("Read", { file_path: "/w/a.txt" });
    const workspace = { cwd: "/w", roots: ["/w"], tools: "claude-code" };
    return harness.supervisor.decide(event, harness.identity.subjectFor(who), { workspace });
  }

  test("a tenant that has just come to be lives under the rules of the harness at once", async () => {
    const home = await newHome();
    await writeFirstFiles(home);
    await writeFile(join(home, "agent-roster.jsonl"), '{"session_id":"claude","state":"live"}\n');
    expect(await decidedIn(home, "claude", "acme")).toMatchObject({ verdict: "allowed" });
  });

  test("none is there", async () => {
    expect(await decidedIn(await newHome())).toMatchObject({
      verdict: "blocked",
      reason: "no policy is loaded",
    });
  });

  test.each([
    ["a file that is no YAML", "tool_rules: ["],
    ["a rule that is none", "tool_rules: [{ name: all, verdict: perhaps }]"],
    ["a test that fails", `${ALLOW}tests: [{ name: t, given: { tool: x }, expect: blocked }]`],
    ["nothing", ""],
  ])("the first one is broken: %s", async (_, rules) => {
    const home = await newHome();
    await writeFile(join(home, "constitution.yaml"), rules);
    expect(await decidedIn(home)).toMatchObject({ verdict: "blocked", reason: "no policy is loaded" });
  });

  test("it cannot be read", async () => {
    const home = await newHome();
    await mkdir(join(home, "constitution.yaml"));
    expect(await decidedIn(home)).toMatchObject({ verdict: "blocked", reason: "no policy is loaded" });
  });

  test("with a roster that cannot be read, every agent is unknown", async () => {
    const [home, fine] = [await newHome(), await newHome()];
    await writeFirstFiles(fine);
    await writeFile(join(fine, "agent-roster.jsonl"), '{"session_id":"claude","state":"live"}\n');
    expect(await decidedIn(fine)).toMatchObject({ verdict: "allowed" });
    await mkdir(join(home, "agent-roster.jsonl"));
    await writeFirstFiles(home);
    expect(await decidedIn(home)).toMatchObject({
      verdict: "blocked",
      reason: expect.stringContaining("not on the roster"),
    });
  });
});

describe("what changes while something is decided", () => {
  test("an identity that is revoked meanwhile is blocked", async () => {
    const home = await newHome();
    const { store, ledger, approvals } = await openParts(home);
    await writeFile(join(home, "constitution.yaml"), ALLOW);
    const policies = await PolicyKeeper.open({ home, ledger, everyMs: 60_000 });
    onTestFinished(() => policies.close());
    const identity = await Identity.open({ store, ledger });
    const { secret, id } = await identity.createToken({ user: "operator", agents: ["coder"] });
    const principal = await identity.authenticate(secret);
    let meanwhile = async () => {};
    const supervisor = new Supervisor({
      store,
      ledger,
      approvals,
      policies: policies.inForce,
      gatherFacts: async (event, ...rest) => {
        await meanwhile();
        return plainFacts(event, ...rest);
      },
    });
    const handlers = supervisorHandlers({
      ...{
        supervisor,
        identity,
        approvals,
        policies,
        ledger,
        runs: new Runs(store),
        reports: new Reports(store),
      },
      workspaceOf: () => requestContext.workspace,
    });
    const params = { ...toolEvent("ls"), timestamp: "2026-01-01T00:00:00Z" };
    const message = JSON.stringify({ jsonrpc: "2.0", id: "1", method: "ahp/event", params });
    const peer = { transport: "memory", principal: principal?.id } as const;
    const ask = async () =>
      JSON.parse((await new AhpServer(handlers).handleMessage(message, peer)) ?? "null").result;
    expect(await ask()).toMatchObject({ decision: "allow" });
    meanwhile = () => identity.revokeToken(id);
    expect(await ask()).toMatchObject({ decision: "block", reason: "the token is no longer valid" });
  });

  test("a policy that is replaced meanwhile decides", async () => {
    const inForce: { policy: Policy | undefined } = { policy: policyOf(ALLOW) };
    const swappedTo = async (policy: Policy | undefined) => {
      inForce.policy = policyOf(ALLOW);
      const supervisor = supervisorWith(ALLOW, {
        policies: { get: () => inForce.policy },
        gatherFacts: async (...asked) => {
          inForce.policy = policy;
          return plainFacts(...asked);
        },
      });
      return askOnce(supervisor);
    };
    await expectRecordedBlock(await swappedTo(policyOf(BLOCK)), "not any more");
    await expectRecordedBlock(await swappedTo(undefined), "no policy is loaded");
  });

  test("a policy that is replaced again and again blocks", async () => {
    const policies = { get: () => policyOf(ALLOW) };
    await expectRecordedBlock(await askOnce(supervisorWith(ALLOW, { policies })), /changed again and again/);
  });
});

describe("a payload that cannot be decided is blocked", () => {
  const nested = (levels: number): unknown => {
    let value: unknown = "x";
    for (let level = 0; level < levels; level += 1) value = { x: value };
    return value;
  };
  const circle: Record<string, unknown> = { tool_name: "ls" };
  circle.arguments = circle;

  test.each<[string, unknown, string]>([
    ["nothing", undefined, "no object"],
    ["null", null, "no object"],
    ["a text", "rm -rf /", "no object"],
    ["a number", 42, "no object"],
    ["a list", [{ tool_name: "ls" }], "no object"],
    ["an enormous text", { tool_name: "ls", arguments: { x: "x".repeat(9_000_000) } }, "too large"],
    ["an enormous name", { tool_name: "x".repeat(9_000_000) }, "too large"],
    [
      "very many members",
      { tool_name: "ls", arguments: Array.from({ length: 60_000 }, () => 0) },
      "too large",
    ],
    ["a deep nest", { tool_name: "ls", arguments: nested(100) }, "too deep"],
    ["a very deep nest", { tool_name: "ls", arguments: nested(100_000) }, "too deep"],
    ["a circle", circle, "too deep"],
    ["half a character", { tool_name: "ls", arguments: { x: "a\ud800b" } }, "surrogate"],
    ["half a character in a name", { tool_name: "ls", arguments: { "a\udc00": 1 } }, "surrogate"],
    ["half a character in the tool's name", { tool_name: "l\ud800" }, "surrogate"],
  ])("%s", async (_, payload, reason) => {
    const event = { ...toolEvent("ls"), payload };
    await expectRecordedBlock(await askOnce(supervisorWith(ALLOW), event), reason);
  });

  test("a number that JSON does not know", async () => {
    const event = { ...toolEvent("ls"), payload: { tool_name: "ls", arguments: { x: 10n } } };
    expect(await askOnce(supervisorWith(ALLOW), event)).toMatchObject({ verdict: "blocked" });
  });

  test("a member that throws", async () => {
    const payload = {
      tool_name: "ls",
      get arguments(): never {
        throw new Error("on fire");
      },
    };
    expect(await askOnce(supervisorWith(ALLOW), { ...toolEvent("ls"), payload })).toMatchObject({
      verdict: "blocked",
      reason: expect.stringContaining("on fire"),
    });
  });
});

test("and when nothing fails it is allowed", async () => {
  const decided = await supervisorWith(ALLOW).decide(toolEvent("ls"), testSubject, requestContext);
  expect(decided).toMatchObject({ verdict: "allowed", entry: expect.any(String) });
});
