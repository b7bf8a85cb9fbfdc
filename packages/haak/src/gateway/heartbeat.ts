import type { Harness, Principal } from "@reins/supervisor";
import type { Mailbox } from "../mail/mailbox.ts";
import type { Haak } from "./haak.ts";
import { HaakError } from "./haak-error.ts";

/** What the heartbeat stands on. */
export interface HeartbeatOptions {
  readonly harness: Pick<Harness, "policies">;
  readonly haak: Pick<Haak, "status" | "run" | "persistentKeys">;
  readonly mailbox: Pick<Mailbox, "unreadFor">;
  /** Whose sessions the standing agents have. */
  readonly principal: () => Principal;
  /** Told of a turn that could not be had. */
  readonly onError: (error: unknown) => void;
}

/**
 * Wakes a persistent session of each standing agent that has unread mail and nothing to do. It marks nothing as read: the turn it begins takes the
 * mail, like any other.
 */
export class Heartbeat {
  readonly #options: HeartbeatOptions;

  constructor(options: HeartbeatOptions) {
    this.#options = options;
  }

  /** Looks at every standing agent once. The turns it begins are not waited for. */
  async beat(): Promise<void> {
    const { policies } = this.#options.harness;
    const { roster } = policies;
    const agents = new Set(roster.entries.map(({ session_id }) => session_id));
    for (const agent of agents) if (roster.trustOf(agent) === "standing") await this.#look(agent);
  }

  async #look(agent: string): Promise<void> {
    const { haak, mailbox, principal, onError } = this.#options;
    const unread = await mailbox.unreadFor(agent);
    if (unread.length === 0) return;
    // The first that is free takes the mail; for another there would be nothing left.
    for (const key of await haak.persistentKeys(principal(), agent)) {
      if (!(await this.#isIdle(key))) continue;
      this.#wake(agent, key, unread.length).catch(onError);
      return;
    }
  }

  async #isIdle(key: string): Promise<boolean> {
    const { haak, principal } = this.#options;
    try {
      return (await haak.status(principal(), key)) === "idle";
    } catch (error) {
      // Without a session there is nobody to wake.
      if (error instanceof HaakError) return false;
      throw error;
    }
  }

  async #wake(agent: string, session_key: string, count: number): Promise<void> {
    const { haak, principal, onError } = this.#options;
    const text = `You have ${count} unread mailbox message(s). Check your mailbox and act on any pending messages.`;
    const params = {
      session_key,
      message: { role: "user" as const, content: [{ type: "text" as const, text }] },
    };
    await haak.run(principal(), params, (event) => {
      if (event.type === "error") onError(new Error(`${agent}: ${event.message}`));
    });
  }
}
