import type { ClientToolOutcome } from "@reins/host";
import type { Clock } from "@reins/kit";
import type { ClientToolResult } from "./prompt.ts";
import type { HaakEvent } from "./protocol.ts";

interface PendingCall {
  readonly name: string;
  readonly settle: (outcome: ClientToolOutcome) => void;
  /** Its id in the events, once the client has it. */
  id: string | undefined;
}

const CLIENT_TIMEOUT_MS = 10 * 60_000;

/** The tool calls of one turn that its client runs. The agent waits for each; the client learns its id first. */
export class ClientCalls {
  readonly #clock: Pick<Clock, "after">;
  readonly #onWait: () => void;
  /** The names of announced calls without a result, by id. */
  readonly #announced = new Map<string, string>();
  readonly #pending: PendingCall[] = [];

  /** `onWait` runs when a call waits for the client and the client has its id. */
  constructor(clock: Pick<Clock, "after">, onWait: () => void) {
    this.#clock = clock;
    this.#onWait = onWait;
  }

  /** Whether a call waits for the client. */
  get isWaiting(): boolean {
    return this.#pending.some(({ id }) => id !== undefined);
  }

  /** Notes an event that the client received. */
  observe(event: HaakEvent): void {
    if (event.type === "tool_call") this.#announced.set(event.id, event.name);
    if (event.type === "tool_result") this.#announced.delete(event.id);
    if (event.type === "tool_call" || event.type === "tool_call_update") this.#pair();
  }

  /** Waits for the client to run a tool. */
  async call(name: string, signal: AbortSignal): Promise<ClientToolOutcome> {
    signal.throwIfAborted();
    const { promise, resolve } = Promise.withResolvers<ClientToolOutcome>();
    const pending: PendingCall = { name, settle: resolve, id: undefined };
    this.#pending.push(pending);
    const fail = (text: string) => () => resolve({ text, isError: true });
    const cancelTimeout = this.#clock.after(
      CLIENT_TIMEOUT_MS,
      fail("the client did not carry it out in time"),
    );
    const onAbort = fail("the turn was cancelled");
    signal.addEventListener("abort", onAbort, { once: true });
    this.#pair();
    try {
      return await promise;
    } finally {
      cancelTimeout();
      signal.removeEventListener("abort", onAbort);
      this.#pending.splice(this.#pending.indexOf(pending), 1);
    }
  }

  /** Settles the calls that wait for these results. Returns the results that no call waits for. */
  answer(results: readonly ClientToolResult[]): readonly ClientToolResult[] {
    return results.filter(({ id, text, isError }) => {
      const pending = this.#pending.find((call) => call.id === id);
      pending?.settle({ text, isError });
      return pending === undefined;
    });
  }

  /** Pairs pending calls with announced ones of the same name. */
  #pair(): void {
    for (const pending of this.#pending) {
      if (pending.id !== undefined) continue;
      const taken = new Set(this.#pending.map(({ id }) => id));
      const [found] =
        [...this.#announced].find(([id, name]) => name === pending.name && !taken.has(id)) ?? [];
      if (found === undefined) continue;
      pending.id = found;
      this.#onWait();
    }
  }
}
