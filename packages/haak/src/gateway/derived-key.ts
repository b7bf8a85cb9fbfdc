/** The key of a session whose client gives none: `<agent_id>:ws:<uuid>`. What would divide it otherwise is escaped. */
export function derivedKey(agent: string, uuid: string): string {
  return `${agent.replace(/[:/%]/g, (mark) => encodeURIComponent(mark))}:ws:${uuid}`;
}

/** The key of the session that a standing agent has from the beginning. */
export function standingKey(agent: string): string {
  return `${agent}:cli:local`;
}
