// A harness that runs as a child process of the agent: one JSON document per line on stdin and stdout.
//
//   node examples/stdio-harness.ts          then type or pipe messages
//   node examples/typed-event-agent.ts      starts it and sends it events
import { AhpServer, type Handlers, serveStdio } from "@reins/ahp";

const handlers: Handlers = {
  event: ({ payload }) =>
    JSON.stringify(payload).includes("rm -rf")
      ? { decision: "block", reason: "destructive command requires approval" }
      : { decision: "allow" },

  idle: ({ idle_duration_ms }) =>
    idle_duration_ms < 1_000 ? { decision: "defer", reason: "too early to tidy up" } : { decision: "allow" },

  intent_detection: ({ prompt }) => ({
    decision: "allow",
    detected_intent: prompt.endsWith("?") ? "question" : "task",
    confidence: 0.75,
  }),

  context_perception: ({ context }) => ({
    decision: "allow",
    injected_context: {
      facts: [{ content: `The workspace is ${context.workspace}`, source: "harness", confidence: 1 }],
      suggestions: ["Read the README first."],
    },
  }),

  planning: ({ available_strategies }) => ({
    decision: "allow",
    selected_strategy: available_strategies[0] ?? "none",
  }),

  rate_limit: ({ retry_after_ms }) => ({ decision: "retry", retry_after_ms: retry_after_ms * 2 }),

  confirmation: () => ({ decision: "escalate" }),
};

const server = new AhpServer(handlers, {
  info: { name: "stdio-example", version: "1.0.0" },
  config: { timeout_ms: 10_000, batch_size: 100, max_depth: 10 },
});

// Ends when the agent closes stdin. Logs go to stderr.
await serveStdio(server).closed;
console.error("stdio-harness: the agent closed the connection");
