import type { IncomingMessage } from "node:http";
import { PassThrough } from "node:stream";
import fc from "fast-check";
import { expect, test } from "vitest";
import { ByteBuffer, readLimited, readRequestBody } from "./bytes.ts";
import { ManualClock, settled } from "./manual-clock.ts";

test("a byte buffer joins copies of its chunks and starts again after take and clear", () => {
  fc.assert(
    fc.property(fc.array(fc.uint8Array({ maxLength: 5_000 })), (chunks) => {
      const buffer = new ByteBuffer();
      const expected = Buffer.concat(chunks);
      for (const chunk of chunks) {
        buffer.add(chunk);
        chunk.fill(0);
      }
      expect(buffer.length).toBe(expected.length);
      expect(buffer.take().equals(expected)).toBe(true);
      buffer.add(Buffer.from("x"));
      buffer.clear();
      expect([buffer.length, buffer.take().length]).toEqual([0, 0]);
    }),
  );
});

test("readLimited returns a body up to the limit and nothing of a larger one", async () => {
  async function* chunks(...sizes: number[]) {
    for (const size of sizes) yield new Uint8Array(size);
  }
  expect(await readLimited(chunks(), 0)).toHaveLength(0);
  expect(await readLimited(chunks(4, 6), 10)).toHaveLength(10);
  expect(await readLimited(chunks(4, 6, 1), 10)).toBeUndefined();
});

function request(headers: Record<string, string> = {}): PassThrough & IncomingMessage {
  return Object.assign(new PassThrough(), { headers }) as never;
}

test("readRequestBody reads a body that fits", async () => {
  const sent = request();
  const body = readRequestBody(sent, 10, new ManualClock());
  sent.write("12345");
  sent.end("67890");
  expect(await body).toEqual({ bytes: Buffer.from("1234567890") });
});

test.each([
  ["its length says so", { "content-length": "11" }, ""],
  ["it turns out to be", {}, "12345678901"],
])(
  "readRequestBody refuses a body that is too large as %s, after its end or a while",
  async (_, headers, text) => {
    const ended = request(headers);
    const refused = readRequestBody(ended, 10, new ManualClock());
    ended.end(text);
    expect(await refused).toEqual({ fault: "too_large" });

    const clock = new ManualClock();
    const endless = request(headers);
    const late = readRequestBody(endless, 10, clock);
    endless.write(text || "x");
    await settled();
    clock.advance(2_000);
    expect(await late).toEqual({ fault: "too_large" });
  },
);

test("readRequestBody refuses a body that there is no room for, and rejects when the peer breaks off", async () => {
  const full = request();
  const refused = readRequestBody(full, 10, new ManualClock(), (bytes) => bytes < 3);
  full.end("1234");
  expect(await refused).toEqual({ fault: "busy" });

  const broken = request();
  const cut = readRequestBody(broken, 10, new ManualClock());
  broken.destroy();
  await expect(cut).rejects.toThrow("the request was cut off");
});
