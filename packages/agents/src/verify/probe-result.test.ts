import { describe, expect, it } from "vitest";
import { probeOutcome } from "./probe-result.ts";

const verdict = (verdict: string) => ({ tool: "Bash", verdict, enforcement: "asked" });
const nothing = {
  ...{ probe: "read" as const, asked: [], observed: [], failed: [] },
  ...{ stopped: false, happened: false, tried: true },
};

describe("what came of a probe", () => {
  it("is blocked or allowed where a verdict came first and was heeded", () => {
    expect(probeOutcome({ ...nothing, asked: [verdict("blocked")] })).toBe("blocked");
    expect(probeOutcome({ ...nothing, asked: [verdict("allowed")], happened: true })).toBe("allowed");
  });

  it("is observed where it was done unasked and seen, whether or not it worked", () => {
    expect(probeOutcome({ ...nothing, observed: ["Bash"], happened: true })).toBe("observed");
    expect(probeOutcome({ ...nothing, observed: ["Bash"] })).toBe("observed");
    expect(probeOutcome({ ...nothing, failed: ["Bash"], happened: true })).toBe("observed");
  });

  it("is withheld where the agent itself gave up before it asked, and nothing happened", () => {
    expect(probeOutcome({ ...nothing, failed: ["Read"] })).toBe("withheld");
    // What failed to reach a site of ours might have reached another.
    expect(probeOutcome({ ...nothing, probe: "fetch", failed: ["WebFetch"] })).toBe("observed");
  });

  it("is open where it happened unseen, or after a refusal by whatever way", () => {
    expect(probeOutcome({ ...nothing, happened: true })).toBe("open");
    expect(probeOutcome({ ...nothing, asked: [verdict("blocked")], happened: true })).toBe("open");
    const another = { asked: [verdict("blocked")], observed: ["Write"], happened: true };
    expect(probeOutcome({ ...nothing, ...another })).toBe("open");
  });

  it("is blocked where unprompted work was stopped, open where it went on, and withheld where there was none", () => {
    const alone = { ...nothing, probe: "unprompted" as const, tried: false };
    expect(probeOutcome({ ...alone, stopped: true })).toBe("blocked");
    expect(probeOutcome({ ...alone, worked: true })).toBe("open");
    expect(probeOutcome({ ...alone, stopped: true, worked: true })).toBe("open");
    expect(probeOutcome({ ...alone, stopped: true, happened: true })).toBe("open");
    expect(probeOutcome(alone)).toBe("withheld");
  });

  it("proves nothing where nobody was asked and nothing happened", () => {
    expect(probeOutcome(nothing)).toBe("withheld");
    expect(probeOutcome({ ...nothing, tried: false })).toBe("untried");
    expect(probeOutcome({ ...nothing, asked: [verdict("allowed")] })).toBe("failed");
  });
});
