import { strict as assert } from "node:assert";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { mkdtemp, readFile, realpath, rm } from "node:fs/promises";
import { request } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { seededRandom } from "../../../scripts/torture/random.ts";
import type { Torture, TortureContext } from "../../../scripts/torture/torture.ts";
import { ServerProcess } from "../system/fixtures/server-process/server-process.ts";

const MEBIBYTE = 1024 * 1024;
const SIZES = { small: 256, full: 2_048 };
/** What a server may take more than for a file of {@link FIRST}, whatever the size. */
const MOST_GROWTH = 64 * MEBIBYTE;
const FIRST = 64;
const HEADERS = { "content-type": "application/octet-stream" };

const torture: Torture = {
  name: "large-file",
  title: "a file of 2 GiB goes up and down whole, and the server's memory does not grow with it",
  async run(context) {
    const base = await realpath(await mkdtemp(join(tmpdir(), "large-file-")));
    const rules = "tool_rules: [{ name: all, condition: {}, verdict: allowed }]\n";
    const server = await ServerProcess.start({ base, agents: [], rules });
    try {
      await transfer(server, FIRST, context);
      const before = await peakMemory(server.pid);
      await transfer(server, SIZES[context.scale], context);
      const growth = (await peakMemory(server.pid)) - before;
      context.log(`its memory grew by ${Math.round(growth / MEBIBYTE)} MiB`);
      assert(growth < MOST_GROWTH, `the server's memory grew by ${growth} bytes`);
    } finally {
      await server.stop();
      await rm(base, { recursive: true, force: true });
    }
  },
};

export default torture;

/** Sends a file, fetches it, and a part of it. */
async function transfer(server: ServerProcess, mebibytes: number, { seed, signal, log }: TortureContext) {
  const address = `${server.address}/v1/fs/file?path=large`;
  const headers = { authorization: `Bearer ${server.token}`, ...HEADERS };
  const sent = request(address, { method: "PUT", headers, signal });
  const answered = once(sent, "response");
  const up = createHash("sha256");
  await pipeline(
    Readable.from(pieces(mebibytes, seed), { objectMode: false }),
    async function* (content) {
      for await (const piece of content) {
        up.update(piece);
        yield piece;
      }
    },
    sent,
  );
  const [{ statusCode }] = await answered;
  assert.equal(statusCode, 200);
  log(`${mebibytes} MiB are up`);
  const down = createHash("sha256");
  assert.equal(await fetched(address, headers, signal, (part) => down.update(part)), mebibytes * MEBIBYTE);
  assert.equal(down.digest("hex"), up.digest("hex"));
  log(`${mebibytes} MiB are down`);
  const part = { ...headers, range: `bytes=${(mebibytes - 1) * MEBIBYTE}-` };
  assert.equal(await fetched(address, part, signal, () => undefined), MEBIBYTE);
}

/** Pieces of which no two are the same. */
function* pieces(mebibytes: number, seed: number): Generator<Buffer> {
  const random = seededRandom(seed);
  for (let count = 0; count < mebibytes; count += 1) {
    const piece = Buffer.alloc(MEBIBYTE, random.int(256));
    piece.writeUInt32LE(count);
    yield piece;
  }
}

async function fetched(
  address: string,
  headers: Readonly<Record<string, string>>,
  signal: AbortSignal,
  take: (part: Buffer) => void,
): Promise<number> {
  const [response] = await once(request(address, { headers, signal }).end(), "response");
  let bytes = 0;
  for await (const part of response) {
    take(part);
    bytes += part.length;
  }
  return bytes;
}

/** The most memory that a process had so far, in bytes. */
async function peakMemory(pid: number): Promise<number> {
  const [, kilobytes = ""] = /^VmHWM:\s+(\d+) kB$/m.exec(await readFile(`/proc/${pid}/status`, "utf8")) ?? [];
  return Number(kilobytes) * 1024;
}
