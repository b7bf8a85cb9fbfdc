import type { AgentDetail } from "@reins/api";
import { describe, expect, test } from "vitest";
import { installLabel, installText, probeText } from "./install-control.tsx";

const install = (outdated: boolean, update: string | null = null) =>
  ({ version: "1.0.0", outdated, update }) as AgentDetail["install"];

describe("the button that installs", () => {
  test.each([
    [null, false, "Install"],
    [install(false), false, "Install again"],
    [install(true), false, "Update"],
    [install(false, "1.1.0"), false, "Update to 1.1.0"],
    [null, true, "Show progress"],
    [install(true), true, "Show progress"],
  ])("with the install %j, while it is installed: %s, says %s", (given, installing, label) => {
    expect(installLabel(given, installing)).toBe(label);
  });
});

describe("the progress of an installation", () => {
  test("names the process that is waited for", () => {
    expect(installText({ phase: "asked", approval: "apr_1" })).toEqual({
      text: "Waiting for the approval apr_1",
    });
    expect(installText({ phase: "waiting", holder: 42 })).toEqual({
      text: "Waiting for process 42, which installs it",
    });
  });

  test("counts packages", () => {
    expect(installText({ phase: "installing", done: 3, total: 12 })).toEqual({
      text: "Installing packages: 3 of 12",
      done: 3,
      total: 12,
    });
  });

  test("says how it ended", () => {
    expect(installText({ phase: "verifying" }).text).toBe("Checking what was installed");
    expect(installText({ phase: "failed", code: "install_failed", message: "no disk" }).text).toBe(
      "The installation failed",
    );
  });
});

describe("the progress of a verification", () => {
  test("names setting, probe and answer", () => {
    const latest = {
      phase: "probing",
      setting: "default",
      probe: "write",
      answer: "deny",
      done: 2,
      total: 9,
    };
    expect(probeText(latest as Parameters<typeof probeText>[0])).toEqual({
      text: "default: write, answered deny",
      done: 2,
      total: 9,
    });
  });

  test("says whether the gate is live", () => {
    const done = (live: boolean) =>
      probeText({ phase: "verified", verification: { state: "verified", live } } as Parameters<
        typeof probeText
      >[0]);
    expect(done(true)).toEqual({ text: "It asks and obeys the answer", done: 1, total: 1 });
    expect(done(false).text).toBe("Its gate is not live");
  });
});
