import { loadPolicy, type Subject } from "@reins/policy";
import { describe, expect, test } from "vitest";
import { TenantStates } from "../limits/tenant-states.ts";
import type { VerdictRecord } from "../record/record.ts";
import { OpenCalls, type RequestContext } from "./decision.ts";
import type { HarnessAnswer, Harnesses } from "./harnesses.ts";
import { decide, type PipelinePorts } from "./supervisor.ts";

const subject: Subject = {
  ...{ user: "ann", tenant: "default", roles: [], scopes: [], agent: "claude", trust: "registered" },
  ...{ session: "s", started: "interactive", chain: [], depth: 0, mode: "default", enforcement: "asked" },
};

interface Given {
  readonly answers?: readonly HarnessAnswer[];
  readonly context?: Partial<RequestContext>;
  readonly settled?: {
    readonly verdict: "allowed" | "blocked";
    readonly reason: string;
    readonly grant?: object;
  };
  readonly arguments?: object;
  readonly failing?: boolean;
}

/** Decides `ls` under a constitution with stand-ins for everything outside of the pipeline. */
async function decided(rules: string, given: Given = {}) {
  const { answers = [], context = {}, settled, failing = false } = given;
  const harnesses = answers.map(({ harness }) => `{ name: ${harness}, url: "http://${harness}" }`);
  const policy = loadPolicy({
    file: "rules",
    prose: Buffer.alloc(0),
    rules: `${rules}\nharnesses: [${harnesses.join(", ")}]`,
  });
  const written: VerdictRecord[] = [];
  const questions: object[] = [];
  const buffered = { room: undefined, written: Promise.resolve("later") };
  const ports = {
    policies: { get: () => policy },
    states: new TenantStates({
      store: { query: async () => [] },
      ledger: { read: async () => [] },
      now: () => 0,
      newId: () => "use",
    } as never),
    gatherFacts: async ({ payload }: { payload: unknown }) => ({
      ...{ tool: "ls", effects: [], opaque: false, doubts: [], claims: {} },
      arguments: { ...(Reflect.get(Object(payload), "arguments") ?? {}) },
    }),
    harnesses: { ask: async () => answers } as unknown as Harnesses,
    approvals: {
      settled: async (question: object) => {
        questions.push(question);
        return settled;
      },
      seek: async () => ({ id: "apr_1" }),
      announce: () => undefined,
    },
    writer: {
      now: async (_: unknown, record: VerdictRecord) => {
        if (failing) throw new Error("disk full");
        written.push(record);
        return { entries: [{ cid: "entry" }] };
      },
      later: (_: unknown, record: VerdictRecord) => {
        written.push(record);
        return buffered;
      },
      refused: () => buffered,
      report: () => undefined,
    },
    open: new OpenCalls(),
    now: () => 0,
  } as unknown as PipelinePorts;
  const payload = { tool_name: "ls", arguments: given.arguments ?? {} };
  const event = { event_type: "pre_action", session_id: "s", agent_id: "claude", depth: 0, payload } as const;
  const requestContext = { workspace: { cwd: "/w", roots: ["/w"] }, ...context };
  return { verdict: await decide({ event, subject, requestContext }, ports), written, questions };
}

const rule = (verdict: string) => `tool_rules: [{ name: r, condition: {}, ${verdict} }]`;
const ALLOWED = rule("verdict: allowed");

describe("the pipeline", () => {
  test.each(["ask", "allowed"])(
    "asks a person each time that the requester insists, whatever grant there is: %s",
    async (says) => {
      const rules = rule(`verdict: ${says}`);
      const settled = { verdict: "allowed", reason: "always", grant: {} } as const;
      expect((await decided(rules, { settled })).verdict).toMatchObject({ verdict: "allowed" });
      const context = { mustAsk: () => "unseen" };
      const { verdict, questions } = await decided(rules, { settled, context });
      expect(verdict).toMatchObject({ verdict: "ask", approval: "apr_1" });
      expect(questions).toMatchObject([{ options: ["allow_once", "deny"] }]);
    },
  );

  test("returns an allowing verdict with the entry that was written", async () => {
    const { verdict } = await decided(ALLOWED);
    expect(verdict).toMatchObject({ verdict: "allowed", rule: "r", entry: "entry" });
  });

  test("blocks what cannot be written", async () => {
    const { verdict } = await decided(ALLOWED, { failing: true });
    expect(verdict).toMatchObject({ verdict: "blocked", entry: undefined });
    expect(verdict.reason).toContain("disk full");
  });

  test("blocks what exceeds the bounds of the session, before people are asked", async () => {
    const bounds = () => "not in this session";
    const { verdict, questions } = await decided(rule("verdict: ask"), { context: { bounds } });
    expect(verdict).toMatchObject({ verdict: "blocked", reason: "not in this session", rule: undefined });
    expect(questions).toEqual([]);
  });

  test("names the approval that an ask waits for, with the terms of its rule", async () => {
    const { verdict, questions } = await decided(rule("verdict: ask, quorum: 2, expires: 1m"));
    expect(verdict).toMatchObject({ verdict: "ask", approval: "apr_1", entry: undefined });
    expect(questions).toMatchObject([{ quorum: 2, expires_ms: 60_000, rule: "r" }]);
  });

  test("keeps the terms of a rule where a limit asks after its question was answered", async () => {
    const limits = "limits: [{ name: l, per: session, calls: 0, exceeded: ask }]";
    const settled = { verdict: "allowed", reason: "granted", grant: {} } as const;
    const { verdict, questions } = await decided(`${rule("verdict: ask, quorum: 2")}\n${limits}`, {
      settled,
    });
    expect(verdict).toMatchObject({ verdict: "ask", rule: "l" });
    expect(questions).toMatchObject([{ quorum: 2 }, { quorum: 2, options: ["allow_once", "deny"] }]);
  });

  test("says when to decide a deferred action again", async () => {
    const { verdict } = await decided(rule("verdict: defer, retry_after: 5s"));
    expect(verdict).toMatchObject({ verdict: "defer", retry_after_ms: 5_000 });
  });

  test("returns the arguments that a rule put in place of the agent's", async () => {
    const rules =
      "tool_rules: [{ name: m, condition: { arguments: { size: '9' } }, verdict: modify, patch: { size: '4' } }, { name: r, condition: {}, verdict: allowed }]";
    const { verdict, written } = await decided(rules, { arguments: { size: "9", name: "x" } });
    expect(verdict).toMatchObject({
      verdict: "modify",
      modified_arguments: { size: "4", name: "x" },
      rule: "m",
    });
    expect(written).toMatchObject([{ modifiedFrom: { by: "rule", rule: "m", patch: { size: "4" } } }]);
  });

  const said = (harness: string, answer: object) =>
    ({ harness, reason: `${harness} says`, ...answer }) as HarnessAnswer;
  test.each([
    ["a stricter harness counts", [said("a", { verdict: "blocked" })], { verdict: "blocked", rule: "a" }],
    ["a looser harness does not", [said("a", { verdict: "allowed" })], { verdict: "allowed", rule: "r" }],
    [
      "a deferring harness says when to ask again",
      [said("a", { verdict: "defer", retry_after_ms: 7_000 })],
      { verdict: "defer", retry_after_ms: 7_000, rule: "a" },
    ],
    [
      "the strictest of several counts",
      [said("a", { verdict: "ask" }), said("b", { verdict: "blocked" })],
      { verdict: "blocked", rule: "b" },
    ],
    [
      "two changes of one action block it",
      [
        said("a", { verdict: "modify", modified: { x: 1 } }),
        said("b", { verdict: "modify", modified: { x: 2 } }),
      ],
      { verdict: "blocked", rule: "b" },
    ],
    [
      "one that fails open is skipped",
      [said("a", { verdict: "failed_open" })],
      { verdict: "allowed", rule: "r" },
    ],
  ])("of external harnesses, %s", async (_, answers, expected) => {
    expect((await decided(ALLOWED, { answers })).verdict).toMatchObject(expected);
  });

  test("keeps the block of bounds that are exceeded once a harness has changed the action", async () => {
    let checks = 0;
    const bounds = () => {
      checks += 1;
      return checks > 1 ? "the calls are used up" : undefined;
    };
    const answers = [said("a", { verdict: "modify", modified: { x: 1 } })];
    const { verdict } = await decided(ALLOWED, { answers, context: { bounds } });
    expect(verdict).toMatchObject({ verdict: "blocked", reason: "the calls are used up" });
  });

  test.each(["allowed", "ask"])("records what the requester cannot act on as blocked: %s", async (policy) => {
    const inexpressible = () => "the agent takes no permission for once";
    const rules = rule(`verdict: ${policy}, reason: why`);
    const { verdict, written, questions } = await decided(rules, { context: { inexpressible } });
    const reason = "why; the agent takes no permission for once";
    expect(verdict).toMatchObject({ verdict: "blocked", reason, rule: "r" });
    expect(written).toMatchObject([{ decided: { verdict: "blocked", reason } }]);
    expect(questions).toEqual([]);
  });

  test("passes the arguments of a modified action to the check of what the requester can act on", async () => {
    const inexpressible = (modified?: { arguments: unknown }) => JSON.stringify(modified?.arguments);
    const rules = rule("verdict: modify, patch: { size: 4 }, reason: why");
    const { verdict } = await decided(rules, { arguments: { size: 9 }, context: { inexpressible } });
    expect(verdict).toMatchObject({ verdict: "blocked", reason: 'why; {"size":4}' });
  });

  test("blocks what a rule would ask about where no person is asked", async () => {
    const unasked = "it is done already";
    const { verdict } = await decided(rule("verdict: ask, reason: why"), { context: { unasked } });
    expect(verdict).toMatchObject({ verdict: "blocked", reason: "why; it is done already", rule: "r" });
    expect(verdict).not.toHaveProperty("approval");
  });

  test("blocks when the requester lost its rights while people were asked", async () => {
    const confirm = () => Promise.reject(new Error("the token was revoked"));
    const settled = { verdict: "allowed", reason: "bob said yes" } as const;
    const { verdict } = await decided(rule("verdict: ask"), { context: { confirm }, settled });
    expect(verdict).toMatchObject({ verdict: "blocked", reason: "the token was revoked" });
  });
});

describe("a deferred verdict", () => {
  const context = { deferred: true };

  test("is returned before it is written, and names its entry then", async () => {
    const { verdict } = await decided(ALLOWED, { context });
    expect(verdict).toMatchObject({ verdict: "allowed", entry: undefined });
    expect(await verdict.written).toBe("entry");
  });

  test("has no entry where it cannot be written", async () => {
    const { verdict } = await decided(ALLOWED, { context, failing: true });
    expect([verdict.verdict, await verdict.written]).toEqual(["allowed", undefined]);
  });

  test("that allows nothing is written as any other", async () => {
    const { verdict, written } = await decided(rule("verdict: blocked"), { context });
    expect([verdict.verdict, written.length]).toEqual(["blocked", 1]);
  });
});

describe("rules alone", () => {
  const context = { unattended: true };

  test.each(["allowed", "blocked"])("decide what they have %s, on record", async (outcome) => {
    const { verdict, written } = await decided(rule(`verdict: ${outcome}`), { context });
    expect([verdict.verdict, written.length]).toEqual([outcome, 1]);
  });

  test("block what a person would be asked about, without a question or a record", async () => {
    const { verdict, written, questions } = await decided(rule("verdict: ask"), { context });
    expect(verdict).toMatchObject({ verdict: "blocked", rule: "r" });
    expect([written, questions]).toEqual([[], []]);
  });
});
