/** Formats a value of a constitution on one line. */
export function formatValue(value: unknown): string {
  if (Array.isArray(value)) return value.map(formatValue).join(" or ");
  if (typeof value === "object" && value !== null)
    return Object.entries(value)
      .map(([name, part]) => `${name} ${formatValue(part)}`)
      .join(", ");
  return value === true ? "yes" : value === false ? "no" : String(value ?? "");
}
