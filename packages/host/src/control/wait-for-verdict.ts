import { setTimeout as wait } from "node:timers/promises";
import type {
  Approval,
  Approvals,
  ControlEvent,
  Decided,
  RequestContext,
  Subject,
  Supervisor,
} from "@reins/supervisor";

/** Puts a question to the people in front of a session. Settles when one of them has answered, or there is no need to. */
export type Offer = (approval: Approval, signal: AbortSignal) => Promise<void>;

/** Whoever waits for a verdict. */
export interface Waiting {
  /** Aborts when they wait no more. */
  readonly signal: AbortSignal;
  /** Whether they do not; known without the signal where that is made only for who listens to it. */
  readonly isOver?: boolean;
}

/** What a judge needs to decide about one thing. */
export interface Case {
  readonly event: ControlEvent;
  readonly subject: Subject;
  readonly requestContext: RequestContext;
  readonly waiting: Waiting;
  readonly offer: Offer;
}

/** How often people were asked for who waits with a signal, and for how many of those questions it waits now. */
interface AskedFor {
  open: number;
  times: number;
}

const asked = new WeakMap<AbortSignal, AskedFor>();

/** How often people were asked for who waits with a signal, and whether they are now. */
export function askedFor(signal: AbortSignal): { readonly times: number; readonly isOpen: boolean } {
  const { times = 0, open = 0 } = asked.get(signal) ?? {};
  return { times, isOpen: open > 0 };
}

/** Decides to the end: a question is put to people and waited for, what is put off is asked again. */
export class Judge {
  readonly #supervisor: Supervisor;
  readonly #approvals: Approvals;

  constructor({ supervisor, approvals }: { readonly supervisor: Supervisor; readonly approvals: Approvals }) {
    this.#supervisor = supervisor;
    this.#approvals = approvals;
  }

  /** The final verdict: allowed, modified or blocked. Rejects only when nobody waits for it any more. */
  async decide(one: Case): Promise<Decided> {
    const { event, subject, requestContext, waiting } = one;
    for (;;) {
      if (waiting.isOver ?? waiting.signal.aborted) throw waiting.signal.reason;
      const decided = await this.#supervisor.decide(event, subject, requestContext);
      if (decided.verdict === "defer") {
        const { signal } = waiting;
        await wait(decided.retry_after_ms ?? 1_000, undefined, { signal });
      } else if (decided.verdict !== "ask") return decided;
      else {
        const ended = await this.#answer(one, decided.approval ?? "");
        if (ended.state === "expired" || ended.state === "withdrawn") return unanswered(decided, ended);
      }
    }
  }

  /** The approval once it is no longer open, whoever answered it and wherever. */
  async #answer({ subject, waiting, offer }: Case, id: string): Promise<Approval> {
    const { signal } = waiting;
    const over = Promise.withResolvers<Approval>();
    const take = (approval: Approval) => {
      if (approval.id === id && approval.state !== "pending") over.resolve(approval);
    };
    const unsubscribe = this.#approvals.subscribe(({ approval }) => take(approval));
    const abort = () => over.reject(signal.reason);
    signal.addEventListener("abort", abort, { once: true });
    const withdrawn = new AbortController();
    const count = asked.get(signal) ?? { open: 0, times: 0 };
    asked.set(signal, count);
    count.open += 1;
    count.times += 1;
    try {
      const approval = await this.#approvals.get(id, subject.tenant);
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
}

function unanswered(decided: Decided, { state }: Approval): Decided {
  const why = state === "expired" ? "nobody answered in time" : "the question was withdrawn";
  return { ...decided, verdict: "blocked", reason: `${decided.reason}; ${why}` };
}
