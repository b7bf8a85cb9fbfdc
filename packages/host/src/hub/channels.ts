const PREFIX = "connection:";

/** The name in the log of what is for one connection alone: of a session, or of none. */
export function channelOf(connection: string, session?: string): string {
  return session === undefined ? `${PREFIX}${connection}` : `${PREFIX}${connection}:${session}`;
}

/** Whether a name in the log is one of these, and not a session's. */
export function isChannel(name: string): boolean {
  return name.startsWith(PREFIX);
}

/** What a message in the log is called that says where a turn ended. */
export const TURN_ENDED = "_reins/turn_ended";

/** What a message in the log is called that has the entry of a turn, before the ledger has it. */
export const TURN_OVER = "_reins/turn_over";

/** The channel of the log in which the ends of a session's turns are noted, each with the id of its entry in the ledger. */
export function turnsOf(session: string): string {
  return `turns:${session}`;
}

/** Notifies a subscriber that a turn of a session has begun or ended, and of the current state when it attaches. */
export const TURN = "_reins/session/turn";

/** A notification of an agent, or of Reins for it, to the clients of a session. */
export const UPDATE = "session/update";
