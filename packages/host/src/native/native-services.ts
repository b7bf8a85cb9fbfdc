import type { HostServices, SubagentService } from "@reins/agent";
import type { Harness, Subject } from "@reins/supervisor";
import { Board } from "../board/board.ts";
import type { TurnOffers } from "../haak/turn-offers.ts";
import { Mailbox } from "../mail/mailbox.ts";

/** What the services of a host stand on. */
export interface NativeServicesOptions {
  readonly harness: Pick<Harness, "home" | "store">;
  readonly tenant: string;
  /** Takes secrets out of what is recorded. */
  readonly redact: (value: unknown) => unknown;
  /** For whom a session acts, as the harness knows it; `undefined` for one that is not open. */
  readonly subjectOf: (sessionId: string) => Pick<Subject, "agent" | "session"> | undefined;
  /** The tools of turns, where clients have a say in them. */
  readonly offers?: TurnOffers | undefined;
  /** The id of the native agent. */
  readonly native: string;
  /** Whether a session may read a file without anybody being asked. */
  readonly mayRead?: HostServices["mayRead"];
  /** Has a child of a session do something; none can where it is absent. */
  readonly spawn?: SubagentService["run"] | undefined;
}

/** Mail, board and subagents, each session in the name of the agent that it acts as, and the tools of its client. */
export function nativeServices(options: NativeServicesOptions): HostServices {
  const { harness, tenant, redact, subjectOf, offers, native, spawn, mayRead } = options;
  const { home, store } = harness;
  const mailbox = new Mailbox({ home, tenant, store, redact });
  const board = new Board({ home, tenant });
  const subjectIn = (sessionId: string) => {
    const subject = subjectOf(sessionId);
    if (subject) return subject;
    throw new Error(`there is no session ${sessionId}`);
  };
  const agentIn = (sessionId: string) => subjectIn(sessionId).agent;
  return {
    nameOf: (id) => subjectIn(id).session,
    ...(mayRead && { mayRead }),
    ...(spawn && { subagents: { run: spawn } }),
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
    ...(offers && {
      clientTools: {
        offered: (id) =>
          offers.clientTools(subjectIn(id).session, native).map(({ input_schema: parameters, ...tool }) => ({
            ...tool,
            parameters,
          })),
        call: (id, name, input, signal) => offers.call(subjectIn(id).session, name, input, signal),
      },
    }),
  };
}
