import { setTimeout as sleep } from "node:timers/promises";
import type { JsonObject } from "@reins/acp";
import { Idleness, type Wake, wakeOf } from "@reins/bridge";
import type { Harness } from "@reins/supervisor";
import type { IdleScheduler } from "../hub/context.ts";
import type { Hub } from "../hub/hub.ts";
import type { SessionRecord } from "../sessions/session-record.ts";

/** What daemons need. */
export interface DaemonsOptions {
  readonly hub: Hub;
  readonly harness: Pick<Harness, "identity">;
  /** Receives errors of background work. */
  readonly onError: (error: unknown) => void;
}

/** The prompt of a daemon that was resumed without a message. Clients do not see it as a person's words. */
const RESUMED = {
  type: "text",
  text: "[You were resumed without a message. See whether something is left to do: mail, the board, what you had begun. If there is nothing, say so in a word.]",
  annotations: { audience: ["assistant"] },
};

/**
 * Sessions that stay awake between turns, because their `session/new` said `_meta.reins.daemon`. While one is idle its
 * clients receive `agent/idle`; `agent/resume` and messages that no prompt brought wake it at once, and what it then does
 * is a turn like any other.
 */
export class Daemons implements IdleScheduler {
  readonly #options: DaemonsOptions;
  readonly #idling = new Map<string, Idleness>();
  readonly #closing = new AbortController();

  constructor(options: DaemonsOptions) {
    this.#options = options;
  }

  takes(session: SessionRecord, method: string, params: JsonObject): boolean {
    const wake = session.daemon ? wakeOf(method, params) : undefined;
    if (!wake) return false;
    if (wake.kind === "message" && wake.delivery === "interrupt_immediate") this.#interrupt(session);
    this.#idlenessOf(session).wake(wake);
    return true;
  }

  turnEnded(session: SessionRecord): void {
    if (!session.ended) this.#idlenessOf(session).restartBackoff();
  }

  /** Lets all of them sleep. */
  close(): void {
    this.#closing.abort(new Error("Reins is stopping"));
  }

  #idlenessOf(session: SessionRecord): Idleness {
    const known = this.#idling.get(session.id);
    if (known) return known;
    const over = new AbortController();
    const idleness = new Idleness({
      onIdle: (tick) => {
        const live = this.#options.hub.live(session.id);
        if (!live) over.abort(new Error("the session is not open any more"));
        else if (!live.queue.isBusy)
          this.#options.hub.sendUnlogged(session.id, {
            method: "agent/idle",
            params: { sessionId: session.id, ...tick },
          });
      },
      sleep: (milliseconds, signal) => sleep(milliseconds, undefined, { signal, ref: false }),
    });
    this.#idling.set(session.id, idleness);
    void this.#live(session, idleness, AbortSignal.any([over.signal, this.#closing.signal]));
    return idleness;
  }

  /** Waits to be woken, takes a turn, and waits again, until the session is gone. */
  async #live(session: SessionRecord, idleness: Idleness, signal: AbortSignal): Promise<void> {
    try {
      for (;;) await this.#turn(session, await idleness.next(signal), signal);
    } catch (error) {
      if (!signal.aborted) this.#options.onError(error);
    } finally {
      this.#idling.delete(session.id);
    }
  }

  async #turn({ id, principal: by, agent }: SessionRecord, wake: Wake, signal: AbortSignal): Promise<void> {
    const { hub, harness, onError } = this.#options;
    const principal = await harness.identity.current({ id: by });
    if (!principal) throw new Error("the principal that started the session may no longer do so");
    const connection = await hub.connect({ principal, agent });
    const block = wake.kind === "message" ? { type: "text", text: wake.content } : RESUMED;
    try {
      await connection.request("session/prompt", { sessionId: id, prompt: [block] }, signal);
    } catch (error) {
      // Its clients have seen how the turn ended; it waits for the next wake all the same.
      if (signal.aborted) throw error;
      onError(error);
    } finally {
      hub.disconnect(connection);
    }
  }

  #interrupt({ id }: SessionRecord): void {
    const governor = this.#options.hub.live(id)?.agent?.governor;
    governor?.notification("session/cancel", { sessionId: id }).catch(this.#options.onError);
  }
}
