import { VolatileMemory } from "@reins/bridge";
import { describe, expect, it } from "vitest";
import type { ConfirmationType, RateLimitType } from "../control/events.ts";
import { Advisor, type AdvisorOptions } from "./advisor.ts";

const call = { sessionId: "s", signal: new AbortController().signal };

describe("the advisor", () => {
  it("detects the intent of a prompt and its target", async () => {
    const payload = { session_id: "s", prompt: "read README.md", workspace: "/w" };
    expect(await new Advisor().ask("intent_detection", payload, call)).toMatchObject({
      decision: "allow",
      detected_intent: "read",
      target_hints: { target_type: "file", target_name: "README.md" },
    });
  });

  it("recalls only the facts of this folder", async () => {
    const memory = new VolatileMemory();
    await memory.remember({ content: "tests need a database", source: "session:1", workspace: "/w" });
    await memory.remember({ content: "tests need nothing", source: "session:2", workspace: "/other" });
    const payload = {
      session_id: "s",
      query: "tests",
      memory_type: "fact",
      max_results: 5,
      working_directory: "/w",
    };
    expect(await new Advisor({ memory }).ask("memory_recall", payload, call)).toEqual({
      decision: "allow",
      injected_facts: [{ content: "tests need a database", source: "session:1", confidence: 1 }],
    });
    expect(await new Advisor().ask("memory_recall", payload, call)).toEqual({
      decision: "allow",
      injected_facts: [],
    });
  });

  it("perceives nothing of a workspace that may not be read", async () => {
    const control = new Advisor({ mayRead: () => () => false });
    const decision = await control.ask(
      "context_perception",
      {
        session_id: "s",
        intent: "understand",
        target: { location: { path: ".", location_type: "folder" } },
        context: { workspace: import.meta.dirname },
      },
      call,
    );
    expect(decision).toMatchObject({ injected_context: { facts: [], file_contents: [] } });
  });

  it("allows prompts", async () => {
    const prompt = {
      session_id: "s",
      prompt: "x",
      message_count: 1,
      model: "m",
      request: 1,
      tokens_used: 0,
      purpose: "turn" as const,
    };
    expect(await new Advisor().ask("pre_prompt", prompt, call)).toEqual({ decision: "allow" });
  });

  it("passes on events that expect no decision", () => {
    const events: unknown[] = [];
    const control = new Advisor({ onEvent: (type) => void events.push(type) });
    control.report("error", { session_id: "s", code: "x", message: "m", retryable: false });
    expect(events).toEqual(["error"]);
  });
});

describe("a confirmation", () => {
  const decide = (confirmation_type: ConfirmationType, presence: AdvisorOptions["presence"] = {}) =>
    new Advisor({ presence }).ask(
      "confirmation",
      { session_id: "s", confirmation_type, message: "continue?" },
      call,
    );

  it.each<ConfirmationType>(["safety_confirm", "user_confirm", "cost_confirm", { custom: "x" }])(
    "of %j is left to a person",
    async (type) => {
      expect(await decide(type)).toEqual({ decision: "escalate" });
    },
  );

  it("is rejected where no person is present", async () => {
    expect(await decide("safety_confirm", { isPersonThere: false, maySpend: true })).toEqual({
      decision: "reject",
      reason: "no person is present to confirm it: continue?",
    });
    expect(await decide("cost_confirm", { isPersonThere: false })).toMatchObject({ decision: "reject" });
  });

  it("of cost is approved where spending is allowed beforehand", async () => {
    expect(await decide("cost_confirm", { isPersonThere: false, maySpend: true })).toEqual({
      decision: "approve",
    });
  });
});

describe("a rate limit", () => {
  const decide = (limit_type: RateLimitType, retry_after_ms: number) =>
    new Advisor().ask("rate_limit", { session_id: "s", limit_type, retry_after_ms, current_usage: "" }, call);

  it("is retried after the time it asks for, and at least a second", async () => {
    expect(await decide("llm_request_limit", 7_000)).toEqual({ decision: "retry", retry_after_ms: 7_000 });
    expect(await decide("api_request_limit", 0)).toEqual({ decision: "retry", retry_after_ms: 1_000 });
    expect(await decide({ custom: "gpu" }, 2_000)).toEqual({ decision: "retry", retry_after_ms: 2_000 });
  });

  it("that lasts too long is skipped with its duration", async () => {
    expect(await decide("llm_request_limit", 600_000)).toEqual({
      decision: "skip",
      reason: "the limit lasts another 600 seconds; try again then",
    });
  });

  it("of tokens queues the requests", async () => {
    expect(await decide("llm_token_limit", 5_000)).toEqual({ decision: "queue" });
  });

  it("of a tool ends its use", async () => {
    expect(await decide("tool_execution_limit", 0)).toMatchObject({ decision: "skip" });
  });
});

describe("background work", () => {
  const decide = async (
    { hour = 12, load = 0.1, idleMs = 60_000 },
    quietHours?: { readonly from: number; readonly to: number },
  ) => {
    const clock = { now: () => new Date(2026, 0, 1, hour, 30) };
    const idle = quietHours && { quietHours };
    const advisor = new Advisor({ clock, load: () => load, ...(idle && { idle }) });
    const payload = { idle_duration_ms: idleMs, idle_reason: "turn ended" };
    return (await advisor.ask("idle", payload, call)).decision;
  };

  it("runs after half a minute without activity on a machine with little load", async () => {
    expect(await decide({})).toBe("allow");
  });

  it("is deferred right after activity", async () => {
    expect(await decide({ idleMs: 5_000 })).toBe("defer");
  });

  it("is deferred while the machine is busy", async () => {
    expect(await decide({ load: 1.5 })).toBe("defer");
  });

  it.each([
    [21, "allow"],
    [22, "defer"],
    [23, "defer"],
    [0, "defer"],
    [6, "defer"],
    [7, "allow"],
  ])("at %i o'clock, with quiet hours from 22 to 7: %s", async (hour, decision) => {
    expect(await decide({ hour }, { from: 22, to: 7 })).toBe(decision);
  });

  it.each([
    [11, "allow"],
    [12, "defer"],
    [13, "defer"],
    [14, "allow"],
  ])("at %i o'clock, with quiet hours from 12 to 14: %s", async (hour, decision) => {
    expect(await decide({ hour }, { from: 12, to: 14 })).toBe(decision);
  });
});
