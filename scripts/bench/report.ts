import { table } from "../table.ts";
import type { JudgedRow } from "./ratio.ts";

const WHOLE = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });
const SHORT = new Intl.NumberFormat("en", { maximumSignificantDigits: 3 });

/** A benchmark's rows as an aligned table. */
export function benchTable(rows: readonly JudgedRow[]): string {
  return table(
    ["what", "value", "baseline", "ratio", "bar", "held"],
    rows.map(({ what, value, unit, baseline, ratio, bar, held }) => [
      what,
      `${figure(value)} ${unit}`,
      baseline ? `${figure(baseline.value)} ${unit} (${baseline.what})` : "-",
      ratio === undefined ? "-" : `${ratio.toFixed(2)} x`,
      bar ? `${bar.sense} ${bar.ratio} x` : "-",
      held === undefined ? "-" : held ? "yes" : "NO",
    ]),
    ["left", "right", "right", "right", "right", "left"],
  );
}

function figure(value: number): string {
  return (Math.abs(value) >= 1_000 ? WHOLE : SHORT).format(value);
}
