import { expect, test } from "vitest";
import { measureScale } from "../bench/scale/measure.ts";

test("many sessions and readers miss nothing within the memory budget", async () => {
  const rows = await measureScale({ sessions: 48, readers: 96, stopped: 4 });
  for (const { what, value, baseline, bar } of rows) {
    if (!baseline || !bar) continue;
    const bound = baseline.value * bar.ratio;
    if (bar.sense === "at least") expect(value, what).toBeGreaterThanOrEqual(bound);
    else expect(value, what).toBeLessThanOrEqual(bound);
  }
  expect(rows.filter(({ bar }) => bar).length).toBe(5);
});
