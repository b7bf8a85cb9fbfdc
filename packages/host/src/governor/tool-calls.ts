import { createHash } from "node:crypto";
import { isDeepStrictEqual } from "node:util";
import { isObject, type JsonObject, toolCallIn } from "@reins/acp";
import type { ActionPayload } from "../control/control-point.ts";
import { type Claim, claimsIn, MOST_CLAIMS } from "./claims.ts";
import { givenName } from "./tool-name.ts";

/** The permission of a tool call. */
export type Permit =
  /** Not decided. */
  | { readonly kind: "none" }
  /** Allowed by the verdict of that entry. */
  | {
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
  /** Refused. */
  | { readonly kind: "refused" }
  /** Left to the gateway, which is expected to decide about it and perform it. */
  | { readonly kind: "elsewhere" }
  /** Decided and performed by the gateway. */
  | { readonly kind: "performed" };

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
  /** What Reins writes for it, by its verdict. */
  readonly writes: readonly Promise<Written>[];
  /** Whether what came of it has been recorded. */
  readonly concluded: boolean;
  /** What it was given, as a digest, once that is let go of. */
  readonly digest?: string;
  /** Whether that was in an earlier turn. */
  readonly past?: boolean;
}

const FINAL = new Set(["completed", "failed"]);
/** How many calls of one session are remembered. */
const MAX_CALLS = 10_000;

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
  #begun = 0;
  /** When the last call of the turn ended, or the turn began. */
  #quietSince: number;
  #hasRefused = false;
  readonly #naming: readonly string[];

  /** `at` is when the turn began in which the first of them comes, `naming` are the members that name a tool. */
  constructor(at = 0, naming: readonly string[] = []) {
    this.#quietSince = at;
    this.#naming = naming;
  }

  /** How many there have been. */
  get begun(): number {
    return this.#begun;
  }

  /** A call, if it is known. */
  get(id: string): ToolCall | undefined {
    return this.#calls.get(id);
  }

  /** Calls that have not ended, oldest first. */
  get open(): readonly ToolCall[] {
    return [...this.#calls.values()].filter(({ concluded }) => !concluded);
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
      named: known.named ?? givenName(reported, this.#naming),
      ran: known.ran || status === "in_progress",
      claims: withClaims(known.claims, { ...update, kind: reported.kind }),
    };
    if (isFinal(call)) this.#quietSince = Math.max(this.#quietSince, at);
    this.#keep(call);
    return call;
  }

  /** Notes what was decided about a call. */
  permit(id: string, permit: Permit): void {
    const call = this.#calls.get(id);
    if (permit.kind === "refused") this.#hasRefused = true;
    if (call) this.#keep({ ...call, permit });
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

  /** Whether a call of this turn was refused: agents drop others with it. */
  get hasRefused(): boolean {
    return this.#hasRefused;
  }

  /** Notes that a call's outcome has been recorded; whether that was new. */
  conclude(id: string): boolean {
    const call = this.#calls.get(id);
    if (!call || call.concluded) return false;
    this.#keep({ ...call, concluded: true });
    return true;
  }

  /** Allowed calls that have not ended. */
  get unfinished(): readonly ToolCall[] {
    return [...this.#calls.values()].filter(
      (call) => call.permit.kind === "given" && !call.concluded && !isFinal(call),
    );
  }

  /** Calls without a verdict that have not ended, those among them that the gateway is expected to decide. */
  get unasked(): readonly ToolCall[] {
    return [...this.#calls.values()].filter(
      ({ permit: { kind }, concluded }) => (kind === "none" || kind === "elsewhere") && !concluded,
    );
  }

  /** Notes that a turn begins. */
  beginTurn(at: number): void {
    this.#quietSince = at;
    this.#hasRefused = false;
  }

  /** Forgets the details of calls that have ended, at the end of a turn. */
  endTurn(): void {
    for (const call of this.#calls.values()) {
      const { reported, concluded, past } = call;
      if (!concluded || past) continue;
      const { status } = reported;
      const digest = digestOf(reported.rawInput);
      this.#keep({ ...call, first: {}, reported: { status }, digest, writes: [], past: true });
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
    const isGivenElse = isGiven && digestOf(rawInput) !== (call.digest ?? digestOf(call.reported.rawInput));
    const isAnother = sessionUpdate === undefined || sessionUpdate === "tool_call" || begins || isGivenElse;
    return isAnother ? undefined : call;
  }

  #begin(id: string, first: JsonObject, at: number): ToolCall {
    this.#begun += 1;
    this.#calls.delete(id);
    // The start of a call that is announced only when it has ended is unknown.
    const since = isFinal({ reported: first }) ? this.#quietSince : at;
    const begun = { id, first, reported: {}, since, ran: false, concluded: false };
    return { ...begun, permit: { kind: "none" }, claims: [], weighed: 0, writes: [] };
  }

  #keep(call: ToolCall): void {
    this.#calls.set(call.id, call);
    if (this.#calls.size <= MAX_CALLS) return;
    const [oldest] = this.#calls.keys();
    if (oldest !== undefined) this.#calls.delete(oldest);
  }
}

/** The claims of a call with those of an update; one more than are remembered says that there are others. */
function withClaims(known: readonly Claim[], update: JsonObject): readonly Claim[] {
  const said = claimsIn(update).filter((claim) => !known.some((one) => isDeepStrictEqual(one, claim)));
  return said.length === 0 ? known : [...known, ...said].slice(0, MOST_CLAIMS + 1);
}

/** What a call is known by that was given no id, or one that is no text. */
function unnamed(id: unknown): string {
  return `without an id: ${JSON.stringify(id) ?? ""}`;
}

/** Members whose emptiness says that the agent does not tell them now, not that there is nothing. */
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

/** Whether a value tells nothing: no arguments, an empty list. */
export function isEmpty(value: unknown): boolean {
  if (value === undefined || value === null || value === "") return true;
  return (
    typeof value === "object" &&
    Object.values(value).every((member) => member === undefined || member === null)
  );
}

function digestOf(value: unknown): string {
  return createHash("sha256")
    .update(JSON.stringify(value) ?? "")
    .digest("hex");
}

/** How what a call is said to be given in the end stands to what was decided: the same, with more, or something else. */
export function comparedToDecided({ permit, reported }: ToolCall): "same" | "more" | "other" {
  if (permit.kind !== "given" || !permit.decided || isEmpty(reported.rawInput)) return "same";
  const { rawInput } = reported;
  const { arguments: decided } = permit.decided;
  if (isDeepStrictEqual(rawInput, decided)) return "same";
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
