import type { HostServices, SubagentService } from "@reins/agent";
import type { Subject } from "@reins/supervisor";
import type { TenantMessaging } from "../turn/messaging.ts";
import type { TurnOffers } from "../turn/turn-offers.ts";

/** What the services of a host stand on. */
export interface NativeServicesOptions {
  /** The mail and the board of the agent's tenant; it has no tools for them if absent. */
  readonly messaging?: TenantMessaging | undefined;
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
  const { messaging, subjectOf, offers, native, spawn, mayRead } = options;
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
    ...(messaging && messagingTools(messaging, agentIn)),
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

function messagingTools(
  { mailbox, board }: TenantMessaging,
  agentIn: (sessionId: string) => string,
): Pick<HostServices, "mail" | "board"> {
  return {
    mail: {
      send: (id, message) => mailbox.send({ from: agentIn(id), ...message }),
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
