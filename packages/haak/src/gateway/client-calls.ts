import type { ClientToolOutcome } from "@reins/host";
import type { Clock } from "@reins/kit";
import type { ToolResult } from "./prompt.ts";
import type { HaakEvent } from "./protocol.ts";

/** A call that the client is to carry out. */
interface Wanted {
  readonly name: string;
  readonly settle: (outcome: ClientToolOutcome) => void;
  /** Its name in the events, once that was told. */
  id: string | undefined;
}

/** How long a client may take to carry a tool out. */
const PATIENCE_MS = 10 * 60_000;

/** The calls of one turn that its client carries out: the agent waits for each, and the client is told its id first. */
export class ClientCalls {
  readonly #clock: Pick<Clock, "after">;
  readonly #onWait: () => void;
  /** Calls that were told and not yet carried out, by id. */
  readonly #told = new Map<string, string>();
  readonly #wanted: Wanted[] = [];

  /** `onWait` is told when the client is to do something, and knows what. */
  constructor(clock: Pick<Clock, "after">, onWait: () => void) {
    this.#clock = clock;
    this.#onWait = onWait;
  }

  /** Whether the client is to do something. */
  get isWaiting(): boolean {
    return this.#wanted.some(({ id }) => id !== undefined);
  }

  /** Takes note of an event that was told. */
  saw(event: HaakEvent): void {
    if (event.type === "tool_call") this.#told.set(event.id, event.name);
    if (event.type === "tool_result") this.#told.delete(event.id);
    if (event.type === "tool_call" || event.type === "tool_call_update") this.#pair();
  }

  /** Has the client carry a tool out. */
  async call(name: string, signal: AbortSignal): Promise<ClientToolOutcome> {
    signal.throwIfAborted();
    const { promise, resolve } = Promise.withResolvers<ClientToolOutcome>();
    const wanted: Wanted = { name, settle: resolve, id: undefined };
    this.#wanted.push(wanted);
    const giveUp = (text: string) => () => resolve({ text, isError: true });
    const callOff = this.#clock.after(PATIENCE_MS, giveUp("the client did not carry it out in time"));
    const cancel = giveUp("the turn was cancelled");
    signal.addEventListener("abort", cancel, { once: true });
    this.#pair();
    try {
      return await promise;
    } finally {
      callOff();
      signal.removeEventListener("abort", cancel);
      this.#wanted.splice(this.#wanted.indexOf(wanted), 1);
    }
  }

  /** Gives results to the calls that wait for them; gives back those that nobody waits for. */
  answer(results: readonly ToolResult[]): readonly ToolResult[] {
    return results.filter(({ id, text, isError }) => {
      const wanted = this.#wanted.find((one) => one.id === id);
      wanted?.settle({ text, isError });
      return wanted === undefined;
    });
  }

  /** Puts what the agent waits for together with what the client was told. */
  #pair(): void {
    for (const wanted of this.#wanted) {
      if (wanted.id !== undefined) continue;
      const taken = new Set(this.#wanted.map(({ id }) => id));
      const [found] = [...this.#told].find(([id, name]) => name === wanted.name && !taken.has(id)) ?? [];
      if (found === undefined) continue;
      wanted.id = found;
      this.#onWait();
    }
  }
}
