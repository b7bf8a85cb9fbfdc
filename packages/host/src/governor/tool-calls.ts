import { isDeepStrictEqual } from "node:util";
import { isObject, type JsonObject, toolCallIn } from "@reins/acp";
import type { ActionPayload } from "../control/control-point.ts";
import { type Claim, claimsIn, MOST_CLAIMS } from "./claims.ts";
import { argumentsDigest, type Ran, ReplayedCalls, ranBy } from "./replayed-calls.ts";
import { type Act, actOf, givenName, isEmpty, type ToolNaming } from "./tool-name.ts";

/** The permission of a tool call that was allowed by the verdict of that entry. */
export interface GivenPermit {
  readonly kind: "given";
  readonly entry: string | undefined;
  readonly tool: string;
  /** The arguments that the verdict was about; absent where others may be performed. */
  readonly decided?: {
    readonly arguments: unknown;
    /** The call as facts were gathered from it, and what the agent itself named it. */
    readonly payload: ActionPayload;
    readonly reported: { readonly name: unknown };
  };
}

/** The permission of a tool call. */
export type Permit =
  /** Not decided. */
  | { readonly kind: "none" }
  | GivenPermit
  /** Refused. */
  | { readonly kind: "refused" }
  /** Allowed by the verdict of that entry, for the gateway to perform. */
  | { readonly kind: "elsewhere"; readonly entry: string | undefined; readonly tool: string }
  /** Decided and performed by the gateway. */
  | { readonly kind: "performed" };

/** An act that an agent reported of a call, and what stood then. */
export interface ReportedAct extends Act {
  /** Whether it was reported before the call was answered, and whether after that was refused. */
  readonly isBeforeAnswer: boolean;
  readonly isAfterRefusal: boolean;
  /** Whether the agent says more than that it runs: that it is done, how it exited, where its output is. */
  readonly hasRun: boolean;
  /** The terminals that alone show it. */
  readonly terminals?: readonly string[];
}

/** A file that Reins wrote for a call. */
export interface Written {
  readonly path: string;
  readonly content_hash: string;
  readonly outcome: "completed" | "failed";
}

/** A tool call as far as it is known. */
export interface ToolCall {
  readonly id: string;
  /** What the agent said of it at first. */
  readonly first: JsonObject;
  /** What the agent has said of it, the latest of each member. */
  readonly reported: JsonObject;
  /** What the agent named its tool when it first did; another name later is not taken for it. */
  readonly named?: string | undefined;
  readonly permit: Permit;
  /** When it was first reported, or what was before it had ended: in milliseconds since 1970. */
  readonly since: number;
  /** Whether the agent has said that it runs. */
  readonly ran: boolean;
  /** What the agent has said that it did, in any update, and how much of that was held to what was decided. */
  readonly claims: readonly Claim[];
  readonly weighed: number;
  /** Each act that the agent reported as running or done, and how many of them were compared with what was decided. */
  readonly acts: readonly ReportedAct[];
  readonly compared: number;
  /** What permission was asked for, and the permits that were given. */
  readonly asked: readonly Act[];
  readonly given: readonly GivenPermit[];
  /** Which call of the session it is, counted from one. */
  readonly ordinal: number;
  /** What Reins writes for it, by its verdict. */
  readonly writes: readonly Promise<Written>[];
  /** Whether what came of it has been recorded. */
  readonly concluded: boolean;
  /** What it ran, of a call of an earlier turn: its details are not kept. */
  readonly past?: Ran;
}

const FINAL = new Set(["completed", "failed"]);
/** How many calls of one session are remembered; more of them can be open only until they are recorded. */
const MAX_CALLS = 10_000;
/** How many acts and verdicts of one call are remembered. */
export const MOST_ACTS = 50;

const UNNAMED: ToolNaming = { toolNames: { members: [], aliases: [], kinds: {} } };

/** Whether a call has ended. */
export function isFinal({ reported }: Pick<ToolCall, "reported">): boolean {
  return FINAL.has(String(reported.status));
}

/**
 * The tool calls of a session, by the agent's ids. Updates come in any order. A call that has ended never starts again, but
 * its id may be used for another: some models count from one in every turn.
 */
export class ToolCalls {
  readonly #calls = new Map<string, ToolCall>();
  /** Called when no call is open any more. */
  readonly #idle: (() => void)[] = [];
  #begun = 0;
  /** When the last call of the turn ended, or the turn began. */
  #quietSince: number;
  /** How many calls there had been when one was last refused in this turn; nothing where none was. */
  #begunAtRefusal: number | undefined;
  readonly #entry: ToolNaming;
  #replay: ReplayedCalls | undefined;

  /** `at` is when the turn began in which the first of them comes, `entry` has how the agent names tools. */
  constructor(at = 0, entry: ToolNaming = UNNAMED) {
    this.#quietSince = at;
    this.#entry = entry;
  }

  /** How many there have been. */
  get begun(): number {
    return this.#begun;
  }

  /** A call, if it is known. */
  get(id: string): ToolCall | undefined {
    return this.#calls.get(id);
  }

  /** Settles when no call is open. */
  settled(): Promise<void> {
    if (this.open.length === 0) return Promise.resolve();
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#idle.push(resolve);
    return promise;
  }

  /** Whether more calls are open than are remembered. */
  get isFull(): boolean {
    return this.#calls.size > MAX_CALLS;
  }

  /** Calls that have not ended, oldest first. */
  get open(): readonly ToolCall[] {
    return [...this.#calls.values()].filter(({ concluded }) => !concluded);
  }

  /** Notes that the agent begins to load the session, and repeats the calls that it made before. */
  beginReplay(): void {
    this.#replay = new ReplayedCalls(this.#calls.values(), this.#entry);
  }

  /** Whether an update repeats a call, as an agent does while it loads the session. */
  repeats(update: JsonObject): boolean {
    return this.#replay?.repeats(update) ?? false;
  }

  /** Notes what an agent reports of a call, at a time: in an update, or when it asks permission. */
  note(update: JsonObject, at = 0): ToolCall {
    const { toolCallId, status } = update;
    const id = typeof toolCallId === "string" ? toolCallId : unnamed(toolCallId);
    const known = this.#meant(id, update) ?? this.#begin(id, update, at);
    const reported = { ...known.reported, ...news(known.reported, update) };
    if (isFinal(known)) reported.status = known.reported.status;
    // What it was said to run with is not taken back by what is said in the end.
    if (known.ran && comparedToDecided(known) === "other") reported.rawInput = known.reported.rawInput;
    const call: ToolCall = {
      ...known,
      reported,
      named: known.named ?? givenName(reported, this.#entry.toolNames.members),
      ran: known.ran || status === "in_progress",
      claims: withClaims(known.claims, { ...update, kind: reported.kind }),
      ...this.#actsIn(known, { ...reported, ...argumentsIn(update) }, update),
    };
    if (isFinal(call)) this.#quietSince = Math.max(this.#quietSince, at);
    this.#keep(call);
    return call;
  }

  /** Notes that permission is asked for a call with the arguments that it has now, which came after the request. */
  noteAsked(call: ToolCall): void {
    const known = this.#calls.get(call.id);
    const act = actOf(call, this.#entry);
    if (!known || known.asked.some((one) => isDeepStrictEqual(one, act))) return;
    this.#keep({ ...known, asked: [...known.asked, act].slice(-MOST_ACTS) });
  }

  /** Notes what was decided about a call. */
  permit(id: string, permit: Permit): void {
    const call = this.#calls.get(id);
    if (permit.kind === "refused") this.#begunAtRefusal = this.#begun;
    // What ended before the answer was recorded then.
    if (!call || (call.concluded && permit.kind === "refused")) return;
    const given = permit.kind === "given" ? [...call.given, permit].slice(-MOST_ACTS) : call.given;
    this.#keep({ ...call, permit, given });
  }

  /** The acts of a call that were not compared yet with what was decided; from now on they are. */
  compare(id: string): readonly ReportedAct[] {
    const call = this.#calls.get(id);
    if (!call || call.compared === call.acts.length) return [];
    this.#keep({ ...call, compared: call.acts.length });
    return call.acts.slice(call.compared);
  }

  /** Whether a call was announced before another one was refused in this turn: agents drop it then. */
  isDropped({ ordinal, first }: ToolCall): boolean {
    return ordinal <= (this.#begunAtRefusal ?? 0) && !isFinal({ reported: first });
  }

  /**
   * Begins a write for a call that was allowed by the verdict of that entry, and returns what ends it; nothing where the
   * call has ended, and its verdict with it.
   */
  beginWrite(id: string, entry: string | undefined): ((written: Written) => void) | undefined {
    const call = this.#calls.get(id);
    if (!call || call.concluded || call.permit.kind !== "given" || call.permit.entry !== entry)
      return undefined;
    const { promise, resolve } = Promise.withResolvers<Written>();
    this.#keep({ ...call, writes: [...call.writes, promise] });
    return resolve;
  }

  /** The claims of a call that were not held yet to what was decided; from now on they are. */
  weigh(id: string): readonly Claim[] {
    const call = this.#calls.get(id);
    if (!call || call.weighed === call.claims.length) return [];
    this.#keep({ ...call, weighed: call.claims.length });
    return call.claims.slice(call.weighed);
  }

  /** Notes that a call's outcome has been recorded; whether that was new. */
  conclude(id: string): boolean {
    const call = this.#calls.get(id);
    if (!call || call.concluded) return false;
    this.#keep({ ...call, concluded: true });
    if (this.open.length === 0) for (const resolve of this.#idle.splice(0)) resolve();
    return true;
  }

  /** Allowed calls that have not ended. */
  get unfinished(): readonly ToolCall[] {
    return [...this.#calls.values()].filter(
      (call) => call.permit.kind === "given" && !call.concluded && !isFinal(call),
    );
  }

  /** Notes that a turn begins. */
  beginTurn(at: number): void {
    this.#quietSince = at;
    this.#begunAtRefusal = undefined;
  }

  /** Forgets the details of calls that have ended, at the end of a turn. */
  endTurn(): void {
    for (const call of this.#calls.values()) {
      if (!call.concluded || call.past) continue;
      const { status } = call.reported;
      const forgotten = { acts: [], compared: 0, asked: [], given: [], writes: [] };
      this.#keep({ ...call, ...forgotten, first: {}, reported: { status }, past: ranBy(call, this.#entry) });
    }
  }

  /**
   * The call that an agent speaks of, if it is known. One that has ended asks for nothing, is not announced, is not given
   * anything else and does not run with it: then its id is used for another. A status that comes late is none.
   */
  #meant(id: string, update: JsonObject): ToolCall | undefined {
    const call = this.#calls.get(id);
    if (!call?.concluded) return call;
    const { sessionUpdate, status, rawInput } = update;
    const isGiven = !isEmpty(rawInput);
    const begins = isGiven && (status === "pending" || status === "in_progress");
    const isGivenElse = isGiven && argumentsDigest(rawInput) !== ranBy(call, this.#entry).digest;
    const isAnother = sessionUpdate === undefined || sessionUpdate === "tool_call" || begins || isGivenElse;
    return isAnother ? undefined : call;
  }

  #begin(id: string, first: JsonObject, at: number): ToolCall {
    this.#begun += 1;
    this.#calls.delete(id);
    // The start of a call that is announced only when it has ended is unknown.
    const since = isFinal({ reported: first }) ? this.#quietSince : at;
    const begun = { id, first, reported: {}, since, ran: false, concluded: false, ordinal: this.#begun };
    const none = { claims: [], weighed: 0, acts: [], compared: 0, asked: [], given: [], writes: [] };
    return { ...begun, ...none, permit: { kind: "none" } };
  }

  /** The acts and requests of a call with those of an update. */
  #actsIn(known: ToolCall, reported: JsonObject, update: JsonObject): Pick<ToolCall, "acts" | "asked"> {
    const { acts, asked, permit, first } = known;
    if (known.past) return { acts, asked };
    const act = actOf({ reported, first }, this.#entry);
    if (update.sessionUpdate === undefined) return { acts, asked: [...asked, act].slice(-MOST_ACTS) };
    const isAfterRefusal = permit.kind === "refused";
    const terminals = claimsIn(update).flatMap((claim) => (claim.kind === "exec" ? [claim.terminal] : []));
    const runs = update.status === "in_progress" || update.status === "completed";
    // Of a call that was refused, its end is reported too; what was allowed is compared whatever its status.
    const counts = isAfterRefusal
      ? runs || terminals.length > 0 || hasExited(update)
      : runs || known.ran || FINAL.has(String(update.status)) || permit.kind !== "none";
    if (!counts) return { acts, asked };
    const now = {
      ...act,
      isBeforeAnswer: permit.kind === "none",
      isAfterRefusal,
      hasRun: update.status === "completed" || terminals.length > 0 || hasExited(update),
      ...(!runs && terminals.length > 0 && { terminals }),
    };
    if (acts.some((one) => isDeepStrictEqual(one, now))) return { acts, asked };
    return { acts: [...acts, now].slice(0, MOST_ACTS + 1), asked };
  }

  #keep(call: ToolCall): void {
    this.#calls.set(call.id, call);
    if (this.#calls.size <= MAX_CALLS) return;
    // What has not ended was not compared with what was decided, and is not forgotten.
    for (const { id, concluded } of this.#calls.values()) {
      if (!concluded || id === call.id) continue;
      this.#calls.delete(id);
      return;
    }
  }
}

/** The claims of a call with those of an update; one more than are remembered says that there are others. */
function withClaims(known: readonly Claim[], update: JsonObject): readonly Claim[] {
  const said = claimsIn(update).filter((claim) => !known.some((one) => isDeepStrictEqual(one, claim)));
  return said.length === 0 ? known : [...known, ...said].slice(0, MOST_CLAIMS + 1);
}

/** The arguments that an update itself brings. */
function argumentsIn({ rawInput }: JsonObject): JsonObject {
  return isEmpty(rawInput) ? {} : { rawInput };
}

/** Whether an update gives what only a command that ran has: how it exited, or its output. */
function hasExited({ rawOutput }: JsonObject): boolean {
  return isObject(rawOutput) && ["exitCode", "exit_code", "stdout"].some((name) => !isEmpty(rawOutput[name]));
}

/** What a call is known by that was given no id, or one that is no text. */
function unnamed(id: unknown): string {
  return `without an id: ${JSON.stringify(id) ?? ""}`;
}

/** Members whose emptiness means that the agent does not report them now, not that there is nothing. */
const KEPT = new Set(["rawInput", "locations"]);

/** What is new in an update. A member that is null says nothing, and an empty one removes nothing. */
function news(reported: JsonObject, update: JsonObject): JsonObject {
  return Object.fromEntries(
    Object.entries(update).filter(
      ([name, value]) =>
        value !== null &&
        value !== undefined &&
        !(KEPT.has(name) && isEmpty(value) && !isEmpty(reported[name])),
    ),
  );
}

/** How what a call is said to be given in the end stands to what was decided: the same, with more, or something else. */
export function comparedToDecided({ permit, reported }: ToolCall): "same" | "more" | "other" {
  if (permit.kind !== "given" || !permit.decided) return "same";
  return compareArguments(reported.rawInput, permit.decided.arguments);
}

/** How arguments compare with those that were decided; none say nothing else. */
export function compareArguments(rawInput: unknown, decided: unknown): "same" | "more" | "other" {
  if (isEmpty(rawInput) || isDeepStrictEqual(rawInput, decided)) return "same";
  if (!isObject(rawInput) || !isObject(decided) || isEmpty(decided)) return "other";
  const isKept = Object.entries(decided).every(([name, value]) => isDeepStrictEqual(rawInput[name], value));
  return isKept ? "more" : "other";
}

/** The diffs in the content of a call: what a path is to become. */
export function diffsOf({
  reported,
}: Pick<ToolCall, "reported">): readonly { path: string; newText: string }[] {
  return toolCallIn(reported).content.flatMap(({ type, path, newText }) =>
    type === "diff" && path !== undefined && newText !== undefined ? [{ path, newText }] : [],
  );
}
