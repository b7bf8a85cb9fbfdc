import { setTimeout as wait } from "node:timers/promises";
import { RpcError } from "@reins/acp";
import type { Approval, ControlEvent, Decided, Harness, RequestContext, Subject } from "@reins/supervisor";

/** Puts an approval to the people in front of a session. Settles when one of them has answered, or there is no need to. */
export type Offer = (approval: Approval, signal: AbortSignal) => Promise<void>;

/** The caller that waits for a verdict. */
export interface Waiting {
  /** Aborts when it waits no longer. */
  readonly signal: AbortSignal;
  /** Whether it has stopped waiting; known without the signal where that is made on demand. */
  readonly isOver?: boolean;
}

/** A control event as the supervisor decides it. */
export interface ControlRequest {
  readonly event: ControlEvent;
  readonly subject: Subject;
  readonly requestContext: RequestContext;
}

/** How often people were asked on behalf of a signal, and how many of those approvals are open. */
interface AskedFor {
  open: number;
  times: number;
}

const asked = new WeakMap<AbortSignal, AskedFor>();

/** How often people were asked on behalf of a signal, and whether an approval is open. */
export function askedFor(signal: AbortSignal): { readonly times: number; readonly isOpen: boolean } {
  const { times = 0, open = 0 } = asked.get(signal) ?? {};
  return { times, isOpen: open > 0 };
}

type Deciders = Pick<Harness, "supervisor" | "approvals">;

/**
 * Decides until there is a final verdict: waits for people's answers, and asks again after a deferral. Rejects only when
 * the caller has stopped waiting.
 */
export async function awaitVerdict(
  deciders: Deciders,
  { event, subject, requestContext }: ControlRequest,
  waiting: Waiting,
  offer: Offer,
): Promise<Decided> {
  for (;;) {
    if (waiting.isOver ?? waiting.signal.aborted) throw waiting.signal.reason;
    const decided = await deciders.supervisor.decide(event, subject, requestContext);
    switch (decided.verdict) {
      case "defer":
        await wait(decided.retry_after_ms, undefined, { signal: waiting.signal });
        break;
      case "ask": {
        const asking = { id: decided.approval, tenant: subject.tenant, signal: waiting.signal, offer };
        const { state } = await awaitAnswer(deciders, asking);
        if (state === "expired" || state === "withdrawn") return unanswered(decided, state);
        break;
      }
      default:
        return decided;
    }
  }
}

interface Asking {
  readonly id: string;
  readonly tenant: string;
  readonly signal: AbortSignal;
  readonly offer: Offer;
}

/** The approval once it is no longer pending, by whichever client or route it was answered. */
async function awaitAnswer(
  { approvals }: Deciders,
  { id, tenant, signal, offer }: Asking,
): Promise<Approval> {
  const over = Promise.withResolvers<Approval>();
  const take = (approval: Approval) => {
    if (approval.id === id && approval.state !== "pending") over.resolve(approval);
  };
  const unsubscribe = approvals.subscribe(({ approval }) => take(approval));
  const abort = () => over.reject(signal.reason);
  signal.addEventListener("abort", abort, { once: true });
  const withdrawn = new AbortController();
  const count = asked.get(signal) ?? { open: 0, times: 0 };
  asked.set(signal, count);
  count.open += 1;
  count.times += 1;
  try {
    const approval = await approvals.get(id, tenant);
    if (approval) take(approval);
    if (approval?.state === "pending")
      offer(approval, AbortSignal.any([signal, withdrawn.signal])).catch(() => undefined);
    return await over.promise;
  } finally {
    count.open -= 1;
    withdrawn.abort(new Error("the question is answered"));
    unsubscribe();
    signal.removeEventListener("abort", abort);
  }
}

function unanswered(decided: Decided, state: "expired" | "withdrawn"): Decided {
  const why = state === "expired" ? "no answer came in time" : "the question was withdrawn";
  return { ...decided, verdict: "blocked", reason: `${decided.reason}; ${why}` };
}

/** The JSON-RPC code of a request that was not allowed. */
export const REFUSED = -32010;

/** What the wire carries of a verdict, under `_meta.reins`. */
export function verdictMeta({ verdict, reason, rule, enforcement, entry, approval }: Decided): {
  reins: Record<string, unknown>;
} {
  return {
    reins: {
      verdict,
      reason,
      enforcement,
      ...(rule !== undefined && { rule }),
      ...(entry !== undefined && { entry }),
      ...(approval !== undefined && { approval }),
    },
  };
}

/** A verdict with its entry in the ledger, awaited where the verdict came before it was written. */
export async function placed(decided: Decided): Promise<Decided> {
  const { entry = await decided.written } = decided;
  return { ...decided, entry };
}

/** The error of a request that was not allowed. */
export async function refusal(what: string, decided: Decided): Promise<RpcError> {
  const data = verdictMeta(await placed(decided));
  return new RpcError(REFUSED, `${what} was not allowed: ${decided.reason}`, data);
}
