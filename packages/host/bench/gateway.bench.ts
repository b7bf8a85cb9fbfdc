import { once } from "node:events";
import { mkdir, mkdtemp, rm } from "node:fs/promises";
import http from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Worker } from "node:worker_threads";
import { channelPair, Peer } from "@reins/acp";
import { AgentEntry } from "@reins/agents";
import { ModelGateway, PriceList } from "@reins/gateway";
import { LoopbackServer } from "@reins/kit";
import { KeyFolder, Ledger, ledgerTables } from "@reins/ledger";
import { openSqlite } from "@reins/store";
import { Harness, harnessTables, writeFirstFiles } from "@reins/supervisor";
import type { Bench, BenchRow } from "../../../scripts/bench/bench.ts";
import { governCalls } from "../src/control/model-call.ts";
import { Governor } from "../src/governor/governor.ts";
import { sessionTables } from "../src/sessions/tables.ts";
import { BODY, type StreamOrder } from "./gateway/provider.ts";

/** The provider in its thread, and the streams of others that it has open. */
async function startProvider() {
  const thread = new Worker(new URL("./gateway/provider.ts", import.meta.url));
  const [url]: string[] = await once(thread, "message");
  const order = async (what: StreamOrder) => {
    thread.postMessage(what);
    await once(thread, "message");
  };
  return { url: String(url), order, close: () => thread.terminate() };
}

/** The least that stands between: a proxy of a few lines. */
async function bareProxy(to: string): Promise<LoopbackServer> {
  const server = await LoopbackServer.listen();
  const agent = new http.Agent({ keepAlive: true });
  server.serve((request, response) => {
    const { method = "POST", headers, url = "/" } = request;
    const outgoing = http.request(`${to}${url}`, { method, headers, agent }, (incoming) => {
      response.writeHead(incoming.statusCode ?? 500, incoming.headers);
      incoming.pipe(response);
    });
    request.pipe(outgoing);
  });
  return server;
}

const entry = AgentEntry.parse({
  ...{ id: "claude", name: "The stub", support: { level: "supported" }, tools: "claude-code" },
  ...{ start: { with: "file", file: "/bin/true" }, enforcement: { level: "asked" } },
});

/** The gateway with policy, ledger and store behind it. */
async function governed(to: string) {
  const base = await mkdtemp(join(tmpdir(), "gateway-bench-"));
  const [home, workspace] = [join(base, "home"), join(base, "workspace")];
  await mkdir(home);
  await mkdir(workspace);
  await writeFirstFiles(home);
  const store = await openSqlite({
    path: join(home, "reins.db"),
    tables: [ledgerTables, ...harnessTables, sessionTables],
  });
  const ledger = await Ledger.open({
    ...{ store, signers: new KeyFolder(join(home, "keys")), newOrigin: () => "reins/bench" },
  });
  const harness = await Harness.open({ home, userHome: base, store, ledger });
  const [ours, theirs, close] = channelPair();
  const peer = new Peer(theirs, {
    request: async (method) => (method === "session/new" ? { sessionId: "s" } : { protocolVersion: 1 }),
    notification: () => undefined,
  });
  const governor = new Governor({
    ...{ harness, entry, channel: ours, principal: harness.identity.local(), enforcement: "asked" },
    ...{ from: "bench", launch: { mode: undefined, configOptions: {}, meta: {}, strip: [] } },
    clients: () => ({
      notify: async () => undefined,
      request: () => Promise.reject(new Error("no client is asked")),
    }),
  });
  await governor.initialize({ protocolVersion: 1 });
  const { signal } = new AbortController();
  await governor.request("session/new", { cwd: workspace, mcpServers: [] }, { signal });
  const gateway = new ModelGateway({
    ...{
      keys: { get: async () => "key-of-the-bench" },
      prices: new PriceList(),
      addresses: { anthropic: to },
    },
    onError: (error) => {
      throw error;
    },
  });
  const { url, token } = await gateway.lease(
    ["anthropic"],
    governCalls(() => governor.sessions),
  );
  return {
    ...{ url: `${url}/anthropic`, token },
    /** One entry that is written durably, as the verdict on each call is. */
    sync: async () =>
      void (await ledger.record([
        { quality: "policy_verdict", actor: "bench", target: "bench", payload: {} },
      ])),
    close: async () => {
      await governor.close("the measurement is over");
      close(new Error(`the measurement of ${peer.constructor.name} is over`));
      await gateway.close();
      await harness.close();
      await store.close();
      await rm(base, { recursive: true, force: true });
    },
  };
}

const clients = new http.Agent({ keepAlive: true });

/** Asks, and returns when the first byte and when the last one came. */
function ask(url: string, token: string): Promise<{ first: number; all: number; bytes: number }> {
  return new Promise((resolve, reject) => {
    const start = performance.now();
    let [first, bytes] = [0, 0];
    const headers = { "x-api-key": token, "content-type": "application/json" };
    const request = http.request(`${url}/v1/messages`, { method: "POST", headers, agent: clients });
    request.once("error", reject);
    request.once("response", (response) => {
      response.on("data", (chunk: Buffer) => {
        first ||= performance.now() - start;
        bytes += chunk.length;
      });
      response.once("error", reject);
      response.once("end", () => resolve({ first, all: performance.now() - start, bytes }));
    });
    request.end(BODY);
  });
}

function median(values: readonly number[]): number {
  return values.toSorted((left, right) => left - right)[Math.floor(values.length / 2)] ?? 0;
}

const STREAMS = 200;

async function measure(rounds: number): Promise<BenchRow[]> {
  const upstream = await startProvider();
  const bare = await bareProxy(upstream.url);
  const ours = await governed(upstream.url);
  const figures = () => ({
    first: [] as number[],
    many: [] as number[],
    firstOfMany: [] as number[],
    firstBesideMany: [] as number[],
    bytes: [] as number[],
  });
  const ways = [
    { url: bare.url, token: "none", ...figures() },
    { url: ours.url, token: ours.token, ...figures() },
  ] as const;
  const syncs: number[] = [];
  try {
    for (let round = -20; round < rounds * 20; round += 1) {
      for (const way of ways) {
        const { first } = await ask(way.url, way.token);
        if (round >= 0) way.first.push(first);
      }
      const start = performance.now();
      await ours.sync();
      if (round >= 0) syncs.push(performance.now() - start);
    }
    for (let round = 0; round < rounds; round += 1)
      for (const way of ways) {
        const start = performance.now();
        const streams = await Promise.all(Array.from({ length: STREAMS }, () => ask(way.url, way.token)));
        way.many.push(performance.now() - start);
        way.firstOfMany.push(...streams.map(({ first }) => first));
        way.bytes.push(streams.reduce((sum, { bytes }) => sum + bytes, 0));
      }
    for (const way of ways) {
      await upstream.order({ url: way.url, token: way.token, count: STREAMS });
      for (let round = -20; round < rounds * 20; round += 1) {
        const { first } = await ask(way.url, way.token);
        if (round >= 0) way.firstBesideMany.push(first);
      }
      await upstream.order("close");
    }
    const [proxy, gateway] = ways;
    return [
      {
        what: "time to first byte beyond a bare proxy, verdict durable, 100 kB, p50",
        value: median(gateway.first) - median(proxy.first),
        unit: "ms",
        baseline: { what: "wanted", value: 3 },
        bar: { ratio: 1, sense: "at most" },
      },
      {
        what: "of that, one entry written durably, p50",
        value: median(syncs),
        unit: "ms",
        baseline: { what: "wanted", value: 3 },
      },
      {
        what: "time to first byte, p50",
        value: median(gateway.first),
        unit: "ms",
        baseline: { what: "bare proxy", value: median(proxy.first) },
      },
      {
        what: `time to first byte beyond a bare proxy while ${STREAMS} streams are open, p50`,
        value: median(gateway.firstBesideMany) - median(proxy.firstBesideMany),
        unit: "ms",
        baseline: { what: "wanted", value: 3 },
        bar: { ratio: 1, sense: "at most" },
      },
      {
        what: `${STREAMS} streams at once`,
        value: median(gateway.many),
        unit: "ms",
        baseline: { what: "bare proxy", value: median(proxy.many) },
      },
      {
        what: `time to first byte of ${STREAMS} streams at once, p50`,
        value: median(gateway.firstOfMany),
        unit: "ms",
        baseline: { what: "bare proxy", value: median(proxy.firstOfMany) },
      },
      {
        what: `bytes of ${STREAMS} streams that arrived`,
        value: median(gateway.bytes),
        unit: "bytes",
        baseline: { what: "bare proxy", value: median(proxy.bytes) },
        bar: { ratio: 1, sense: "at least" },
      },
    ];
  } finally {
    clients.destroy();
    await ours.close();
    await bare.close();
    await upstream.close();
  }
}

export default {
  name: "gateway",
  title: "Calls to a model through the gateway, beside the same calls through a bare proxy",
  run: ({ scale }) => measure(scale === "quick" ? 3 : 10),
} satisfies Bench;
