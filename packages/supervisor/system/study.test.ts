import { expect, test } from "vitest";
import { pastVerdicts, type VerdictRange } from "../src/study/past-verdicts.ts";
import { PolicyStudy } from "../src/study/policy-study.ts";
import { policyOf, supervise } from "./fixtures/supervised.ts";

const RULES = "tool_rules: [{ name: all, condition: {}, verdict: allowed }]";
const STRICTER = "tool_rules: [{ name: none, condition: {}, verdict: blocked }]";

/** A supervisor that two tenants share; one of them is quiet and the other came after it, and is busy. */
async function quietAndBusy() {
  const { decide, ledger, supervisor } = await supervise(RULES);
  for (const tool of ["a", "b", "c"]) await decide(tool, {}, { tenant: "quiet" });
  for (let n = 0; n < 20; n += 1) await decide(`busy${n}`, {}, { tenant: "busy" });
  const policy = policyOf(RULES);
  const status = { tenant: "quiet", policy, waiting: undefined, fault: undefined };
  const policies = { inForce: new Map([["default", policy]]), status: () => status };
  return { ledger, study: new PolicyStudy({ ledger, supervisor, policies }, "quiet") };
}

test("a draft is held against the newest verdicts of its own tenant, however busy others are", async () => {
  const { study } = await quietAndBusy();
  const report = await study.backtest({ rules: STRICTER }, { limit: 5 }, undefined);
  expect(report).toMatchObject({ total: 3, stricter: 3 });
});

test("the newest so many before a place are those that stand right before it", async () => {
  const { ledger } = await quietAndBusy();
  const tools = async (range: VerdictRange) => {
    const found: string[] = [];
    for await (const { entry } of pastVerdicts(ledger, range)) found.push(entry.target);
    return found;
  };
  const all = await ledger.read({ quality: "policy_verdict", limit: 100 });
  const before = all[5]?.seq;
  expect(await tools({ limit: 2, before })).toEqual(["busy0", "busy1"]);
  expect(await tools({ limit: 100, before })).toEqual(["a", "b", "c", "busy0", "busy1"]);
  expect(await tools({ before, tenant: "quiet" })).toEqual(["a", "b", "c"]);
});
