import { isDeepStrictEqual } from "node:util";
import { chunkText, isObject, membersOf, readUpdate, reinsMeta, type SessionUpdate } from "@reins/acp";
import type { PlacedEntry } from "@reins/ledger";
import type { DecisionInput } from "@reins/supervisor";
import { isPreparationRecord } from "../control/control-point.ts";
import { beyondScope } from "../control/mutation-scope.ts";

type Action = DecisionInput["action"];

/** What a child did or may have done, as the ledger has it. */
export interface EarlierEffect {
  readonly tool: string;
  /** Without secrets. */
  readonly effects: unknown;
  readonly outcome: "completed" | "unknown";
}

/** Something that a session did or may have done and that may have changed something. */
export interface EarlierChange extends EarlierEffect {
  /** Whether no verdict came before it: no verdict keeps its agent from doing it again. */
  readonly isUngated: boolean;
}

/** The same, or what failed and may have been done in part. */
export interface TriedChange extends Omit<EarlierChange, "outcome"> {
  readonly outcome: EarlierChange["outcome"] | "failed";
}

/** What the records of a child's session say about what it did in earlier processes. */
export interface EarlierWork {
  /** Whether it was prompted, and whether its last turn came to an end. */
  readonly state: "unprompted" | "cut" | "over";
  /** How its last turn ended. */
  readonly stopReason: string | undefined;
  readonly said: SaidText;
  /** What its turns used, those that were cut off as far as its agent reported it. */
  readonly tokens: number;
  readonly cost: number;
  /** How many actions it was allowed. */
  readonly calls: number;
  /** The effects since its last turn that ended: its agent may not know of them. */
  readonly effects: readonly EarlierEffect[];
  /** What it changed or may have changed in all its turns, also what failed. */
  readonly changes: readonly TriedChange[];
}

type Entry = Pick<PlacedEntry["entry"], "cid" | "quality" | "target" | "tags" | "payload">;

/** Reads what a child did from the entries of its chain and the updates of its session, each in their order. */
export function earlierWork(entries: Iterable<Entry>, updates: Iterable<SessionUpdate>): EarlierWork {
  const said = new SaidText();
  let [used, cost] = [0, 0];
  for (const update of updates) {
    said.take(update);
    if (update.kind !== "usage_update") continue;
    const usage = readUpdate(update.kind, update.update);
    used = Math.max(used, usage.used ?? 0);
    cost = Math.max(cost, usage.cost.amount ?? 0);
  }
  let state: EarlierWork["state"] = "unprompted";
  let stopReason: string | undefined;
  let [ofTurns, calls] = [0, 0];
  const open = new Map<string, OpenEffect>();
  const effects: EarlierEffect[] = [];
  const changes: TriedChange[] = [];
  const add = ({ isChange, ...one }: OpenEffect, outcome: EarlierEffect["outcome"]) => {
    effects.push({ ...one, outcome });
    if (isChange) changes.push({ ...one, outcome, isUngated: false });
  };
  const endOpen = () => {
    for (const one of open.values()) add(one, "unknown");
    open.clear();
  };
  for (const { cid, quality, target, tags, payload } of entries) {
    const { event_type, verdict, facts, outcome, stop_reason, usage } = membersOf(payload);
    if (quality === "turn") {
      [state, stopReason] = ["over", String(stop_reason)];
      const { tokens, totalTokens } = membersOf(usage);
      ofTurns += [totalTokens, tokens].find((one) => typeof one === "number") ?? 0;
      endOpen();
      effects.length = 0;
    } else if (quality === "session_lifecycle" && tags?.includes("interrupted")) state = "cut";
    else if (quality === "tool_result") {
      const known = open.get(String(verdict));
      open.delete(String(verdict));
      if (known && (outcome === "completed" || outcome === "unknown")) add(known, outcome);
      else if (known?.isChange && outcome === "failed")
        changes.push({ tool: known.tool, effects: known.effects, outcome, isUngated: false });
    } else if (quality === "policy_verdict" && event_type === "post_action") {
      const { isChange, ...seen } = openEffect(target, facts);
      if (isChange) changes.push({ ...seen, outcome: "completed", isUngated: true });
    } else if (quality === "policy_verdict" && (verdict === "allowed" || verdict === "modify")) {
      if (event_type === "pre_prompt") state = "cut";
      if (event_type !== "pre_action" || isPreparationRecord(payload)) continue;
      calls += 1;
      open.set(cid, openEffect(target, facts));
    }
  }
  endOpen();
  const tokens = ofTurns + (state === "cut" ? used : 0);
  return { state, stopReason, said, tokens, cost, calls, effects, changes };
}

/** An effect whose outcome is not known yet. */
interface OpenEffect extends Pick<EarlierEffect, "tool" | "effects"> {
  /** Whether it may change something, as what is not known may. */
  readonly isChange: boolean;
}

/** An effect by the facts of its verdict. These were written by the supervisor, or were too large to be. */
function openEffect(target: string | undefined, facts: unknown): OpenEffect {
  const action = isObject(facts) ? (facts as unknown as Action) : undefined;
  const effects = action?.effects ?? [];
  const isKnown = Array.isArray(effects) && isObject(action?.claims);
  return { tool: target ?? "unknown", effects, isChange: !action || !isKnown || mayChange(action) };
}

/**
 * Asks a person before an agent repeats what was done earlier: what was completed to the letter, and of a tool with an
 * effect of unknown outcome anything that may change something.
 */
export function repeats(
  earlier: readonly EarlierEffect[],
  redact: (value: unknown) => unknown,
  { underWay, done }: { readonly underWay: string; readonly done: string } = BEFORE_RESTART,
): ((action: Action) => string | undefined) | undefined {
  if (earlier.length === 0) return undefined;
  return (action) => {
    if (!mayChange(action)) return undefined;
    const ofTool = earlier.filter(({ tool }) => tool === action.tool);
    if (ofTool.some(({ outcome }) => outcome === "unknown"))
      return `${action.tool} was under way ${underWay}: it may have been done already`;
    // The ledger has the members of objects in an order of its own.
    const effects = whateverIsThere(JSON.parse(JSON.stringify(redact(action.effects))));
    return ofTool.some((one) => isDeepStrictEqual(whateverIsThere(one.effects), effects))
      ? `${action.tool} did the same ${done}`
      : undefined;
  };
}

/** Effects without what follows from the files that are there: a file that was written is destroyed by the same again. */
function whateverIsThere(effects: unknown): unknown {
  if (!Array.isArray(effects)) return effects;
  return effects.map((effect) => ({ ...membersOf(effect), destroys: undefined }));
}

const BEFORE_RESTART = { underWay: "when Reins stopped", done: "before Reins stopped" };

/** When an earlier attempt at a task did something. */
export const IN_EARLIER_ATTEMPT = {
  underWay: "when an earlier attempt failed",
  done: "in an earlier attempt",
};

/** The kinds of tools that change something, though nothing is known of what: those that send, note or delegate. */
const CHANGING: ReadonlySet<unknown> = new Set(["edit", "delete", "move", "execute", "other"]);

function mayChange(action: Action): boolean {
  const isUnseen = action.effects.length === 0 && CHANGING.has(action.claims.kind);
  return isUnseen || beyondScope("read_only", action, "") !== undefined;
}

/** A question of a child that a person has answered since. */
export interface EarlierQuestion {
  readonly tool: string;
  readonly arguments: unknown;
  readonly isAllowed: boolean;
}

/** The longest description of one call in a prompt. */
const LONGEST_CALL = 2_000;

const AFTER_RESTART =
  "Reins was restarted while you worked on this task, and your turn was cut off. Go on from where you were.";
/** The beginning of the prompt of another attempt. */
export const AFTER_ATTEMPT =
  "Another agent worked on this task before you and failed. Go on from what it left.";

/** The prompt by which a child goes on with its task. */
export function continuation(
  task: string,
  { effects }: Pick<EarlierWork, "effects">,
  answered: readonly EarlierQuestion[],
  why = AFTER_RESTART,
): string {
  const called = (tool: string, given: unknown) =>
    `- ${tool} ${JSON.stringify(given)}`.slice(0, LONGEST_CALL).toWellFormed();
  const listed = (heading: string, lines: readonly string[]) =>
    lines.length === 0 ? [] : [[heading, ...lines].join("\n")];
  const ofOutcome = (outcome: EarlierEffect["outcome"]) =>
    effects.filter((one) => one.outcome === outcome).map((one) => called(one.tool, one.effects));
  const ofAnswer = (isAllowed: boolean) =>
    answered.filter((one) => one.isAllowed === isAllowed).map((one) => called(one.tool, one.arguments));
  return [
    why,
    ...listed("This was done, and stays done. Do not repeat it:", ofOutcome("completed")),
    ...listed(
      "Of this it is not known whether it was done. Find out by reading alone; a person is asked before it is done again:",
      ofOutcome("unknown"),
    ),
    ...listed("A person has allowed this since. Call it again, the same to the letter:", ofAnswer(true)),
    ...listed("This was not allowed:", ofAnswer(false)),
    `The task:\n\n${task}`,
  ].join("\n\n");
}

/** As much of what a child says as is kept. */
const MAX_SAID = 256 * 1024;

/** What an agent says in its messages. The message that a restart cut off does not count: it is said anew. */
export class SaidText {
  #text = "";
  #message: unknown;
  /** The length of what was said before its last call of a tool. */
  #settled = 0;

  get text(): string {
    return this.#text;
  }

  take({ kind, update }: SessionUpdate): void {
    if (kind === "tool_call") this.#settled = this.#text.length;
    const text = kind === "agent_message_chunk" ? chunkText(update) : undefined;
    if (text === undefined) return;
    if (reinsMeta(update).interrupted === true) {
      this.#text = this.#text.slice(0, this.#settled);
      this.#message = null;
      return;
    }
    const { messageId } = update;
    const isNew = this.#text !== "" && messageId !== this.#message;
    const between = isNew && !this.#text.endsWith("\n") ? "\n" : "";
    this.#message = messageId;
    this.#text = `${this.#text}${between}${text}`.slice(0, MAX_SAID);
  }
}
