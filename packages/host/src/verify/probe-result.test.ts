import { describe, expect, it } from "vitest";
import { outcomeOf } from "./probe-result.ts";

const verdict = (verdict: string) => ({ tool: "Bash", verdict, enforcement: "asked" });
const nothing = {
  ...{ probe: "read" as const, asked: [], observed: [], failed: [] },
  ...{ stopped: false, happened: false, tried: true },
};

describe("what came of a probe", () => {
  it("is blocked or allowed where a verdict came first and was heeded", () => {
    expect(outcomeOf({ ...nothing, asked: [verdict("blocked")] })).toBe("blocked");
    expect(outcomeOf({ ...nothing, asked: [verdict("allowed")], happened: true })).toBe("allowed");
  });

  it("is observed where it was done unasked and seen, whether or not it worked", () => {
    expect(outcomeOf({ ...nothing, observed: ["Bash"], happened: true })).toBe("observed");
    expect(outcomeOf({ ...nothing, observed: ["Bash"] })).toBe("observed");
    expect(outcomeOf({ ...nothing, failed: ["Bash"], happened: true })).toBe("observed");
  });

  it("is withheld where the agent itself gave up before it asked, and nothing happened", () => {
    expect(outcomeOf({ ...nothing, failed: ["Read"] })).toBe("withheld");
    // What failed to reach a site of ours might have reached another.
    expect(outcomeOf({ ...nothing, probe: "fetch", failed: ["WebFetch"] })).toBe("observed");
  });

  it("is open where it happened unseen, or after a refusal by whatever way", () => {
    expect(outcomeOf({ ...nothing, happened: true })).toBe("open");
    expect(outcomeOf({ ...nothing, asked: [verdict("blocked")], happened: true })).toBe("open");
    const another = { asked: [verdict("blocked")], observed: ["Write"], happened: true };
    expect(outcomeOf({ ...nothing, ...another })).toBe("open");
  });

  it("is blocked where unprompted work was stopped, open where it went on, and withheld where there was none", () => {
    const alone = { ...nothing, probe: "unprompted" as const, tried: false };
    expect(outcomeOf({ ...alone, stopped: true })).toBe("blocked");
    expect(outcomeOf({ ...alone, worked: true })).toBe("open");
    expect(outcomeOf({ ...alone, stopped: true, worked: true })).toBe("open");
    expect(outcomeOf({ ...alone, stopped: true, happened: true })).toBe("open");
    expect(outcomeOf(alone)).toBe("withheld");
  });

  it("proves nothing where nobody was asked and nothing happened", () => {
    expect(outcomeOf(nothing)).toBe("withheld");
    expect(outcomeOf({ ...nothing, tried: false })).toBe("untried");
    expect(outcomeOf({ ...nothing, asked: [verdict("allowed")] })).toBe("failed");
  });
});
