import type { Bench, BenchRow } from "../../../scripts/bench/bench.ts";
import { Crowd, type Turns } from "./native/crowd.ts";
import { bareClient, governedClient, type NativeClient, recordingClient } from "./native/native-client.ts";

const SESSIONS = 200;
const SIZES = {
  quick: { warmUp: 20, blocks: 4, rounds: 2 },
  // A server that has run for a while: what compiles as it runs has been compiled.
  full: { warmUp: 200, blocks: 10, rounds: 8 },
};
/** How many turns of one session each side makes before it is the other's turn. */
const BLOCK = 10;
/** The turns a second that are wanted of a machine with two cores. */
const WANTED = 400;

const bench: Bench = {
  name: "native-hub",
  title:
    "The native agent with the demo model, governed through the hub: first words and whole turns, alone and with 200 sessions at once",
  async run({ scale }) {
    const { warmUp, blocks, rounds } = SIZES[scale];
    const clients = [await bareClient(), await recordingClient(), await governedClient()] as const;
    const sides = clients.map((client) => new Side(client));
    const [bare, recording, governed] = sides;
    if (!bare || !recording || !governed) throw new Error("a side is missing");
    try {
      for (const { crowd } of sides) await crowd.turns(1, warmUp);
      for (let block = 0; block < blocks; block += 1)
        for (const side of block % 2 === 0 ? sides : sides.toReversed())
          side.one.push(await side.crowd.turns(1, BLOCK));
      for (const { crowd } of sides) await crowd.turns(SESSIONS, 1);
      for (let round = 0; round < rounds; round += 1)
        for (const side of round % 2 === 0 ? sides : sides.toReversed())
          side.many.push(await side.crowd.turns(SESSIONS, 1));
      return rowsOf({ governed, recording, bare });
    } finally {
      for (const { client } of sides) await client.close();
    }
  },
};

export default bench;

/** A client, and what was measured of it. */
class Side {
  readonly client: NativeClient;
  readonly crowd: Crowd;
  readonly one: Turns[] = [];
  readonly many: Turns[] = [];

  constructor(client: NativeClient) {
    this.client = client;
    this.crowd = new Crowd(client);
  }
}

interface Sides {
  readonly governed: Side;
  /** The agent by itself with the record that is the floor. */
  readonly recording: Side;
  readonly bare: Side;
}

function rowsOf({ governed, recording, bare }: Sides): BenchRow[] {
  const rate = rateOf(governed.many);
  return [
    ...firstWords("one session", governed.one, bare.one),
    floorRow("one session", recording.one, bare.one),
    ...firstWords(`${SESSIONS} sessions at once`, governed.many, bare.many),
    floorRow(`${SESSIONS} sessions at once`, recording.many, bare.many),
    {
      what: `turns with a call, ${SESSIONS} sessions at once`,
      value: rate,
      unit: "/s",
      baseline: { what: "wanted", value: WANTED },
      bar: { ratio: 1, sense: "at least" },
    },
    {
      what: `turns with a call, ${SESSIONS} sessions at once`,
      value: rate,
      unit: "/s",
      baseline: { what: "not governed", value: rateOf(bare.many) },
    },
  ];
}

function firstWords(who: string, governed: readonly Turns[], bare: readonly Turns[]): BenchRow[] {
  return [0.5, 0.99].map((part) => ({
    what: `first words, ${who}, p${part * 100}`,
    value: quantile(governed, part),
    unit: "ms",
    baseline: { what: "not governed", value: quantile(bare, part) },
    ...(part === 0.5 && { bar: { ratio: 2.5, sense: "at most" } as const }),
  }));
}

function floorRow(who: string, recording: readonly Turns[], bare: readonly Turns[]): BenchRow {
  return {
    what: `first words, ${who}, p50, not governed but recorded`,
    value: quantile(recording, 0.5),
    unit: "ms",
    baseline: { what: "not governed", value: quantile(bare, 0.5) },
  };
}

function quantile(turns: readonly Turns[], part: number): number {
  const times = turns.flatMap(({ times }) => times.map(({ firstWords: first }) => first));
  const sorted = times.toSorted((left, right) => left - right);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? Number.NaN;
}

/** Turns a second, over rounds of the same size. */
function rateOf(turns: readonly Turns[]): number {
  return turns.length / turns.reduce((sum, { rate }) => sum + 1 / rate, 0);
}
