import { Session } from "node:inspector/promises";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { root } from "../../../scripts/root.ts";
import { agentsForAll, serveAgents } from "./fixtures/agents.ts";
import { RpcClient } from "./fixtures/rpc-client.ts";

/** Measured, with a few to spare for timers that fire meanwhile. They only go down: the goals are 60 and 12. */
const MOST = { prompt: 135, decision: 46 };
const FACTS = /^packages\/policy\/src\/facts\//;

const home = agentsForAll();

/** The source files whose functions are called while a job runs, on the main thread. */
async function filesOf(job: () => Promise<unknown>): Promise<readonly string[]> {
  const session = new Session();
  session.connect();
  await session.post("Profiler.enable");
  await session.post("Profiler.startPreciseCoverage", { callCount: true, detailed: false });
  await session.post("Profiler.takePreciseCoverage");
  await job();
  const { result } = await session.post("Profiler.takePreciseCoverage");
  session.disconnect();
  return result
    .filter(({ functions }) =>
      functions.some(({ functionName, ranges }) => functionName !== "" && (ranges[0]?.count ?? 0) > 0),
    )
    .map(({ url }) => (url.startsWith("file:") ? fileURLToPath(url) : url))
    .filter((path) => path.startsWith(`${root}/packages/`) && path.includes("/src/"))
    .map((path) => path.slice(root.length + 1))
    .toSorted();
}

/** `REINS_TRACE=1` prints the files. */
function print(title: string, files: readonly string[]): void {
  if (process.env.REINS_TRACE) console.log(`${title}: ${files.length} files\n${files.join("\n")}`);
}

test("a prompt over /v1/rpc passes through no more source files than it did", async () => {
  const client = await RpcClient.open(await serveAgents(home()), { agent: "stub" });
  const id = await client.begin(home().workspace, "stub");
  await client.prompt(id, "say hello");
  const files = await filesOf(() => client.prompt(id, "say hello"));
  print("a prompt", files);
  expect(files.length).toBeLessThanOrEqual(MOST.prompt);
});

test("a decision passes through no more source files than it did, its facts left out", async () => {
  const { harness, workspace } = home();
  const principal = harness.identity.local();
  const session = "decided";
  const subject = harness.identity.subjectFor({
    ...{ principal, agent: "stub", session, roster: harness.policies.roster },
    enforcement: "asked",
  });
  const context = { workspace: { cwd: workspace, roots: [workspace] } };
  let call = 0;
  const decide = () => {
    call += 1;
    const payload = { tool_name: "bash", call_id: `call-${call}`, arguments: { command: "ls" } };
    const event = {
      event_type: "pre_action" as const,
      session_id: session,
      agent_id: "stub",
      depth: 0,
      payload,
    };
    return harness.supervisor.decide(event, subject, context);
  };
  await decide();
  const files = (await filesOf(decide)).filter((path) => !FACTS.test(path));
  print("a decision", files);
  expect(files.length).toBeLessThanOrEqual(MOST.decision);
});
