import type { Bench, BenchRow } from "../../../scripts/bench/bench.ts";
import { type MeasuredTransport, TRANSPORTS } from "./channel/channel.ts";
import { type Amounts, compare, WINDOW } from "./compare.ts";
import { inProcess } from "./in-process.ts";

const AMOUNTS: Readonly<Record<"quick" | "full", Amounts & { readonly inProcess: number }>> = {
  quick: { rounds: 8, trips: 50, messages: 2_000, inProcess: 100 },
  full: { rounds: 40, trips: 100, messages: 3_000, inProcess: 1_000 },
};

const bench: Bench = {
  name: "ahp-round-trip",
  title: "A blocking pre_action, asked and answered, against a bare echo over the same transport",
  async run({ scale }) {
    const rows: BenchRow[] = [];
    for (const transport of TRANSPORTS) rows.push(...(await rowsOf(transport, AMOUNTS[scale])));
    return [...rows, ...(await rowsInProcess(AMOUNTS[scale].inProcess))];
  },
};

export default bench;

async function rowsOf(transport: MeasuredTransport, amounts: Amounts): Promise<BenchRow[]> {
  const { p50, rate } = await compare(transport, amounts);
  return [
    {
      what: `${transport}: round trip, p50`,
      value: p50.ahp,
      unit: "µs",
      baseline: { what: "echo", value: p50.echo },
      bar: { ratio: 4, sense: "at most" },
    },
    {
      what: `${transport}: replies, ${WINDOW} in flight`,
      value: rate.ahp,
      unit: "/s",
      baseline: { what: "echo", value: rate.echo },
      bar: { ratio: 0.5, sense: "at least" },
    },
    {
      what: `${transport}: round trip of AhpClient, p50`,
      value: p50.client,
      unit: "µs",
      baseline: { what: "bare client", value: p50.ahp },
    },
  ];
}

async function rowsInProcess(rounds: number): Promise<BenchRow[]> {
  const { byDefault, compat, parseOnly } = await inProcess(rounds);
  const baseline = { what: "JSON.parse alone", value: parseOnly };
  return [
    { what: "handleMessage, default", value: byDefault, unit: "µs", baseline },
    { what: "handleMessage, compat", value: compat, unit: "µs", baseline },
  ];
}
