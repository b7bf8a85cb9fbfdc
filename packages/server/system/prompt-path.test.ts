import { Session } from "node:inspector/promises";
import { setTimeout } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { root } from "../../../scripts/root.ts";
import { agentsForAll, serveAgents } from "./fixtures/agents.ts";
import { RpcClient } from "./fixtures/rpc-client.ts";

/** The bars of a prompt and of a decision, and the measure of one that asks, which only goes down. */
const MOST = { prompt: 60, decision: 12, question: 22 };
const FACTS = /^packages\/policy\/src\/facts\//;

const home = agentsForAll();

const session = new Session();

// Starting to count blocks the process for a while, after which every timer is due: it is done once, ahead of all jobs.
beforeAll(async () => {
  session.connect();
  await session.post("Profiler.enable");
  await session.post("Profiler.startPreciseCoverage", { callCount: true, detailed: false });
});
afterAll(() => session.disconnect());

/** How often named functions are called while a job runs, on the main thread, by source file. */
async function callsOf(job: () => Promise<unknown>): Promise<ReadonlyMap<string, number>> {
  await session.post("Profiler.takePreciseCoverage");
  await job();
  const { result } = await session.post("Profiler.takePreciseCoverage");
  const calls = new Map<string, number>();
  for (const { url, functions } of result) {
    const path = url.startsWith("file:") ? fileURLToPath(url) : url;
    if (!path.startsWith(`${root}/packages/`) || !path.includes("/src/")) continue;
    const named = functions.filter(({ functionName }) => functionName !== "");
    const count = named.reduce((sum, { ranges }) => sum + (ranges[0]?.count ?? 0), 0);
    if (count > 0) calls.set(path.slice(root.length + 1), count);
  }
  return calls;
}

/** How often a job is measured; a timer that fires in each of them is no coincidence. */
const TIMES = 8;
const QUIET_MS = 60;

/** Resolves when no function of ours was called for a while: timers and subscribers of what came before are done. */
async function quiet(): Promise<void> {
  for (let pauses = 0; pauses < 50; pauses += 1)
    if ((await callsOf(() => setTimeout(QUIET_MS))).size === 0) return;
  throw new Error("something runs all the time");
}

/** The fewest calls in each file of a job that is measured repeatedly, begun in silence each time. */
async function fewestCalls(job: () => Promise<unknown>): Promise<ReadonlyMap<string, number>> {
  const runs: ReadonlyMap<string, number>[] = [];
  for (let run = 0; run < TIMES; run += 1) {
    await quiet();
    runs.push(await callsOf(job));
  }
  const files = new Set(runs.flatMap((calls) => [...calls.keys()]));
  return new Map([...files].map((file) => [file, Math.min(...runs.map((calls) => calls.get(file) ?? 0))]));
}

/** `REINS_TRACE=1` prints the files. */
function print(title: string, files: readonly string[]): void {
  if (process.env.REINS_TRACE) console.log(`${title}: ${files.length} files\n${files.join("\n")}`);
}

test.each(["an operator", "a user"])(
  "a prompt of %s over /v1/rpc passes through at most 60 source files",
  async (who) => {
    const served = await serveAgents(home());
    const as = who === "an operator" ? served.access.token : (await served.person()).secret;
    const client = await RpcClient.open(served, { agent: "stub", as });
    const id = await client.begin(home().workspace, "stub");
    await client.prompt(id, "say hello");
    const calls = await fewestCalls(() => client.prompt(id, "say hello"));
    const files = [...calls].flatMap(([file, count]) => (count > 0 ? [file] : [])).toSorted();
    print(`a prompt of ${who}`, files);
    expect(files.length).toBeLessThanOrEqual(MOST.prompt);
  },
);

describe("a decision", () => {
  const at = () => {
    const { harness, workspace } = home();
    const subject = harness.identity.subjectFor({
      ...{
        principal: harness.identity.local(),
        agent: "stub",
        session: "decided",
      },
      enforcement: "asked",
    });
    const context = { workspace: { cwd: workspace, roots: [workspace], tools: "claude-code" } };
    let call = 0;
    const eventOf = (tool_name: string, args: object) => {
      call += 1;
      const payload = { tool_name, call_id: `call-${call}`, arguments: args };
      return {
        event_type: "pre_action" as const,
        session_id: "decided",
        agent_id: "stub",
        depth: 0,
        payload,
      };
    };
    return { harness, workspace, subject, context, eventOf };
  };

  /** The files of a decision, facts left out. */
  async function filesOfDecision(tool: string, argumentsIn: (workspace: string) => object, verdict: string) {
    const { harness, workspace, subject, context, eventOf } = at();
    const event = () => eventOf(tool, argumentsIn(workspace));
    const decide = () => harness.supervisor.decide(event(), subject, context);
    expect(await decide()).toMatchObject({ verdict });
    // A preview finds out the facts and decides nothing: a file that is called as often by it is about facts.
    const facts = await fewestCalls(() => harness.supervisor.preview(event(), subject, context));
    const files = [...(await fewestCalls(decide))]
      .filter(([file, count]) => !FACTS.test(file) && count > (facts.get(file) ?? 0))
      .map(([file]) => file)
      .toSorted();
    print(`a decision (${verdict})`, files);
    return files;
  }

  test("that allows passes through at most 12 source files, its facts left out", async () => {
    const files = await filesOfDecision("Bash", () => ({ command: "ls" }), "allowed");
    expect(files.length).toBeLessThanOrEqual(MOST.decision);
  });

  test("that asks passes through no more source files than it did, its facts left out", async () => {
    const write = (workspace: string) => ({ file_path: `${workspace}/file.txt`, content: "" });
    const files = await filesOfDecision("Write", write, "ask");
    expect(files.length).toBeLessThanOrEqual(MOST.question);
  });
});
