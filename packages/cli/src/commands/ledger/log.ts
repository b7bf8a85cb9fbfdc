import { setTimeout } from "node:timers/promises";
import { stripVTControlCharacters, styleText } from "node:util";
import { isRecord } from "@reins/kit";
import {
  EntryQuality,
  type EntryRange,
  type LedgerEntry,
  type LedgerReader,
  type PlacedEntry,
} from "@reins/ledger";
import { command, HOME } from "../../command.ts";
import { CliError } from "../../errors.ts";
import { oneOf, wholeNumber } from "../../flags.ts";
import { READING, readLedger } from "../../ledger/open-ledger.ts";
import { cut, Output, printableLine } from "../../output.ts";
import { withStopSignal } from "../../serving/stop.ts";
import { readPastTime } from "../../time.ts";

interface LineStyle {
  readonly color: boolean;
  /** Undefined cuts only very long texts. */
  readonly width: number | undefined;
}

const QUALITY_WIDTH = "session_lifecycle".length;
const NAME_WIDTH = 16;
const CID_SHOWN = 12;
const MAX_SUMMARY = 400;

export function entryLine(entry: LedgerEntry, { color, width }: LineStyle): string {
  const paint = (format: Parameters<typeof styleText>[0], text: string) =>
    color ? styleText(format, text, { validateStream: false }) : text;
  const columns = [
    paint("dim", entry.timestamp),
    paint(isStop(entry) ? "red" : "cyan", entry.quality.padEnd(QUALITY_WIDTH)),
    fitted(entry.actor),
    fitted(entry.target),
    paint("dim", entry.cid.slice(0, CID_SHOWN)),
  ].join("  ");
  const room = width === undefined ? MAX_SUMMARY : width - stripVTControlCharacters(columns).length - 2;
  return `${columns}  ${cut(printableLine(entrySummary(entry)), Math.max(room, 1))}`;
}

function isStop({ quality, payload }: LedgerEntry): boolean {
  if (quality === "kill") return true;
  return (
    typeof payload === "object" && payload !== null && "verdict" in payload && payload.verdict === "blocked"
  );
}

function fitted(text: string): string {
  return cut(printableLine(text), NAME_WIDTH).padEnd(NAME_WIDTH);
}

/** Summarizes an entry. Names private and sealed content without showing it. */
export function entrySummary({
  quality,
  payload,
  envelope,
}: Pick<LedgerEntry, "quality" | "payload" | "envelope">): string {
  if (envelope) return `sealed for ${envelope.audience_label}`;
  if (!isRecord(payload)) return brief(payload);
  return KNOWN[quality]?.(payload) ?? brief(payload);
}

type Payload = Readonly<Record<string, unknown>>;

/** Summaries by quality; undefined for a payload of an unknown form. */
const KNOWN: Partial<Record<LedgerEntry["quality"], (payload: Payload) => string | undefined>> = {
  policy_verdict: verdictSummary,
  policy_change: changeSummary,
  session_lifecycle: lifecycleSummary,
  approval: approvalSummary,
  turn: turnSummary,
  tool_result: resultSummary,
  kill: killSummary,
};

function verdictSummary({ verdict, reason, event_type }: Payload): string | undefined {
  if (typeof verdict !== "string") return undefined;
  return `${verdict}${before(" ", event_type)}${before(": ", reason)}`;
}

function changeSummary(payload: Payload): string {
  const { change, key_id, holder, agent } = payload;
  if (typeof change !== "string") return brief(payload);
  if (typeof key_id === "string") return `${change} ${key_id}${before(" of ", holder)}`;
  if (change === "constitution") return `${change}, ${String(payload.rules)} rules`;
  return typeof agent === "string" ? `${change} ${agent}` : leading(payload, "change");
}

function lifecycleSummary(payload: Payload): string {
  const { change, cwd, run_id, decision, actions, note } = payload;
  if (typeof change === "string" && typeof run_id === "string") {
    const what = Array.isArray(actions) ? ` ${actions.join(", ")} of` : "";
    return `${change}${before(" ", decision)}${what} ${run_id}${before(": ", note)}`;
  }
  return typeof change === "string" ? `${change}${before(" in ", cwd)}` : leading(payload, "event");
}

function approvalSummary({ state, approval, agent, tool, answer, reason }: Payload): string | undefined {
  if (typeof state !== "string" || typeof approval !== "string") return undefined;
  const asks = typeof agent === "string" ? `: ${agent} asks for ${String(tool)}` : "";
  const said = isRecord(answer) ? `: ${String(answer.by)} said ${String(answer.decision)}` : "";
  return `${state} ${approval}${asks}${said}${before(asks === "" ? ": " : ", ", reason)}`;
}

function turnSummary({ stop_reason, usage }: Payload): string | undefined {
  if (typeof stop_reason !== "string") return undefined;
  return `${stop_reason}${before(", ", tokensIn(usage))}`;
}

/** How many tokens were used; where the provider of a model did not say so, about how many. */
function tokensIn(usage: unknown): string | undefined {
  if (!isRecord(usage) || typeof usage.tokens !== "number") return undefined;
  return `${usage.estimated === true ? "about " : ""}${usage.tokens} tokens`;
}

function resultSummary({ outcome, enforcement, usage }: Payload): string | undefined {
  if (typeof outcome !== "string") return undefined;
  return `${outcome}${before(", ", enforcement)}${before(", ", tokensIn(usage))}`;
}

function killSummary({ target, gone, left, reason }: Payload): string | undefined {
  if (!isRecord(target) || !Array.isArray(gone) || !Array.isArray(left)) return undefined;
  const what = `${String(target.kind)}${before(" ", target.name)}`;
  return `${what}: ${gone.length} processes gone, ${left.length} left${before(": ", reason)}`;
}

function before(start: string, text: unknown): string {
  return typeof text === "string" && text !== "" ? `${start}${text}` : "";
}

function leading(payload: Payload, name: string): string {
  const { [name]: first, ...rest } = payload;
  if (typeof first !== "string") return brief(payload);
  return Object.keys(rest).length > 0 ? `${first} ${brief(rest)}` : first;
}

function brief(value: unknown): string {
  return JSON.stringify(value, (_, member: unknown) => {
    if (!isRecord(member) || !isRecord(member.$private)) return member;
    return `[private, ${String(member.$private.size)} bytes]`;
  });
}

const BEFORE_FOLLOWING = 10;
const POLL_MS = 200;
const readQuality = oneOf(EntryQuality.options);

/** Prints entries, and with `--follow` those that are added. */
export const logCommand = command({
  summary: "print entries, and follow new ones",
  description: "Prints entries, one per line, the oldest first. Works while Reins runs.",
  inputs: {
    home: HOME,
    follow: ["-f, --follow", "print new entries as they come, until Ctrl-C (starts with the last 10)"],
    session: ["--session <id>", "only entries of this session"],
    quality: [
      "--quality <quality>",
      "only entries of this quality: turn, tool_call, policy_verdict, …",
      { read: readQuality },
    ],
    actor: ["--actor <name>", "only entries by this agent, person or reins:system"],
    tag: ["--tag <tag>", "only entries with this tag"],
    since: ["--since <time>", "only entries from then on", { read: readPastTime }],
    until: ["--until <time>", "only entries before then", { read: readPastTime }],
    limit: ["--limit <count>", "how many at most, the newest ones", { read: wholeNumber() }],
    newest: ["--newest", "the newest first"],
    json: ["--json", "print one JSON document per line"],
  },
  note: `A line shows time, quality, actor, target, the beginning of the content id, and what the entry says. Times for --since
and --until are in UTC, such as 2026-11-15 or 2026-11-15T05:20:00Z, or say how long ago: 90s, 15m, 2h, 3d.`,
  examples: [
    "reins ledger log --limit 20",
    "reins ledger log -f --quality policy_verdict      verdicts as they come",
    "reins ledger log --session reed:ahp:1 --since 2h",
    "reins ledger log --json | jq -r .entry.actor | sort | uniq -c",
  ],
  codes: { ...READING, done: "done, or stopped by Ctrl-C" },
  async run({ home, json, follow = false, newest = false, limit, session, ...filter }) {
    if (follow && (newest || filter.until !== undefined))
      throw new CliError("--follow shows new entries, so it cannot be combined with --newest or --until.", {
        next: "Leave one of them out.",
      });
    const settings = {
      filter: { entity_id: session, ...filter },
      limit: limit ?? (follow ? BEFORE_FOLLOWING : undefined),
      newest,
      follow,
    };
    const output = new Output(process.stdout);
    const print = (signal: AbortSignal) =>
      readLedger({ home, json }, async (ledger) => {
        const stopped = AbortSignal.any([signal, output.gone]);
        for await (const page of entriesOf(ledger, settings, stopped)) {
          await output.write(page.map((placed) => `${entryText(placed, json)}\n`).join(""));
          if (stopped.aborted) return;
        }
      });
    await (follow ? withStopSignal(print) : print(new AbortController().signal));
  },
});

interface LogSettings {
  readonly filter: EntryFilter;
  readonly limit: number | undefined;
  readonly newest: boolean;
  readonly follow: boolean;
}

async function* entriesOf(
  ledger: LedgerReader,
  { filter, limit, newest, follow: follows }: LogSettings,
  signal: AbortSignal,
): AsyncGenerator<PlacedEntry[]> {
  if (newest) return yield* entryPages(ledger, { filter, order: "newest", limit });
  const after = limit === undefined ? -1 : await cursorBefore(ledger, filter, limit);
  if (!follows) return yield* entryPages(ledger, { filter, order: "oldest", after, limit });
  yield* follow(ledger, { filter, after, pause: () => pause(signal), signal });
}

async function pause(signal: AbortSignal): Promise<void> {
  await setTimeout(POLL_MS, undefined, { signal }).catch((error: unknown) => {
    if (!signal.aborted) throw error;
  });
}

function entryText({ seq, entry }: PlacedEntry, json: boolean | undefined): string {
  if (json) return JSON.stringify({ seq, entry });
  const { isTTY, columns } = process.stdout;
  return entryLine(entry, { color: isTTY && process.stdout.hasColors(), width: isTTY ? columns : undefined });
}

const PAGE = 500;

type EntryFilter = Pick<EntryRange, "entity_id" | "quality" | "actor" | "tag" | "since" | "until">;

interface PageOptions {
  readonly filter: EntryFilter;
  readonly order: "oldest" | "newest";
  /** Entries after this position, or before it when the newest come first. */
  readonly after?: number | undefined;
  readonly limit?: number | undefined;
}

/** Yields entries in pages, so that memory does not grow with the ledger. */
export async function* entryPages(
  ledger: Pick<LedgerReader, "read">,
  options: PageOptions,
): AsyncGenerator<PlacedEntry[]> {
  const { filter, order } = options;
  let { after } = options;
  for (let left = options.limit ?? Infinity; left > 0; ) {
    const page = await ledger.read({ ...filter, order, after, limit: Math.min(PAGE, left) });
    const last = page.at(-1);
    if (!last) return;
    yield page;
    after = last.seq;
    left -= page.length;
    if (page.length < PAGE) return;
  }
}

/** The position before the newest `count` entries; before all when there are fewer. */
export async function cursorBefore(
  ledger: Pick<LedgerReader, "read" | "size">,
  filter: EntryFilter,
  count: number,
): Promise<number> {
  let position = (await ledger.size()) - 1;
  let found = 0;
  for await (const page of entryPages(ledger, { filter, order: "newest", limit: count })) {
    found += page.length;
    position = (page.at(-1)?.seq ?? 0) - 1;
  }
  return found < count ? -1 : position;
}

type FollowedLedger = Pick<LedgerReader, "read" | "size">;

interface FollowOptions {
  readonly filter: EntryFilter;
  readonly after: number;
  /** Resolves when it is time to poll again. */
  readonly pause: () => Promise<void>;
  readonly signal: AbortSignal;
}

/**
 * Yields new entries, each once and in order. Polls only the size, which is cheap; entries below a size seen once
 * are complete, because they are numbered in commit order.
 */
export async function* follow(ledger: FollowedLedger, options: FollowOptions): AsyncGenerator<PlacedEntry[]> {
  const { filter, pause, signal } = options;
  let after = options.after;
  while (!signal.aborted) {
    const size = await ledger.size();
    if (size > after + 1) {
      for await (const page of entryPages(ledger, { filter, order: "oldest", after })) {
        yield page;
        after = page.at(-1)?.seq ?? after;
      }
      after = Math.max(after, size - 1);
    }
    await pause();
  }
}
