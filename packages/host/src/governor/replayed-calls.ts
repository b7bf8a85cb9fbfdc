import { createHash } from "node:crypto";
import { isDeepStrictEqual } from "node:util";
import type { JsonObject } from "@reins/acp";
import { type Claim, claimsIn } from "./claims.ts";
import type { ToolCall } from "./tool-calls.ts";
import { actOf, isEmpty, type ToolNaming } from "./tool-name.ts";

/** The tool that a call ran, if the agent named it, and a digest of its arguments. */
export interface Ran {
  readonly tool: string | undefined;
  readonly digest: string;
}

/** What a repeated call is recognized by. */
interface Repeatable extends Ran, Pick<ToolCall, "id" | "claims"> {}

/** What a call ran, as far as the agent reported it. */
export function ranBy(call: Pick<ToolCall, "reported" | "first" | "named" | "past">, entry: ToolNaming): Ran {
  return call.past ?? { tool: toolIn(call, entry), digest: argumentsDigest(call.reported.rawInput) };
}

/** The digest of the arguments of a call. */
export function argumentsDigest(value: unknown): string {
  return createHash("sha256")
    .update(JSON.stringify(value) ?? "")
    .digest("hex");
}

/** The calls that an agent repeats while it loads a session. */
export class ReplayedCalls {
  readonly #entry: ToolNaming;
  /** The calls that it may still repeat, and those that it has, by their ids now. */
  readonly #toRepeat: Repeatable[];
  readonly #repeated = new Map<string, Repeatable>();

  constructor(calls: Iterable<ToolCall>, entry: ToolNaming) {
    this.#entry = entry;
    this.#toRepeat = Array.from(calls, (call) => {
      const { id, claims } = call;
      return { id, claims, ...ranBy(call, entry) };
    });
  }

  /**
   * Whether an update repeats a call: the same tool with the same arguments and no other files, under its id, or under
   * another of an agent that numbers anew. Each call is repeated once.
   */
  repeats(update: JsonObject): boolean {
    const id = String(update.toolCallId);
    const repeated = this.#repeated.get(id);
    if (repeated) return isRepeatedBy(repeated, update, this.#entry);
    const own = this.#toRepeat.filter((call) => call.id === id);
    // Without arguments, only its id identifies a call.
    const candidates = isEmpty(update.rawInput) ? own : [...own, ...this.#toRepeat];
    const found = candidates.find((call) => isRepeatedBy(call, update, this.#entry));
    if (!found) return false;
    this.#toRepeat.splice(this.#toRepeat.indexOf(found), 1);
    this.#repeated.set(id, found);
    return true;
  }
}

/** The name of a tool, if the agent reports more of it than its kind. */
function toolIn(call: Pick<ToolCall, "reported" | "first" | "named">, entry: ToolNaming): string | undefined {
  const { names, isNamed } = actOf(call, entry);
  return call.named ?? (isNamed ? names[0] : undefined);
}

/** Whether an update repeats a call: tool, arguments and files are the same as far as it reports them. */
function isRepeatedBy({ tool, digest, claims }: Repeatable, update: JsonObject, entry: ToolNaming): boolean {
  const { rawInput } = update;
  const named = toolIn({ reported: update, first: update }, entry);
  if (named !== undefined && tool !== undefined && named !== tool) return false;
  if (!isEmpty(rawInput) && argumentsDigest(rawInput) !== digest) return false;
  return claimsIn(update).every((claim) => claims.some((one) => includesClaim(one, claim)));
}

/** Whether a claim says as much as another: what changes a file names it too. */
function includesClaim(one: Claim, other: Claim): boolean {
  if (one.kind === "write" && other.kind === "read") return one.path === other.path;
  return isDeepStrictEqual(one, other);
}
