import { AhpServer, type BlockingEventType, EventType, isBatchable, isBlocking } from "@reins/ahp";
import { describe, expect, it } from "vitest";
import { CAPABILITIES } from "./capabilities.ts";
import { NO_POLICY, withoutPolicy } from "./no-policy.ts";

const session_id = "s";
const payloads: Partial<Record<EventType, object>> = {
  idle: { idle_duration_ms: 1, idle_reason: "done" },
  context_perception: {
    session_id,
    intent: "locate",
    target: { location: { path: ".", location_type: "workspace" } },
    context: { workspace: "/repo" },
  },
  memory_recall: { session_id, query: "q", memory_type: "semantic", max_results: 1, working_directory: "/" },
  planning: { session_id, task_description: "t", available_strategies: [] },
  reasoning: { session_id, reasoning_type: "reflexion", problem_statement: "p" },
  rate_limit: { session_id, limit_type: "api_request_limit", retry_after_ms: 1, current_usage: "all" },
  confirmation: { session_id, confirmation_type: "user_confirm", message: "may I?" },
  intent_detection: { session_id, prompt: "p", workspace: "/" },
  run_lifecycle: { run_id: "r", session_id, status: "created", started_at: "t", updated_at: "t" },
  task_list: { run_id: "r", session_id, updated_at: "t", tasks: [] },
  verification: {
    run_id: "r",
    session_id,
    status: "pending",
    updated_at: "t",
    checks: [],
    residual_risks: [],
  },
};

const decisions: Record<BlockingEventType, string> = {
  pre_action: "block",
  pre_prompt: "block",
  handshake: "block",
  query: "block",
  idle: "defer",
  context_perception: "block",
  memory_recall: "block",
  planning: "block",
  reasoning: "block",
  rate_limit: "skip",
  confirmation: "reject",
  intent_detection: "block",
};

function eventOf(event_type: EventType) {
  const payload = payloads[event_type] ?? {};
  return { event_type, session_id, agent_id: "a", timestamp: "2026-05-01T00:00:00Z", depth: 0, payload };
}

type Recording = Parameters<typeof withoutPolicy>[0];

async function ask(method: string, params: object, id?: string, recorder: Partial<Recording> = {}) {
  const seen: unknown[] = [];
  const recorded: unknown[] = [];
  const recording: Recording = {
    verdict: async ({ event_type }, { verdict }) => void recorded.push([event_type, verdict]),
    session: async ({ event_type }) => void recorded.push([event_type]),
    ...recorder,
  };
  const server = new AhpServer(
    withoutPolicy(recording, ({ event_type }, decision) => seen.push([event_type, decision])),
  );
  const reply = await server.handleMessage(JSON.stringify({ jsonrpc: "2.0", id, method, params }));
  return { seen, recorded, answer: reply === undefined ? undefined : JSON.parse(reply) };
}

const fails = () => Promise.reject(new Error("the disk is full"));

describe("a Reins without a policy", () => {
  it.each(EventType.options.filter(isBlocking))("decides against %s and says why", async (type) => {
    const { answer, seen, recorded } = await ask("ahp/event", eventOf(type), "1");
    expect(answer.result).toEqual({ decision: decisions[type], reason: NO_POLICY });
    expect(seen).toEqual([[type, decisions[type]]]);
    expect(recorded).toEqual([[type, "blocked"]]);
  });

  it.each(EventType.options.filter(isBlocking))(
    "decides against %s though nothing can be recorded",
    async (type) => {
      const { answer } = await ask("ahp/event", eventOf(type), "1", { verdict: fails });
      expect(answer.result).toEqual({
        decision: decisions[type],
        reason: "Nothing can be recorded, so Reins allows nothing: the disk is full",
      });
    },
  );

  it("tells no verdict before it is recorded", async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    let told = false;
    const asked = ask("ahp/event", eventOf("pre_action"), "1", { verdict: () => promise }).then(() => {
      told = true;
    });
    await new Promise(setImmediate);
    expect(told).toBe(false);
    resolve();
    await asked;
  });

  it.each(EventType.options.filter((type) => !isBlocking(type)))("takes note of %s", async (type) => {
    const { answer, seen, recorded } = await ask("ahp/event", eventOf(type));
    expect(answer).toBeUndefined();
    expect(seen).toEqual([[type, undefined]]);
    expect(recorded).toEqual(["session_start", "session_end"].includes(type) ? [[type]] : []);
  });

  it("allows in a batch only what reports", async () => {
    const types = EventType.options.filter(isBatchable);
    const { answer, recorded } = await ask("ahp/batch", { events: types.map(eventOf) }, "1");
    expect(recorded).toEqual([
      ["pre_action", "blocked"],
      ["pre_prompt", "blocked"],
      ["session_start"],
      ["session_end"],
    ]);
    const given = answer.result.decisions.map(({ decision }: { decision: string }) => decision);
    expect(given).toEqual(types.map((type) => (isBlocking(type) ? "block" : "allow")));
    expect(given.filter((decision: string) => decision === "block")).toHaveLength(2);
  });

  it("offers every event and batches, and no queries", async () => {
    expect(CAPABILITIES).toContain("intent_detection");
    expect(CAPABILITIES).toContain("batch");
    expect(CAPABILITIES).not.toContain("query");
    const { answer } = await ask(
      "ahp/query",
      { session_id, agent_id: "a", query_type: "q", payload: {} },
      "1",
    );
    expect(answer.error.message).toContain("Query not supported");
  });
});
