import { createHash } from "node:crypto";
import { CODE, RpcError } from "@reins/acp";
import { AgentError } from "@reins/agents";
import {
  type AssistantMessage,
  CARRIER_TOOL,
  type Carried,
  declarationSource,
  type Graph,
  graphOfCalls,
  graphOfDeclaration,
  type MarkdownSection,
  ProtocolError,
  type RunRecord,
  readCarried,
  readDeclared,
} from "@reins/graph";
import { errorMessage, isRecord } from "@reins/kit";
import { canonicalJson } from "@reins/ledger";
import { StoreError } from "@reins/store";
import { type Principal, SupervisorError } from "@reins/supervisor";
import { REFUSED } from "../control/outcome.ts";
import type { SessionRecord } from "../sessions/session-record.ts";

/** A graph to run: a declaration with its sections, or the whole message of a model. */
export interface RunRequest {
  readonly declaration?: unknown;
  readonly sections?: Readonly<Record<string, string>> | undefined;
  readonly message?: string | undefined;
  readonly context?: Readonly<Record<string, unknown>> | undefined;
  readonly session?: string | undefined;
  readonly cwd?: string | undefined;
  readonly agent?: string | undefined;
  readonly run_id?: string | undefined;
}

/** What a declaration that was read is run with. */
export interface RunOrigin {
  readonly run_id?: string | undefined;
  readonly session: SessionRecord;
  readonly principal: Principal;
  readonly declaration: string;
  readonly carrier: RunRecord["carrier"];
  readonly violations: readonly string[];
  readonly context: Readonly<Record<string, unknown>>;
  /** The digests of the request of a client. */
  readonly request?: Readonly<Record<string, string>> | undefined;
  /** The turn that the transcript of its session gets with it. */
  readonly turnOf?: (run: string) => object;
  /** Aborts with the turn that declares it, after which no run begins. */
  readonly signal?: AbortSignal;
}

/** Whether an intent is about a run that there is. */
export function isControl(intent: string): boolean {
  return intent === "cancel" || intent === "decide" || intent === "revise" || intent === "expand_ref";
}

/** Reads what a caller of the API declares. */
export function readRequest({ declaration, sections = {}, message }: RunRequest): Carried {
  if ((declaration === undefined) === (message === undefined))
    throw new ProtocolError("malformed", "give either a declaration or a message");
  if (message !== undefined) {
    const carried = readCarried(
      { text: message, calls: [], isComplete: true },
      { isEnabled: true, knowsTool: () => true },
    );
    if (carried.kind === "declaration" || carried.kind === "calls") return carried;
    throw new ProtocolError("malformed", "the message declares nothing to run");
  }
  if (isRecord(declaration) && declaration.kind !== undefined) {
    const call = { name: CARRIER_TOOL, arguments: JSON.stringify(declaration) };
    const own: AssistantMessage = { text: "", calls: [call], isComplete: true };
    const carried = readCarried(own, { isEnabled: true, knowsTool: () => true });
    if (carried.kind === "calls") return carried;
    throw new ProtocolError("malformed", "the declaration has nothing to run");
  }
  return {
    kind: "declaration",
    declaration: readDeclared(declaration),
    sections: sectionsIn(sections),
    carrier: "fenced",
    raw: JSON.stringify(declaration),
    violations: [],
  };
}

function sectionsIn(sections: Readonly<Record<string, string>>): readonly MarkdownSection[] {
  return Object.entries(sections).map(([id, text]) => ({ id: id.trim().normalize("NFC"), level: 2, text }));
}

/** What was declared, as it was written; with its sections as a message would have it. */
export function rawOf({ declaration, sections = {}, message }: RunRequest): string {
  if (message !== undefined) return message;
  const json = JSON.stringify(declaration, null, 2) ?? "";
  return Object.keys(sections).length === 0 ? json : declarationSource(json, sectionsIn(sections));
}

/** The digest of each member of a request, so that a repeated one can be compared without its content. */
export function requestDigests({ run_id: _, ...members }: RunRequest): Readonly<Record<string, string>> {
  return Object.fromEntries(
    Object.entries(members)
      .filter(([, value]) => value !== undefined)
      .map(([name, value]) => [name, createHash("sha256").update(canonicalJson(value)).digest("hex")]),
  );
}

/** The members in which two requests differ. */
export function differingMembers(
  one: Readonly<Record<string, string>>,
  two: Readonly<Record<string, string>>,
): readonly string[] {
  const names = new Set([...Object.keys(one), ...Object.keys(two)]);
  return [...names].filter((name) => one[name] !== two[name]).toSorted();
}

/** The graph that a declaration runs or shows. */
export function graphIn(carried: Carried): Graph {
  if (carried.kind === "calls") return graphOfCalls(carried.output);
  if (carried.kind === "declaration") {
    const { declaration } = carried;
    if (declaration.intent === "execute" || declaration.intent === "plan")
      return graphOfDeclaration(declaration, carried.sections);
  }
  throw new ProtocolError("malformed", "there is nothing to run");
}

/** The request names an agent that there is not, or that cannot be used. */
const BAD_AGENTS: ReadonlySet<string> = new Set([
  "unknown_agent",
  "unsupported_agent",
  "agent_not_installed",
]);

/** Runs something for a caller of the API, whose errors name what is wrong. */
export async function translated<Result>(run: () => Promise<Result>): Promise<Result> {
  try {
    return await run();
  } catch (error) {
    if (error instanceof ProtocolError) {
      const code = error.code === "state" ? "conflict" : error.code === "forbidden" ? "forbidden" : "invalid";
      throw new SupervisorError(code, error.message, { cause: error });
    }
    if (error instanceof AgentError && BAD_AGENTS.has(error.code))
      throw new SupervisorError("invalid", error.message, { cause: error });
    if (error instanceof RpcError) {
      // It has passed the connection to an agent, as a text.
      if (/^(?:ENOSPC|EDQUOT)\b/.test(error.message))
        throw new StoreError("full", error.message, { cause: error });
      const code =
        error.code === CODE.notFound ? "not_found" : error.code === REFUSED ? "forbidden" : "invalid";
      throw new SupervisorError(code, errorMessage(error), { cause: error });
    }
    throw error;
  }
}
