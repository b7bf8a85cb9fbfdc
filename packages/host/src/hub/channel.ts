const PREFIX = "connection:";

/** The name in the log of what is for one connection alone: of a session, or of none. */
export function channelOf(connection: string, session?: string): string {
  return session === undefined ? `${PREFIX}${connection}` : `${PREFIX}${connection}:${session}`;
}

/** Whether a name in the log is one of these, and not a session's. */
export function isChannel(name: string): boolean {
  return name.startsWith(PREFIX);
}
