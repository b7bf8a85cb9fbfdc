import { setTimeout } from "node:timers/promises";
import { EntryQuality, type EntryRange, type LedgerReader, type PlacedEntry } from "@reins/ledger";
import { command, HOME } from "../../command.ts";
import { CliError } from "../../errors.ts";
import { oneOf, wholeNumber } from "../../flags.ts";
import { READING, readLedger } from "../../ledger/open-ledger.ts";
import { Output } from "../../output.ts";
import { withStopSignal } from "../../serving/stop.ts";
import { readPastTime } from "../../time.ts";
import { entryLine } from "./entry-line.ts";

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
