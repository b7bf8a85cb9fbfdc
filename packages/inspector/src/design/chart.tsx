import { useEffect, useRef } from "react";
import type uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import type { Tone } from "./badge.tsx";
import { useTheme } from "./theme.ts";

export interface Line {
  readonly label: string;
  readonly tone: Tone;
  readonly values: readonly (number | null)[];
}

const COLOURS: Readonly<Record<Tone, string>> = {
  neutral: "--ink-faint",
  accent: "--accent",
  good: "--good",
  warn: "--warn",
  bad: "--bad",
  note: "--note",
};
const HEIGHT = 132;
/** The shortest time span that a chart shows. */
const LEAST_SECONDS = 120;
const FONT = "10px ui-monospace, SFMono-Regular, Menlo, monospace";

/** Values over time. The latest values are written below it, for screen readers. */
export function Chart({
  label,
  at,
  lines,
  format,
}: {
  label: string;
  /** Milliseconds since 1970, oldest first. */
  at: readonly number[];
  lines: readonly Line[];
  format: (value: number) => string;
}) {
  const box = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | undefined>(undefined);
  const theme = useTheme();
  const shape = JSON.stringify(lines.map(({ label: name, tone }) => [name, tone]));
  const latest = useRef({ at, lines, format });
  latest.current = { at, lines, format };

  // biome-ignore lint/correctness/useExhaustiveDependencies: the colours are those of the theme, read when it changes
  useEffect(() => {
    const element = box.current;
    if (!element) return;
    let isGone = false;
    const watch = new ResizeObserver(() =>
      plot.current?.setSize({ width: element.clientWidth, height: HEIGHT }),
    );
    // Loaded lazily: it is large, and it fails to load in browsers whose locale name it does not know.
    import("uplot").then(
      ({ default: Plot }) => {
        if (isGone) return;
        plot.current = new Plot(optionsOf(element, latest.current), dataOf(latest.current), element);
        watch.observe(element);
      },
      () => element.replaceChildren("This browser cannot draw the chart; the values are below."),
    );
    return () => {
      isGone = true;
      watch.disconnect();
      plot.current?.destroy();
      plot.current = undefined;
    };
  }, [theme, shape]);
  useEffect(() => plot.current?.setData(dataOf({ at, lines })), [at, lines]);

  return (
    <figure className="min-w-0">
      <div
        ref={box}
        role="img"
        aria-label={label}
        className="h-[132px] w-full overflow-hidden text-sm text-ink-soft"
      />
      <figcaption className="flex flex-wrap gap-x-3 gap-y-0.5 px-3 pb-2 text-2xs text-ink-soft">
        {lines.map(({ label: name, tone, values }) => (
          <span key={name} className="flex items-center gap-1.5">
            <span aria-hidden="true" className={SWATCHES[tone]} />
            {name} <span className="text-ink tabular-nums">{lastOf(values, format)}</span>
          </span>
        ))}
      </figcaption>
    </figure>
  );
}

const SWATCH = "h-0.5 w-3 rounded-full";
const SWATCHES: Readonly<Record<Tone, string>> = {
  neutral: `${SWATCH} bg-ink-faint`,
  accent: `${SWATCH} bg-accent`,
  good: `${SWATCH} bg-good`,
  warn: `${SWATCH} bg-warn`,
  bad: `${SWATCH} bg-bad`,
  note: `${SWATCH} bg-note`,
};

/** Formats seconds since 1970 as a time of day; seconds only if they are not zero. */
export function clockOf(seconds: number): string {
  return new Date(seconds * 1_000).toLocaleTimeString("en-GB", {
    hour: "2-digit",
    minute: "2-digit",
    ...(seconds % 60 !== 0 && { second: "2-digit" }),
  });
}

/** Formats the last known value; a dash if there is none. */
export function lastOf(values: readonly (number | null)[], format: (value: number) => string): string {
  const last = values.findLast((value) => value !== null);
  return last === undefined || last === null ? "–" : format(last);
}

/** The data of a chart as uPlot takes it: seconds, then one list of values for each line. */
export function dataOf({ at, lines }: { at: readonly number[]; lines: readonly Line[] }): uPlot.AlignedData {
  return [at.map((moment) => moment / 1_000), ...lines.map(({ values }) => [...values])];
}

function optionsOf(
  element: HTMLElement,
  { lines, format }: { lines: readonly Line[]; format: (value: number) => string },
): uPlot.Options {
  const style = getComputedStyle(element);
  const colour = (name: string) => style.getPropertyValue(name).trim();
  const axis = {
    stroke: colour("--ink-faint"),
    font: FONT,
    grid: { stroke: colour("--line"), width: 1 },
    ticks: { show: false },
  };
  return {
    width: element.clientWidth,
    height: HEIGHT,
    padding: [10, 12, 0, 0],
    legend: { show: false },
    cursor: { y: false, drag: { x: false, y: false }, points: { size: 5 } },
    scales: {
      x: { range: (_, first, last) => [Math.min(first, last - LEAST_SECONDS), last] },
      y: { range: (_, _low, high) => [0, high > 0 ? high * 1.1 : 1] },
    },
    axes: [
      { ...axis, size: 22, space: 70, values: (_, ticks) => ticks.map(clockOf) },
      { ...axis, size: 52, space: 32, values: (_, ticks) => ticks.map((tick) => format(tick)) },
    ],
    series: [
      {},
      ...lines.map(({ label, tone }) => ({
        label,
        stroke: colour(COLOURS[tone]),
        width: 1.5,
      })),
    ],
  };
}
