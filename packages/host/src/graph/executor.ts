import type {
  AgentReport,
  Assignment,
  AttemptRequest,
  Executor,
  GraphAction,
  ObservationLimits,
  RunScope,
  Viewer,
} from "@reins/graph";
import { errorMessage, faultSentences } from "@reins/kit";
import { z } from "zod";
import type { ChildOfRun } from "../native/subagents.ts";
import type { ActionDetails } from "./graph-run.ts";
import type { RunPlace } from "./run-place.ts";

/** One attempt at an action, with everything it refers to. */
export interface ActionCall {
  readonly run: string;
  readonly action: GraphAction;
  readonly place: RunPlace;
  /** Its input with the references resolved. */
  readonly input: Readonly<Record<string, unknown>> | undefined;
  readonly prompt: string | undefined;
  readonly context: readonly string[];
  /** The same for the same attempt, also after a restart. */
  readonly key: string;
  /** The same for all attempts of an iteration: with it, the same request twice is one effect. */
  readonly effectKey: string;
  /** Takes the share of the run's tokens and money that it may use. */
  readonly takeShare: AttemptRequest["takeShare"];
  /** The child session that an agent gets for the attempt, the same after a restart. */
  readonly child: (agent: string) => Promise<ChildOfRun>;
  /** Aborts when it is canceled, and not when Reins stops: what it waits for is left as it is then. */
  readonly canceled: AbortSignal;
  /** The name of its card for clients. */
  readonly call: string;
  /** The only files and folders that it may write, as real paths: what it declares, if it does. */
  readonly mayWrite: readonly string[] | undefined;
  /** What agents left of which this action depends, and what else its executor is given of the work before it. */
  readonly background: Pick<Assignment, "handoffs" | "withheld" | "notes">;
  /** Waits; a restart does not start it anew. */
  readonly sleep: (milliseconds: number, signal: AbortSignal) => Promise<void>;
  /** What a reference leads to. */
  readonly expand: (ref: string) => Promise<string>;
  /**
   * Does a part of the action once, also across restarts: one that has ended returns what it came to. Its effect begins
   * after `begin` alone, which is false where an earlier process began it and that may not be repeated.
   */
  readonly part: <Value>(
    name: string,
    effect: (begin: (mayRepeat: boolean) => Promise<boolean>) => Promise<Value>,
  ) => Promise<Value>;
  /** Does something that stores what came of it, again and again where there is no room for that, until Reins stops. */
  readonly untilRoom: <Value>(act: () => Promise<Value>) => Promise<Value>;
  /** Changes what is known of the action. */
  readonly note: (details: Pick<ActionDetails, "childSession" | "approval">) => void;
  /** Reports that a person is waited for, and with `undefined` that none is. */
  readonly waits: (waitsFor: "permission" | "input" | undefined) => void;
}

/** What an attempt would do, and how. */
export interface PlannedAction<Performed extends PerformedAction = PerformedAction> {
  /** The name and the arguments that are decided. */
  readonly tool: string;
  readonly arguments: unknown;
  /** Whose tool table names it: that of the native agent, or that of what Reins itself serves. */
  readonly tools: "agent" | "acp";
  /** The kind of its card, in ACP's words. */
  readonly kind?: string;
  readonly title?: string;
  readonly content?: readonly object[];
  readonly locations?: readonly string[];
  /** The task as its executor gets it, where that is an agent or a person. */
  readonly assignment?: Assignment | undefined;
  /** Whether a person has to agree, beside what the action itself says. */
  readonly mustAsk?: string | undefined;
  /** Whether performing it goes on with what an earlier process began. */
  readonly goesOn?: boolean;
  /** Performs it with the arguments that were allowed. */
  perform(given: unknown, signal: AbortSignal): Promise<Performed>;
}

/** What came of an action. */
export interface PerformedAction {
  /** JSON. */
  readonly output: unknown;
  /** Where the executor has one of its own. */
  readonly summary?: string | undefined;
  /** What an agent reported beside it. */
  readonly report?: AgentReport | undefined;
  readonly isError?: boolean;
  /** Whether it, or a part of it, may have been done without a result. */
  readonly isUnknown?: boolean;
  /** Why a part of it was not allowed, which ended it. */
  readonly refused?: string | undefined;
  /** What it used that is charged to the limits elsewhere, where it was used. */
  readonly usage?: { readonly tokens?: number | undefined; readonly cost?: number | undefined } | undefined;
}

/** An executor that Reins has. */
export interface RunExecutor extends Executor {
  /** Whether the same effect twice is one: after a crash of which the outcome is unknown it is done again. */
  readonly isIdempotent?: boolean;
  /** Whether it has no effect but those of its parts, each of which is begun and stored for itself. */
  readonly hasParts?: boolean;
  /** Whether it uses tokens, of which it takes a share. */
  readonly usesTokens?: boolean;
  /** Who sees what it is given: models, people. What is withheld from them is not passed to it. */
  readonly audience?: readonly Viewer[];
  /** The name under which rules know it, where that is another. */
  readonly ruleName?: string;
  /** Throws for an input that it cannot take, before anything runs. */
  check(input: Readonly<Record<string, unknown>>): void;
  /** Has no effect. Throws for what could not succeed. */
  plan(call: ActionCall): Promise<PlannedAction>;
}

/** The most of one result that a model is shown. */
export const RESULT_LIMITS: ObservationLimits = { maxTokens: 6_000 };

/** Why an effect is not done a second time. */
export const UNKNOWN_OUTCOME = "its outcome is unknown: Reins stopped while it was being done";

/**
 * Whether an effect may be done again of which the outcome is unknown. The model's word makes that stricter alone: an action
 * that it declares to be safe is repeated only where its executor can be.
 */
export function mayRepeat({ isIdempotent, isReadOnly }: RunExecutor, { idempotency }: GraphAction): boolean {
  return isIdempotent === true && (idempotency !== "once" || isReadOnly === true);
}

/** Stores that an effect begins which must not happen twice. False if an earlier process had begun it. */
export async function beginOnce(scope: RunScope, name: string): Promise<boolean> {
  let isFirst = false;
  await scope.step(`began/${name}`, async () => {
    isFirst = true;
    return true;
  });
  return isFirst;
}

/** Why something failed, in words; an input that does not fit its schema too. */
export function reasonOf(error: unknown): string {
  return error instanceof z.ZodError ? faultSentences(error, "the input") : errorMessage(error);
}
