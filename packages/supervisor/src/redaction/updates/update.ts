/** An update of a session, as the agent sent it. */
export type Update = Readonly<Record<string, unknown>>;

/** A value as an object with members; one without any if it is none. */
export function membersOf(value: unknown): Update {
  return isObject(value) ? value : {};
}

function isObject(value: unknown): value is Update {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
