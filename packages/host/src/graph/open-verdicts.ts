import { membersOf } from "@reins/acp";
import type { PlacedEntry } from "@reins/ledger";
import { type Harness, resultDraft, sessionKey } from "@reins/supervisor";
import { paged, subjectOfSession } from "../hub/interruption.ts";
import type { SessionRecord } from "../sessions/session-record.ts";
import type { GraphRun } from "./graph-run.ts";

/** A verdict that allowed something in a run, of which no result is recorded. */
export interface OpenVerdict {
  readonly cid: string;
  readonly tool: string;
  readonly action: unknown;
  readonly enforcement: unknown;
}

const PAGE = 500;
/** By how much a clock may have been set back since a run started. */
const SET_BACK_MS = 60_000;

/** The verdicts of a run without a result, the newest first. */
export async function openVerdicts(
  { ledger }: Pick<Harness, "ledger">,
  chain: string,
  { id, declared }: GraphRun,
): Promise<readonly OpenVerdict[]> {
  const ended = new Set<unknown>();
  const open: OpenVerdict[] = [];
  const range = { entity_id: chain, order: "newest", limit: PAGE } as const;
  const entries = paged((last: PlacedEntry | undefined) => ledger.read({ ...range, after: last?.seq }));
  for await (const { entry } of entries) {
    if (Date.parse(entry.timestamp) < Date.parse(declared.started_at) - SET_BACK_MS) break;
    const { verdict, event_type, enforcement, subject } = membersOf(entry.payload);
    if (entry.quality === "tool_result") ended.add(verdict);
    if (entry.quality !== "policy_verdict" || event_type !== "pre_action") continue;
    const { run, action } = membersOf(membersOf(subject).graph);
    if (run !== id || ended.has(entry.cid) || (verdict !== "allowed" && verdict !== "modify")) continue;
    open.push({ cid: entry.cid, tool: entry.target ?? "unknown", action, enforcement });
  }
  return open;
}

/** What the ledger says of a control. */
export const CONTROL_CHANGES = {
  cancel: "run_canceled",
  decide: "run_decided",
  revise: "run_revised",
} as const;

/** Finds the entries of controls that were stored with them, where a process was killed before it had noted which. */
export async function nameControlEntries(
  { ledger }: Pick<Harness, "ledger">,
  run: Pick<GraphRun, "id" | "declared">,
): Promise<void> {
  const { controls = [], chain, started_at } = run.declared;
  const isBare = () => controls.some(({ entry }, index) => entry === undefined && !found.has(index));
  const found = new Map<number, string>();
  if (chain === undefined || !isBare()) return;
  const range = { entity_id: chain, order: "newest", limit: PAGE } as const;
  const entries = paged((last: PlacedEntry | undefined) => ledger.read({ ...range, after: last?.seq }));
  for await (const { entry } of entries) {
    if (!isBare() || Date.parse(entry.timestamp) < Date.parse(started_at) - SET_BACK_MS) break;
    const { change, run_id, at } = membersOf(entry.payload);
    if (entry.quality !== "session_lifecycle" || run_id !== run.id) continue;
    const index = controls.findIndex((one) => CONTROL_CHANGES[one.kind] === change && one.at === at);
    if (index >= 0 && controls[index]?.by === entry.actor) found.set(index, entry.cid);
  }
  const named = controls.map((one, index) => {
    const entry = found.get(index);
    return entry === undefined ? one : { ...one, entry };
  });
  run.declared = { ...run.declared, controls: named };
}

/** Records an unknown outcome for everything that a run was allowed in an earlier process and that came to no result. */
export async function recordUnknown(harness: Harness, record: SessionRecord, run: GraphRun): Promise<void> {
  const subject = await subjectOfSession(harness, record);
  const open = await openVerdicts(harness, sessionKey(subject), run);
  if (open.length === 0) return;
  await harness.record(
    open.toReversed().map(({ cid, tool, action, enforcement }) => {
      const draft = resultDraft(subject, { tool, outcome: "unknown" }, undefined);
      const graph = { run_id: run.id, action_id: String(action) };
      return {
        ...draft,
        tags: ["unknown", `run:${run.id}`],
        payload: { ...draft.payload, verdict: cid, enforcement, graph },
      };
    }),
  );
}
