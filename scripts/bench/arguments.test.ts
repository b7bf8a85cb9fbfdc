import { describe, expect, it } from "vitest";
import { benchOptions } from "./arguments.ts";

describe("benchOptions", () => {
  it("reads flags and names in any order", () => {
    expect(benchOptions([])).toEqual({ scale: "full", json: false, strict: false, filters: [] });
    expect(benchOptions(["stdio", "--quick", "http", "--json", "--strict"])).toEqual({
      scale: "quick",
      json: true,
      strict: true,
      filters: ["stdio", "http"],
    });
  });

  it("refuses what it does not know", () => {
    expect(() => benchOptions(["--fast"])).toThrow("--fast");
  });
});
