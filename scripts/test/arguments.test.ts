import { describe, expect, it } from "vitest";
import { UsageError } from "../main.ts";
import { planOf } from "./arguments.ts";

describe("planOf", () => {
  it("runs everything, the checks alone, or what vitest is given", () => {
    expect(planOf([])).toEqual({ kind: "everything" });
    expect(planOf(["--checks"])).toEqual({ kind: "checks" });
    expect(planOf(["--project", "unit", "batch"])).toEqual({
      kind: "tests",
      args: ["--project", "unit", "batch"],
    });
  });

  it("refuses a mixture", () => {
    expect(() => planOf(["--checks", "batch"])).toThrow(UsageError);
  });
});
