import { until } from "../harness/until.ts";
import { rawHttp } from "../raw/http.ts";
import { rawUnix } from "../raw/lines.ts";
import { AUTHORISED, STREAMS } from "./connect.ts";
import type { HostileContext, Hostility } from "./context.ts";
import { ask, post } from "./message.ts";

const AT_ONCE = 20;

/** Clients that are gone in the middle of a message, or before their answer. */
export const VANISH: readonly Hostility[] = [
  {
    name: "clients that vanish in mid-message over a Unix socket",
    run: (context) =>
      oftenAndGone(context, async () => {
        const { socket } = await rawUnix(context.unix);
        socket.write(part(context, ask("gone")), () => socket.destroy());
      }),
  },
  {
    name: "clients that vanish in mid-frame over WebSocket",
    run: (context) =>
      oftenAndGone(context, async () => {
        const connection = await rawHttp(context.harness.http);
        const { socket } = connection;
        socket.removeAllListeners("data").resume();
        socket.write(part(context, UPGRADE + String.fromCharCode(0x81, 0xfe, 1, 0, 0, 0, 0, 0)), () =>
          socket.resetAndDestroy(),
        );
      }),
  },
  {
    name: "clients that vanish in mid-body over HTTP",
    run: (context) =>
      oftenAndGone(context, async () => {
        const { socket } = await rawHttp(context.harness.http);
        socket.write(part(context, post(context.harness.http, ask("gone"), AUTHORISED)), () =>
          socket.resetAndDestroy(),
        );
      }),
  },
  {
    name: "clients that vanish before their answer",
    async run(context) {
      const { harness } = context;
      const { descriptors } = await harness.report();
      const streams = await Promise.all([
        ...Array.from({ length: AT_ONCE }, () => STREAMS.unix(context)),
        ...Array.from({ length: AT_ONCE }, () => STREAMS.websocket(context)),
      ]);
      for (const stream of streams) stream.send(ask("gone", { hold: true }));
      const { socket } = await rawHttp(harness.http);
      socket.write(post(harness.http, ask("gone", { hold: true }), AUTHORISED));
      await until(harness, "held events", ({ held }) => held === streams.length + 1);
      for (const stream of streams) stream.destroy();
      socket.resetAndDestroy();
      harness.release();
      await until(harness, "the release of their events", ({ held }) => held === 0);
      await until(harness, "the end of their connections", (report) => report.descriptors <= descriptors);
    },
  },
];

const UPGRADE = [
  "GET /ahp HTTP/1.1",
  "host: 127.0.0.1",
  "connection: upgrade",
  "upgrade: websocket",
  "sec-websocket-version: 13",
  "sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==",
  `authorization: ${AUTHORISED.authorization}`,
  "\r\n",
].join("\r\n");

/** Nearly all of a text, or nearly nothing. */
function part({ random }: HostileContext, text: string): Buffer {
  return Buffer.from(text, "latin1").subarray(0, 1 + random.int(text.length));
}

async function oftenAndGone({ harness, amounts }: HostileContext, once: () => Promise<void>): Promise<void> {
  const { descriptors } = await harness.report();
  for (let done = 0; done < amounts.many; done += AT_ONCE) {
    await Promise.all(Array.from({ length: AT_ONCE }, once));
  }
  await until(harness, "the end of their connections", (report) => report.descriptors <= descriptors);
}
