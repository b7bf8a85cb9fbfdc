import { spawn } from "node:child_process";
import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { type JsonObject, membersOf, Peer } from "@reins/acp";
import { AgentEntry, processChannel } from "@reins/agents";
import { MessageReader } from "@reins/kit";
import { KeyFolder, Ledger, ledgerTables } from "@reins/ledger";
import { AgentProcess, Owner } from "@reins/runner";
import { openSqlite } from "@reins/store";
import { Harness, harnessTables, writeFirstFiles } from "@reins/supervisor";
import type { Bench, BenchRow } from "../../../scripts/bench/bench.ts";
import { Governor } from "../src/governor/governor.ts";
import { sessionTables } from "../src/sessions/tables.ts";

const COUNTED = new URL("./governor/counted-database.ts", import.meta.url).href;
const STUB = fileURLToPath(new URL("../system/fixtures/stub-agent.mjs", import.meta.url));

/** Prompts an agent and counts the updates that came before the answer. */
interface Prompter {
  prompt(text: string): Promise<void>;
  updates(): number;
  close(): Promise<void>;
}

/** The agent itself, over its input and output, answered with yes. */
async function direct(): Promise<Prompter> {
  const child = spawn(process.execPath, [STUB], { stdio: ["pipe", "pipe", "inherit"] });
  let count = 0;
  const peer = new Peer(
    {
      send: async (message) => void child.stdin.write(`${JSON.stringify(message)}\n`),
      onMessage: (listener) =>
        void new MessageReader(child.stdout, 1 << 25, { message: listener, fault: () => undefined }),
      closed: new Promise(() => undefined),
    },
    {
      request: async () => ({ outcome: { outcome: "selected", optionId: "yes" } }),
      notification: () => {
        count += 1;
      },
    },
  );
  await peer.request("initialize", { protocolVersion: 1 });
  const { sessionId } = membersOf(await peer.request("session/new", { cwd: "/", mcpServers: [] }));
  return {
    prompt: async (text) => void (await peer.request("session/prompt", promptOf(sessionId, text))),
    updates: () => count,
    close: async () => void child.kill(),
  };
}

const entry = AgentEntry.parse({
  id: "claude",
  name: "The stub",
  support: { level: "supported" },
  start: { with: "file", file: STUB },
  tools: "claude-code",
  enforcement: { level: "asked" },
});

/** The same behind the governor, with policy, ledger and store. */
async function governed(): Promise<Prompter & { syncs(): number }> {
  const base = await mkdtemp(join(tmpdir(), "governor-bench-"));
  const [home, workspace] = [join(base, "home"), join(base, "workspace")];
  await mkdir(home);
  await mkdir(workspace);
  await writeFirstFiles(home);
  const tables = [ledgerTables, ...harnessTables, sessionTables];
  const counted = new SharedArrayBuffer(4);
  const wrap = { module: COUNTED, settings: { counted } };
  const store = await openSqlite({ path: join(home, "reins.db"), tables, wrap });
  const signers = new KeyFolder(join(home, "keys"));
  const ledger = await Ledger.open({ store, signers, newOrigin: () => "reins/bench" });
  const harness = await Harness.open({ home, userHome: base, store, ledger });
  const owner = new Owner(home);
  const process = await AgentProcess.start(
    { command: globalThis.process.execPath, args: [STUB], env: {}, cwd: workspace, label: "the stub" },
    { owner, onFault: () => undefined },
  );
  let count = 0;
  const governor = new Governor({
    harness,
    entry,
    launch: { mode: undefined, configOptions: {}, meta: {}, strip: [] },
    channel: processChannel(process, harness.redactor),
    principal: harness.identity.local(),
    enforcement: "asked",
    from: "bench",
    clients: () => ({
      notify: async () => {
        count += 1;
      },
      request: () => Promise.reject(new Error("no client is asked")),
    }),
  });
  const { signal } = new AbortController();
  await governor.initialize({ protocolVersion: 1 });
  const { sessionId } = membersOf(
    await governor.request("session/new", { cwd: workspace, mcpServers: [] }, { signal }),
  );
  return {
    prompt: async (text) =>
      void (await governor.request("session/prompt", promptOf(sessionId, text), { signal })),
    updates: () => count,
    syncs: () => Atomics.load(new Int32Array(counted), 0),
    close: async () => {
      await governor.close("the measurement is over");
      await process.stop();
      await harness.close();
      await store.close();
      await rm(base, { recursive: true, force: true });
    },
  };
}

function promptOf(sessionId: unknown, text: string): JsonObject {
  return { sessionId, prompt: [{ type: "text", text }] };
}

async function timed(run: () => Promise<void>): Promise<number> {
  const start = performance.now();
  await run();
  return performance.now() - start;
}

function median(values: number[]): number {
  return values.toSorted((left, right) => left - right)[Math.floor(values.length / 2)] ?? 0;
}

const BURST = 5_000;

async function measure(rounds: number): Promise<BenchRow[]> {
  const [bare, ours] = [await direct(), await governed()];
  const times = {
    bare: [] as number[],
    ours: [] as number[],
    bareBurst: [] as number[],
    oursBurst: [] as number[],
    ask: [] as number[],
  };
  for (const prompter of [bare, ours]) for (let n = 0; n < 20; n += 1) await prompter.prompt("hello");
  const syncsBefore = ours.syncs();
  for (let n = 0; n < rounds * 20; n += 1) {
    times.bare.push(await timed(() => bare.prompt("hello")));
    times.ours.push(await timed(() => ours.prompt("hello")));
  }
  const syncs = (ours.syncs() - syncsBefore) / (rounds * 20);
  const before = ours.updates();
  for (let n = 0; n < rounds; n += 1) {
    times.bareBurst.push(await timed(() => bare.prompt(`burst ${BURST}`)));
    times.oursBurst.push(await timed(() => ours.prompt(`burst ${BURST}`)));
  }
  const arrived = (ours.updates() - before) / rounds;
  const asks = 50;
  for (let n = 0; n < rounds; n += 1) {
    const alone = await timed(() => ours.prompt("hello"));
    times.ask.push(((await timed(() => ours.prompt(`ask ${asks}`))) - alone) / asks);
  }
  await bare.close();
  await ours.close();
  const rate = (values: number[]) => BURST / (median(values) / 1_000);
  return [
    {
      what: "prompt round trip, verdict durable, p50",
      value: median(times.ours),
      unit: "ms",
      baseline: { what: "direct stdio", value: median(times.bare) },
    },
    {
      what: "waits for the disk in a turn",
      value: syncs,
      unit: "fsyncs",
      baseline: { what: "one verdict, one entry", value: 2 },
    },
    {
      what: "burst of 5,000 updates",
      value: rate(times.oursBurst),
      unit: "updates/s",
      baseline: { what: "direct stdio", value: rate(times.bareBurst) },
      bar: { ratio: 0.5, sense: "at least" },
    },
    {
      what: "updates that arrived of 5,000",
      value: arrived,
      unit: "updates",
      baseline: { what: "sent", value: BURST },
      bar: { ratio: 1, sense: "at least" },
    },
    {
      what: "a governed permission answered, p50",
      value: median(times.ask),
      unit: "ms",
      baseline: { what: "wanted", value: 2 },
      bar: { ratio: 1, sense: "at most" },
    },
  ];
}

export default {
  name: "governor",
  title: "ACP through the governor beside the same agent directly, over stdio",
  run: ({ scale }) => measure(scale === "quick" ? 3 : 10),
} satisfies Bench;
