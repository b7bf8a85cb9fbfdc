import { within } from "../bounds.ts";
import { until } from "../harness/until.ts";
import { type RawHttp, rawHttp } from "../raw/http.ts";
import { AUTHORISED, STREAMS, type TextStream } from "./connect.ts";
import type { HostileContext, Hostility } from "./context.ts";
import { expectReplies, expectSame } from "./expect.ts";
import { allowed, ask, post } from "./message.ts";

const SLOW_ONES = 50;
const QUICK_ONES = 200;

/** Events that take long, with quick ones behind them: the quick ones are all answered while the others still wait. */
export const SLOW: readonly Hostility[] = [
  ...(["unix", "websocket"] as const).map((transport) => ({
    name: `slow events among quick ones over ${transport}`,
    async run(context: HostileContext) {
      const own = await STREAMS[transport](context);
      const slow = ids("slow", SLOW_ONES);
      for (const id of slow) own.send(ask(id, { hold: true }));
      await quickElsewhere(context, SLOW_ONES, () => quickOnes(own));
      await expectReplies(own, slow.map(allowed));
      own.destroy();
    },
  })),
  {
    name: "slow events among quick ones over HTTP",
    async run(context) {
      const { harness } = context;
      const slow = await Promise.all(
        ids("slow", SLOW_ONES).map(async (id) => ({ id, connection: await rawHttp(harness.http) })),
      );
      for (const { id, connection } of slow)
        connection.send(post(harness.http, ask(id, { hold: true }), AUTHORISED));
      await quickElsewhere(context, SLOW_ONES, async () => {});
      for (const { id, connection } of slow) await expectResponse(connection, id);
      for (const { connection } of slow) connection.socket.destroy();
    },
  },
];

/** While events are held, asks on connections of its own and on one that is given; then lets them go. */
async function quickElsewhere(
  context: HostileContext,
  slow: number,
  onTheSame: () => Promise<void>,
): Promise<void> {
  const { harness } = context;
  await until(harness, "held events", ({ held }) => held === slow);
  const others = await Promise.all([STREAMS.unix(context), STREAMS.websocket(context)]);
  await onTheSame();
  for (const stream of others) await quickOnes(stream);
  const connection = await rawHttp(harness.http);
  connection.send(post(harness.http, ask("quick"), AUTHORISED));
  await expectResponse(connection, "quick");
  const { held } = await harness.report();
  expectSame("held events", held, slow);
  harness.release();
  for (const stream of others) stream.destroy();
  connection.socket.destroy();
}

async function quickOnes(stream: TextStream): Promise<void> {
  const quick = ids("quick", QUICK_ONES);
  for (const id of quick) stream.send(ask(id));
  await expectReplies(stream, quick.map(allowed));
}

async function expectResponse(connection: RawHttp, id: string): Promise<void> {
  const [reply] = await within("the response", connection.replies(1));
  expectSame("response", reply, { status: 200, body: allowed(id) });
}

function ids(name: string, count: number): string[] {
  return Array.from({ length: count }, (_, index) => `${name}-${index}`);
}
