import { mkdtemp, realpath, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Bench } from "../../../scripts/bench/bench.ts";
import { ServerProcess } from "../system/fixtures/server-process/server-process.ts";
import { bareServer } from "./acp-http/bare-server.ts";
import { fanOut } from "./acp-http/fan-out.ts";
import { Measured, quantile } from "./acp-http/measured.ts";
import type { Prompter } from "./acp-http/prompter.ts";
import { rpcPrompter, webSocketPrompter } from "./acp-http/reins-prompter.ts";
import { rowsOf } from "./acp-http/rows.ts";
import { sandboxAgent } from "./acp-http/sandbox-agent.ts";
import { stdioPrompter } from "./acp-http/stdio-prompter.ts";

const STUB = fileURLToPath(new URL("../system/fixtures/stub-agent.mjs", import.meta.url));
const SIZES = {
  quick: { warmUp: 30, trips: 100, bursts: 3, fans: 2 },
  // A server that has run for a while: what compiles as it runs has been compiled.
  full: { warmUp: 6_000, trips: 1_000, bursts: 12, fans: 6 },
};
/** How many prompts one way makes before it is another's turn. */
const BLOCK = 50;

const bench: Bench = {
  name: "acp-http",
  title:
    "The stub agent over HTTP and WebSocket, governed and recorded, beside Sandbox Agent's server and bare stdio",
  async run({ scale }) {
    const { warmUp, trips, bursts, fans } = SIZES[scale];
    const bases = [await newBase(), await newBase()] as const;
    const durable = await ServerProcess.start({ base: bases[0] });
    const unsynced = await ServerProcess.start({ base: bases[1], noSync: true });
    const bare = await bareServer(STUB);
    const syncing = await bareServer(STUB, bases[0]);
    const threaded = await bareServer(STUB, bases[0], "thread");
    const recording = await bareServer(STUB, bases[0], "record");
    const other = await sandboxAgent(STUB);
    if (typeof other === "string")
      console.log(`  SKIPPED: Sandbox Agent's server cannot be run here: ${other}`);
    const ways = {
      stdio: new Measured(await stdioPrompter(STUB)),
      http: new Measured(await rpcPrompter(durable, "HTTP, durable")),
      webSocket: new Measured(await webSocketPrompter(durable, "WebSocket, durable")),
      fastHttp: new Measured(await rpcPrompter(unsynced, "HTTP, no fsync")),
      fastWebSocket: new Measured(await webSocketPrompter(unsynced, "WebSocket, no fsync")),
      bareHttp: new Measured(await rpcPrompter(bare, "HTTP, passing on only")),
      bareWebSocket: new Measured(await webSocketPrompter(bare, "WebSocket, passing on only")),
      syncedHttp: new Measured(await rpcPrompter(syncing, "HTTP, passing on after one fsync")),
      syncedWebSocket: new Measured(
        await webSocketPrompter(syncing, "WebSocket, passing on after one fsync"),
      ),
      threadedHttp: new Measured(await rpcPrompter(threaded, "HTTP, a durable row by another thread")),
      recordingHttp: new Measured(await rpcPrompter(recording, "HTTP, a signed record by another thread")),
      other: typeof other === "string" ? undefined : new Measured(other),
    };
    const all = Object.values(ways).flatMap((one) => one ?? []);
    try {
      for (const { way } of all) for (let n = 0; n < warmUp; n += 1) await way.prompt("say hello");
      for (let made = 0; made < trips; made += BLOCK)
        for (const one of inTurn(all, made / BLOCK)) for (let n = 0; n < BLOCK; n += 1) await one.trip();
      const syncs = await syncsPerTurn(durable, ways.http.way);
      for (let n = 0; n < bursts; n += 1) for (const one of inTurn(all, n)) await one.burst();
      const deliveries = await fanOut(unsynced, { readers: 100, updates: 2_000, rounds: fans });
      return rowsOf({ ...ways, syncs, deliveries: quantile(deliveries, 0.5) });
    } finally {
      for (const { way } of all) await way.close();
      for (const server of [durable, unsynced, bare, syncing, threaded, recording]) await server.stop();
      for (const base of bases) await rm(base, { recursive: true, force: true });
    }
  },
};

export default bench;

async function newBase(): Promise<string> {
  return realpath(await mkdtemp(join(tmpdir(), "acp-http-bench-")));
}

/** Every other time from the last to the first, so that what changes meanwhile meets all alike. */
function inTurn<Item>(all: readonly Item[], time: number): readonly Item[] {
  return time % 2 === 0 ? all : all.toReversed();
}

/** How often the server waits for its disk in a turn that says one thing. */
async function syncsPerTurn(server: ServerProcess, way: Prompter): Promise<number> {
  const turns = 50;
  const before = await server.figures();
  for (let n = 0; n < turns; n += 1) await way.prompt("say hello");
  return ((await server.figures()).syncs - before.syncs) / turns;
}
