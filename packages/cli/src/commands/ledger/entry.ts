import { type LedgerReader, type PlacedEntry, proveEntry } from "@reins/ledger";
import { command, HOME } from "../../command.ts";
import { CliError, EXIT } from "../../errors.ts";
import { writeNewFile } from "../../files.ts";
import { READING, readLedger } from "../../ledger/open-ledger.ts";
import { printableJson } from "../../printable.ts";

const CODES = { ...READING, failed: `there is no such entry; ${READING.failed}` };

export const getCommand = command({
  summary: "print one entry",
  description: "Prints an entry and its position in the ledger as JSON.",
  inputs: {
    prefix: ["<cid>", "its content id, or the beginning of it", { read: readCidPrefix }],
    home: HOME,
    json: ["--json", "print it on one line"],
  },
  note: "Private content is shown as a reference, and sealed content stays sealed.",
  examples: [
    "reins ledger get 3f2a9c41d07b                     any unambiguous beginning",
    "reins ledger get 3f2a9c41d07b --json | jq .entry.payload",
  ],
  codes: CODES,
  async run({ prefix, ...flags }) {
    const json = await readLedger(flags, (ledger) => findEntry(ledger, prefix));
    return { json, text: () => `${printableJson(json)}\n` };
  },
});

export const proveCommand = command({
  summary: "write a proof that an entry is in the ledger",
  description: "Writes a self-contained proof file.",
  inputs: {
    prefix: ["<cid>", "the entry's content id, or the beginning of it", { read: readCidPrefix }],
    home: HOME,
    output: ["-o, --output <file>", "where to write it (default: stdout)"],
  },
  note: `The proof contains the entry, its path to the root of a signed checkpoint, and the announcement of the key that signed
it. Checking it needs nothing else: reins ledger verify <file>`,
  examples: [
    "reins ledger prove 3f2a9c41d07b -o verdict.proof.json",
    "reins ledger prove 3f2a9c41d07b > verdict.proof.json",
  ],
  codes: CODES,
  async run({ prefix, home, output }, { notice }) {
    const proof = await readLedger({ home }, async (ledger) => {
      const { entry } = await findEntry(ledger, prefix);
      return proveEntry(ledger, entry.cid);
    });
    const text = `${JSON.stringify(proof)}\n`;
    if (output === undefined || output === "-") return { text: () => text };
    await writeNewFile(output, [text]);
    notice(`The proof of ${proof.entry.cid} is in ${output}.`);
    return undefined;
  },
});

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
