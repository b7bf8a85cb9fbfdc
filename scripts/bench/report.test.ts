import { describe, expect, it } from "vitest";
import { judge } from "./ratio.ts";
import { benchTable } from "./report.ts";

const row = { what: "stdio, p50", value: 60, unit: "µs", baseline: { what: "echo", value: 20 } };

describe("judge", () => {
  it("holds a ratio to its bar, the bar itself included", () => {
    expect(judge({ ...row, bar: { ratio: 3, sense: "at most" } })).toMatchObject({ ratio: 3, held: true });
    expect(judge({ ...row, bar: { ratio: 2.9, sense: "at most" } })).toMatchObject({ held: false });
    expect(judge({ ...row, bar: { ratio: 3, sense: "at least" } })).toMatchObject({ held: true });
    expect(judge({ ...row, bar: { ratio: 3.1, sense: "at least" } })).toMatchObject({ held: false });
  });

  it("judges nothing without a baseline", () => {
    expect(
      judge({ what: "rate", value: 5, unit: "/s", bar: { ratio: 1, sense: "at least" } }),
    ).not.toHaveProperty("held");
    expect(judge(row)).not.toHaveProperty("held");
  });
});

describe("benchTable", () => {
  it("shows value, baseline, ratio, bar and whether it held", () => {
    const rows = [
      judge({ ...row, bar: { ratio: 4, sense: "at most" } }),
      judge({
        what: "rate",
        value: 12345.6,
        unit: "/s",
        baseline: { what: "echo", value: 50000 },
        bar: { ratio: 0.5, sense: "at least" },
      }),
      judge({ what: "memory", value: 1.2345, unit: "MB" }),
    ];
    expect(benchTable(rows)).toBe(
      [
        "what            value          baseline   ratio             bar  held",
        "----------  ---------  ----------------  ------  --------------  ----",
        "stdio, p50      60 µs      20 µs (echo)  3.00 x     at most 4 x  yes",
        "rate        12,346 /s  50,000 /s (echo)  0.25 x  at least 0.5 x  NO",
        "memory        1.23 MB                 -       -               -  -",
      ].join("\n"),
    );
  });
});
