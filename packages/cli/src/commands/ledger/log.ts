import { setTimeout } from "node:timers/promises";
import { EntryQuality, type EntryRange, type LedgerReader, type PlacedEntry } from "@reins/ledger";
import type { Command } from "commander";
import { CliError, helpText } from "../../errors.ts";
import { wholeNumber } from "../../flags.ts";
import { type LedgerFlags, READING, readLedger } from "../../ledger/open-ledger.ts";
import { Output } from "../../output.ts";
import { watchForStop } from "../../serving/stop.ts";
import { readPastTime } from "../../time.ts";
import { entryLine } from "./entry-line.ts";
import { cursorBefore, entryPages, follow } from "./pages.ts";

const HELP = `
A line shows time, quality, actor, target, the beginning of the content id, and what the entry says. Times for --since
and --until are in UTC, such as 2026-11-15 or 2026-11-15T05:20:00Z, or say how long ago: 90s, 15m, 2h, 3d.

Examples:
  reins ledger log --limit 20
  reins ledger log -f --quality policy_verdict      verdicts as they come
  reins ledger log --session reed:ahp:1 --since 2h
  reins ledger log --json | jq -r .entry.actor | sort | uniq -c`;

export function declareLog(ledger: Command): void {
  ledger
    .command("log")
    .summary("print entries, and follow new ones")
    .description("Prints entries, one per line, the oldest first. Works while Reins runs.")
    .option("--home <folder>", "the home folder")
    .option("-f, --follow", "print new entries as they come, until Ctrl-C (starts with the last 10)")
    .option("--session <id>", "only entries of this session")
    .option("--quality <quality>", "only entries of this quality: turn, tool_call, policy_verdict, …")
    .option("--actor <name>", "only entries by this agent, person or reins:system")
    .option("--tag <tag>", "only entries with this tag")
    .option("--since <time>", "only entries from then on")
    .option("--until <time>", "only entries before then")
    .option("--limit <count>", "how many at most, the newest ones")
    .option("--newest", "the newest first")
    .option("--json", "print one JSON document per line")
    .addHelpText("after", helpText(HELP, { ...READING, done: "done, or stopped by Ctrl-C" }))
    .action((_, command: Command) => log(command.optsWithGlobals<LogFlags>()));
}

interface LogFlags extends LedgerFlags {
  readonly session?: string;
  readonly quality?: string;
  readonly actor?: string;
  readonly tag?: string;
  readonly since?: string;
  readonly until?: string;
  readonly limit?: string;
  readonly newest?: boolean;
  readonly follow?: boolean;
}

export type EntryFilter = Pick<EntryRange, "entity_id" | "quality" | "actor" | "tag" | "since" | "until">;

const BEFORE_FOLLOWING = 10;

export function logSettings(flags: LogFlags, now: Date) {
  const follow = flags.follow ?? false;
  if (follow && (flags.newest || flags.until !== undefined)) {
    throw new CliError("--follow shows new entries, so it cannot be combined with --newest or --until.", {
      next: "Leave one of them out.",
    });
  }
  const limit = flags.limit === undefined ? undefined : wholeNumber(flags.limit, "--limit");
  return {
    filter: filterOf(flags, now),
    limit: limit ?? (follow ? BEFORE_FOLLOWING : undefined),
    newestFirst: flags.newest ?? false,
    follow,
  };
}

function filterOf({ session, quality, actor, tag, since, until }: LogFlags, now: Date): EntryFilter {
  return {
    entity_id: session,
    quality: quality === undefined ? undefined : readQuality(quality),
    actor,
    tag,
    since: since === undefined ? undefined : readPastTime(since, "--since", now),
    until: until === undefined ? undefined : readPastTime(until, "--until", now),
  };
}

function readQuality(text: string): EntryQuality {
  const quality = EntryQuality.options.find((each) => each === text);
  if (quality) return quality;
  throw new CliError(`--quality is "${text}".`, { next: `Use one of: ${EntryQuality.options.join(", ")}.` });
}

const POLL_MS = 200;

/** Prints entries, and with `--follow` those that are added. */
async function log(flags: LogFlags): Promise<void> {
  const settings = logSettings(flags, new Date());
  const output = new Output(process.stdout);
  const stop = settings.follow ? watchForStop() : undefined;
  const end = new AbortController();
  void stop?.requested.then(() => end.abort());
  try {
    await readLedger(flags, async (ledger) => {
      const signal = AbortSignal.any([end.signal, output.gone]);
      for await (const page of entriesOf(ledger, settings, signal)) {
        await output.write(page.map((placed) => `${entryText(placed, flags.json)}\n`).join(""));
        if (signal.aborted) return;
      }
    });
  } finally {
    stop?.dispose();
  }
}

async function* entriesOf(
  ledger: LedgerReader,
  { filter, limit, newestFirst, follow: follows }: ReturnType<typeof logSettings>,
  signal: AbortSignal,
): AsyncGenerator<PlacedEntry[]> {
  if (newestFirst) return yield* entryPages(ledger, { filter, order: "newest", limit });
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
