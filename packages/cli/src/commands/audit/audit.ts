import { createHash } from "node:crypto";
import { resolve } from "node:path";
import { setTimeout } from "node:timers/promises";
import { errorMessage, systemClock } from "@reins/kit";
import type { AuditCursor } from "@reins/telemetry/audit";
import { command, group, HOME } from "../../command.ts";
import { isAddress } from "../../configuration/exports.ts";
import { CliError, EXIT } from "../../errors.ts";
import { readNamedFile } from "../../files.ts";
import { auditCursorIn } from "../../home.ts";
import { auditDestination } from "../../hosting/audit-exports.ts";
import { version } from "../../installation.ts";
import { READING, readLedger } from "../../ledger/open-ledger.ts";
import { Output } from "../../output.ts";
import { withStopSignal } from "../../serving/stop.ts";

const POLL_MS = 500;

const exportCommand = command({
  summary: "export entries as audit records, and continue where the last export ended",
  description:
    "Exports the ledger as audit records, one JSON document per line: as entries, or as OCSF events.\n" +
    "Continues after the last record that arrived. Works while Reins runs.",
  inputs: {
    home: HOME,
    format: ["--format <format>", "jsonl or ocsf", { choices: ["jsonl", "ocsf"], default: ["jsonl"] }],
    to: ["--to <place>", "a file to append to, - for stdout, or an address to post to", { default: ["-"] }],
    from: ["--from <cursor>", "export what comes after this record, or `start`"],
    follow: ["-f, --follow", "export new entries as they come, until Ctrl-C"],
    secret: ["--secret <secret>", "signs requests to an address; @path reads it from a file"],
  },
  note: `A record has its place in the ledger and the content id of its entry, which together are its cursor, <seq>.<cid>. A file
continues after its last record, an address after the last record that it answered with a status from 200 to 299; that
place is kept in the home. Standard output begins at the start. docs/telemetry.md describes formats and signatures.
For an export that runs with the server, see audit in reins.yaml.`,
  examples: [
    "reins audit export --to audit.jsonl               append what is new",
    "reins audit export --format ocsf | head -3",
    "reins audit export --format ocsf --to https://siem.example/ingest --secret @siem.key -f",
    "reins audit export --from 1207.6f1c…              what came after that record",
  ],
  codes: { ...READING, done: "everything is exported, or stopped by Ctrl-C", failed: "the export failed" },
  async run({ home, format, to, from, follow = false, secret }, { notice }) {
    const { AuditExport, AuditRecords, CursorFile } = await import("@reins/telemetry/audit");
    if (isAddress(to) && secret === undefined)
      throw new CliError("An address needs a secret, which signs the requests.", {
        next: "Give --secret @file, with at least 16 characters in the file.",
      });
    const after = await cursorOf(from);
    const place = { to: isAddress(to) || to === "-" ? to : resolve(to), secret: await readSecret(secret) };
    const output = new Output(process.stdout);
    const run = (signal: AbortSignal) =>
      readLedger({ home }, async (ledger) => {
        const stopped = AbortSignal.any([signal, output.gone]);
        const exporting = new AuditExport({
          ...{ ledger, clock: systemClock },
          records: new AuditRecords(ledger, format === "ocsf" ? "ocsf" : "jsonl", version()),
          destination: await auditDestination(home, place),
          cursor: isAddress(to) ? new CursorFile(auditCursorIn(home, cursorName(to, format))) : undefined,
        });
        await exporting.begin(after);
        do {
          await exporting.drain(stopped);
          if (follow) await setTimeout(POLL_MS, undefined, { signal: stopped }).catch(() => undefined);
        } while (follow && !stopped.aborted);
        if (to !== "-") notice(`Exported up to the entry ${exporting.position.seq}.`);
      });
    await withStopSignal(run).catch((error: unknown) => {
      if (output.gone.aborted) return;
      throw failure(error, to);
    });
  },
});

export const auditCommand = group("Exports the ledger to where it is watched or archived.", {
  export: exportCommand,
});

/** The name under which the place of an export to an address is kept. */
function cursorName(to: string, format: string): string {
  return `command-${createHash("sha256").update(`${format} ${to}`).digest("hex").slice(0, 16)}`;
}

async function readSecret(given: string | undefined): Promise<string | undefined> {
  if (!given?.startsWith("@")) return given;
  const next = "Check the path after the @ and the permissions of the file.";
  return (await readNamedFile(given.slice(1), "--secret names a file that cannot be read", next)).trim();
}

async function cursorOf(text: string | undefined): Promise<AuditCursor | undefined> {
  if (text === undefined) return undefined;
  const { FIRST, readCursor } = await import("@reins/telemetry/audit");
  const cursor = text === "start" ? FIRST : readCursor(text);
  if (cursor) return cursor;
  throw new CliError(`--from is "${text}".`, { next: "Give the cursor of a record, <seq>.<cid>, or start." });
}

/** The error of an export with what to do about it. */
function failure(error: unknown, to: string): unknown {
  const name = error instanceof Error ? error.name : "";
  if (name !== "DeliveryError" && name !== "CursorError") return error;
  return new CliError(`The export to ${to} stopped: ${errorMessage(error)}.`, {
    next:
      name === "CursorError"
        ? "Check the home and the cursor; --from start begins anew."
        : "Run the same command again when that is repaired: it continues where it stopped.",
    exitCode: EXIT.failed,
    cause: error,
  });
}
