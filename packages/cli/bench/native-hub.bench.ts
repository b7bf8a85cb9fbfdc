import type { Bench, BenchRow } from "../../../scripts/bench/bench.ts";
import { Crowd, type Turns } from "./native/crowd.ts";
import { bareHouse, governedHouse, type House } from "./native/house.ts";

const SESSIONS = 200;
const ROUNDS = { quick: 2, full: 8 };

const bench: Bench = {
  name: "native-hub",
  title:
    "The native agent with the demo model, governed through the hub: first words and whole turns, alone and with 200 sessions at once",
  async run({ scale }) {
    const rounds = ROUNDS[scale];
    const bare = await measured(bareHouse, rounds);
    return rowsOf(await measured(governedHouse, rounds), bare);
  },
};

export default bench;

interface Measured {
  readonly one: Turns;
  readonly many: Turns;
}

async function measured(open: () => Promise<House>, rounds: number): Promise<Measured> {
  const house = await open();
  try {
    const crowd = new Crowd(house);
    await crowd.turns(1, 10);
    const one = await crowd.turns(1, rounds * 10);
    return { one, many: await crowd.turns(SESSIONS, rounds) };
  } finally {
    await house.close();
  }
}

function rowsOf(governed: Measured, bare: Measured): BenchRow[] {
  return [
    ...firstWords("one session", governed.one, bare.one),
    ...firstWords(`${SESSIONS} sessions at once`, governed.many, bare.many),
    {
      what: `turns with a call, ${SESSIONS} sessions at once`,
      value: governed.many.rate,
      unit: "/s",
      baseline: { what: "one session", value: governed.one.rate },
      bar: { ratio: 1, sense: "at least" },
    },
  ];
}

function firstWords(who: string, governed: Turns, bare: Turns): BenchRow[] {
  return [0.5, 0.99].map((part) => ({
    what: `first words, ${who}, p${part * 100}`,
    value: quantile(governed, part),
    unit: "ms",
    baseline: { what: "not governed", value: quantile(bare, part) },
  }));
}

function quantile({ times }: Turns, part: number): number {
  const sorted = times.map(({ firstWords: first }) => first).toSorted((left, right) => left - right);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? Number.NaN;
}
