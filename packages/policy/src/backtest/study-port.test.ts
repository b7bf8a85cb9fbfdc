import { expect, it } from "vitest";
import { backtestDraft, checkDraft, StudyTimeout } from "./study-port.ts";

const text = (rules: string) => ({ file: "c.yaml", rules, prose: new Uint8Array() });
const RULES = `tool_rules: [{ name: a, condition: { harmless: true }, verdict: allowed }]
tests: [{ name: a look, given: { tool: Bash, command: ls }, expect: allowed }]`;

it("a draft is checked and tested in a thread of its own", async () => {
  const checked = await checkDraft(text(RULES), RULES, { deadlineMs: 60_000 });
  expect(checked).toMatchObject({
    faults: [],
    tests: [{ got: { verdict: "allowed", rule: "a" }, fault: undefined }],
    made: { rules: 1, noLooser: true },
  });
  expect(await checkDraft(text("nonsense: ["), undefined, { deadlineMs: 60_000 })).toMatchObject({
    made: undefined,
    faults: [expect.anything()],
  });
}, 120_000);

it("a draft that takes too long is given up, and the main thread goes on meanwhile", async () => {
  let ticks = 0;
  const ticking = setInterval(() => (ticks += 1), 20);
  // More tests than can be run in the time: each is cheap, together they are not.
  const test = "  - { name: t, given: { tool: Bash, command: ls }, expect: allowed }\n";
  const many = `tool_rules: []\ntests:\n${test.repeat(20_000)}`;
  await expect(checkDraft(text(many), undefined, { deadlineMs: 1_000 })).rejects.toBeInstanceOf(StudyTimeout);
  clearInterval(ticking);
  expect(ticks).toBeGreaterThan(10);
}, 60_000);

it("a draft is held against the past in a thread of its own", async () => {
  const past = (async function* () {
    for (let index = 0; index < 500; index += 1) yield { cid: String(index), payload: { index } };
  })();
  const job = { text: text(RULES), tenant: "default", known: [], examples: undefined };
  const report = await backtestDraft(job, past, { deadlineMs: 60_000 });
  expect(report).toMatchObject({ total: expect.any(Number) });
}, 120_000);
