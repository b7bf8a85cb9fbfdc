import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { AhpClient } from "../src/index.ts";
import type { Channel, MeasuredTransport } from "./channel/channel.ts";
import { openChannel } from "./channel/open.ts";
import { median, pipelined, roundTrips, timed } from "./measure.ts";
import { EVENT, REQUEST } from "./message.ts";
import { clientTransport } from "./server/client-transport.ts";
import { type Started, start } from "./server/started.ts";

/** How much is measured: rounds, and in each so many round trips, then so many messages in a stream. */
export interface Amounts {
  readonly rounds: number;
  readonly trips: number;
  readonly messages: number;
}

/** What was measured over one transport. */
export interface Comparison {
  /** Microseconds of a round trip, the middle one: our server, the echo, our server by way of our client. */
  readonly p50: { readonly ahp: number; readonly echo: number; readonly client: number };
  /** Replies per second with many requests under way, the middle round. */
  readonly rate: { readonly ahp: number; readonly echo: number };
}

/** Below the bound on requests in flight, so that no request waits. */
export const WINDOW = 64;
/** Warm-up rounds. No connection idles meanwhile: HTTP servers close idle ones. */
const WARM_UP_ROUNDS = 8;

/** Measures our server and the echo over one transport, turn by turn, so that both meet the same noise. */
export async function compare(transport: MeasuredTransport, amounts: Amounts): Promise<Comparison> {
  const folder = await mkdtemp(join(tmpdir(), "ahp-bench-"));
  const started: Started[] = [];
  const launch = async (program: string, socket: string) => {
    const server = await start(program, [transport, join(folder, socket)]);
    started.push(server);
    return server;
  };
  try {
    const server = await launch("ahp.ts", "ahp.sock");
    const ahp = await contestant(transport, server);
    const echo = await contestant(transport, await launch("echo.ts", "echo.sock"));
    const client = await AhpClient.connect(clientTransport(transport, server.address));
    await client.handshake(["pre_action"]);
    try {
      return await race(ahp, echo, client, amounts);
    } finally {
      for (const { single, many } of [ahp, echo]) for (const channel of [single, many]) channel.close();
      await client.close();
    }
  } finally {
    await Promise.all(started.map((server) => server.stop()));
    await rm(folder, { recursive: true });
  }
}

interface Contestant {
  readonly single: Channel;
  /** Over HTTP one connection answers in order, so many requests need many connections. */
  readonly many: Channel;
  readonly trips: number[];
  readonly rates: number[];
}

async function contestant(transport: MeasuredTransport, server: Started): Promise<Contestant> {
  const single = await openChannel(transport, server, REQUEST, 1);
  const many = transport === "http" ? await openChannel(transport, server, REQUEST, WINDOW) : single;
  return { single, many, trips: [], rates: [] };
}

async function race(
  ahp: Contestant,
  echo: Contestant,
  client: AhpClient,
  { rounds, trips, messages }: Amounts,
): Promise<Comparison> {
  const ask = () => client.sendEvent(EVENT);
  const asked: number[] = [];
  for (let round = -WARM_UP_ROUNDS; round < rounds; round += 1) {
    if (round === 0)
      for (const taken of [ahp.trips, ahp.rates, echo.trips, echo.rates, asked]) taken.length = 0;
    const order = round % 2 === 0 ? [ahp, echo] : [echo, ahp];
    for (let trip = 0; trip < trips; trip += 1) {
      for (const one of order) one.trips.push(...(await roundTrips(one.single, 1)));
      asked.push(await timed(ask));
    }
    for (const one of order) one.rates.push(await pipelined(one.many, messages, WINDOW));
  }
  await expectAllow(ahp.single, ask);
  return {
    p50: { ahp: median(ahp.trips), echo: median(echo.trips), client: median(asked) },
    rate: { ahp: median(ahp.rates), echo: median(echo.rates) },
  };
}

/** What is quick must also be right. */
async function expectAllow(channel: Channel, ask: () => Promise<{ decision: string }>): Promise<void> {
  const reply = await channel.firstReply;
  if (!reply.includes('"result":{"decision":"allow"}')) throw new Error(`not an allow: ${reply}`);
  const { decision } = await ask();
  if (decision !== "allow") throw new Error(`not an allow: ${decision}`);
}
