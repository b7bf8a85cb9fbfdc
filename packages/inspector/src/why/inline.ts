/** Formats a value of a constitution on one line. */
export function inline(value: unknown): string {
  if (Array.isArray(value)) return value.map(inline).join(" or ");
  if (typeof value === "object" && value !== null)
    return Object.entries(value)
      .map(([name, part]) => `${name} ${inline(part)}`)
      .join(", ");
  return value === true ? "yes" : value === false ? "no" : String(value ?? "");
}
