import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Channel, MeasuredTransport } from "./channel/channel.ts";
import { openChannel } from "./channel/open.ts";
import { median, pipelined, roundTrips } from "./measure.ts";
import { REQUEST } from "./message.ts";
import { type Started, start } from "./server/started.ts";

/** How one server did. */
export interface Figures {
  /** Microseconds of a round trip, the middle one. */
  readonly p50: number;
  /** Replies per second with many requests under way, the middle round. */
  readonly rate: number;
}

const ROUNDS = 9;
const TRIPS = 500;
const MESSAGES = 6_000;
const WARM_UP = 12_000;
/** Below the bound on requests in flight, so that nobody is made to wait. */
const WINDOW = 64;

/** Measures our server and the echo over one transport, turn by turn, so that both meet the same noise. */
export async function compare(transport: MeasuredTransport): Promise<{ ahp: Figures; echo: Figures }> {
  const folder = await mkdtemp(join(tmpdir(), "ahp-bench-"));
  const servers = [
    await start("ahp.ts", [transport, join(folder, "ahp.sock")]),
    await start("echo.ts", [transport, join(folder, "echo.sock")]),
  ] as const;
  try {
    const [ahp, echo] = [await contestant(transport, servers[0]), await contestant(transport, servers[1])];
    await expectAllow(ahp.single);
    for (const one of [ahp, echo]) await warmUp(one);
    for (let round = 0; round < ROUNDS; round += 1) {
      for (const one of round % 2 ? [echo, ahp] : [ahp, echo]) {
        one.trips.push(...(await roundTrips(one.single, TRIPS)));
        one.rates.push(await pipelined(one.many, MESSAGES, WINDOW));
      }
    }
    for (const one of [ahp, echo]) for (const channel of new Set([one.single, one.many])) channel.close();
    return { ahp: figuresOf(ahp), echo: figuresOf(echo) };
  } finally {
    await Promise.all(servers.map((server) => server.stop()));
    await rm(folder, { recursive: true });
  }
}

interface Contestant {
  readonly single: Channel;
  readonly many: Channel;
  readonly trips: number[];
  readonly rates: number[];
}

async function contestant(transport: MeasuredTransport, server: Started): Promise<Contestant> {
  const single = await openChannel(transport, server, REQUEST, 1);
  const many = transport === "http" ? await openChannel(transport, server, REQUEST, WINDOW) : single;
  return { single, many, trips: [], rates: [] };
}

async function expectAllow(channel: Channel): Promise<void> {
  await roundTrips(channel, 1);
  const reply = await channel.firstReply;
  if (!reply.includes('"result":{"decision":"allow"}')) throw new Error(`not an allow: ${reply}`);
}

async function warmUp({ single, many }: Contestant): Promise<void> {
  await roundTrips(single, WARM_UP / 4);
  await pipelined(many, WARM_UP, WINDOW);
}

function figuresOf({ trips, rates }: Contestant): Figures {
  return { p50: median(trips), rate: median(rates) };
}
