import { execFile } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import type { Bench, BenchRow } from "../../../scripts/bench/bench.ts";
import type { Measured } from "./measure.ts";

/** What a full verification has to reach, in entries per second. */
const WANTED = 60_000;
/** What may pass for flat, in MiB: a collection that comes later than before. */
const FLAT = 32;
/** About one entry in ten is a turn or an approval, and so has a signature. */
const SIGNED_EVERY = 10;
const ROUNDS = 3;
const MEBIBYTE = 1024 * 1024;

const run = promisify(execFile);

const bench: Bench = {
  name: "verify",
  title:
    "Full verification of an export: parse, canonical form, BLAKE3, chain, tree, signatures, checkpoints",
  async run({ scale }) {
    const entries = scale === "full" ? 500_000 : 100_000;
    const folder = await mkdtemp(join(tmpdir(), "verify-bench-"));
    try {
      const signed = await measure(folder, entries, SIGNED_EVERY, scale === "full" ? ROUNDS : 1);
      const unsigned = await measure(folder, entries, entries, 1);
      const rows = [
        speedRow(`${label(entries)} entries, one in ${SIGNED_EVERY} signed`, signed),
        speedRow(`${label(entries)} entries, none signed`, unsigned),
        leastRow(signed),
      ];
      return scale === "full" ? [...rows, memoryRow(signed)] : rows;
    } finally {
      await rm(folder, { recursive: true });
    }
  },
};

export default bench;

/** The middle round, each in a process of its own. */
async function measure(
  folder: string,
  entries: number,
  signedEvery: number,
  rounds: number,
): Promise<Measured> {
  const path = join(folder, `${signedEvery}.jsonl`);
  await program("corpus.ts", path, `${entries}`, `${signedEvery}`);
  const measured: Measured[] = [];
  for (let round = 0; round < rounds; round += 1)
    measured.push(JSON.parse(await program("measure.ts", path)));
  await rm(path);
  const middle = measured.toSorted((left, right) => left.seconds - right.seconds)[Math.floor(rounds / 2)];
  if (middle === undefined) throw new Error("nothing was measured");
  return middle;
}

function speedRow(what: string, { entries, seconds }: Measured): BenchRow {
  const baseline = { what: "wanted", value: WANTED };
  return {
    what,
    value: entries / seconds,
    unit: "entries/s",
    baseline,
    bar: { ratio: 1, sense: "at least" },
  };
}

function leastRow({ entries, seconds, leastSeconds }: Measured): BenchRow {
  const baseline = { what: "readline, JSON.parse and SHA-256 alone", value: (leastSeconds * 1e6) / entries };
  return { what: "an entry, one in ten signed", value: (seconds * 1e6) / entries, unit: "µs", baseline };
}

function memoryRow({ memory: [before, after] }: Measured): BenchRow {
  return {
    what: "memory grown in the second half",
    value: Math.max(0, after - before) / MEBIBYTE,
    unit: "MiB",
    baseline: { what: "flat", value: FLAT },
    bar: { ratio: 1, sense: "at most" },
  };
}

async function program(name: string, ...given: readonly string[]): Promise<string> {
  const { stdout } = await run(process.execPath, [fileURLToPath(new URL(name, import.meta.url)), ...given]);
  return stdout;
}

function label(count: number): string {
  return count.toLocaleString("en-US");
}
