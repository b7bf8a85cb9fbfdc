import { randomUUID } from "node:crypto";
import { Agent } from "node:http";
import { Agent as TlsAgent } from "node:https";
import { OTLPMetricExporter } from "@opentelemetry/exporter-metrics-otlp-http";
import { OTLPTraceExporter } from "@opentelemetry/exporter-trace-otlp-http";
import {
  defaultResource,
  detectResources,
  resourceAttributesEnvDetector,
  resourceFromAttributes,
} from "@opentelemetry/resources";
import { MeterProvider, PeriodicExportingMetricReader } from "@opentelemetry/sdk-metrics";
import { BatchSpanProcessor, TracerProvider } from "@opentelemetry/sdk-trace";
import { errorMessage, settlesWithin } from "@reins/kit";
import type { Harness, SupervisorObserver } from "@reins/supervisor";
import { AgentTelemetry } from "./agent-telemetry.ts";

const SCOPE = "reins";
/** How long one export may take, with what is tried again. */
const EXPORT_MS = 5_000;
/** After which an export is cut off. */
const LATE_MS = EXPORT_MS + 1_000;
/** How long the last spans have when Reins stops. */
const CLOSE_MS = 2_000;
/** How many spans wait for a receiver; more are dropped. */
const MOST_WAITING = 2_048;
/** How many requests to a receiver are open at once. */
const MOST_EXPORTS = 2;
/** How many open questions of a tenant are counted. */
const MOST_PENDING = 500;

/** Where telemetry goes. */
export interface OtelSettings {
  readonly serviceName: string;
  /** The addresses of both signals; one without an address is not exported. */
  readonly traces?: string | undefined;
  readonly metrics?: string | undefined;
  readonly headers: Readonly<Record<string, string>>;
  /** Milliseconds until spans are sent, and between two exports of metrics. */
  readonly delayMs: number;
  readonly intervalMs: number;
}

/** What is watched of a harness. */
interface WatchedHarness {
  readonly supervisor: Pick<Harness["supervisor"], "observe">;
  readonly approvals: Pick<Harness["approvals"], "subscribe" | "list">;
  readonly identity: Pick<Harness["identity"], "listTenants">;
  readonly redact: Harness["redact"];
}

export interface OtelExportOptions {
  readonly settings: OtelSettings;
  readonly version: string;
  readonly harness: WatchedHarness;
  /** Called when a receiver stops taking what is sent, with the reason, and without one when it does again. */
  readonly onChange: (signal: "traces" | "metrics", failure: string | undefined) => void;
  /** Receives faults of telemetry itself. */
  readonly onError: (error: unknown) => void;
}

/** Exports traces and metrics of a harness over OTLP/HTTP until it is closed. Nothing waits for a receiver. */
export class OtelExport {
  readonly #traces: TracerProvider;
  readonly #metrics: MeterProvider;
  readonly #telemetry: AgentTelemetry;
  readonly #unsubscribe: readonly (() => void)[];
  readonly #agents: Agent[] = [];

  constructor({ settings, version, harness, onChange, onError }: OtelExportOptions) {
    const { traces, metrics, delayMs, intervalMs, headers } = settings;
    const resource = resourceOf(settings.serviceName, version);
    /** What an exporter needs, and the connections that it uses. */
    const sendingTo = (url: string) => {
      const agent =
        new URL(url).protocol === "https:"
          ? new TlsAgent({ keepAlive: true })
          : new Agent({ keepAlive: true });
      this.#agents.push(agent);
      const limits = { timeoutMillis: EXPORT_MS, concurrencyLimit: MOST_EXPORTS };
      return { agent, config: { url, headers: { ...headers }, ...limits, httpAgentOptions: () => agent } };
    };
    const spanProcessors = [];
    if (traces !== undefined) {
      const { agent, config } = sendingTo(traces);
      const exporter = new OTLPTraceExporter(config);
      watch(exporter, agent, (failure) => onChange("traces", failure));
      const options = { maxQueueSize: MOST_WAITING, scheduledDelayMillis: delayMs };
      spanProcessors.push(new BatchSpanProcessor({ ...options, exporter }));
    }
    const readers = [];
    if (metrics !== undefined) {
      const { agent, config } = sendingTo(metrics);
      const exporter = new OTLPMetricExporter(config);
      watch(exporter, agent, (failure) => onChange("metrics", failure));
      const options = {
        exportIntervalMillis: intervalMs,
        exportTimeoutMillis: Math.min(intervalMs, EXPORT_MS),
      };
      readers.push(new PeriodicExportingMetricReader({ ...options, exporter }));
    }
    this.#traces = new TracerProvider({ resource, spanProcessors });
    this.#metrics = new MeterProvider({ resource, readers });
    const tracer = this.#traces.getTracer(SCOPE, version);
    const meter = this.#metrics.getMeter(SCOPE, version);
    const { supervisor, approvals, redact } = harness;
    this.#telemetry = new AgentTelemetry({ tracer, meter, redact, now: wallClock() });
    meter
      .createObservableGauge("reins.approvals.pending", { unit: "{approval}", description: "Open questions" })
      .addCallback(async (result) => result.observe(await pendingIn(harness)));
    this.#unsubscribe = [
      supervisor.observe(guarded(this.#telemetry, onError)),
      approvals.subscribe(({ at, approval }) => this.#telemetry.answered(at, approval)),
    ];
  }

  /** Sends what is there, within a limit, and ends. */
  async close(): Promise<void> {
    for (const unsubscribe of this.#unsubscribe) unsubscribe();
    this.#telemetry.close();
    await settlesWithin(Promise.allSettled([this.#traces.shutdown(), this.#metrics.shutdown()]), CLOSE_MS);
    for (const agent of this.#agents) {
      agent.destroy();
      agent.createConnection = () => {
        throw new Error("telemetry is closed");
      };
    }
  }
}

function resourceOf(serviceName: string, version: string) {
  const own = {
    "service.name": serviceName,
    "service.version": version,
    "service.instance.id": randomUUID(),
  };
  return defaultResource()
    .merge(detectResources({ detectors: [resourceAttributesEnvDetector] }))
    .merge(resourceFromAttributes(own));
}

/** How far times may be from the clock of the machine, which may be set. */
const MOST_DRIFT_MS = 1_000;

/** The time in milliseconds since 1970, with fractions, so that what takes less than one has its order. */
function wallClock(): () => number {
  let origin = performance.timeOrigin;
  return () => {
    const drift = Date.now() - (origin + performance.now());
    if (Math.abs(drift) > MOST_DRIFT_MS) origin += drift;
    return origin + performance.now();
  };
}

/** The approvals that wait for people. */
async function pendingIn({ identity, approvals }: WatchedHarness): Promise<number> {
  const tenants = await identity.listTenants();
  const lists = tenants.map(({ id: tenant }) =>
    approvals.list({ tenant, state: "pending", limit: MOST_PENDING }),
  );
  return (await Promise.all(lists)).flat().length;
}

/** An observer that never throws. */
function guarded(observer: AgentTelemetry, onError: (error: unknown) => void): SupervisorObserver {
  const guard =
    <Args extends readonly unknown[]>(run: (...args: Args) => void) =>
    (...args: Args) => {
      try {
        run(...args);
      } catch (error) {
        onError(error);
      }
    };
  return {
    decided: guard(observer.decided),
    settled: guard(observer.settled),
    turnStarted: guard(observer.turnStarted),
    turnEnded: guard(observer.turnEnded),
  };
}

type Done = (result: { readonly code: number; readonly error?: Error }) => void;

/**
 * Calls back when exports begin to fail, and when they succeed again. Ends the connections of one that takes too long: the
 * exporter itself waits as long as something comes.
 */
function watch<Items>(
  exporter: { export(items: Items, done: Done): void },
  agent: Agent,
  onChange: (failure: string | undefined) => void,
): void {
  const send = exporter.export.bind(exporter);
  let isFailing = false;
  exporter.export = (items, done) => {
    let isLate = false;
    const late = setTimeout(() => {
      isLate = true;
      agent.destroy();
    }, LATE_MS).unref();
    send(items, (result) => {
      clearTimeout(late);
      const { code, error } = isLate ? { code: 1, error: new Error("it takes too long") } : result;
      const fails = code !== 0;
      if (fails !== isFailing) onChange(fails ? errorMessage(error) || "it was refused" : undefined);
      isFailing = fails;
      done(result);
    });
  };
}
