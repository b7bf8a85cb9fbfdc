import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { createServer, type IncomingHttpHeaders, type ServerResponse } from "node:http";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it, onTestFinished } from "vitest";
import { OperatedHome } from "./support/operated-home.ts";
import { folder, type Reins, runReins } from "./support/reins.ts";

const RULES = `tool_rules:
  - { name: no_deletion, condition: { commands: { any: ["rm *"] } }, verdict: blocked }
  - { name: ask_first, condition: { tool_name_matches: [run_command] }, verdict: ask }
  - { name: rest, condition: {}, verdict: allowed }
`;

interface Value {
  readonly stringValue?: string;
  readonly intValue?: number;
  readonly doubleValue?: number;
}
interface Attribute {
  readonly key: string;
  readonly value: Value;
}
interface WireSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly name: string;
  readonly startTimeUnixNano: string;
  readonly endTimeUnixNano: string;
  readonly attributes: readonly Attribute[];
}
type Attributes = Readonly<Record<string, unknown>>;

const plain = (attributes: readonly Attribute[]): Attributes =>
  Object.fromEntries(attributes.map(({ key, value }) => [key, Object.values(value)[0]]));

/** An OTLP receiver over HTTP; `reply` answers in its place. */
async function collector(reply?: (response: ServerResponse) => void) {
  const got: { readonly path: string; readonly headers: IncomingHttpHeaders; readonly text: string }[] = [];
  const server = createServer(async (request, response) => {
    const text = Buffer.concat(await Array.fromAsync(request)).toString();
    got.push({ path: request.url ?? "", headers: request.headers, text });
    if (reply) return reply(response);
    response.writeHead(200, { "content-type": "application/json" }).end("{}");
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  const address = server.address();
  const port = typeof address === "object" ? address?.port : undefined;
  const bodies = (path: string) => got.flatMap((one) => (one.path === path ? [JSON.parse(one.text)] : []));
  return {
    url: `http://127.0.0.1:${port}`,
    got,
    text: () => got.map(({ text }) => text).join("\n"),
    resources: () =>
      bodies("/v1/traces").flatMap(({ resourceSpans }) =>
        resourceSpans.map(({ resource }: { resource: { attributes: Attribute[] } }) =>
          plain(resource.attributes),
        ),
      ),
    spans: () =>
      bodies("/v1/traces")
        .flatMap(({ resourceSpans }) => resourceSpans)
        .flatMap(({ scopeSpans }) => scopeSpans)
        .flatMap(({ spans }): WireSpan[] => spans)
        .map((span) => ({ ...span, at: plain(span.attributes) })),
    /** The points of a metric as it was sent last. */
    points: (name: string): { readonly at: Attributes; readonly sum?: number; readonly value: number }[] =>
      bodies("/v1/metrics")
        .flatMap(({ resourceMetrics }) => resourceMetrics)
        .flatMap(({ scopeMetrics }) => scopeMetrics)
        .flatMap(({ metrics }) => metrics)
        .filter((metric) => metric.name === name)
        .slice(-1)
        .flatMap(({ sum, gauge, histogram }) => (sum ?? gauge ?? histogram).dataPoints)
        .map(({ attributes, asInt, asDouble, count, sum }) => ({
          at: plain(attributes),
          sum,
          value: asInt ?? asDouble ?? count,
        })),
  };
}

/** A client of `/v1/rpc`. */
class Client {
  readonly #url: string;
  readonly #headers: Record<string, string>;
  #id = 0;

  constructor(url: string, token: string) {
    this.#url = url;
    this.#headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
  }

  static async open(home: OperatedHome, reins: Reins): Promise<Client> {
    const client = new Client(new URL("/v1/rpc", reins.addressOf("http")).href, await home.startToken());
    await client.ask("initialize", {
      protocolVersion: 1,
      _meta: { "sandboxagent.dev": { agent: "native" } },
    });
    return client;
  }

  async ask(method: string, params: object, headers: Record<string, string> = {}) {
    this.#id += 1;
    const response = await fetch(this.#url, {
      method: "POST",
      headers: { ...this.#headers, ...headers },
      body: JSON.stringify({ jsonrpc: "2.0", id: this.#id, method, params }),
    });
    const connection = response.headers.get("x-acp-connection-id");
    if (connection) this.#headers["x-acp-connection-id"] = connection;
    const { result, ...rest } = Object(await response.json());
    if (result === undefined) throw new Error(`${method}: ${JSON.stringify(rest)}`);
    return result;
  }

  async begin(home: OperatedHome): Promise<string> {
    return (await this.ask("session/new", { cwd: home.workspace, mcpServers: [] })).sessionId;
  }

  prompt(sessionId: string, text: string, more: { meta?: object; headers?: Record<string, string> } = {}) {
    const prompt = [{ type: "text", text }];
    const params = { sessionId, prompt, ...(more.meta && { _meta: more.meta }) };
    return this.ask("session/prompt", params, more.headers);
  }
}

async function governedHome(configuration = ""): Promise<OperatedHome> {
  const home = new OperatedHome();
  await mkdir(home.path, { mode: 0o700 });
  await writeFile(join(home.path, "constitution.yaml"), RULES);
  await writeFile(join(home.path, "reins.yaml"), configuration);
  return home;
}

const TRACE = "4bf92f3577b34da6a3ce929d0e0e4736";
const SPAN = "00f067aa0ba902b7";
const KEY = `sk-ant-api03-${"c4nary".repeat(16)}AA`;

describe("telemetry over OTLP", () => {
  it("makes one trace from prompt to verdict to tool, continues a client's, and counts", async () => {
    const { url, spans, points, resources, got, text } = await collector();
    const home = await governedHome(
      'telemetry: { endpoint: "http://127.0.0.1:9", service_name: file, headers: { x-from: a-file-value } }\n',
    );
    const reins = await home.up({
      OTEL_EXPORTER_OTLP_ENDPOINT: `${url}/`,
      OTEL_EXPORTER_OTLP_HEADERS: "authorization=Bearer%20of-the-collector",
      OTEL_SERVICE_NAME: "governed",
    });
    const client = await Client.open(home, reins);
    const sessionId = await client.begin(home);
    const command = `echo the-argument ${KEY}`;
    const prompted = client.prompt(sessionId, `run \`${command}\``, {
      headers: { traceparent: `00-${TRACE}-${SPAN}-01`, tracestate: "vendor=1" },
    });
    const id = await home.pending();
    await home.done("approvals", "approve", id);
    expect(await prompted).toMatchObject({ stopReason: "end_turn" });
    await client.prompt(sessionId, "run `rm notes.txt`", { meta: { traceparent: `00-${TRACE}-${SPAN}-01` } });
    await client.prompt(sessionId, "count to 3", { meta: { traceparent: "00-nonsense" } });
    await home.stop(reins);

    const turns = spans().filter(({ name }) => name === "invoke_agent native");
    expect(turns).toHaveLength(3);
    expect(turns.map(({ traceId, parentSpanId }) => [traceId, parentSpanId])).toEqual([
      [TRACE, SPAN],
      [TRACE, SPAN],
      [expect.not.stringMatching(TRACE), undefined],
    ]);
    expect(turns[0]?.at).toMatchObject({
      "gen_ai.operation.name": "invoke_agent",
      "gen_ai.agent.name": "native",
      "gen_ai.conversation.id": sessionId,
      "reins.stop_reason": "end_turn",
      "gen_ai.usage.output_tokens": expect.any(Number),
    });
    const below = (turn: (typeof turns)[number] | undefined) =>
      spans().filter(({ parentSpanId }) => parentSpanId === turn?.spanId);
    for (const turn of turns)
      for (const child of below(turn)) {
        expect(child.traceId).toBe(turn.traceId);
        expect(BigInt(child.startTimeUnixNano)).toBeGreaterThanOrEqual(BigInt(turn.startTimeUnixNano));
        expect(BigInt(child.endTimeUnixNano)).toBeLessThanOrEqual(BigInt(turn.endTimeUnixNano));
      }
    const first = below(turns[0]);
    const about = (name: string, more: Attributes) =>
      expect.objectContaining({ name, at: expect.objectContaining(more) });
    expect(first).toContainEqual(
      about("decide pre_action", {
        "gen_ai.tool.name": "run_command",
        "reins.verdict": "allowed",
        "reins.rule": "ask_first",
        "reins.enforcement": "performed",
        "reins.approval.id": id,
        "reins.approval.state": "approved",
        "reins.approval.wait_ms": expect.any(Number),
      }),
    );
    expect(first).toContainEqual(
      about("execute_tool run_command", {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "run_command",
        "reins.outcome": "completed",
      }),
    );
    const requests = first.filter(({ name }) => name.startsWith("chat "));
    expect(requests.length).toBeGreaterThanOrEqual(2);
    for (const { at } of requests)
      expect(at).toMatchObject({
        "gen_ai.request.model": "demo",
        "gen_ai.usage.input_tokens": expect.any(Number),
        "gen_ai.usage.output_tokens": expect.any(Number),
      });
    expect(first.filter(({ name }) => name === "decide pre_prompt")).toHaveLength(requests.length);
    const second = below(turns[1]);
    expect(second).toContainEqual(
      about("decide pre_action", { "reins.verdict": "blocked", "reins.rule": "no_deletion" }),
    );
    expect(second.map(({ name }) => name)).not.toContain("execute_tool run_command");

    expect(resources()[0]).toMatchObject({
      "service.name": "governed",
      "service.version": expect.any(String),
    });
    for (const { headers } of got)
      expect(headers).toMatchObject({ authorization: "Bearer of-the-collector", "x-from": "a-file-value" });
    const total = (name: string, more: Attributes) =>
      points(name)
        .filter(({ at }) => Object.entries(more).every(([key, value]) => at[key] === value))
        .reduce((sum, { value }) => sum + Number(value), 0);
    const all = spans().filter(({ name }) => name.startsWith("chat "));
    expect(total("gen_ai.client.token.usage", { "gen_ai.token.type": "input" })).toBe(all.length);
    expect(total("gen_ai.client.operation.duration", { "gen_ai.operation.name": "invoke_agent" })).toBe(3);
    expect(total("gen_ai.client.operation.duration", { "gen_ai.operation.name": "chat" })).toBe(all.length);
    expect(total("reins.verdicts", { "reins.verdict": "ask" })).toBe(1);
    expect(total("reins.verdicts", { "reins.verdict": "blocked" })).toBe(1);
    expect(total("reins.approval.wait", { "reins.approval.state": "approved" })).toBe(1);
    expect(points("reins.approvals.pending")).toMatchObject([{ value: 0 }]);
    for (const secret of [
      KEY,
      "c4nary",
      "the-argument",
      "notes.txt",
      "count to 3",
      "of-the-collector",
      "a-file-value",
    ])
      expect(text()).not.toContain(secret);
  });

  it("puts the turn of a worker below the one that started it, and verdicts of AHP agents alone", async () => {
    const { url, spans } = await collector();
    const home = await governedHome(`telemetry: { endpoint: "${url}", metrics: false }\n`);
    const reins = await home.up();
    const client = await Client.open(home, reins);
    await client.prompt(await client.begin(home), "spawn a subagent to list the files");
    await home.decide({ session: "elsewhere", tool: "read", arguments: {} });
    await home.stop(reins);
    const turns = spans().filter(({ at }) => at["gen_ai.operation.name"] === "invoke_agent");
    expect(turns).toHaveLength(2);
    const outer = turns.find(({ parentSpanId }) => parentSpanId === undefined);
    const inner = turns.find(({ parentSpanId }) => parentSpanId !== undefined);
    expect(inner).toMatchObject({ parentSpanId: outer?.spanId, traceId: outer?.traceId });
    const calls = spans().filter(({ name }) => name.startsWith("execute_tool "));
    expect(calls.map(({ name, parentSpanId }) => [name, parentSpanId])).toEqual(
      expect.arrayContaining([
        ["execute_tool spawn_subagent", outer?.spanId],
        ["execute_tool list_files", inner?.spanId],
      ]),
    );
    const alone = spans().filter(({ at }) => at["gen_ai.conversation.id"] === "elsewhere");
    expect(alone).toContainEqual(expect.objectContaining({ name: "decide pre_action" }));
    for (const { parentSpanId } of alone) expect(parentSpanId).toBeUndefined();
  });

  it("delays no turn and no stop where no receiver answers, and the doctor says so", async () => {
    const hanging = await collector(() => undefined);
    const home = await governedHome(`telemetry: { endpoint: "http://127.0.0.1:9" }\n`);
    const variables = {
      OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: `${hanging.url}/v1/traces`,
      OTEL_BSP_SCHEDULE_DELAY: "10",
      OTEL_METRIC_EXPORT_INTERVAL: "50",
    };
    const reins = await home.up(variables);
    const client = await Client.open(home, reins);
    const sessionId = await client.begin(home);
    for (const count of [1, 2, 3])
      expect(await client.prompt(sessionId, `count to ${count}`)).toMatchObject({ stopReason: "end_turn" });
    await expect.poll(() => hanging.got.length).toBeGreaterThan(0);
    const { stdout } = await runReins(["doctor", "--json"], { ...home.environment, ...variables });
    const { findings } = JSON.parse(stdout);
    expect(findings.filter(({ check }: { check: string }) => check === "telemetry")).toMatchObject([
      { state: "wrong", found: expect.stringContaining(`traces are not received at ${hanging.url}`) },
      { state: "wrong", found: expect.stringContaining("metrics are not received at http://127.0.0.1:9") },
    ]);
    await reins.until(() => reins.stdout.includes("metrics are not received"));
    await home.stop(reins);
    expect((await reins.ended).code).toBe(0);
  });

  it("is loaded where an address is configured, and nowhere else", async () => {
    const { url } = await collector();
    /** The text of all modules that a Reins loads that serves one prompt. */
    const loaded = async (name: string, variables: NodeJS.ProcessEnv) => {
      const coverage = join(folder, name);
      const home = await governedHome();
      const reins = await home.up({ ...variables, NODE_V8_COVERAGE: coverage });
      const client = await Client.open(home, reins);
      await client.prompt(await client.begin(home), "count to 3");
      await home.stop(reins);
      const reports = await Promise.all(
        (await readdir(coverage)).map(async (file) =>
          JSON.parse(await readFile(join(coverage, file), "utf8")),
        ),
      );
      const urls = new Set(reports.flatMap(({ result }) => result.map((one: { url: string }) => one.url)));
      const files = [...urls].filter((one) => one.startsWith("file:")).map((one) => fileURLToPath(one));
      return (await Promise.all(files.map((file) => readFile(file, "utf8")))).join("\n");
    };
    const without = await loaded("off", {});
    expect(without).not.toMatch(/BatchSpanProcessor|gen_ai\.client\.token\.usage/);
    expect(
      await loaded("disabled", { OTEL_EXPORTER_OTLP_ENDPOINT: url, OTEL_SDK_DISABLED: "true" }),
    ).not.toMatch(/BatchSpanProcessor|gen_ai\.client\.token\.usage/);
    expect(await loaded("on", { OTEL_EXPORTER_OTLP_ENDPOINT: url })).toMatch(/gen_ai\.client\.token\.usage/);
  });

  it("refuses to begin with an address that is none", async () => {
    const home = await governedHome("telemetry: { endpoint: nowhere }\n");
    expect(await home.run("up", "--port", "0")).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("telemetry.endpoint"),
    });
    const variables = { ...(await governedHome()).environment, OTEL_EXPORTER_OTLP_ENDPOINT: "nowhere" };
    expect(await runReins(["up", "--port", "0"], variables)).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("OTEL_EXPORTER_OTLP_ENDPOINT is no address"),
    });
  });
});
