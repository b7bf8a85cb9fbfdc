import type { BenchRow } from "../../../../scripts/bench/bench.ts";
import { BURST, type Measured } from "./measured.ts";

/** Everything that was measured in one run. */
export interface Figures {
  readonly stdio: Measured;
  readonly http: Measured;
  readonly webSocket: Measured;
  readonly fastHttp: Measured;
  readonly fastWebSocket: Measured;
  /** A server in Node that only passes on, and one that waits for the disk once in each turn: nothing in Node is quicker. */
  readonly bareHttp: Measured;
  readonly bareWebSocket: Measured;
  readonly syncedHttp: Measured;
  readonly syncedWebSocket: Measured;
  /** The same with more of what has to be done for each prompt: the floor. */
  readonly threadedHttp: Measured;
  readonly recordingHttp: Measured;
  /** Sandbox Agent, where it could be had. */
  readonly other: Measured | undefined;
  readonly syncs: number;
  readonly deliveries: number;
}

/** The figures beside what they are compared with. */
export function rowsOf(figures: Figures): BenchRow[] {
  const { stdio, http, webSocket, fastHttp, fastWebSocket, other, syncs, deliveries } = figures;
  const { bareHttp, bareWebSocket, syncedHttp, syncedWebSocket, threadedHttp, recordingHttp } = figures;
  const ours = [http, fastHttp, webSocket, fastWebSocket];
  const others = other ? [other] : [];
  return [
    ...againstServer(http, syncedHttp),
    ...againstServer(webSocket, syncedWebSocket),
    ...[threadedHttp, recordingHttp, bareHttp].map((one) => tripRow(one, syncedHttp, 0.5)),
    tripRow(http, recordingHttp, 0.5),
    tripRow(fastHttp, bareHttp, 0.5),
    tripRow(fastWebSocket, bareWebSocket, 0.5),
    ...(other ? [...ours, syncedHttp, syncedWebSocket].map((one) => tripRow(one, other, 0.5)) : []),
    ...[...ours, ...others].map((one) => tripRow(one, stdio, 0.5)),
    {
      what: "waits for the disk in a turn",
      value: syncs,
      unit: "fsyncs",
      baseline: { what: "wanted", value: 2 },
      bar: { ratio: 1, sense: "at most" },
    },
    ...(other ? [http, webSocket].map((one) => ({ ...burstRow(one, other), bar: AT_LEAST_HALF_MORE })) : []),
    ...[http, webSocket].map((one) => ({ ...arrivalRow(one), bar: AT_LEAST_ALL })),
    ...others.map(arrivalRow),
    ...[...ours, ...others].map((one) => burstRow(one, stdio)),
    {
      what: "deliveries to 100 readers",
      value: deliveries,
      unit: "/s",
      baseline: { what: "wanted", value: 150_000 },
      bar: { ratio: 1, sense: "at least" },
    },
  ];
}

const AT_LEAST_ALL = { ratio: 1, sense: "at least" } as const;
const AT_LEAST_HALF_MORE = { ratio: 1.5, sense: "at least" } as const;

/** A way through Reins beside the same way through a bare server that waits for the disk once. */
function againstServer(one: Measured, base: Measured): BenchRow[] {
  return [
    { ...tripRow(one, base, 0.5), bar: { ratio: 2, sense: "at most" } },
    { ...tripRow(one, base, 0.99), bar: { ratio: 3, sense: "at most" } },
  ];
}

function tripRow(one: Measured, base: Measured, share: number): BenchRow {
  return {
    what: `prompt round trip p${share * 100}, ${one.way.name}`,
    value: one.tripAt(share),
    unit: "ms",
    baseline: { what: base.way.name, value: base.tripAt(share) },
  };
}

function arrivalRow(one: Measured): BenchRow {
  return {
    what: `updates of ${BURST} that arrive, ${one.way.name}`,
    value: one.fewest,
    unit: "updates",
    baseline: { what: "sent", value: BURST },
  };
}

function burstRow(one: Measured, base: Measured): BenchRow {
  return {
    what: `burst of ${BURST} updates, ${one.way.name}`,
    value: one.rate,
    unit: "updates/s",
    baseline: { what: base.way.name, value: base.rate },
  };
}
