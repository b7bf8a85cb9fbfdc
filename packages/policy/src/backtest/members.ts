/** A value with some members set, by dotted path. What was given stays as it is. */
export function withMembers(value: unknown, members: Readonly<Record<string, unknown>>): unknown {
  let result = value;
  for (const [path, member] of Object.entries(members)) result = setAt(result, path.split("."), member);
  return result;
}

function setAt(value: unknown, [name, ...rest]: readonly string[], member: unknown): unknown {
  if (name === undefined) return member;
  const object = typeof value === "object" && value !== null && !Array.isArray(value) ? value : {};
  const inner: unknown = Object.hasOwn(object, name) ? Reflect.get(object, name) : undefined;
  return { ...object, [name]: setAt(inner, rest, member) };
}
