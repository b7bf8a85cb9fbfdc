import { within } from "../bounds.ts";
import { rawHttp } from "../raw/http.ts";
import { leave } from "../raw/leave.ts";
import type { FuzzContext } from "./context.ts";

/** Upgrades, or nearly, and sends frames that no peer may send: the connection has to be over soon. */
export async function fuzzBrokenWebSocket(context: FuzzContext): Promise<void> {
  const { random, harness } = context;
  const [origin, frame] = random.pick(Object.entries(FRAMES));
  const [head, make] = random.chance(0.2) ? random.pick(Object.entries(UPGRADES)) : ["", soundUpgrade];
  const body = context.messages(2)[0]?.bytes ?? Buffer.alloc(0);
  const bytes = Buffer.concat([Buffer.from(make(new URL(harness.http).host)), frame(body)]);
  const connection = await rawHttp(harness.http);
  // Frames are not responses; that they come to an end is all that counts.
  connection.socket.removeAllListeners("data").resume();
  connection.send(bytes);
  leave(connection.socket, random);
  await within("the end of a broken WebSocket", connection.closed).catch((error: unknown) => {
    throw context.offence("a broken WebSocket is not ended", [{ bytes, origin: `${origin} ${head}` }], error);
  });
}

const FRAMES: Readonly<Record<string, (body: Buffer) => Buffer>> = {
  "a text frame": (body) => frame(0x81, body),
  "a frame without a mask": (body) =>
    Buffer.concat([Buffer.from([0x81, Math.min(body.length, 125)]), body.subarray(0, 125)]),
  "a reserved bit": (body) => frame(0xc1, body),
  "a reserved opcode": (body) => frame(0x83, body),
  "a reserved control opcode": (body) => frame(0x8b, body.subarray(0, 100)),
  "a ping in fragments": (body) => frame(0x09, body.subarray(0, 100)),
  "a ping that is too long": (body) => frame(0x89, Buffer.concat([body, Buffer.alloc(200)])),
  "a continuation of nothing": (body) => frame(0x80, body),
  "a message inside a message": (body) => Buffer.concat([frame(0x01, body), frame(0x81, body)]),
  "text that is not UTF-8": () => frame(0x81, Buffer.from([0xc3, 0x28, 0xff])),
  "half a character at the end of a fragment": () =>
    Buffer.concat([frame(0x01, Buffer.from([0xe2])), frame(0x80, Buffer.from([0x82]))]),
  "a close with half a code": () => frame(0x88, Buffer.from([3])),
  "a close with a reserved code": () => frame(0x88, Buffer.from([0x03, 0xed])),
  "a frame longer than allowed": () =>
    Buffer.concat([Buffer.from([0x81, 0xff, 0, 0, 0, 0, 6, 64, 0, 0, 1, 2, 3, 4]), Buffer.alloc(1_000)]),
  "a frame longer than anything": () =>
    Buffer.from([0x81, 0xff, 0x7f, 255, 255, 255, 255, 255, 255, 255, 1, 2, 3, 4]),
  "half a frame": (body) => frame(0x81, body).subarray(0, 5 + Math.floor(body.length / 2)),
  "half a frame head": () => Buffer.from([0x81]),
  "no frames at all": (body) => body,
};

const KEY = "sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==";

const UPGRADES: Readonly<Record<string, (host: string) => string>> = {
  "after no key": (host) => upgrade(host, ["sec-websocket-version: 13"]),
  "after half a key": (host) => upgrade(host, ["sec-websocket-version: 13", "sec-websocket-key: abc"]),
  "after another version": (host) => upgrade(host, ["sec-websocket-version: 8", KEY]),
  "after another origin": (host) =>
    upgrade(host, ["sec-websocket-version: 13", KEY, "origin: https://evil.example"]),
  "after a bad subprotocol": (host) =>
    upgrade(host, ["sec-websocket-version: 13", KEY, "sec-websocket-protocol: a,,b"]),
  "after bad extensions": (host) =>
    upgrade(host, ["sec-websocket-version: 13", KEY, "sec-websocket-extensions: ;;"]),
};

function soundUpgrade(host: string): string {
  return upgrade(host, ["sec-websocket-version: 13", KEY]);
}

function upgrade(host: string, headers: readonly string[]): string {
  const lines = [
    "GET /ahp HTTP/1.1",
    `host: ${host}`,
    "connection: Upgrade",
    "upgrade: websocket",
    ...headers,
  ];
  return `${lines.join("\r\n")}\r\n\r\n`;
}

/** A masked frame of up to 64 KB; a mask of zeros leaves the payload as it is. */
function frame(first: number, payload: Buffer): Buffer {
  const body = payload.subarray(0, 0xffff);
  const length =
    body.length < 126 ? [0x80 | body.length] : [0x80 | 126, body.length >> 8, body.length & 0xff];
  return Buffer.concat([Buffer.from([first, ...length, 0, 0, 0, 0]), body]);
}
