import { statSync } from "node:fs";
import { resolve } from "node:path";
import { formatReport, type Report, VerifyError, verifyFile } from "@reins/verify";
import { verify } from "@reins/verify/node";
import { CliError, EXIT, type ExitCode } from "../../../errors.ts";
import { homeFolder } from "../../../home.ts";
import { readLedger } from "../../../ledger/open-ledger.ts";
import { SeenCheckpoints } from "../../../ledger/seen-checkpoints.ts";
import { noticeOnStderr, print } from "../../../output.ts";
import { printableLine } from "../../../printable.ts";
import { lastSeenIn } from "./last-seen.ts";
import { ProgressLine } from "./progress.ts";
import { remoteSource } from "./remote-source.ts";
import { settleVerify, type VerifyFlags, type VerifySettings } from "./settings.ts";

/** Verifies a source, or the ledger of a home, prints the report, and gives the exit code that stands for it. */
export async function verifyLedger(source: string | undefined, flags: VerifyFlags): Promise<ExitCode> {
  const settings = await settleVerify(flags);
  const home = homeIn(source, flags);
  const checked = home === undefined ? check(source ?? "-", settings) : verifyHome(home, flags, settings);
  const report = await checked.catch((error: unknown) => {
    throw verifyFault(error);
  });
  print(flags.json ? `${JSON.stringify(documentOf(report))}\n` : `${formatReport(report)}\n`);
  return report.ok ? EXIT.done : EXIT.failed;
}

/** The home to verify, if it is one: the one that the flags name, or a folder. */
function homeIn(source: string | undefined, flags: VerifyFlags): string | undefined {
  if (source === undefined) return homeFolder(flags.home, process.env);
  return statSync(source, { throwIfNoEntry: false })?.isDirectory() ? resolve(source) : undefined;
}

/** The ledger of a home has to extend what was last seen of it as well, there and elsewhere. */
async function verifyHome(home: string, flags: VerifyFlags, settings: VerifySettings): Promise<Report> {
  const last = await lastSeenIn(home, SeenCheckpoints.ofUser(process.env));
  const report = await check(home, { ...settings, seen: settings.seen ?? last });
  if (report.ok) await keepIfOpen({ ...flags, home });
  return report;
}

/** What was verified where nothing can be written, such as on a disk of evidence, need not be kept. */
async function keepIfOpen(flags: VerifyFlags): Promise<void> {
  try {
    await readLedger(flags, async () => undefined);
  } catch (error) {
    if (!(error instanceof CliError) || error.exitCode === EXIT.failed) throw error;
    noticeOnStderr(flags.json)(`What was seen is not kept: ${error.message}`);
  }
}

async function check(source: string, settings: VerifySettings): Promise<Report> {
  const progress = new ProgressLine(process.stderr, () => performance.now());
  const options = { ...settings, onProgress: progress.update.bind(progress) };
  try {
    return await (source === "-"
      ? verifyFile(process.stdin, options)
      : verify(remoteSource(source), options));
  } finally {
    progress.clear();
  }
}

function documentOf({ logKey, ...report }: Report) {
  return { ...report, log_key: logKey };
}

function verifyFault(error: unknown): unknown {
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
