import type { Torture, TortureContext } from "../../../scripts/torture/torture.ts";
import { aborted, pause, within } from "./bounds.ts";
import { Harness } from "./harness/harness.ts";
import { until } from "./harness/until.ts";
import { allowed, ask } from "./hostile/message.ts";
import { megabytes } from "./memory.ts";
import { type RawWebSocket, rawWebSocket } from "./raw/websocket.ts";

const AMOUNTS = {
  small: { clients: 50, held: 20, milliseconds: 1_000 },
  full: { clients: 1_000, held: 200, milliseconds: 60_000 },
};
const CONNECT_AT_ONCE = 50;
const ROUND_MS = 200;
/** How much more may be resident at the end than at the start: what V8 keeps for later. */
const MOST_LEFT = 64 * 2 ** 20;
const MOST_LIVE_LEFT = 8 * 2 ** 20;

const torture: Torture = {
  name: "ahp-soak",
  title: "Many WebSocket clients stay connected and many blocking events wait, without an error",
  async run(context) {
    const harness = await Harness.start({ http: {}, deadlineMs: 600_000 });
    try {
      await Promise.race([soak(context, harness), harness.died, aborted(context.signal)]);
    } finally {
      await harness.stop();
    }
  },
};

export default torture;

async function soak({ scale, log }: TortureContext, harness: Harness): Promise<void> {
  const amounts = AMOUNTS[scale];
  const before = await harness.report();
  const clients = await connectAll(harness, amounts.clients);
  const connected = await harness.report();
  log(`${clients.length} clients, ${megabytes(connected.rss - before.rss)} more resident`);
  const closed = Promise.race(clients.map((client) => client.closed)).then(() => {
    throw new Error("a client lost its connection");
  });
  await Promise.race([hold(clients, harness, amounts, log), closed]);
  closed.catch(() => {});
  for (const client of clients) client.webSocket.close();
  await within("the end of all connections", Promise.all(clients.map((client) => client.closed)));
  // What the client has seen end may be open on the other side for another moment.
  await until(harness, "the end on the other side", ({ descriptors }) => descriptors <= before.descriptors);
  const after = await harness.report();
  log(
    `afterwards ${after.descriptors} descriptors (${before.descriptors} before), resident ${megabytes(after.rss)} (${megabytes(before.rss)}), live ${megabytes(after.live)} (${megabytes(before.live)})`,
  );
  if (after.live > before.live + MOST_LIVE_LEFT) throw new Error("live memory was left behind");
  if (after.rss > connected.rss + MOST_LEFT) throw new Error("resident memory was left behind");
}

/** Connects a few at a time: all at once would be more than the system lets wait. */
async function connectAll(harness: Harness, count: number): Promise<RawWebSocket[]> {
  const clients: RawWebSocket[] = [];
  while (clients.length < count) {
    const more = Math.min(CONNECT_AT_ONCE, count - clients.length);
    clients.push(...(await Promise.all(Array.from({ length: more }, () => rawWebSocket(harness.webSocket)))));
  }
  return clients;
}

/** Keeps events waiting for a while; meanwhile every client asks something quick, again and again. */
async function hold(
  clients: readonly RawWebSocket[],
  harness: Harness,
  { held, milliseconds }: (typeof AMOUNTS)["full"],
  log: TortureContext["log"],
): Promise<void> {
  const waiting = clients.slice(0, held);
  for (const { webSocket } of waiting) webSocket.send(ask("held", { hold: true }));
  let rounds = 0;
  for (const end = performance.now() + milliseconds; performance.now() < end; rounds += 1) {
    const id = `quick-${rounds}`;
    for (const { webSocket } of clients) webSocket.send(ask(id));
    await Promise.all(clients.map((client) => expectOnly(client, id)));
    await pause(ROUND_MS);
  }
  const { held: stillHeld } = await harness.report();
  if (stillHeld !== held) throw new Error(`${stillHeld} events are held, not ${held}`);
  log(`${held} events waited for ${milliseconds / 1_000} s beside ${rounds * clients.length} quick ones`);
  harness.release();
  await Promise.all(waiting.map((client) => expectOnly(client, "held")));
}

async function expectOnly({ inbox }: RawWebSocket, id: string): Promise<void> {
  await within(`the answer to ${id}`, inbox.holding(1));
  const replies = inbox.take();
  if (replies.length !== 1 || replies[0] !== allowed(id))
    throw new Error(`asked ${id}, got ${replies.join(" ")}`);
}
