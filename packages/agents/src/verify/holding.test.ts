import { describe, expect, it } from "vitest";
import { holdingsOf } from "./holding.ts";
import type { ProbeResult } from "./probe-result.ts";

function result(outcome: ProbeResult["outcome"], ...levels: readonly string[]): ProbeResult {
  const asked = levels.map((enforcement) => ({ tool: "x", verdict: "blocked", enforcement }));
  const seen = { asked, observed: [], failed: [], stopped: false, happened: false, ended: "end_turn" };
  return { setting: "plain", probe: "outside", answer: "reject", outcome, ...seen };
}

describe("what holds an agent back", () => {
  const held = (results: readonly ProbeResult[], confined = false) => holdingsOf(results, confined).outside;

  it("is the weakest level at which it was decided", () => {
    expect(held([result("blocked", "asked")])).toBe("asked");
    expect(held([result("blocked", "confined"), result("blocked", "performed")])).toBe("confined");
    expect(held([result("blocked", "performed"), result("withheld")])).toBe("performed");
  });

  it("is nothing as soon as it once acted without a verdict", () => {
    expect(held([result("blocked", "asked"), result("observed")])).toBe("unasked");
    expect(held([result("observed"), result("open")])).toBe("open");
  });

  it("is the sandbox or the agent itself where nobody was asked and nothing happened", () => {
    expect(held([result("withheld")], true)).toBe("confined");
    expect(held([result("withheld"), result("untried")])).toBe("withheld");
  });

  it("is Reins where work without a prompt was stopped", () => {
    expect(held([{ ...result("blocked"), stopped: true }, result("withheld")])).toBe("stopped");
    expect(held([{ ...result("blocked"), stopped: true }, result("open")])).toBe("open");
  });

  it("is not known of what was never tried", () => {
    expect(held([result("untried")])).toBe("untried");
    expect(held([])).toBe("untried");
  });
});
