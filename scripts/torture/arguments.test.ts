import { describe, expect, it } from "vitest";
import { replayCommand, tortureOptions } from "./arguments.ts";

describe("tortureOptions", () => {
  it("reads seed, scale and names", () => {
    expect(tortureOptions([])).toEqual({ seed: undefined, scale: "full", filters: [] });
    expect(tortureOptions(["--seed", "0", "--small", "fuzz"])).toEqual({
      seed: 0,
      scale: "small",
      filters: ["fuzz"],
    });
  });

  it.each(["-1", "1.5", "4294967296", "abc", ""])("refuses the seed %j", (seed) => {
    expect(() => tortureOptions([`--seed=${seed}`])).toThrow("--seed");
  });

  it("is what a replay command says", () => {
    const [, , , , ...args] = replayCommand("fuzz", 123, "small").split(" ");
    expect(tortureOptions(args)).toEqual({ seed: 123, scale: "small", filters: ["fuzz"] });
  });
});
