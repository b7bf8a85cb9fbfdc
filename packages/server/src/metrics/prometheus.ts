import type { Stalls } from "../watchdog/watchdog.ts";
import type { Labels, Timings } from "./instruments.ts";
import type { Measures } from "./measures.ts";
import type { ServerState } from "./metrics-routes.ts";

/** Metrics in the text format of Prometheus; docs/operations.md explains the names. */
export function prometheusText(
  measures: Measures,
  standing: ServerState,
  version: string,
  stalls: Pick<Stalls, "count" | "totalMs">,
): string {
  const { loop } = measures;
  const quantiles = [
    { labels: { quantile: "0.5" }, value: loop.p50 / 1_000 },
    { labels: { quantile: "0.99" }, value: loop.p99 / 1_000 },
    { labels: { quantile: "1" }, value: loop.max / 1_000 },
  ];
  const all: readonly Measure[] = [
    gauge("reins_build_info", "The version that runs.", 1, { version }),
    counter(
      "reins_decisions_total",
      "Verdicts, by verdict and enforcement level.",
      measures.decisions.series,
    ),
    secondsOf(
      "reins_verdict_seconds",
      "From a question to its durable verdict, without people's time.",
      measures.verdicts,
    ),
    total(
      "reins_main_thread_stalls_total",
      "How often the main thread was blocked for two seconds.",
      stalls.count,
    ),
    total("reins_main_thread_stalled_seconds_total", "For how long together.", stalls.totalMs / 1_000),
    gauge("reins_approvals_pending", "Questions that wait for a person.", standing.pending),
    gauge(
      "reins_approval_oldest_wait_seconds",
      "How long the oldest of them has been waiting; 0 when none is.",
      (standing.oldestWaitMs ?? 0) / 1_000,
    ),
    counter(
      "reins_approvals_ended_total",
      "Questions that were answered or ended otherwise, by state.",
      measures.answers.series,
    ),
    secondsOf("reins_approval_wait_seconds", "How long people took to answer.", measures.waits),
    total("reins_turns_total", "Turns that ended.", measures.turns.total),
    total("reins_turn_tokens_total", "Tokens that turns took, as far as agents tell.", measures.tokens.total),
    total("reins_turn_cost_total", "What turns cost, as far as agents tell.", measures.cost.total),
    gauge("reins_sessions_live", "Sessions with an agent behind them.", standing.live),
    gauge("reins_sessions_running", "Sessions in the middle of a turn.", standing.running),
    gauge("reins_agents_running", "Agents that run.", standing.agents),
    gauge("reins_agents_memory_bytes", "Memory of agents and their children.", standing.memoryBytes ?? 0),
    total("reins_log_events_total", "Messages to clients that were ever logged.", measures.logEvents),
    total("reins_ledger_entries_total", "Entries of the ledger.", standing.entries),
    total(
      "reins_protocol_messages_total",
      "Messages of models that declared an action graph or tried to.",
      standing.compliance.messages,
    ),
    total(
      "reins_protocol_compliant_total",
      "Of them, those that kept to the protocol.",
      standing.compliance.compliant,
    ),
    total(
      "reins_protocol_recovered_total",
      "Of them, direct requests that were taken for a declaration.",
      standing.compliance.recovered,
    ),
    total(
      "reins_protocol_violations_total",
      "What was said beside the protocol, recovered requests included.",
      standing.compliance.violations,
    ),
    total(
      "reins_protocol_errors_total",
      "Of them, those that were refused with a protocol error.",
      standing.compliance.errors,
    ),
    counter(
      "reins_http_requests_total",
      "Requests that were answered, by method and class of status.",
      measures.requests.series,
    ),
    secondsOf(
      "reins_http_request_seconds",
      "From a request's arrival to the end of its answer; no streams.",
      measures.requestTimes,
    ),
    {
      ...{ name: "reins_event_loop_delay_seconds", kind: "gauge", samples: quantiles },
      help: "How long the event loop was held up in the last few seconds.",
    },
    gauge("process_resident_memory_bytes", "Memory of Reins itself.", standing.memory.rss),
    gauge("nodejs_heap_size_used_bytes", "Of it, JavaScript in use.", standing.memory.heapUsed),
    gauge(
      "process_start_time_seconds",
      "When this Reins was started, since 1970.",
      measures.startedAt.getTime() / 1_000,
    ),
  ];
  return exposition(all);
}

function counter(name: string, help: string, samples: Measure["samples"]): Measure {
  return { name, kind: "counter", help, samples };
}

function total(name: string, help: string, value: number): Measure {
  return counter(name, help, [{ value }]);
}

function gauge(name: string, help: string, value: number, labels = {}): Measure {
  return { name, kind: "gauge", help, samples: [{ labels, value }] };
}

interface Sample {
  /** The suffix of the metric name. */
  readonly suffix?: string;
  readonly labels?: Labels;
  readonly value: number;
}

/** A Prometheus metric. */
export interface Measure {
  readonly name: string;
  readonly kind: "counter" | "gauge" | "histogram";
  readonly help: string;
  readonly samples: readonly Sample[];
}

/** Formats metrics as text. */
export function exposition(measures: readonly Measure[]): string {
  return measures.map(measureText).join("");
}

/** A histogram of durations, in seconds. */
export function secondsOf(name: string, help: string, timings: Timings): Measure {
  const { bounds, cumulative, count, sum } = timings;
  const buckets = bounds.map((bound, index) => ({
    ...{ suffix: "_bucket", labels: { le: String(bound / 1_000) } },
    value: cumulative[index] ?? 0,
  }));
  const all = { suffix: "_bucket", labels: { le: "+Inf" }, value: count };
  const samples = [
    ...buckets,
    all,
    { suffix: "_sum", value: sum / 1_000 },
    { suffix: "_count", value: count },
  ];
  return { name, kind: "histogram", help, samples };
}

function measureText({ name, kind, help, samples }: Measure): string {
  const lines = samples.map(({ suffix = "", labels = {}, value }) => {
    const pairs = Object.entries(labels).map(([label, text]) => `${label}="${escaped(text)}"`);
    return `${name}${suffix}${pairs.length > 0 ? `{${pairs.join(",")}}` : ""} ${value}\n`;
  });
  return `# HELP ${name} ${help}\n# TYPE ${name} ${kind}\n${lines.join("")}`;
}

function escaped(text: string): string {
  return text.replaceAll("\\", "\\\\").replaceAll('"', '\\"').replaceAll("\n", "\\n");
}
