import { within } from "../bounds.ts";
import { until } from "../harness/until.ts";
import { rawHttp } from "../raw/http.ts";
import type { RawStream } from "../raw/stream.ts";
import { rawWebSocket } from "../raw/websocket.ts";
import { AUTHORISED, STREAMS } from "./connect.ts";
import { type HostileContext, type Hostility, MOST_CONNECTIONS } from "./context.ts";
import { expectSame } from "./expect.ts";
import { allowed, ask, post } from "./message.ts";

const AT_ONCE = 25;
/** More than may be worked on at once, less than may be connected. */
const CROWD = 270;

/** Peers that may not come in, and peers of whom there are too many. */
export const INTRUDERS: readonly Hostility[] = [
  {
    name: "a flood of wrong tokens over HTTP",
    run: (context) =>
      often(context, async () => {
        const { harness } = context;
        const connection = await rawHttp(harness.http);
        connection.send(
          post(harness.http, ask("no"), { authorization: `Bearer ${context.random.string(20)}` }),
        );
        const [reply] = await within("the response", connection.replies(1));
        connection.socket.destroy();
        expectSame("status", reply?.status, 401);
      }),
  },
  {
    name: "a flood of wrong tokens over WebSocket",
    run: (context) =>
      often(context, async () => {
        const { harness, random } = context;
        const place = random.pick(["header", "query", "nowhere"]);
        const url = place === "query" ? `${harness.webSocket}?token=${random.string(20)}` : harness.webSocket;
        const headers = place === "header" ? { "x-api-key": random.string(20) } : {};
        const refusal = await within(
          "the refusal",
          rawWebSocket(url, { headers }).then(
            () => "accepted",
            (error: unknown) => String(error),
          ),
        );
        expectSame("refusal", refusal, "Error: Unexpected server response: 401");
      }),
  },
  {
    name: "a crowd of HTTP requests whose bodies do not come",
    async run({ harness }) {
      const { descriptors } = await harness.report();
      const crowd = await Promise.all(Array.from({ length: CROWD }, () => rawHttp(harness.http)));
      for (const { socket } of crowd)
        socket.write(post(harness.http, "{", { ...AUTHORISED, "content-length": "1000" }));
      await until(harness, "their connections", (report) => report.descriptors >= descriptors + CROWD);
      const connection = await rawHttp(harness.http);
      connection.send(post(harness.http, ask("heard"), AUTHORISED));
      const [reply] = await within("the response", connection.replies(1));
      expectSame("response", reply, { status: 200, body: allowed("heard") });
      for (const { socket } of [...crowd, connection]) socket.destroy();
      await until(harness, "the end of their connections", (report) => report.descriptors <= descriptors);
    },
  },
  ...(["unix", "websocket"] as const).map((transport) => ({
    name: `more connections than allowed over ${transport}`,
    async run(context: HostileContext) {
      const { descriptors } = await context.harness.report();
      const attempts = Array.from({ length: MOST_CONNECTIONS + 100 }, () =>
        attempt(STREAMS[transport](context)),
      );
      const accepted = (await Promise.all(attempts)).filter((stream) => stream !== undefined);
      if (accepted.length > MOST_CONNECTIONS) throw new Error(`${accepted.length} connections were accepted`);
      if (accepted.length < MOST_CONNECTIONS / 2) throw new Error(`only ${accepted.length} were accepted`);
      for (const stream of accepted) stream.destroy();
      await until(
        context.harness,
        "the end of their connections",
        (report) => report.descriptors <= descriptors,
      );
      const late = await attempt(STREAMS[transport](context));
      if (!late) throw new Error("no connection is accepted any more");
      late.destroy();
    },
  })),
];

/** A connection that was accepted: it answers. */
async function attempt<Stream extends RawStream & { send(text: string): void }>(
  connecting: Promise<Stream>,
): Promise<Stream | undefined> {
  try {
    const stream = await connecting;
    stream.send(ask("in"));
    await within("an answer or a refusal", Promise.race([stream.inbox.holding(1), stream.closed]));
    return stream.inbox.take()[0] === allowed("in") ? stream : undefined;
  } catch {
    return undefined;
  }
}

async function often({ amounts }: HostileContext, once: () => Promise<void>): Promise<void> {
  for (let done = 0; done < amounts.many; done += AT_ONCE) {
    await Promise.all(Array.from({ length: AT_ONCE }, once));
  }
}
