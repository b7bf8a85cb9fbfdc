import { createNoopMeter } from "@opentelemetry/api";
import {
  AggregationTemporality,
  InMemoryMetricExporter,
  MeterProvider,
  PeriodicExportingMetricReader,
} from "@opentelemetry/sdk-metrics";
import { InMemorySpanExporter, SimpleSpanProcessor, TracerProvider } from "@opentelemetry/sdk-trace";
import { type Approval, type Decided, type DecisionRequest, redact, type Subject } from "@reins/supervisor";
import { describe, expect, it } from "vitest";
import { AgentTelemetry } from "./agent-telemetry.ts";

const KEY = `sk-ant-api03-${"c4nary".repeat(16)}AA`;
const TRACE = "4bf92f3577b34da6a3ce929d0e0e4736";
const SPAN = "00f067aa0ba902b7";

const subject = { tenant: "main", user: "ann", agent: "stub", session: "s1" } as Subject;

function requestOf(
  payload: object,
  { turn = "t1", event_type = "pre_action" }: { turn?: string | undefined; event_type?: string } = {},
): DecisionRequest {
  const event = { event_type, session_id: "s1", agent_id: "stub", depth: 0, payload };
  const requestContext = { workspace: { cwd: "/w", roots: ["/w"] }, turn };
  return { event, subject, requestContext } as DecisionRequest;
}

const allowed = (entry: string, more: object = {}): Decided => ({
  ...{ verdict: "allowed", reason: "because of the-reason", rule: "rest", enforcement: "asked", entry },
  ...more,
});
const asks = (approval: string): Decided => ({ ...allowed(""), entry: undefined, verdict: "ask", approval });

function observed({ metered = false } = {}) {
  const exporter = new InMemorySpanExporter();
  const provider = new TracerProvider({ spanProcessors: [new SimpleSpanProcessor({ exporter })] });
  const metrics = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE);
  const reader = new PeriodicExportingMetricReader({ exporter: metrics, exportIntervalMillis: 3_600_000 });
  const meters = new MeterProvider({ readers: [reader] });
  const clock = { ms: 1_700_000_000_000 };
  const telemetry = new AgentTelemetry({
    tracer: provider.getTracer("test"),
    meter: metered ? meters.getMeter("test") : createNoopMeter(),
    redact,
    now: () => clock.ms,
  });
  const start = (id = "t1", more: object = {}) =>
    telemetry.turnStarted({ id, session: "s1", agent: "stub", meta: undefined, ...more });
  const end = (id = "t1", tokens: Record<string, number> = {}, stop_reason = "end_turn") =>
    telemetry.turnEnded({}, { id, stop_reason, tokens });
  const spans = () => exporter.getFinishedSpans();
  const named = (name: string) => {
    const [span, ...others] = spans().filter((one) => one.name === name);
    if (!span || others.length > 0)
      throw new Error(`not one span ${name}: ${spans().map((one) => one.name)}`);
    return span;
  };
  const points = async (name: string) => {
    await reader.forceFlush();
    return (metrics.getMetrics().at(-1)?.scopeMetrics ?? [])
      .flatMap((scope) => scope.metrics)
      .filter(({ descriptor }) => descriptor.name === name)
      .flatMap(({ dataPoints }) => dataPoints.map(({ attributes, value }) => ({ attributes, value })));
  };
  return { telemetry, clock, start, end, spans, named, points };
}

describe("a turn", () => {
  it("has its verdicts, requests and calls below it, with the times they took", () => {
    const { telemetry, clock, start, end, named } = observed();
    start();
    clock.ms += 10;
    telemetry.decided(
      allowed("c1"),
      4,
      requestOf({ model: "anthropic:claude:x", prompt: "p" }, { event_type: "pre_prompt" }),
    );
    clock.ms += 100;
    const tokens = { inputTokens: 5, outputTokens: 7, cachedReadTokens: 11 };
    const call = { entry: "c1", tool: "", event_type: "pre_prompt", uses: [], at: 0 };
    telemetry.settled({ subject, call, end: { event_type: "pre_prompt", tokens }, usage: {} });
    telemetry.decided(allowed("c2"), 2, requestOf({ tool_name: "Bash", arguments: { command: "x" } }));
    clock.ms += 50;
    const tool = { ...call, entry: "c2", event_type: "pre_action" };
    telemetry.settled({
      subject,
      call: tool,
      end: { event_type: "pre_action", outcome: "failed" },
      usage: {},
    });
    end();
    const turn = named("invoke_agent stub");
    const chat = named("chat claude:x");
    expect(chat.attributes).toMatchObject({
      "gen_ai.provider.name": "anthropic",
      "gen_ai.request.model": "claude:x",
      "gen_ai.usage.input_tokens": 16,
      "gen_ai.usage.output_tokens": 7,
      "gen_ai.usage.cache_read.input_tokens": 11,
    });
    expect(chat.duration).toEqual([0, 100_000_000]);
    expect(named("decide pre_prompt").duration).toEqual([0, 4_000_000]);
    const bash = named("execute_tool Bash");
    expect(bash.duration).toEqual([0, 50_000_000]);
    expect(bash.attributes).toMatchObject({ "reins.outcome": "failed", "error.type": "failed" });
    expect(bash.status.code).toBe(2);
    for (const child of [chat, bash, named("decide pre_action")]) {
      expect(child.parentSpanContext?.spanId).toBe(turn.spanContext().spanId);
      expect(child.spanContext().traceId).toBe(turn.spanContext().traceId);
    }
  });

  it.each([
    ["continues the trace of its client", `00-${TRACE}-${SPAN}-01`, true],
    ["continues one of a later version", `01-${TRACE}-${SPAN}-01-more`, true],
    ["begins its own without a trace", undefined, false],
    ["begins its own with a trace of zeros", `00-${"0".repeat(32)}-${SPAN}-01`, false],
    ["begins its own with a version that is none", `ff-${TRACE}-${SPAN}-01`, false],
    ["begins its own with what is no text", [`00-${TRACE}-${SPAN}-01`], false],
    ["begins its own with a text of a megabyte", `00-${TRACE}-${SPAN}-01-${"x".repeat(1 << 20)}`, false],
  ])("%s", (_, traceparent, isContinued) => {
    const { start, end, named } = observed();
    start("t1", { meta: { traceparent, tracestate: "a=1,".repeat(10_000) } });
    end();
    const span = named("invoke_agent stub");
    expect(span.spanContext().traceId === TRACE).toBe(isContinued);
    expect(span.parentSpanContext?.spanId).toBe(isContinued ? SPAN : undefined);
  });

  it("goes on with the tracestate of its client, unless that holds a secret or is too long", () => {
    const { start, end, spans } = observed();
    const traceparent = `00-${TRACE}-${SPAN}-01`;
    for (const tracestate of ["vendor=1", `vendor=${KEY}`, `vendor=1,${"x".repeat(512)}=1`, 7]) {
      start("t1", { meta: { traceparent, tracestate } });
      end();
    }
    const states = spans().map((span) => span.spanContext().traceState?.serialize());
    expect(states).toEqual(["vendor=1", undefined, undefined, undefined]);
  });

  it("is not sent where its client does not sample, and takes no _meta that is none", () => {
    const { start, end, spans } = observed();
    start("t1", { meta: { traceparent: `00-${TRACE}-${SPAN}-00` } });
    end();
    expect(spans()).toEqual([]);
    start("t2", { meta: "traceparent" });
    end("t2");
    expect(spans()).toHaveLength(1);
  });

  it("has the calls of other agents to models, as the gateway counts them, below it", async () => {
    const { telemetry, clock, start, end, named, points } = observed({ metered: true });
    start();
    const call = (provider: string, model: string) => ({
      tool_name: "model/call",
      arguments: {
        provider,
        model,
        url: "https://api.example.com/the-path",
        max_tokens: 64,
        tools: ["Bash"],
      },
    });
    const settle = (entry: string, outcome: string, tokens?: object, cost = 0) =>
      telemetry.settled({
        subject,
        call: { entry, tool: "model/call", event_type: "pre_prompt", uses: [], at: 0 },
        end: { event_type: "pre_prompt", entry, outcome, ...(tokens && { tokens: Object(tokens) }) },
        usage: { cost },
      });
    const pre_prompt = { event_type: "pre_prompt" };
    telemetry.decided(allowed("c1"), 1, requestOf(call("anthropic", "claude:x"), pre_prompt));
    clock.ms += 250;
    const cached = { cachedReadTokens: 11, cachedWriteTokens: 2 };
    settle("c1", "completed", { inputTokens: 5, outputTokens: 7, ...cached }, 0.25);
    telemetry.decided(allowed("c0"), 1, requestOf(call("openai", "meanwhile"), pre_prompt));
    telemetry.decided(allowed("c2"), 1, requestOf(call("gemini", "flash"), pre_prompt));
    settle("c0", "cancelled");
    settle("c2", "broken", { inputTokens: 1, outputTokens: 0 });
    // What the native agent asks may take several calls, such as after an error.
    telemetry.decided(allowed("c3"), 1, requestOf({ model: "openai:own" }, pre_prompt));
    telemetry.decided(allowed("c4"), 1, requestOf(call("openai", "tried"), pre_prompt));
    settle("c4", "failed");
    settle("c3", "completed");
    end("t1", { input_tokens: 6, output_tokens: 7 });
    const turn = named("invoke_agent stub").spanContext();
    const first = named("chat claude:x");
    expect(first.attributes).toEqual({
      "gen_ai.operation.name": "chat",
      "gen_ai.agent.name": "stub",
      "gen_ai.conversation.id": "s1",
      "gen_ai.provider.name": "anthropic",
      "gen_ai.request.model": "claude:x",
      "gen_ai.request.max_tokens": 64,
      "gen_ai.usage.input_tokens": 18,
      "gen_ai.usage.output_tokens": 7,
      "gen_ai.usage.cache_read.input_tokens": 11,
      "gen_ai.usage.cache_creation.input_tokens": 2,
      "reins.usage.cost": 0.25,
      "reins.outcome": "completed",
    });
    expect([first.duration, first.kind]).toEqual([[0, 250_000_000], 2]);
    expect(first.spanContext().traceId).toBe(turn.traceId);
    expect(first.parentSpanContext?.spanId).toBe(turn.spanId);
    const broken = named("chat flash");
    expect(broken.attributes).toMatchObject({ "gen_ai.provider.name": "gcp.gemini", "error.type": "broken" });
    expect(broken.parentSpanContext?.spanId).toBe(turn.spanId);
    expect(broken.attributes).not.toHaveProperty("reins.usage.cost");
    expect(named("chat tried").parentSpanContext?.spanId).toBe(named("chat own").spanContext().spanId);
    const usage = await points("gen_ai.client.token.usage");
    expect(usage.map(({ attributes }) => attributes["gen_ai.operation.name"])).toEqual(Array(4).fill("chat"));
  });

  it("of a worker is below the turn that started it", () => {
    const { start, end, named } = observed();
    start();
    start("t2", { session: "s2", parent: "s1", agent: "worker" });
    end("t2");
    end();
    const parent = named("invoke_agent stub").spanContext();
    expect(named("invoke_agent worker").parentSpanContext?.spanId).toBe(parent.spanId);
  });

  it("ends what has no result with it, and what is open when telemetry is closed", () => {
    const { telemetry, start, end, named, spans } = observed();
    start();
    telemetry.decided(allowed("c1"), 1, requestOf({ tool_name: "Bash" }));
    telemetry.decided(asks("apr_1"), 1, requestOf({ tool_name: "Write" }, { event_type: "pre_action" }));
    end();
    expect(named("execute_tool Bash").attributes).toMatchObject({ "reins.outcome": "unknown" });
    expect(spans().map(({ attributes }) => attributes["reins.verdict"])).toContain("ask");
    start("t2", { agent: "second" });
    telemetry.close();
    expect(named("invoke_agent second").attributes).toMatchObject({ "reins.stop_reason": "interrupted" });
  });
});

describe("a verdict", () => {
  const approval = (state: string) =>
    ({ id: "apr_1", state, created_at: "2026-01-01T00:00:00.000Z" }) as Approval;
  const LATER = "2026-01-01T00:00:30.000Z";

  it("that people give is one span with their wait", () => {
    const { telemetry, clock, start, named } = observed();
    start();
    telemetry.decided(asks("apr_1"), 1, requestOf({ tool_name: "Bash" }));
    telemetry.answered("2026-01-01T00:00:00.000Z", approval("pending"));
    clock.ms += 30_000;
    telemetry.answered(LATER, approval("approved"));
    telemetry.answered(LATER, approval("used"));
    telemetry.decided(allowed("c1", { approval: "apr_1" }), 1, requestOf({ tool_name: "Bash" }));
    const span = named("decide pre_action");
    expect(span.duration).toEqual([30, 1_000_000]);
    expect(span.attributes).toMatchObject({
      "reins.verdict": "allowed",
      "reins.approval.state": "approved",
      "reins.approval.wait_ms": 30_000,
    });
  });

  it("that waits in vain is blocked, and one outside of turns ends with the answer", () => {
    const { telemetry, start, named, spans } = observed();
    start();
    telemetry.decided(asks("apr_1"), 1, requestOf({ tool_name: "Bash" }));
    telemetry.answered(LATER, approval("expired"));
    expect(named("decide pre_action").attributes).toMatchObject({
      "reins.verdict": "blocked",
      "reins.approval.state": "expired",
    });
    telemetry.decided(asks("apr_1"), 1, requestOf({ tool_name: "Bash" }, { turn: undefined }));
    const { requestContext: _, ...rest } = requestOf({ tool_name: "Bash" });
    telemetry.decided(asks("apr_1"), 1, { ...rest, requestContext: { workspace: { cwd: "/", roots: [] } } });
    telemetry.answered(LATER, approval("denied"));
    expect(spans().at(-1)?.attributes).toMatchObject({
      "reins.verdict": "ask",
      "reins.approval.state": "denied",
    });
    expect(spans().at(-1)?.parentSpanContext).toBeUndefined();
  });

  it("on what was done already shows the call", () => {
    const { telemetry, start, named } = observed();
    start();
    const blocked: Decided = {
      ...allowed(""),
      entry: undefined,
      verdict: "blocked",
      enforcement: "observed",
    };
    telemetry.decided(blocked, 1, requestOf({ tool_name: "Bash" }, { event_type: "post_action" }));
    expect(named("execute_tool Bash").attributes).toMatchObject({ "reins.enforcement": "observed" });
  });
});

describe("what leaves", () => {
  it("holds no content, no reason and no secret, however it is named", () => {
    const { telemetry, start, end, spans } = observed();
    start("t1", { agent: `agent ${KEY}`, session: KEY });
    const long = "x".repeat(100_000);
    const payload = { tool_name: `tool ${KEY}`, arguments: { command: "the-command" }, title: "the-title" };
    telemetry.decided(allowed("c1", { rule: `rule ${KEY}` }), 1, requestOf(payload));
    const prompt = { model: `${long}:${KEY}`, prompt: "the-prompt" };
    telemetry.decided(allowed("c2"), 1, requestOf(prompt, { event_type: "pre_prompt" }));
    telemetry.decided(allowed("c3"), 1, requestOf({ tool_name: ["list"] }));
    end("t1", {}, `stopped ${KEY}`);
    const text = JSON.stringify(spans().map(({ name, attributes, status }) => [name, attributes, status]));
    expect(spans().length).toBeGreaterThanOrEqual(6);
    for (const secret of ["c4nary", "the-command", "the-title", "the-prompt", "the-reason", "x".repeat(257)])
      expect(text).not.toContain(secret);
  });

  it("is bounded where nothing ends", () => {
    const { telemetry, start, spans } = observed();
    for (let index = 0; index < 5_000; index += 1) {
      start(`t${index}`);
      telemetry.decided(allowed(`c${index}`), 1, requestOf({ tool_name: "Bash" }, { turn: `t${index}` }));
      telemetry.decided(asks(`apr_${index}`), 1, requestOf({ tool_name: "Bash" }, { turn: `t${index}` }));
    }
    const before = spans().length;
    expect(before).toBeGreaterThan(5_000 + 2 * 900);
    telemetry.close();
    expect(spans().length - before).toBeLessThanOrEqual(3 * 4_096);
  });

  it("counts tokens once: by request where they are known, else by turn", async () => {
    const { telemetry, start, end, points } = observed({ metered: true });
    start();
    telemetry.decided(allowed("c1"), 1, requestOf({ model: "demo" }, { event_type: "pre_prompt" }));
    const call = { entry: "c1", tool: "", event_type: "pre_prompt", uses: [], at: 0 };
    const tokens = { inputTokens: 5, outputTokens: 7 };
    telemetry.settled({ subject, call, end: { event_type: "pre_prompt", tokens }, usage: {} });
    end("t1", { input_tokens: 5, output_tokens: 7 });
    start("t2");
    end("t2", { input_tokens: 3, output_tokens: 2, cached_read_tokens: 1 });
    const sums = (await points("gen_ai.client.token.usage")).map(({ attributes, value }) => [
      attributes["gen_ai.operation.name"],
      attributes["gen_ai.token.type"],
      Object(value).sum,
    ]);
    expect(sums).toEqual([
      ["chat", "input", 5],
      ["chat", "output", 7],
      ["invoke_agent", "input", 4],
      ["invoke_agent", "output", 2],
    ]);
    expect(await points("reins.verdicts")).toMatchObject([{ value: 1 }]);
  });
});
