import { errorMessage, isRecord } from "@reins/kit";
import type { Loop } from "../declaration/grammar.ts";
import type { GraphAction } from "../declaration/graph.ts";
import type { ActionState } from "./progress.ts";
import type { Attempt, AttemptRequest, AttemptUsage, SchedulePorts, WaitsFor } from "./schedule-ports.ts";

/** What an attempt came to, also one that was ended from outside. */
export type AttemptOutcome = Attempt | StoppedAttempt;

export interface StoppedAttempt {
  readonly kind: "stopped";
  readonly status: "failed" | "canceled";
  readonly reason: string;
  readonly usage?: AttemptUsage | undefined;
}

/** What all attempts of one execution share. */
export interface LiveAttempts {
  readonly abort: AbortController;
  waitsFor?: Exclude<WaitsFor, "model"> | undefined;
  /** What an attempt that does not complete ends as. */
  stop?: StoppedAttempt | undefined;
  /** Why no other attempt is made. */
  lastBecause?: string | undefined;
}

/** Ends what runs; an attempt that does not complete all the same comes to this. */
export function stopAttempts(live: LiveAttempts, status: StoppedAttempt["status"], reason: string): void {
  live.stop = { kind: "stopped", status, reason };
  live.abort.abort(new Error(reason));
}

/** How an action ends. */
export type ActionEnd = Pick<ActionState, "status" | "reason" | "result">;

/** What follows an attempt. */
export type Following =
  | { readonly kind: "retry"; readonly delay: number }
  | { readonly kind: "iterate" }
  | { readonly kind: "end" };

const MOST_BACKOFF = 86_400_000;

/** What follows the n-th attempt of an iteration of an action, if nothing hinders it. */
export function following(
  { loop, failure, idempotency }: GraphAction,
  { attempt, iteration }: { readonly attempt: number; readonly iteration: number },
  outcome: AttemptOutcome,
): Following {
  const mayRetry = outcome.kind === "failed" && outcome.isUnknown !== true && idempotency !== "once";
  if (mayRetry && attempt < failure.max_attempts)
    return { kind: "retry", delay: Math.min(failure.backoff_ms * 2 ** (attempt - 1), MOST_BACKOFF) };
  const isRepeatable =
    outcome.kind === "completed" || (outcome.kind === "failed" && outcome.isUnknown !== true);
  if (loop && isRepeatable && iteration < loop.max_iterations && !isEnough(loop, endOf(outcome)))
    return { kind: "iterate" };
  return { kind: "end" };
}

/** Makes an attempt. One that throws has failed. */
export async function attempted({ attempt }: SchedulePorts, request: AttemptRequest): Promise<Attempt> {
  try {
    return await attempt(request);
  } catch (error) {
    return { kind: "failed", reason: errorMessage(error) };
  }
}

/** How an action ends with an attempt. What a failed one produced is kept. */
export function endOf(outcome: AttemptOutcome): ActionEnd {
  switch (outcome.kind) {
    case "completed": {
      const { output, summary, report } = outcome;
      return {
        status: "completed",
        reason: undefined,
        result: { output, summary, ...(report && { report }) },
      };
    }
    case "failed": {
      const { reason, output } = outcome;
      return {
        status: "failed",
        reason,
        ...(output !== undefined && { result: { output, summary: reason } }),
      };
    }
    case "blocked":
      return { status: "blocked", reason: outcome.reason };
    case "stopped":
      return { status: outcome.status, reason: outcome.reason };
  }
}

/** What an attempt that did not complete came to, if it was ended from outside. */
export function stoppedBy(stop: StoppedAttempt | undefined, outcome: Attempt): AttemptOutcome {
  return stop ? { ...stop, usage: outcome.usage } : outcome;
}

/** Whether a loop has come to what it waits for. */
function isEnough({ until }: Loop, { status, result }: ActionEnd): boolean {
  if (!until) return status === "failed";
  if ("status" in until) return until.status === status;
  return status === "failed" || memberAt(result?.output, until.field.split(".")) === until.equals;
}

/** The member of a value at a path; `undefined` where there is none. */
function memberAt(value: unknown, path: readonly string[]): unknown {
  return path.reduce(
    (found, name) => (isRecord(found) && Object.hasOwn(found, name) ? found[name] : undefined),
    value,
  );
}
