import type { HostServices } from "@reins/agent";
import type { Harness } from "@reins/supervisor";
import { Board } from "../board/board.ts";
import { Mailbox } from "../mail/mailbox.ts";

/** What the services of a host stand on. */
export interface NativeServicesOptions {
  readonly harness: Pick<Harness, "home" | "store">;
  readonly tenant: string;
  /** Takes secrets out of what is recorded. */
  readonly redact: (value: unknown) => unknown;
  /** The agent as which a session acts, as the harness knows it; `undefined` for one that is not open. */
  readonly agentOf: (sessionId: string) => string | undefined;
}

/** Mail and board, each session in the name of the agent that it acts as. */
export function nativeServices({ harness, tenant, redact, agentOf }: NativeServicesOptions): HostServices {
  const { home, store } = harness;
  const mailbox = new Mailbox({ home, tenant, store, redact });
  const board = new Board({ home, tenant });
  const agentIn = (sessionId: string) => {
    const agent = agentOf(sessionId);
    if (agent !== undefined) return agent;
    throw new Error(`there is no session ${sessionId}`);
  };
  return {
    mail: {
      send: async (id, message) => {
        await mailbox.send({ from: agentIn(id), ...message });
      },
      unread: async (id) => {
        const unread = await mailbox.unreadFor(agentIn(id));
        return unread.map(({ from, subject, body, timestamp }) => ({ from, subject, body, timestamp }));
      },
    },
    board: {
      read: (_, lines) => board.read(lines),
      post: (id, content) => board.post(agentIn(id), content),
    },
  };
}
