import { describe, expect, it } from "vitest";
import { nextStep } from "./install.mjs";
import { installArguments, scriptArguments } from "./npm.mjs";

describe("installArguments", () => {
  it("empties node_modules only when there is no finished install in it", () => {
    expect(installArguments({ fresh: true, development: true })[0]).toBe("ci");
    expect(installArguments({ fresh: false, development: true }).slice(0, 2)).toEqual([
      "install",
      "--no-save",
    ]);
  });

  it("says on the command line what a user's npm configuration could say otherwise", () => {
    expect(installArguments({ fresh: true, development: false })).toContain("--omit=dev");
    const full = installArguments({ fresh: true, development: true });
    expect(full).toContain("--include=dev");
    expect(full).not.toContain("--omit=dev");
    expect(full).toContain("--ignore-scripts");
    expect(full).toContain("--package-lock=true");
  });
});

describe("scriptArguments", () => {
  it("runs the scripts of the packages that are named, whatever a user's npm configuration says", () => {
    const args = scriptArguments(["node", "other"]);
    expect(args.slice(0, 3)).toEqual(["rebuild", "node", "other"]);
    expect(args).toContain("--ignore-scripts=false");
  });
});

describe("nextStep", () => {
  it.each([
    ["npm error code ENOTFOUND", "network"],
    ["npm error code EACCES", "belong to another user"],
    ["npm error code ENOSPC", "disk is full"],
    ["npm error code EUSAGE", "package-lock.json does not fit"],
    ["npm error code E500", "Delete node_modules"],
  ])("after %s says what to do", (output, advice) => {
    expect(nextStep(output)).toContain(advice);
  });
});
