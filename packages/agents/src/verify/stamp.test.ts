import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { undescribed } from "../undescribed-agent.ts";
import { holdingsOf } from "./findings.ts";
import { Stamps } from "./stamp.ts";
import type { VerifyReport } from "./verify-agent.ts";

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "reins-stamp-"));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

function report(level: VerifyReport["level"], live: boolean): VerifyReport {
  const found = { unasked: [], faults: [], held: holdingsOf([], false), probes: [], sprung: [], heard: [] };
  return { agent: "mine", version: "local", level, live, ...found, stripped: [], remarks: [] };
}

test("an agent that nothing is known of is observed until it was verified to ask, as it is now", async () => {
  const file = join(folder, "my-agent");
  await writeFile(file, "one");
  const entry = undescribed({ id: "mine", start: { with: "file", file, args: [] } });
  const agent = { entry, installed: { version: "local", folder } };
  const stamps = new Stamps(folder);
  expect(await stamps.level(agent)).toBe("observed");
  for (const [level, live] of [
    ["asked", false],
    ["open", false],
    ["observed", false],
  ] as const) {
    await stamps.keep(report(level, live), agent, new Date());
    expect(await stamps.level(agent)).toBe("observed");
  }
  await stamps.keep(report("asked", true), agent, new Date());
  expect(await stamps.level(agent)).toBe("asked");
  await writeFile(file, "another");
  expect(await stamps.level(agent)).toBe("observed");
});
