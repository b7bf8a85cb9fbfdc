import { statSync } from "node:fs";
import { resolve } from "node:path";
import { ArtifactStore, exportLines, LedgerReader, ledgerTables } from "@reins/ledger";
import { openPostgresReader, type PostgresAddress, type StoreReader } from "@reins/store";
import { formatReport, type Progress, type Report, VerifyError, verifyFile } from "@reins/verify";
import { type SourceOptions, verify } from "@reins/verify/node";
import { command, homeInput } from "../../command.ts";
import { CliError, EXIT } from "../../errors.ts";
import { readNamedFile } from "../../files.ts";
import { artifactsIn } from "../../home.ts";
import { hasDatabase, openHomeReader, postgresOf } from "../../home-database.ts";
import { ledgerError } from "../../ledger/ledger-error.ts";
import { readLedger } from "../../ledger/open-ledger.ts";
import { SeenCheckpoints } from "../../ledger/seen-checkpoints.ts";
import { count, noticeOnStderr, printableLine } from "../../output.ts";
import { readTokens } from "../../serving/tokens.ts";
import { inPieces } from "./transfer.ts";

export const verifyCommand = command({
  summary: "check a ledger, an export or a proof",
  description: "Checks every entry, chain, signature and checkpoint, and reports what is wrong.",
  inputs: {
    source: ["[source]", "what to check (default: the home folder)"],
    home: homeInput("the home folder, when the source is left out"),
    key: ["--key <key>", "the log's verifier key from a trusted source; @file reads it from a file"],
    seen: ["--seen <checkpoint>", "a checkpoint from an earlier day: a file with the note, or the note"],
    token: ["--token <secret>", "bearer token for a server; @file reads it from a file"],
    json: ["--json", "print the report as JSON"],
  },
  note: `Sources:
  a file                         an export, compressed or not, or a proof of reins ledger prove
  a folder                       a home, also one that is in use, compared with the checkpoint last seen in it
  http://…, https://…            where either kind of file is, or the address of a Reins
  -                              the same on stdin
  (left out)                     the home folder

The verifier shares no code with what writes the ledger. With --key it trusts nothing that the ledger says of itself,
and with --seen it detects a truncation or rollback; without, the report says what is not excluded.`,
  examples: [
    "reins ledger verify",
    'reins ledger verify audit.jsonl.gz --key "$(cat log.key)" --seen last-year.note',
    "reins ledger verify verdict.proof.json",
    "reins ledger verify audit.jsonl.gz --json | jq .faults",
  ],
  codes: {
    done: "everything is valid",
    failed: "something is invalid",
    usage: "wrong usage",
    unreachable: "the source cannot be reached or read",
  },
  async run({ source, home: named, key, seen, token, json }) {
    const settings = await verifySettings({ key, seen, token });
    const home = source === undefined ? named : folderIn(source);
    // A folder that is named is what it is, whatever holds the state of the home of this shell.
    const environment = source === undefined ? process.env : { ...process.env, REINS_STORE: undefined };
    const checked =
      home === undefined ? check(source ?? "-", settings) : verifyHome({ home, json, environment }, settings);
    const { logKey, ...report } = await checked.catch((error: unknown) => {
      throw verifyError(error);
    });
    return {
      json: { ...report, log_key: logKey },
      text: () => `${formatReport({ ...report, logKey })}\n`,
      exitCode: report.ok ? EXIT.done : EXIT.failed,
    };
  },
});

interface VerifyFlags {
  readonly key?: string | undefined;
  readonly seen?: string | undefined;
  readonly token?: string | undefined;
}

type VerifySettings = Awaited<ReturnType<typeof verifySettings>>;

export async function verifySettings({ key, seen, token }: VerifyFlags) {
  return {
    logKey: key?.startsWith("@") ? (await read(key.slice(1), "--key")).trim() : key,
    // A note has several lines, which no path has.
    seen: seen === undefined || seen.includes("\n") ? seen : await read(seen, "--seen"),
    token: readTokens([token ?? []].flat(), {})[0],
  };
}

function read(path: string, flag: string): Promise<string> {
  const next = "Check the path and the permissions of the file.";
  return readNamedFile(path, `${flag} names a file that cannot be read`, next);
}

/** The folder that a source is: a home to verify. */
function folderIn(source: string): string | undefined {
  return statSync(source, { throwIfNoEntry: false })?.isDirectory() ? resolve(source) : undefined;
}

type HomeFlags = Parameters<typeof readLedger>[0];

/** Also requires that the ledger extends what was last seen of it. */
async function verifyHome(flags: HomeFlags, settings: VerifySettings): Promise<Report> {
  const { home, environment } = flags;
  const last = await lastSeenIn(home, environment, SeenCheckpoints.ofUser(process.env));
  const postgres = await postgresOf(home, environment);
  const expected = { ...settings, seen: settings.seen ?? last };
  const report = await (postgres ? checkPostgres(postgres, home, expected) : check(home, expected));
  if (report.ok) await storeIfWritable(flags);
  return report;
}

/** Stores what was seen, unless the home is read-only, such as a disk of evidence. */
async function storeIfWritable(flags: HomeFlags): Promise<void> {
  try {
    await readLedger(flags, async () => undefined);
  } catch (error) {
    if (!(error instanceof CliError) || error.exitCode === EXIT.failed) throw error;
    noticeOnStderr(flags.json)(`The checkpoint is not stored: ${error.message}`);
  }
}

/** What the database holds is read as an export is, and checked by the same code. */
async function checkPostgres(
  address: PostgresAddress,
  home: string,
  settings: VerifySettings,
): Promise<Report> {
  try {
    const store = await openPostgresReader(address, [ledgerTables]);
    return await verifyStore(store, settings, home).finally(() => store.close());
  } catch (error) {
    throw ledgerError(error, home);
  }
}

/** Verifies the ledger of a store, and its private content as far as it is in a home. */
export async function verifyStore(
  store: StoreReader,
  settings: SourceOptions = {},
  home?: string,
): Promise<Report> {
  const ledger = await LedgerReader.of(store);
  const artifacts = home === undefined ? {} : { artifacts: new ArtifactStore(artifactsIn(home)) };
  const pieces = inPieces(exportLines(ledger, artifacts));
  return withProgress(settings, (options) => verifyFile(bytesOf(pieces), options));
}

async function* bytesOf(pieces: AsyncIterable<string>): AsyncGenerator<Uint8Array> {
  for await (const piece of pieces) yield Buffer.from(piece);
}

async function check(source: string, settings: VerifySettings): Promise<Report> {
  return withProgress(settings, (options) =>
    source === "-" ? verifyFile(process.stdin, options) : verify(remoteSource(source), options),
  );
}

async function withProgress(
  settings: SourceOptions,
  run: (options: SourceOptions) => Promise<Report>,
): Promise<Report> {
  const progress = new ProgressLine(process.stderr, () => performance.now());
  try {
    return await run({ ...settings, onProgress: progress.update.bind(progress) });
  } finally {
    progress.clear();
  }
}

function verifyError(error: unknown): unknown {
  if (!(error instanceof VerifyError)) return error;
  const text = printableLine(error.message);
  switch (error.code) {
    case "bad_option":
      return new CliError(text, { next: "Check --key and --seen.", cause: error });
    case "no_webcrypto":
      return new CliError(text, { next: "Run it on a newer Node.", exitCode: EXIT.failed, cause: error });
    default:
      return new CliError(`There is nothing to verify: ${text}`, {
        next: "Give a file, a home folder or an address; without any, the ledger of --home or REINS_HOME is verified.",
        exitCode: EXIT.unreachable,
        cause: error,
      });
  }
}

async function lastSeenIn(
  home: string,
  environment: NodeJS.ProcessEnv | undefined,
  seen: SeenCheckpoints,
): Promise<string | undefined> {
  const here = await seen.inHome(home);
  const logKey = (await hasDatabase(home, environment)) ? await logKeyIn(home, environment) : undefined;
  return here?.logKey === logKey ? here?.note : undefined;
}

async function logKeyIn(
  home: string,
  environment: NodeJS.ProcessEnv | undefined,
): Promise<string | undefined> {
  try {
    const store = await openHomeReader(home, [ledgerTables], environment);
    return await store.query(ledgerTables, "meta", { name: "log_key" }).finally(() => store.close());
  } catch {
    // The verification reports what cannot be opened.
    return undefined;
  }
}

/** Paths at which a Reins serves no file: the page, and AHP as `reins up` prints it. */
const NO_FILES: ReadonlySet<string> = new Set(["/", "/ahp"]);

/** Maps the address of a Reins to the export of its ledger; keeps other sources. */
export function remoteSource(source: string): string {
  if (!/^https?:/i.test(source) || !URL.canParse(source)) return source;
  const url = new URL(source);
  return NO_FILES.has(url.pathname) ? new URL("/v1/ledger/export", url).href : source;
}

/** Short work shows no progress. */
const DELAY_MS = 1_000;
const EVERY_MS = 100;

interface ProgressScreen {
  readonly isTTY?: boolean;
  write(text: string): unknown;
}

/** Shows the progress of a long verification on a terminal. */
export class ProgressLine {
  readonly #screen: ProgressScreen;
  readonly #now: () => number;
  #next: number;
  #shown = false;

  constructor(screen: ProgressScreen, now: () => number) {
    this.#screen = screen;
    this.#now = now;
    this.#next = now() + DELAY_MS;
  }

  update({ entries, total }: Progress): void {
    if (!this.#screen.isTTY || this.#now() < this.#next) return;
    this.#next = this.#now() + EVERY_MS;
    const [of, share] =
      total === undefined ? ["", ""] : [` of ${count(total)}`, ` (${percent(entries, total)} %)`];
    this.#screen.write(`\r\u001b[Kverified ${count(entries)}${of} entries${share}`);
    this.#shown = true;
  }

  clear(): void {
    if (this.#shown) this.#screen.write("\r\u001b[K");
    this.#shown = false;
  }
}

function percent(entries: number, total: number): number {
  return total === 0 ? 100 : Math.min(100, Math.floor((100 * entries) / total));
}
