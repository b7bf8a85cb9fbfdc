import { type LedgerReader, type PlacedEntry, proveEntry } from "@reins/ledger";
import type { Command } from "commander";
import { CliError, EXIT, helpText } from "../../errors.ts";
import { writeNewFile } from "../../files.ts";
import { type LedgerFlags, READING, readLedger } from "../../ledger/open-ledger.ts";
import { noticeOnStderr, print } from "../../output.ts";
import { printableJson } from "../../printable.ts";

const GET_HELP = `
Private content is shown as a reference, and sealed content stays sealed.

Examples:
  reins ledger get 3f2a9c41d07b                     any unambiguous beginning
  reins ledger get 3f2a9c41d07b --json | jq .entry.payload`;

export function declareGet(ledger: Command): void {
  ledger
    .command("get")
    .summary("print one entry")
    .description("Prints an entry and its position in the ledger as JSON.")
    .argument("<cid>", "its content id, or the beginning of it")
    .option("--home <folder>", "the home folder")
    .option("--json", "print it on one line")
    .addHelpText(
      "after",
      helpText(GET_HELP, { ...READING, failed: `there is no such entry; ${READING.failed}` }),
    )
    .action((cid: string, _, command: Command) => get(cid, command.optsWithGlobals<LedgerFlags>()));
}

async function get(text: string, flags: LedgerFlags): Promise<void> {
  const prefix = readCidPrefix(text);
  const found = await readLedger(flags, (ledger) => findEntry(ledger, prefix));
  print(`${flags.json ? JSON.stringify(found) : printableJson(found)}\n`);
}

const PROVE_HELP = `
The proof contains the entry, its path to the root of a signed checkpoint, and the announcement of the key that signed
it. Checking it needs nothing else: reins ledger verify <file>

Examples:
  reins ledger prove 3f2a9c41d07b -o verdict.proof.json
  reins ledger prove 3f2a9c41d07b > verdict.proof.json`;

export function declareProve(ledger: Command): void {
  ledger
    .command("prove")
    .summary("write a proof that an entry is in the ledger")
    .description("Writes a self-contained proof file.")
    .argument("<cid>", "the entry's content id, or the beginning of it")
    .option("--home <folder>", "the home folder")
    .option("-o, --output <file>", "where to write it (default: stdout)")
    .addHelpText(
      "after",
      helpText(PROVE_HELP, { ...READING, failed: `there is no such entry; ${READING.failed}` }),
    )
    .action((cid: string, _, command: Command) => prove(cid, command.optsWithGlobals<ProveFlags>()));
}

interface ProveFlags extends LedgerFlags {
  readonly output?: string;
}

async function prove(text: string, flags: ProveFlags): Promise<void> {
  const prefix = readCidPrefix(text);
  const proof = await readLedger(flags, async (ledger) => {
    const { entry } = await findEntry(ledger, prefix);
    return proveEntry(ledger, entry.cid);
  });
  const json = `${JSON.stringify(proof)}\n`;
  if (flags.output === undefined || flags.output === "-") return print(json);
  await writeNewFile(flags.output, [json]);
  noticeOnStderr(flags.json)(`The proof of ${proof.entry.cid} is in ${flags.output}.`);
}

/** Shorter prefixes are likely a mistake. */
const SHORTEST = 4;
const SHOWN = 5;

export function readCidPrefix(text: string): string {
  const prefix = text.toLowerCase();
  if (/^[0-9a-f]{4,64}$/.test(prefix)) return prefix;
  throw new CliError(`"${text}" is not a content id.`, {
    next: `Give its 64 hexadecimal digits, or at least the first ${SHORTEST}; reins ledger log shows them.`,
  });
}

export async function findEntry(ledger: Pick<LedgerReader, "find">, prefix: string): Promise<PlacedEntry> {
  const [found, ...others] = await ledger.find(prefix, SHOWN + 1);
  if (!found) {
    throw new CliError(`There is no entry ${prefix}.`, {
      next: "To see which there are, run: reins ledger log",
      exitCode: EXIT.failed,
    });
  }
  if (others.length === 0) return found;
  const shown = [found, ...others].slice(0, SHOWN).map(({ entry }) => entry.cid);
  throw new CliError(`More than one entry begins with ${prefix}.`, {
    next: [...shown, ...(others.length >= SHOWN ? ["…"] : []), "Give more of it."].join("\n"),
    exitCode: EXIT.failed,
  });
}
