import { HIDDEN } from "@reins/kit/hidden";

const whole = new Intl.NumberFormat("en-US", { maximumFractionDigits: 0 });
const short = new Intl.NumberFormat("en-US", { notation: "compact", maximumFractionDigits: 1 });
const money = new Intl.NumberFormat("en-US", { style: "currency", currency: "USD" });
const smallMoney = new Intl.NumberFormat("en-US", {
  style: "currency",
  currency: "USD",
  maximumSignificantDigits: 2,
});
const UNITS = ["B", "KB", "MB", "GB", "TB"] as const;

/** Formats an exact count. */
export function count(number: number): string {
  return whole.format(number);
}

/** Formats an approximate count: 1.2K. */
export function about(number: number): string {
  return short.format(number);
}

/** Formats dollars and cents; amounts below a cent keep two significant digits. */
export function dollars(number: number): string {
  return number > 0 && number < 0.01 ? smallMoney.format(number) : money.format(number);
}

/** Formats an amount of memory or disk. */
export function bytes(number: number): string {
  const power = number < 1 ? 0 : Math.min(UNITS.length - 1, Math.floor(Math.log(number) / Math.log(1_024)));
  const value = number / 1_024 ** power;
  return `${value >= 100 || power === 0 ? value.toFixed(0) : value.toFixed(1)} ${UNITS[power]}`;
}

/** Formats a measured duration: 0.42 ms, 12 ms, 3.4 s. */
export function duration(milliseconds: number): string {
  if (milliseconds === 0) return "0 ms";
  if (milliseconds < 10) return `${milliseconds.toFixed(2)} ms`;
  if (milliseconds < 1_000) return `${milliseconds.toFixed(0)} ms`;
  if (milliseconds < 60_000) return `${(milliseconds / 1_000).toFixed(1)} s`;
  return milliseconds < 3_600_000
    ? `${(milliseconds / 60_000).toFixed(1)} min`
    : `${(milliseconds / 3_600_000).toFixed(1)} h`;
}

/** Formats a value of a constitution on one line. */
export function formatValue(value: unknown): string {
  if (Array.isArray(value)) return value.map(formatValue).join(" or ");
  if (typeof value === "object" && value !== null)
    return Object.entries(value)
      .map(([name, part]) => `${name} ${formatValue(part)}`)
      .join(", ");
  return value === true ? "yes" : value === false ? "no" : String(value ?? "");
}

/** A machine-readable name as words. */
export function words(name: string): string {
  return name.replaceAll("_", " ");
}

/** The hidden characters, and the bracket that opens an escape: text that looks like an escape is escaped itself. */
const ESCAPED = new RegExp(`${HIDDEN.source}|⟨`, "gu");

/** Escapes every hidden character as `⟨U+202E⟩`; line feeds and tabs stay. Use where white space is kept. */
export function visible(text: string): string {
  return text.replaceAll(ESCAPED, (one) => (one === "\n" || one === "\t" ? one : escaped(one)));
}

/** Escapes every hidden character, line feeds and tabs included, for text that is shown on one line. */
export function visibleLine(text: string): string {
  return text.replaceAll(ESCAPED, escaped);
}

function escaped(one: string): string {
  return `⟨U+${(one.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0")}⟩`;
}
