import { styleText } from "node:util";
import {
  type CheckReport,
  type ConformanceReport,
  type ExchangeRecord,
  LEVELS,
  type Level,
} from "./report.ts";

/** How a report is written for people. */
export interface FormatOptions {
  readonly color?: boolean;
  /** Shows the exchange of every check, not only of those that fail. */
  readonly verbose?: boolean;
}

type Style = "red" | "green" | "yellow" | "dim" | "bold";
type Paint = (style: Style, text: string) => string;

/** The report as text: what holds and what does not, by section, with the exchange that shows it. */
export function formatReport(report: ConformanceReport, options: FormatOptions = {}): string {
  const { color = false, verbose = false } = options;
  const paint: Paint = (style, text) => (color ? styleText(style, text, { validateStream: false }) : text);
  const lines = [headline(report), ""];
  for (const { section, reference, checks } of report.sections) {
    lines.push(`${paint("bold", section)} ${paint("dim", `(${reference})`)}`);
    for (const check of checks) lines.push(...checkLines(check, paint, verbose));
    lines.push("");
  }
  lines.push(...LEVELS.map((level) => totalLine(report, level)), "");
  lines.push(verdict(report, paint));
  return `${lines.join("\n")}\n`;
}

function headline({ harness, target, transport }: ConformanceReport): string {
  const name = harness
    ? `${harness.harness_info.name} ${harness.harness_info.version}, AHP ${harness.protocol_version}`
    : "a harness that did not introduce itself";
  return printable(`${name}, over ${transport}: ${target}`);
}

function checkLines(check: CheckReport, paint: Paint, verbose: boolean): string[] {
  const { id, title, outcome, why } = check;
  const reason = why === undefined ? [] : [`      ${paint("dim", printable(why))}`];
  const exchange = check.exchange.map((record) => `      ${exchangeLine(record)}`);
  if (outcome === "holds") return [`  ${paint("green", "✓")} ${title}`, ...(verbose ? exchange : [])];
  if (outcome === "skipped") return [`  ${paint("dim", `- ${title} (skipped: ${printable(why ?? "")})`)}`];
  return [`  ${failureMark(check.level, paint)} ${title} ${paint("dim", `[${id}]`)}`, ...reason, ...exchange];
}

function failureMark(level: Level, paint: Paint): string {
  if (level === "must") return paint("red", "✗ fails:");
  return level === "should" ? paint("yellow", "! does not:") : paint("dim", "· does not:");
}

function exchangeLine({ direction, text, status }: ExchangeRecord): string {
  const arrow = direction === "sent" ? "→" : "←";
  return `${arrow} ${status === undefined ? "" : `${status} `}${printable(text)}`;
}

function totalLine({ totals }: ConformanceReport, level: Level): string {
  const { holds, fails, skipped } = totals[level];
  const made = holds + fails;
  const rest = skipped === 0 ? "" : `, ${skipped} skipped`;
  return `${level.padEnd(8)} ${holds} of ${made} hold${rest}`;
}

function verdict({ conforms, totals }: ConformanceReport, paint: Paint): string {
  if (conforms) return paint("green", "This harness conforms to AHP 2.4.");
  const { fails } = totals.must;
  if (fails === 0) return paint("yellow", "This harness was not examined to the end.");
  return paint("red", `This harness does not conform to AHP 2.4: ${fails} of what it must do fails.`);
}

/** Escapes control characters, because the text comes from the harness. */
function printable(text: string): string {
  return text.replace(/[\p{Cc}\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069]/gu, (character) => {
    return `\\u${(character.codePointAt(0) ?? 0).toString(16).padStart(4, "0")}`;
  });
}
