import { setTimeout } from "node:timers/promises";
import type { LedgerReader, PlacedEntry } from "@reins/ledger";
import { readLedger } from "../../../ledger/open-ledger.ts";
import { Output } from "../../../output.ts";
import { watchForStop } from "../../../serving/stop.ts";
import { follow } from "./follow.ts";
import { lineOf } from "./line.ts";
import { pagesOf, placeBefore } from "./pages.ts";
import { type LogFlags, type LogSettings, settleLog } from "./settings.ts";

/** How often a ledger that is followed is asked whether it has grown. */
const POLL_MS = 200;

/** Prints entries of a home's ledger, and goes on printing those that come when asked to. */
export async function log(flags: LogFlags): Promise<void> {
  const settings = settleLog(flags, new Date());
  const output = new Output(process.stdout);
  const stop = settings.follow ? watchForStop() : undefined;
  const end = new AbortController();
  void stop?.requested.then(() => end.abort());
  try {
    await readLedger(flags, async (ledger) => {
      const signal = AbortSignal.any([end.signal, output.gone]);
      for await (const page of entriesOf(ledger, settings, signal)) {
        await output.write(page.map((placed) => `${textOf(placed, flags.json)}\n`).join(""));
        if (signal.aborted) return;
      }
    });
  } finally {
    stop?.dispose();
  }
}

async function* entriesOf(
  ledger: LedgerReader,
  { filter, limit, newestFirst, follow: follows }: LogSettings,
  signal: AbortSignal,
): AsyncGenerator<PlacedEntry[]> {
  if (newestFirst) return yield* pagesOf(ledger, { filter, order: "newest", limit });
  const after = limit === undefined ? -1 : await placeBefore(ledger, filter, limit);
  if (!follows) return yield* pagesOf(ledger, { filter, order: "oldest", after, limit });
  yield* follow(ledger, { filter, after, pause: () => pause(signal), signal });
}

async function pause(signal: AbortSignal): Promise<void> {
  await setTimeout(POLL_MS, undefined, { signal }).catch((error: unknown) => {
    if (!signal.aborted) throw error;
  });
}

function textOf({ seq, entry }: PlacedEntry, json: boolean | undefined): string {
  if (json) return JSON.stringify({ seq, entry });
  const { isTTY, columns } = process.stdout;
  return lineOf(entry, { color: isTTY && process.stdout.hasColors(), width: isTTY ? columns : undefined });
}
