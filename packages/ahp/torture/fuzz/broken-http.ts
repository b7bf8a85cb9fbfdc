import { within } from "../bounds.ts";
import { rawHttp } from "../raw/http.ts";
import { leave } from "../raw/leave.ts";
import type { FuzzContext } from "./context.ts";

/** Valid responses to malformed HTTP. */
const STATUSES = new Set([200, 204, 400, 403, 404, 405, 408, 411, 413, 415, 417, 426, 431, 501, 505]);

/** Says something that is not proper HTTP, then ends or hangs up: the connection has to be over soon. */
export async function fuzzBrokenHttp(context: FuzzContext): Promise<void> {
  const { random, harness } = context;
  const body = context.messages(2)[0]?.bytes ?? Buffer.alloc(0);
  const [origin, make] = random.pick(Object.entries(BROKEN));
  const { host } = new URL(harness.http);
  const bytes = Buffer.from(make(host, body.toString("latin1"), body.length, random.int(1_000)), "latin1");
  const connection = await rawHttp(harness.http);
  connection.send(bytes);
  leave(connection.socket, random);
  const replies = await within(
    "the end of a broken request",
    connection.replies(Number.POSITIVE_INFINITY),
  ).catch((error: unknown) => {
    throw context.offence("broken HTTP is not ended", [{ bytes, origin }], error);
  });
  const strange = replies.find(({ status }) => !STATUSES.has(status));
  if (strange) throw context.offence(`answered with ${strange.status}`, [{ bytes, origin }]);
}

type Broken = (host: string, body: string, length: number, number: number) => string;

const JSON_TYPE = "content-type: application/json";

const BROKEN: Readonly<Record<string, Broken>> = {
  "a length too large": (host, body, length, more) =>
    post(host, [JSON_TYPE, `content-length: ${length + 1 + more}`], body),
  "a length too small": (host, body, length) =>
    post(host, [JSON_TYPE, `content-length: ${Math.max(0, length - 5)}`], body),
  "a length beyond the limit": (host, body) => post(host, [JSON_TYPE, "content-length: 104857600"], body),
  "a length that is none": (host, body) => post(host, [JSON_TYPE, "content-length: -5"], body),
  "two lengths": (host, body, length) =>
    post(host, [JSON_TYPE, `content-length: ${length}`, `content-length: ${length + 1}`], body),
  "a length and chunks": (host, body, length) =>
    post(host, [JSON_TYPE, `content-length: ${length}`, "transfer-encoding: chunked"], body),
  "no length": (host, body) => post(host, [JSON_TYPE], body),
  "chunks of a wrong size": (host, body, length) =>
    post(
      host,
      [JSON_TYPE, "transfer-encoding: chunked"],
      `${(length + 3).toString(16)}\r\n${body}\r\n0\r\n\r\n`,
    ),
  "chunks without an end": (host, body, length) =>
    post(host, [JSON_TYPE, "transfer-encoding: chunked"], `${length.toString(16)}\r\n${body}\r\n`),
  "chunks that are none": (host, body) => post(host, [JSON_TYPE, "transfer-encoding: chunked"], body),
  "an unknown encoding": (host, body) => post(host, [JSON_TYPE, "transfer-encoding: gzip, x"], body),
  "no host": (_, body, length) =>
    `POST /ahp HTTP/1.1\r\n${JSON_TYPE}\r\ncontent-length: ${length}\r\n\r\n${body}`,
  "another host": (_, body, length) => post("evil.example", [JSON_TYPE, `content-length: ${length}`], body),
  "another origin": (host, body, length) =>
    post(host, [JSON_TYPE, "origin: https://evil.example", `content-length: ${length}`], body),
  "another type": (host, body, length) =>
    post(host, ["content-type: text/plain", `content-length: ${length}`], body),
  "no type": (host, body, length) => post(host, [`content-length: ${length}`], body),
  "another method": (host) => `GET /ahp HTTP/1.1\r\nhost: ${host}\r\n\r\n`,
  "an unknown method": (host) => `BREW /ahp HTTP/1.1\r\nhost: ${host}\r\n\r\n`,
  "another path": (host, body, length) =>
    `POST /other HTTP/1.1\r\nhost: ${host}\r\ncontent-length: ${length}\r\n\r\n${body}`,
  "HTTP/1.0": (host, body, length) =>
    `POST /ahp HTTP/1.0\r\nhost: ${host}\r\n${JSON_TYPE}\r\ncontent-length: ${length}\r\n\r\n${body}`,
  "HTTP/2": () => "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
  "an endless header": (host) => post(host, [`x: ${"x".repeat(20_000)}`], ""),
  "very many headers": (host) =>
    post(
      host,
      Array.from({ length: 3_000 }, (_, index) => `x${index}: y`),
      "",
    ),
  "a header with a line break": (host, body, length) =>
    post(host, [JSON_TYPE, "x: a\nb: c", `content-length: ${length}`], body),
  "half a head": (host) => `POST /ahp HTTP/1.1\r\nhost: ${host}\r\ncontent-le`,
  "no HTTP at all": (_, body) => body,
  nothing: () => "",
  "a request that waits for 100-continue": (host, body, length) =>
    post(host, [JSON_TYPE, "expect: 100-continue", `content-length: ${length}`], body),
  "an upgrade to something else": (host) =>
    `GET /ahp HTTP/1.1\r\nhost: ${host}\r\nconnection: upgrade\r\nupgrade: h2c\r\n\r\n`,
  "an upgrade elsewhere": (host) =>
    `GET /other HTTP/1.1\r\nhost: ${host}\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n`,
  "a good request and a bad one": (host, body, length) =>
    post(host, [JSON_TYPE, `content-length: ${length}`], body) + post(host, ["content-length: x"], body),
};

function post(host: string, headers: readonly string[], body: string): string {
  return `POST /ahp HTTP/1.1\r\nhost: ${host}\r\n${headers.map((header) => `${header}\r\n`).join("")}\r\n${body}`;
}
