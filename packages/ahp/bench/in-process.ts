import { AhpServer, type ServerOptions } from "../src/index.ts";
import { median, timed } from "./measure.ts";
import { REQUEST } from "./message.ts";

/** Microseconds that a message takes inside the server, the middle round; and merely to be parsed. */
export interface InProcess {
  readonly byDefault: number;
  readonly compat: number;
  readonly parseOnly: number;
}

/** Few at a time, so that the middle round was not interrupted. */
const MESSAGES = 200;
const WARM_UP_ROUNDS = 200;

interface Contestant {
  readonly run: () => Promise<unknown>;
  readonly taken: number[];
}

/** Measures the server without any transport, turn by turn with `JSON.parse` of the same text. */
export async function inProcess(rounds: number): Promise<InProcess> {
  const byDefault: Contestant = { run: answering({}), taken: [] };
  const compat: Contestant = { run: answering({ compat: true }), taken: [] };
  const parseOnly: Contestant = { run: async () => JSON.parse(REQUEST), taken: [] };
  for (let round = -WARM_UP_ROUNDS; round < rounds; round += 1) {
    for (const { run, taken } of [byDefault, compat, parseOnly]) {
      const microseconds = await timed(async () => {
        for (let message = 0; message < MESSAGES; message += 1) await run();
      });
      if (round >= 0) taken.push(microseconds / MESSAGES);
    }
  }
  return {
    byDefault: median(byDefault.taken),
    compat: median(compat.taken),
    parseOnly: median(parseOnly.taken),
  };
}

function answering(options: ServerOptions): () => Promise<unknown> {
  const server = new AhpServer({ event: () => ({ decision: "allow" }) }, options);
  const peer = { transport: "memory" } as const;
  return () => server.handleMessage(REQUEST, peer);
}
