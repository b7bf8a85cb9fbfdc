import { hash } from "node:crypto";
import { createReadStream } from "node:fs";
import { createInterface } from "node:readline";
import { verify } from "../src/node/verify.ts";

/** Verifies a file and prints what it cost: `node measure.ts FILE`. */
const [path = ""] = process.argv.slice(2);

/** What was measured. */
export interface Measured {
  readonly entries: number;
  readonly signatures: number;
  readonly seconds: number;
  /** Seconds of no more than reading the lines, JSON.parse and one SHA-256 each. */
  readonly leastSeconds: number;
  /** Resident memory in bytes, the most of the first half and of the second half of the entries. */
  readonly memory: readonly [number, number];
}

const leastSeconds = await timed(async () => {
  for await (const line of createInterface({
    input: createReadStream(path),
    crlfDelay: Number.POSITIVE_INFINITY,
  })) {
    JSON.parse(line);
    hash("sha256", line);
  }
});

const memory: [number, number] = [0, 0];
let entries = 0;
let signatures = 0;
const seconds = await timed(async () => {
  const report = await verify(path, {
    onProgress({ entries: done, total = 0 }) {
      const half = done < total / 2 ? 0 : 1;
      memory[half] = Math.max(memory[half], process.memoryUsage().rss);
    },
  });
  if (!report.ok) throw new Error(`the corpus does not verify: ${JSON.stringify(report.faults[0])}`);
  ({ entries, signatures } = report);
});

const measured: Measured = { entries, signatures, seconds, leastSeconds, memory };
process.stdout.write(JSON.stringify(measured));

async function timed(work: () => Promise<void>): Promise<number> {
  const start = performance.now();
  await work();
  return (performance.now() - start) / 1_000;
}
