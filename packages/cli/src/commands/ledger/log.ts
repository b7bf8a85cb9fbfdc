import { setTimeout } from "node:timers/promises";
import { EntryQuality, type LedgerReader, type PlacedEntry } from "@reins/ledger";
import { command, HOME } from "../../command.ts";
import { CliError } from "../../errors.ts";
import { oneOf, wholeNumber } from "../../flags.ts";
import { READING, readLedger } from "../../ledger/open-ledger.ts";
import { Output } from "../../output.ts";
import { withStopSignal } from "../../serving/stop.ts";
import { readPastTime } from "../../time.ts";
import { entryLine } from "./entry-line.ts";
import { cursorBefore, type EntryFilter, entryPages, follow } from "./pages.ts";

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
