// An agent that sends typed events: each family has its own type of decision, inferred from the event's name.
//
//   node examples/typed-event-agent.ts                          starts examples/stdio-harness.ts
//   node examples/typed-event-agent.ts ws://127.0.0.1:18789/ahp uses a running harness, with the token in REINS_TOKEN
import assert from "node:assert/strict";
import { fileURLToPath } from "node:url";
import { AhpClient, type Transport } from "@reins/ahp";

const agent = await AhpClient.connect(target(process.argv[2]), { framework: "typed-example" });
const { harness_info, protocol_version } = await agent.handshake(["intent_detection", "context_perception"]);
console.log(`${harness_info.name} speaks AHP ${protocol_version}`);

const session_id = agent.sessionId;
const prompt = "How is the protocol structured?";

const intent = await agent.sendEvent("intent_detection", { session_id, prompt, workspace: "/repo" });
if (intent.decision === "allow") console.log(`intent: ${intent.detected_intent} (${intent.confidence})`);
else console.log("intent: refused -", intent.reason);

const context = await agent.sendEvent("context_perception", {
  session_id,
  intent: "understand",
  target: { location: { path: ".", location_type: "workspace" } },
  context: { workspace: "/repo", query: prompt },
});
switch (context.decision) {
  case "allow":
    for (const { content } of context.injected_context.facts) console.log("fact:", content);
    break;
  case "refine":
    console.log("ask again about:", context.scope_hints.join(", "));
    break;
  case "block":
    console.log("no context:", context.reason);
}

const plan = await agent.sendEvent("planning", {
  session_id,
  task_description: prompt,
  available_strategies: ["step_by_step", { custom: "by_hand" }],
});
console.log("plan:", plan.decision === "allow" ? plan.selected_strategy : plan.decision);

const idle = await agent.sendEvent("idle", { idle_duration_ms: 10, idle_reason: "waiting for input" });
console.log("background work:", idle.decision);

// A family without a handler is a block, because there is no valid decision. Reins recalls from its memory.
const memory = await agent.sendEvent("memory_recall", {
  session_id,
  query: prompt,
  memory_type: "semantic",
  max_results: 3,
  working_directory: "/repo",
});
if (process.argv[2] === undefined) assert.equal(memory.decision, "block");
console.log("memory:", memory.decision === "allow" ? `${memory.injected_facts.length} facts` : memory.reason);
await agent.close();

function target(url: string | undefined): Transport {
  const { REINS_TOKEN: token } = process.env;
  const auth = token ? { auth: { method: { type: "bearer" as const, token } } } : {};
  if (url) return { type: url.startsWith("ws") ? "websocket" : "http", url, ...auth };
  const harness = fileURLToPath(new URL("stdio-harness.ts", import.meta.url));
  return { type: "stdio", program: process.execPath, args: [harness] };
}
