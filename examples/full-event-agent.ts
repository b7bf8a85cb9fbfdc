// An agent that sends complete events: session, agent, depth, context and metadata are forwarded unchanged. It reports
// its run with durable contracts, and sends several events in one batch.
//
//   node examples/full-event-agent.ts                            starts a harness on a Unix socket
//   node examples/full-event-agent.ts http://127.0.0.1:18789/ahp uses a running harness
import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { AhpClient, type AhpEvent, AhpServer, type FullEvent, serveUnix, type Transport } from "@reins/ahp";

const url = process.argv[2];
const seen: AhpEvent[] = [];
const folder = await mkdtemp(join(tmpdir(), "reins-example-"));
const harness = url === undefined ? await startHarness() : undefined;
const agent = await AhpClient.connect(target());
await agent.handshake(["pre_action", "batch", "run_lifecycle", "task_list"]);

const mine = { session_id: "session-1", agent_id: "agent-1", timestamp: "2026-05-01T00:00:00Z", depth: 1 };
const event: FullEvent<"pre_action"> = {
  ...mine,
  event_type: "pre_action",
  payload: { tool_name: "bash", arguments: { command: "cargo test" } },
  context: {
    current_task: "run tests",
    session_stats: { total_actions: 3, total_tokens: 42, duration_ms: 1_000, error_count: 0 },
  },
  metadata: { trace: "trace-7" },
};
const decision = await agent.sendEvent(event);
console.log("pre_action:", decision.decision);

const updated_at = "2026-05-01T00:00:01Z";
const run = { run_id: "run-123", session_id: mine.session_id, updated_at };
const started: FullEvent<"run_lifecycle"> = {
  ...mine,
  event_type: "run_lifecycle",
  payload: { ...run, status: "executing", prompt: "fix the failing tests", started_at: mine.timestamp },
};
const tasks: FullEvent<"task_list"> = {
  ...mine,
  event_type: "task_list",
  payload: { ...run, tasks: [{ id: "step-1", title: "Inspect failing test", status: "in_progress" }] },
};
const decisions = await agent.batch([started, tasks, event]);
assert.equal(decisions.length, 3);
console.log("batch:", decisions.map((each) => each.decision).join(", "));

if (harness) {
  assert.deepEqual(seen[0], event);
  console.log("the harness saw it whole:", seen[0]?.context?.current_task);
}
await agent.close();
await harness?.close();
await rm(folder, { recursive: true });

function startHarness() {
  const server = new AhpServer({
    event(event) {
      seen.push(event);
      return event.depth > 3 ? { decision: "block", reason: "too deep" } : { decision: "allow" };
    },
  });
  return serveUnix(server, { path: join(folder, "ahp.sock") });
}

function target(): Transport {
  if (url === undefined) return { type: "unix", path: join(folder, "ahp.sock") };
  const { REINS_TOKEN: token } = process.env;
  const auth = token ? { auth: { method: { type: "bearer" as const, token } } } : {};
  return { type: url.startsWith("ws") ? "websocket" : "http", url, ...auth };
}
