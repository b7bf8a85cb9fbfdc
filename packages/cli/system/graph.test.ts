import { mkdirSync, writeFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { OperatedHome } from "./support/operated-home.ts";
import { folder } from "./support/reins.ts";

const MESSAGE = `I will look first.

\`\`\`json agent-protocol
{
  "type": "agent.protocol",
  "version": "1",
  "intent": "execute",
  "persist": true,
  "title": "Look around",
  "payload": {
    "actions": [
      { "id": "list", "executor": { "type": "tool", "target": "list_files" }, "input": {} },
      {
        "id": "read",
        "executor": { "type": "tool", "target": "read_file" },
        "input": { "path": "seed.txt" },
        "depends_on": ["list"]
      }
    ]
  }
}
\`\`\`

## user.visible

I look around.
`;

let count = 0;

/** A folder with files, for a graph to work in. */
function workspace(files: Readonly<Record<string, string>>): string {
  count += 1;
  const path = join(folder, `graphs-${count}`);
  mkdirSync(path);
  for (const [name, text] of Object.entries(files)) writeFileSync(join(path, name), text);
  return path;
}

const declared = (actions: readonly object[]) =>
  JSON.stringify({
    ...{ type: "agent.protocol", version: "1", intent: "execute", persist: true },
    payload: { actions },
  });
const carrier = (calls: readonly object[]) => JSON.stringify({ kind: "act", calls });

describe("reins graph check", () => {
  it("shows the actions of what can be run, and what is wrong with the rest, without a server", async () => {
    const home = new OperatedHome();
    const place = workspace({
      "good.md": MESSAGE,
      "loop.json": carrier([
        { id: "a", type: "tool", name: "read", depends: "b" },
        { id: "b", type: "tool", name: "read", depends: "a" },
      ]),
      "text.md": "There is nothing here.",
    });
    const good = await home.done("graph", "check", join(place, "good.md"));
    expect(good).toContain("Look around: a graph, durable of 2 actions");
    expect(good).toMatch(/read +tool:read_file +after list/);
    const loop = await home.run("graph", "check", join(place, "loop.json"));
    expect([loop.code, loop.stderr]).toEqual([1, expect.stringContaining("in a circle: a, b")]);
    expect((await home.run("graph", "check", join(place, "text.md"))).code).toBe(1);
    expect((await home.run("graph", "check", join(place, "none.md"))).code).toBe(2);
  });
});

describe("reins graph", () => {
  it("runs, shows, decides, resumes and cancels graphs", { timeout: 120_000 }, async () => {
    const home = new OperatedHome();
    await home.up();
    const place = workspace({ "good.md": MESSAGE, "seed.txt": "green" });
    const run = await home.done("graph", "run", join(place, "good.md"), "--cwd", place, "--id", "look");
    expect(run).toMatch(/^look {2}completed {2}Look around\n/);
    expect(run).toMatch(/completed +read +tool:read_file +green/);
    expect(await home.done("graph", "show", "look")).toContain("completed");
    const missing = await home.run("graph", "show", "none");
    expect([missing.code, missing.stderr]).toEqual([1, expect.stringContaining("There is no run none")]);

    const calls = [
      { id: "read", type: "tool", name: "read_file", args: { path: "later.txt" } },
      {
        id: "copy",
        type: "tool",
        name: "write_file",
        args: { path: "copy.txt", content: "x" },
        depends: "read",
      },
    ];
    writeFileSync(join(place, "fails.json"), carrier(calls));
    const failed = await home.run("graph", "run", join(place, "fails.json"), "--cwd", place, "--id", "late");
    expect([failed.code, failed.stdout]).toEqual([1, expect.stringMatching(/^late {2}failed/)]);
    writeFileSync(join(place, "later.txt"), "now");
    const resumed = await home.done("graph", "resume", "late");
    expect(resumed).toMatch(/^late {2}completed/);
    expect(await readFile(join(place, "copy.txt"), "utf8")).toBe("x");
    const asks = [
      { id: "gate", requires_approval: true, executor: { type: "runtime", target: "checkpoint" }, input: {} },
    ];
    writeFileSync(join(place, "asks.json"), declared(asks));
    const asked = join(place, "asks.json");
    await home.done("graph", "run", asked, "--cwd", place, "--id", "asks", "--detach");
    expect(await home.done("graph", "cancel", "asks")).toMatch(/^asks {2}canceled/);
    const undecided = { failure_policy: "ask_model", executor: { type: "tool", target: "read_file" } };
    writeFileSync(
      join(place, "stuck.json"),
      declared([{ id: "read", ...undecided, input: { path: "nowhere.txt" } }]),
    );
    await home.done("graph", "run", join(place, "stuck.json"), "--cwd", place, "--id", "stuck", "--detach");
    await expect
      .poll(() => home.done("graph", "show", "stuck"), { interval: 250 })
      .toMatch(/^stuck {2}blocked/);
    await home.done("graph", "decide", "stuck", "read", "continue", "--note", "it is not needed");
    expect(await home.done("graph", "show", "stuck")).toMatch(
      /Z {2}\S+ decided continue read: it is not needed/,
    );
    expect(await home.done("ledger", "log", "--tag", "run_decided")).toContain(
      "read of stuck: it is not needed",
    );
    await expect
      .poll(() => home.done("graph", "show", "stuck"), { interval: 250 })
      .toMatch(/^stuck {2}completed/);
    const over = await home.run("graph", "cancel", "late");
    expect([over.code, over.stderr]).toEqual([1, expect.stringContaining("is over")]);
    const decided = await home.run("graph", "decide", "late", "read", "retry");
    expect(decided.code).toBe(1);
    const again = await home.run("graph", "run", join(place, "good.md"), "--cwd", place, "--id", "late");
    expect([again.code, again.stderr]).toEqual([1, expect.stringContaining("There is a run late already")]);
  });
});
