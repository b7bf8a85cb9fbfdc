import { describe, expect, it } from "vitest";
import { fitsNode } from "./node-range.ts";

describe("a range of Node", () => {
  it.each([
    [">=22", "24.21.0", true],
    [">=22", "22.0.0", true],
    [">=22", "20.20.2", false],
    [">=22.13", "22.12.9", false],
    [">=22.13", "22.13.0", true],
    [">=22.13.1", "v23.0.0", true],
  ])("%s and %s", (range, version, fits) => {
    expect(fitsNode(range, version)).toBe(fits);
  });

  it("has to be one", () => {
    expect(() => fitsNode("latest", "24.0.0")).toThrow('"latest" is no range of versions such as >=22.');
  });
});
