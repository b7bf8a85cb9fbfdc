import type { Labels } from "./counter.ts";
import type { Timings } from "./timings.ts";

/** One value of a measure. */
interface Sample {
  /** What is put behind the name of the measure. */
  readonly suffix?: string;
  readonly labels?: Labels;
  readonly value: number;
}

/** A measure as Prometheus takes it. */
export interface Measure {
  readonly name: string;
  readonly kind: "counter" | "gauge" | "histogram";
  readonly help: string;
  readonly samples: readonly Sample[];
}

/** Measures in the text format of Prometheus. */
export function exposition(measures: readonly Measure[]): string {
  return measures.map(measureText).join("");
}

/** How long things took as a measure, in seconds. */
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
