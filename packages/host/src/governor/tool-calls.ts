import { isObject, type JsonObject } from "../acp/message.ts";

/** What became of a tool call's permission. */
export type Permit =
  /** Nobody has decided about it. */
  | { readonly kind: "none" }
  /** It was let through, by the verdict of that entry. */
  | { readonly kind: "given"; readonly entry: string | undefined; readonly tool: string }
  /** It was not. */
  | { readonly kind: "refused" }
  /** The harness carries it out itself, and decides then. */
  | { readonly kind: "elsewhere" };

/** A tool call as far as it is known. */
export interface ToolCall {
  readonly id: string;
  /** What the agent said of it at first. */
  readonly first: JsonObject;
  /** What the agent has said of it, the latest of each member. */
  readonly told: JsonObject;
  readonly permit: Permit;
  /** Whether what came of it has been recorded. */
  readonly concluded: boolean;
  /** Whether that was in an earlier turn. */
  readonly past?: boolean;
}

const FINAL = new Set(["completed", "failed"]);
/** How many calls of one session are remembered. */
const MAX_CALLS = 10_000;

/** Whether a call has come to its end. */
export function isFinal({ told }: Pick<ToolCall, "told">): boolean {
  return FINAL.has(String(told.status));
}

/**
 * The tool calls of a session, by the agent's ids. Agents tell them in any order; what has ended never begins again, but
 * its id may be given to another: some models count from one in every turn.
 */
export class ToolCalls {
  readonly #calls = new Map<string, ToolCall>();
  #begun = 0;

  /** How many there have been. */
  get begun(): number {
    return this.#begun;
  }

  /** A call, if it is known. */
  get(id: string): ToolCall | undefined {
    return this.#calls.get(id);
  }

  /** Takes in what an agent says of a call: in an update, or when it asks permission. */
  tell(update: JsonObject): ToolCall | undefined {
    const { toolCallId: id } = update;
    if (typeof id !== "string") return undefined;
    const known = this.#meant(id, update) ?? this.#begin(id, update);
    const told = { ...known.told, ...withoutNulls(update) };
    if (isFinal(known)) told.status = known.told.status;
    const call: ToolCall = { ...known, told };
    this.#keep(call);
    return call;
  }

  /** Notes what was decided about a call. */
  permit(id: string, permit: Permit): void {
    const call = this.#calls.get(id);
    if (call) this.#keep({ ...call, permit });
  }

  /** Notes that a call's outcome has been recorded; whether that was new. */
  conclude(id: string): boolean {
    const call = this.#calls.get(id);
    if (!call || call.concluded) return false;
    this.#keep({ ...call, concluded: true });
    return true;
  }

  /** The calls that were let through and have not come to their end. */
  get unfinished(): readonly ToolCall[] {
    return [...this.#calls.values()].filter(
      (call) => call.permit.kind === "given" && !call.concluded && !isFinal(call),
    );
  }

  /** Lets go of what was told of calls that have ended, at the end of a turn. */
  endTurn(): void {
    for (const { id, told, permit, concluded, past } of this.#calls.values()) {
      if (!concluded || past) continue;
      const { status } = told;
      this.#keep({ id, first: {}, told: { status }, permit, concluded, past: true });
    }
  }

  /** The call that an agent speaks of, if it is known. One that has ended asks for nothing, and is not announced in a later turn. */
  #meant(id: string, { sessionUpdate }: JsonObject): ToolCall | undefined {
    const call = this.#calls.get(id);
    const isAnother =
      call?.concluded && (sessionUpdate === undefined || (call.past && sessionUpdate === "tool_call"));
    return isAnother ? undefined : call;
  }

  #begin(id: string, first: JsonObject): ToolCall {
    this.#begun += 1;
    this.#calls.delete(id);
    return { id, first, told: {}, permit: { kind: "none" }, concluded: false };
  }

  #keep(call: ToolCall): void {
    this.#calls.set(call.id, call);
    if (this.#calls.size <= MAX_CALLS) return;
    const [oldest] = this.#calls.keys();
    if (oldest !== undefined) this.#calls.delete(oldest);
  }
}

/** A member that is null says nothing new. */
function withoutNulls(update: JsonObject): JsonObject {
  return Object.fromEntries(
    Object.entries(update).filter(([, value]) => value !== null && value !== undefined),
  );
}

/** The diffs in the content of a call: what a path is to become. */
export function diffsOf({ told }: Pick<ToolCall, "told">): readonly { path: string; newText: string }[] {
  const content = Array.isArray(told.content) ? told.content : [];
  return content.flatMap((part) => {
    if (!isObject(part) || part.type !== "diff") return [];
    const { path, newText } = part;
    return typeof path === "string" && typeof newText === "string" ? [{ path, newText }] : [];
  });
}
