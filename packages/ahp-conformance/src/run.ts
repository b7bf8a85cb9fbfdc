import { AhpError, AhpEvent, Decision, QueryRequest, QueryResponse, RPC } from "@reins/ahp";
import { errorMessage } from "@reins/kit";
import { type Credentials, describeTarget, type Target } from "./channels/channel.ts";
import { type Check, Inapplicable, must, type Section, Unmet } from "./check.ts";
import { expectDecoded, expectError, expectResult } from "./expect.ts";
import { memberChecks } from "./mutations.ts";
import { Probe } from "./probe.ts";
import { type CheckReport, type ConformanceReport, countChecks, type SectionReport } from "./report.ts";
import { event, HANDSHAKE, QUERY, requestText } from "./samples.ts";
import { batch } from "./sections/batch.ts";
import { decisions, depth, events } from "./sections/events.ts";
import { authentication, handshake } from "./sections/handshake.ts";
import { http, websocket } from "./sections/http.ts";
import { lines } from "./sections/lines.ts";
import { jsonRpc, messageModel } from "./sections/message-model.ts";
import { contracts, payloads } from "./sections/payloads.ts";
import { errorTexts, replies } from "./sections/replies.ts";
import { robustness } from "./sections/robustness.ts";

const METHODS = ["ahp/handshake", "ahp/event", "ahp/query", "ahp/batch"];

const FULL = event("pre_action", {
  context: {
    recent_facts: [{ content: "c", source: "s", confidence: 1 }],
    memory_summary: { memory_type: "m", total_items: 1, recent_topics: ["t"] },
    session_stats: { total_actions: 1, total_tokens: -1, duration_ms: 1, error_count: 0 },
    current_task: "t",
    capabilities: { a: 1 },
  },
  metadata: { a: 1 },
});

/** The event envelope: what must be there, of which type, and what is left to the sender. */
const params: Section = {
  section: "Params",
  reference: "Message Model; Methods (ahp/event)",
  checks: [
    must("params-object", "params that are no object are refused with -32602", async (probe) => {
      for (const method of METHODS)
        for (const answer of await probe.callEach(method, [null, "x", 5, true, []]))
          expectError(answer, [RPC.invalidParams], method);
    }),
    ...memberChecks("event", "ahp/event", AhpEvent, FULL),
    must(
      "event-type-known",
      "an unknown event type is refused with -32602; spelling counts",
      async (probe) => {
        for (const event_type of ["no_such_event", "Pre_Action", "preAction", "pre_tool_use", ""]) {
          const answer = await probe.call("ahp/event", { ...event("pre_action"), event_type });
          expectError(answer, [RPC.invalidParams], `the event type "${event_type}"`);
        }
      },
    ),
    must(
      "integers-strict",
      "an integer is written as an integer in its range, anything else is refused with -32602",
      async (probe) => {
        for (const depth of ["1.0", "1e0", "0.5", "-1", "4294967296", '"0"'])
          await expectDepthRefused(probe, depth);
        const context = { session_stats: { ...FULL.context?.session_stats, total_tokens: 2 ** 31 } };
        const answer = await probe.call("ahp/event", { ...event("pre_action"), context });
        expectError(answer, [RPC.invalidParams], "a token count of 2147483648");
      },
    ),
    must("optional-null", "null for an optional member means that it is absent", async (probe) => {
      for (const context of [null, { current_task: null, recent_facts: null, session_stats: null }]) {
        const answer = await probe.call("ahp/event", { ...event("pre_action"), context, metadata: null });
        expectDecoded(Decision, answer);
      }
    }),
    must("strings-free", "ids and timestamp may be any text, also none", async (probe) => {
      for (const text of ["", "any text ✓", "\u0000", "x".repeat(5000)]) {
        const names = { session_id: text, agent_id: text };
        expectResult(await probe.call("ahp/handshake", { ...HANDSHAKE, ...names }), "the handshake");
        expectDecoded(Decision, await probe.decide("pre_action", { ...names, timestamp: text }));
      }
      await probe.call("ahp/handshake", HANDSHAKE);
    }),
  ],
};

/** A number has to be spelled by hand, because JavaScript writes 1.0 as 1. */
async function expectDepthRefused(probe: Probe, depth: string): Promise<void> {
  const id = probe.newId();
  const text = requestText(id, "ahp/event", event("pre_action")).replace('"depth":0', `"depth":${depth}`);
  expectError(await probe.ask(text, id, probe.decisionMs), [RPC.invalidParams], `a depth of ${depth}`);
}

/** Questions to the harness. */
const query: Section = {
  section: "Query",
  reference: "Methods (ahp/query)",
  checks: [
    must(
      "query-answered",
      "a query is answered, or refused with -32603 where it is not supported",
      async (probe) => {
        for (const payload of [QUERY.payload, null, "text", []]) {
          const answer = await probe.call("ahp/query", { ...QUERY, payload });
          if (answer.error) expectError(answer, [RPC.internalError], "the query");
          else expectDecoded(QueryResponse, answer, "the query");
        }
      },
    ),
    ...memberChecks("query", "ahp/query", QueryRequest, QUERY),
  ],
};

const DEFAULT_QUIET_MS = 40;

/** How a run is made. */
export interface ConformanceOptions {
  /** Called with every check as soon as it is decided. */
  readonly onCheck?: (check: CheckReport, section: Pick<Section, "section" | "reference">) => void;
  /** How long an answer may take; by default 5 s, and for decisions the harness's own `timeout_ms`. */
  readonly waitMs?: number;
  /** How long silence must last, after a later request was answered, to count as silence. */
  readonly quietMs?: number;
  /** `full` makes every check; `essential` only those that a harness must pass. */
  readonly profile?: "full" | "essential";
  /** Credentials for HTTP and WebSocket. */
  readonly auth?: Credentials;
  /** Ends the run early; what was not checked by then is reported as skipped. */
  readonly signal?: AbortSignal;
}

/**
 * Examines a harness and reports what holds, section by section. Rejects with an {@link AhpError} when the harness
 * cannot be reached; everything else that it does is part of the report.
 */
export async function runConformance(
  target: Target,
  options: ConformanceOptions = {},
): Promise<ConformanceReport> {
  const { auth: credentials, waitMs, quietMs = DEFAULT_QUIET_MS } = options;
  const probe = new Probe(target, { credentials, waitMs, quietMs });
  try {
    const sections = await examine(probe, planFor(target, options), options);
    const totals = countChecks(sections);
    return {
      target: describeTarget(target),
      transport: target.transport,
      ...(probe.harness && { harness: probe.harness }),
      sections,
      totals,
      conforms: totals.must.fails === 0 && totals.must.holds > 0 && !options.signal?.aborted,
    };
  } finally {
    await probe.connections.close();
  }
}

async function examine(
  probe: Probe,
  plan: readonly Planned[],
  { onCheck, signal }: ConformanceOptions,
): Promise<SectionReport[]> {
  const reports = new Map<Check, CheckReport>();
  let obstacle: string | undefined;
  for (const { check, section } of [...plan.filter(runsFirst), ...plan.filter(looksBack)]) {
    if (signal?.aborted) obstacle ??= "the run was ended early";
    const report = obstacle === undefined ? await make(check, probe) : skipped(check, obstacle);
    if (check.essential && report.outcome === "fails")
      obstacle ??= `nothing else can be checked unless this holds: ${check.title}`;
    reports.set(check, report);
    onCheck?.(report, section);
  }
  return reportSections(reports);
}

interface Planned {
  readonly check: Check;
  readonly section: Section;
}

function planFor(target: Target, { profile = "full" }: ConformanceOptions): Planned[] {
  return SECTIONS.flatMap((section) =>
    section.checks
      .filter(({ transports }) => transports?.includes(target.transport) ?? true)
      .filter(({ level }) => profile === "full" || level === "must")
      .map((check) => ({ check, section })),
  );
}

function looksBack({ check }: Planned): boolean {
  return check.looksBack ?? false;
}

function runsFirst(planned: Planned): boolean {
  return !looksBack(planned);
}

async function make(check: Check, probe: Probe): Promise<CheckReport> {
  const { id, title, level } = check;
  probe.transcript.start();
  try {
    await check.run(probe);
    await probe.connections.closeOwn();
    return { id, title, level, outcome: "holds", exchange: probe.transcript.records() };
  } catch (error) {
    if (check.essential && error instanceof AhpError) throw error;
    await probe.connections.recover();
    if (error instanceof Inapplicable) return skipped(check, error.message);
    const shown = error instanceof Unmet ? error.evidence : undefined;
    const exchange = shown ?? probe.transcript.records();
    return { id, title, level, outcome: "fails", why: errorMessage(error), exchange };
  }
}

function skipped({ id, title, level }: Check, why: string): CheckReport {
  return { id, title, level, outcome: "skipped", why, exchange: [] };
}

function reportSections(reports: ReadonlyMap<Check, CheckReport>): SectionReport[] {
  return SECTIONS.map(({ section, reference, checks }) => ({
    section,
    reference,
    checks: checks.flatMap((check) => reports.get(check) ?? []),
  })).filter(({ checks }) => checks.length > 0);
}

/** Every section, in the order in which they are reported. */
const SECTIONS: readonly Section[] = [
  messageModel,
  replies,
  jsonRpc,
  handshake,
  events,
  decisions,
  payloads,
  contracts,
  params,
  depth,
  batch,
  query,
  errorTexts,
  robustness,
  lines,
  http,
  websocket,
  authentication,
];
