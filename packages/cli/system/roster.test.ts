import { appendFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { OperatedHome } from "./support/operated-home.ts";

const row = (text: string, agent: string) => text.split("\n").find((line) => line.startsWith(agent));

describe("reins roster", () => {
  it("makes an agent known to the Reins that runs, and unknown again", async () => {
    const home = new OperatedHome();
    await home.up();
    const reed = { agent: "reed", tool: "bash", command: "make" };
    expect(await home.decide(reed)).toMatchObject({ decision: "block" });
    const added = await home.done("roster", "add", "reed", "--kind", "role", "--mandate", "mandates/reed.md");
    expect(added).toBe("reed is standing now (role, live)\n");
    const listed = await home.done("roster", "list");
    expect(listed).toMatch(/^agent +trust +kind +state +mandate\n/);
    expect(row(listed, "reed")).toMatch(/^reed +standing +role +live +mandates\/reed\.md$/);
    expect(row(listed, "claude")).toMatch(/^claude +registered +agent +live +-$/);
    expect(await home.decide(reed)).toMatchObject({ decision: "escalate" });
    expect(await home.json("roster", "set-state", "reed", "dead")).toMatchObject({
      agent: "reed",
      trust: "unknown",
      entry: { session_id: "reed", kind: "role", state: "dead", mandate: "mandates/reed.md" },
    });
    expect(await home.decide(reed)).toMatchObject({ decision: "block" });
  });

  it("does the same while nothing runs", async () => {
    const home = await OperatedHome.begun();
    expect(await home.done("roster", "add", "reed")).toBe("reed is registered now (agent, live)\n");
    expect(await home.done("roster", "set-state", "reed", "idle")).toBe(
      "reed is registered now (agent, idle)\n",
    );
    const { agents, faults } = await home.json("roster", "list");
    expect(agents).toContainEqual({
      agent: "reed",
      trust: "registered",
      entry: { session_id: "reed", kind: "agent", state: "idle" },
    });
    expect(faults).toEqual([]);
    await home.up();
    expect(await home.decide({ agent: "reed" })).toMatchObject({ decision: "escalate" });
  });

  it("says what to do about an agent that is there already, or is not", async () => {
    const home = await OperatedHome.begun();
    expect(await home.run("roster", "add", "claude")).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("reins roster set-state <agent> <state>"),
    });
    expect(await home.run("roster", "set-state", "missing", "live")).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("reins roster add <agent>"),
    });
    expect((await home.run("roster", "set-state", "claude", "asleep")).code).toBe(2);
    expect((await home.run("roster", "add", "reed", "--kind", "boss")).code).toBe(2);
  });

  it("tells of lines that cannot be read", async () => {
    const home = await OperatedHome.begun();
    await appendFile(join(home.path, "agent-roster.jsonl"), "{nonsense\n");
    const { code, stdout, stderr } = await home.run("roster", "list");
    expect(code).toBe(0);
    expect(row(stdout, "native")).toBeDefined();
    expect(stderr).toMatch(/^reins: agent-roster\.jsonl: line \d+ is no roster entry$/m);
  });
});
