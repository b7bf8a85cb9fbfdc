import { tmpdir } from "node:os";
import { fileURLToPath } from "node:url";
import type { Bench, BenchRow } from "../../../scripts/bench/bench.ts";
import type { McpGate } from "../src/gate.ts";
import { McpGateway } from "../src/gateway.ts";
import { isHttpServer, type StdioServer } from "../src/server-entry.ts";
import { Caller } from "./caller.ts";

const AMOUNTS = {
  quick: { rounds: 5, trips: 50, calls: 500 },
  full: { rounds: 20, trips: 100, calls: 2_000 },
} as const;
const WARM_UP_ROUNDS = 3;
const WINDOW = 32;

const SERVER: StdioServer = {
  name: "echo",
  command: process.execPath,
  args: [fileURLToPath(new URL("./echo-server.ts", import.meta.url))],
  env: [],
};

/** Decides at once, so that what is measured is the way and not the verdict. */
const gate: McpGate = {
  mayUse: () => true,
  decide: async (call) => ({ allowed: true, arguments: call.arguments }),
  report: async () => {},
};

const bench: Bench = {
  name: "mcp-call",
  title: "A tool call through the governed MCP gateway, beside the same call straight to the server",
  async run({ scale }) {
    const gateway = await McpGateway.open({ redactor: { also: () => String } });
    const { server } = await gateway.wrap(SERVER, gate, "stdio", { cwd: tmpdir() });
    if (isHttpServer(server)) throw new Error("not by stdio");
    const callers = [await Caller.start(server), await Caller.start(SERVER)] as const;
    try {
      return await compare(callers, AMOUNTS[scale]);
    } finally {
      await Promise.all(callers.map((caller) => caller.stop()));
      await gateway.close();
    }
  },
};

export default bench;

type Amounts = (typeof AMOUNTS)["quick" | "full"];

/** Measures both turn by turn, so that both meet the same noise. */
async function compare(
  callers: readonly [Caller, Caller],
  { rounds, trips, calls }: Amounts,
): Promise<BenchRow[]> {
  const measured = callers.map((caller) => ({ caller, trips: [] as number[], rates: [] as number[] }));
  for (let round = -WARM_UP_ROUNDS; round < rounds; round += 1) {
    for (const one of measured) {
      if (round === 0) one.trips.length = one.rates.length = 0;
      for (let trip = 0; trip < trips; trip += 1) one.trips.push(await timed(() => one.caller.call()));
      one.rates.push((calls / (await timed(() => pipelined(one.caller, calls)))) * 1_000_000);
    }
  }
  const [governed, direct] = measured.map((one) => ({ trip: median(one.trips), rate: median(one.rates) }));
  if (!governed || !direct) return [];
  return [
    {
      what: "stdio: call, p50",
      value: governed.trip,
      unit: "µs",
      baseline: { what: "direct", value: direct.trip },
      bar: { ratio: 8, sense: "at most" },
    },
    {
      what: `stdio: calls, ${WINDOW} in flight`,
      value: governed.rate,
      unit: "/s",
      baseline: { what: "direct", value: direct.rate },
      bar: { ratio: 0.15, sense: "at least" },
    },
  ];
}

async function pipelined(caller: Caller, calls: number): Promise<void> {
  let left = calls;
  const lane = async () => {
    while (left > 0) {
      left -= 1;
      await caller.call();
    }
  };
  await Promise.all(Array.from({ length: WINDOW }, lane));
}

/** The microseconds that something took. */
async function timed(run: () => Promise<void>): Promise<number> {
  const start = performance.now();
  await run();
  return (performance.now() - start) * 1_000;
}

/** The middle one of some numbers. */
function median(values: readonly number[]): number {
  return values.toSorted((left, right) => left - right)[Math.floor(values.length / 2)] ?? Number.NaN;
}
