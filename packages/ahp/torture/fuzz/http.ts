import { within } from "../bounds.ts";
import type { RawHttp } from "../raw/http.ts";
import type { FuzzContext } from "./context.ts";
import type { FuzzMessage } from "./message.ts";

const BODY_LIMIT = 2 * 1024 * 1024;

/** Sends messages as `POST`s, several at once, with a length or in chunks, and checks every response. */
export async function fuzzBodies(
  context: FuzzContext,
  connection: RawHttp,
  messages: readonly FuzzMessage[],
): Promise<void> {
  const bodies = messages.filter(({ bytes }) => bytes.length <= BODY_LIMIT);
  for (let start = 0; start < bodies.length; ) {
    const group = bodies.slice(start, start + 1 + context.random.int(8));
    start += group.length;
    await exchange(context, connection, group);
  }
}

async function exchange(
  context: FuzzContext,
  connection: RawHttp,
  group: readonly FuzzMessage[],
): Promise<void> {
  const expected = await Promise.all(group.map((message) => context.reference.http(message)));
  connection.send(Buffer.concat(group.map((message) => request(context, message))));
  const replies = await within("responses", connection.replies(group.length));
  for (const [index, { status, body }] of expected.entries()) {
    const reply = replies[index];
    if (reply?.status === status && reply.body === body) continue;
    const wanted = `${status} ${body}`;
    throw context.offence(
      `wanted ${wanted}, got ${reply?.status} ${reply?.body}`,
      group.slice(index, index + 1),
    );
  }
  if (replies.length > group.length) throw context.offence("more responses than requests", group);
}

function request({ harness, random }: FuzzContext, { bytes }: FuzzMessage): Buffer {
  const { host, pathname } = new URL(harness.http);
  const head = [
    `POST ${pathname}${random.chance(0.1) ? "?x=1" : ""} HTTP/1.1`,
    `${random.pick(["host", "Host", "HOST"])}: ${host}`,
    `Content-Type: ${random.pick(["application/json", "application/json; charset=utf-8", "Application/JSON", "application/x+json"])}`,
  ];
  if (random.chance(0.8))
    return Buffer.concat([
      Buffer.from(`${[...head, `content-length: ${bytes.length}`].join("\r\n")}\r\n\r\n`),
      bytes,
    ]);
  const cut = random.int(bytes.length + 1);
  const chunks = [bytes.subarray(0, cut), bytes.subarray(cut)].filter((chunk) => chunk.length > 0);
  return Buffer.concat([
    Buffer.from(`${[...head, "transfer-encoding: chunked"].join("\r\n")}\r\n\r\n`),
    ...chunks.flatMap((chunk) => [
      Buffer.from(`${chunk.length.toString(16)}\r\n`),
      chunk,
      Buffer.from("\r\n"),
    ]),
    Buffer.from("0\r\n\r\n"),
  ]);
}
