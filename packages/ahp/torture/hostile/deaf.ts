import type { WebSocket } from "ws";
import { pause, within } from "../bounds.ts";
import { Harness } from "../harness/harness.ts";
import { until } from "../harness/until.ts";
import { megabytes } from "../memory.ts";
import { rawHttp } from "../raw/http.ts";
import { AUTHORISED, authorisedWebSocket, STREAMS } from "./connect.ts";
import { type Hostility, MOST_LIVE } from "./context.ts";
import { ask, post } from "./message.ts";

/** More than fits into the buffers of the system and of the server together. */
const QUESTIONS = 800;
const PINGS = 1_000;
const FILLER = 25_000;

const questions = Array.from({ length: QUESTIONS }, (_, index) => ask(`deaf-${index}`, { filler: FILLER }));

/** Clients that ask and never read the answers: the server loses patience and cuts them off. */
export const DEAF: readonly Hostility[] = [
  ...(["unix", "websocket"] as const).map((transport) => ({
    name: `a client that never reads, over ${transport}`,
    async run(context: Parameters<Hostility["run"]>[0]) {
      const { descriptors } = await context.harness.report();
      const stream = await STREAMS[transport](context);
      stream.stopReading();
      for (const question of questions) stream.send(question);
      await until(context.harness, "more connections", (report) => report.descriptors > descriptors);
      await until(context.harness, "the end of a deaf client", (report) => report.descriptors <= descriptors);
      stream.destroy();
    },
  })),
  {
    name: "a client that pings and never reads",
    async run(context) {
      const { webSocket, destroy, closed } = await authorisedWebSocket(context);
      webSocket.pause();
      const ping = Buffer.alloc(125);
      for (let sent = 0; sent < context.amounts.huge; sent += PINGS * ping.length) {
        for (let pings = 0; pings < PINGS; pings += 1) webSocket.ping(ping);
        await within("room for more pings", sentAll(webSocket));
      }
      destroy();
      await closed;
    },
  },
  {
    name: "a client that never reads, over HTTP",
    async run({ harness }) {
      const { descriptors } = await harness.report();
      const { socket } = await rawHttp(harness.http);
      socket.pause();
      for (const question of questions) socket.write(post(harness.http, question, AUTHORISED));
      await until(harness, "more connections", (report) => report.descriptors > descriptors);
      await until(harness, "the end of a deaf client", (report) => report.descriptors <= descriptors);
      socket.destroy();
    },
  },
  {
    name: "a client that never reads, over stdio",
    async run() {
      const harness = await Harness.start({ stdio: true, limits: { stallMs: 500 } });
      try {
        const { stdin } = harness.child;
        const before = await harness.report();
        stdin?.write(questions.map((question) => `${question}\n`).join(""));
        const { live } = await harness.report();
        if (live - before.live > MOST_LIVE)
          throw new Error(`${megabytes(live - before.live)} more lived in it`);
        await within("the end of a harness whose output is not read", harness.exited);
      } finally {
        await harness.stop();
      }
    },
  },
];

async function sentAll(webSocket: WebSocket): Promise<void> {
  while (webSocket.bufferedAmount > 0 && webSocket.readyState === webSocket.OPEN) await pause(1);
}
