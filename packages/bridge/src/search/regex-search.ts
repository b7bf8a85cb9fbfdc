import { setImmediate } from "node:timers/promises";
import { errorMessage } from "@reins/kit";
import type { RE2JS } from "re2js";
import { fieldsOf, MAX_HITS, type SearchableTool, type ToolHit } from "./tool-index.ts";

/** The outcome of a search; the diagnostic says what went wrong or was left out. */
export interface FoundTools {
  readonly hits: readonly ToolHit[];
  readonly diagnostic?: string | undefined;
}

/** The time that a search may take. */
export interface RegexLimits {
  readonly totalMs: number;
  /** After how long other work gets its turn. */
  readonly sliceMs: number;
  /** Milliseconds of a clock that does not go back. */
  readonly now: () => number;
}

const LIMITS: RegexLimits = { totalMs: 500, sliceMs: 10, now: () => performance.now() };
const MAX_PATTERN = 256;
/** Instructions of a compiled pattern: the time of a match grows with them, and a match cannot be interrupted. */
const MAX_INSTRUCTIONS = 500;
/** Characters of a field that are searched. */
const MAX_SEARCHED = 2_000;
/** Occurrences in one field that count. */
const MAX_COUNT = 4;

/**
 * Finds tools by a regular expression without regard to case, in each field by itself. The engine needs time linear in
 * the text, and the search yields to other work and ends at its time limit with what it has.
 */
export async function searchByRegex(
  tools: Iterable<SearchableTool>,
  pattern: string,
  limits: Partial<RegexLimits> = {},
): Promise<FoundTools> {
  const { totalMs, sliceMs, now } = { ...LIMITS, ...limits };
  const expression = await compile(pattern);
  if (typeof expression === "string") return { hits: [], diagnostic: expression };
  const end = now() + totalMs;
  let slice = now() + sliceMs;
  const hits: ToolHit[] = [];
  let diagnostic: string | undefined;
  for (const tool of tools) {
    if (now() >= slice) {
      await setImmediate();
      slice = now() + sliceMs;
    }
    if (now() >= end) {
      diagnostic = `the search was stopped after ${totalMs} ms; not all tools were searched`;
      break;
    }
    const hit = hitOf(tool, expression);
    if (hit) hits.push(hit);
  }
  const best = hits.toSorted((left, right) => right.score - left.score || (left.name < right.name ? -1 : 1));
  return { hits: best.slice(0, MAX_HITS), ...(diagnostic !== undefined && { diagnostic }) };
}

async function compile(pattern: string): Promise<RE2JS | string> {
  if (pattern.length > MAX_PATTERN) return `a pattern has at most ${MAX_PATTERN} characters`;
  // Loaded when it is used: most sessions never search by a pattern.
  const { RE2JS: Engine } = await import("re2js");
  try {
    const compiled = Engine.compile(pattern, Engine.CASE_INSENSITIVE);
    if (compiled.programSize() <= MAX_INSTRUCTIONS) return compiled;
    return "the pattern is too large; repeat less in it";
  } catch (error) {
    return `the pattern is invalid: ${errorMessage(error)}`;
  }
}

function hitOf(tool: SearchableTool, expression: RE2JS): ToolHit | undefined {
  const { name, label = name } = tool;
  const counts = Object.entries(fieldsOf(tool)).flatMap(([field, text]) => {
    // A model knows a tool by its whole name, people by that at its source.
    const whole = field === "name" && name !== label ? occurrences(expression, name) : 0;
    const count = occurrences(expression, text) + whole;
    return count > 0 ? [{ field, count }] : [];
  });
  if (counts.length === 0) return undefined;
  const score = counts.reduce((sum, { count }) => sum + count, 0);
  return { name, score, why: `matches in ${counts.map(({ field }) => field).join(", ")}` };
}

function occurrences(expression: RE2JS, text: string): number {
  if (text === "") return 0;
  const matcher = expression.matcher(text.slice(0, MAX_SEARCHED));
  let count = 0;
  while (count < MAX_COUNT && matcher.find()) count += 1;
  return count;
}
