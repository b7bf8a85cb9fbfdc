import type { ServerProcess } from "../../system/fixtures/server-process/server-process.ts";
import { Arrivals, UpdateCounter } from "./arrivals.ts";
import { RpcLine } from "./rpc-line.ts";

/** The number of readers, the size of a message, and how often it is sent. */
export interface FanOut {
  readonly readers: number;
  readonly updates: number;
  readonly rounds: number;
}

/** Deliveries a second to many readers of one session, from the prompt to the last of them. */
export async function fanOut(server: ServerProcess, { readers, updates, rounds }: FanOut): Promise<number[]> {
  const line = new RpcLine(server);
  try {
    const driver = await line.hello();
    const id = await line.begin(driver);
    const arrivals = new Arrivals();
    for (let reader = 0; reader < readers; reader += 1) {
      const named = await line.hello();
      await line.ask(named, "session/resume", { sessionId: id });
      const counter = new UpdateCounter(arrivals);
      await line.stream(named, (piece) => counter.take(piece));
    }
    const rates: number[] = [];
    for (let round = -1; round < rounds; round += 1) {
      // Each reader also sees what was asked.
      const expected = arrivals.count + readers * (updates + 1);
      const start = performance.now();
      const turn = line.prompt(driver, id, `burst ${updates}`);
      await arrivals.reach(expected);
      const rate = (readers * updates) / ((performance.now() - start) / 1_000);
      await turn;
      if (arrivals.count !== expected) throw new Error(`${expected - arrivals.count} deliveries are missing`);
      if (round >= 0) rates.push(rate);
    }
    return rates;
  } finally {
    line.close();
  }
}
