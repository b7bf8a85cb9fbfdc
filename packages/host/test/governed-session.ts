import type { JsonObject } from "@reins/acp";
import type { Draft } from "@reins/ledger";
import { type ControlEvent, type Decided, Redactor, type Subject } from "@reins/supervisor";
import type { ActionPayload } from "../src/control/control-point.ts";
import { type AgentProfile, THIRD_PARTY } from "../src/control/scope.ts";
import type { GovernorContext } from "../src/governor/context.ts";
import { GovernedSession, Turn } from "../src/governor/governed-session.ts";

export const ALLOWED: Decided = {
  verdict: "allowed",
  reason: "it may",
  rule: "r",
  enforcement: "asked",
  entry: "cid-verdict",
};
export const BLOCKED: Decided = { ...ALLOWED, verdict: "blocked", reason: "it may not" };

/** How the agent of a session is governed in a test. */
export interface TestGovernance {
  /** The verdicts in order; what comes after them is allowed. */
  readonly verdicts?: readonly Decided[];
  readonly profile?: Partial<AgentProfile>;
  readonly prompts?: JsonObject;
  /** The requests that the agent answers with an error. */
  readonly refuses?: readonly string[];
  /** What an action would do, by its payload; nothing by default. */
  readonly factsOf?: (payload: ActionPayload) => {
    readonly effects: readonly object[];
    readonly opaque: boolean;
  };
}

/** A session of a governor without processes and disk, and everything that it sends and records. */
export function testSession({
  verdicts = [],
  profile = {},
  prompts = {},
  refuses = [],
  factsOf = () => ({ effects: [], opaque: false }),
}: TestGovernance = {}) {
  const left = [...verdicts];
  const decided: ControlEvent[] = [];
  const records: Draft[] = [];
  const charged: unknown[] = [];
  const shown: JsonObject[] = [];
  const sent: unknown[] = [];
  const faults: string[] = [];
  const stops: string[] = [];
  const clock = { now: 1_000_000 };
  const redactor = Redactor.create();
  const supervisor = {
    decide: async (event: ControlEvent) => {
      decided.push(event);
      return left.shift() ?? ALLOWED;
    },
    foresee: async () => left[0] ?? ALLOWED,
    preview: async ({ payload }: { readonly payload: ActionPayload }) => ({ action: factsOf(payload) }),
    settle: async (_: Subject, end: unknown, usage?: unknown) => {
      if (usage !== undefined) charged.push(usage);
      return end;
    },
  };
  const harness = {
    supervisor,
    approvals: { withdraw: async () => undefined },
    identity: { subjectFor: (subject: unknown) => subject },
    policies: { roster: {}, inForce: new Map(), load: async () => undefined },
    runs: { note: async (_: unknown, kind: string, note: unknown) => void sent.push([kind, note]) },
    record: async (drafts: readonly Draft[]) => {
      records.push(...drafts);
      return { entries: drafts.map(({ quality }) => ({ cid: `cid-${quality}` })) };
    },
    forward: () => undefined,
    redact: (value: unknown) => redactor.value(value),
    redactor,
  };
  const context = {
    harness,
    principal: { tenant: "default" },
    entry: {
      id: "agent",
      modes: ["plan"],
      profile: { mode: "default", configOptions: {} },
      prompts: { commands: {}, mentions: "text", ...prompts },
      toolNames: { members: [], aliases: [], kinds: {} },
      wordings: {},
    },
    profile: { ...THIRD_PARTY, ...profile },
    enforcement: "asked",
    launch: { mode: "default", configOptions: {}, meta: {}, strip: [] },
    agent: {
      notify: async (method: string, params: unknown) => void sent.push([method, params]),
      request: async (method: string, params: unknown) => {
        sent.push([method, params]);
        if (refuses.includes(method)) throw new Error("the agent refuses it");
      },
    },
    now: () => new Date(clock.now),
    newId: () => "new",
    onFault: (reason: string) => void faults.push(reason),
    stop: (reason: string) => void stops.push(reason),
  } as unknown as GovernorContext;
  const port = {
    record: { id: "session", agent_session_id: "agent-session", cwd: "/w" },
    clients: { notify: (method: string, params: JsonObject) => void shown.push({ method, ...params }) },
  } as unknown as ConstructorParameters<typeof GovernedSession>[1];
  const session = new GovernedSession(context, port, { cwd: "/w", roots: ["/w"] });
  const turn = new Turn("turn", "2026-01-01T00:00:00.000Z", () => []);
  return { session, turn, clock, decided, records, charged, shown, sent, faults, stops };
}
