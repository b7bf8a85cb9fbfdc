import { VolatileMemory } from "@reins/bridge";
import { describe, expect, it } from "vitest";
import { DefaultControl } from "./default-control.ts";

const call = { sessionId: "s", signal: new AbortController().signal };

describe("the default decisions", () => {
  it("detect intents with what they point at", async () => {
    const payload = { session_id: "s", prompt: "read README.md", workspace: "/w" };
    expect(await new DefaultControl().ask("intent_detection", payload, call)).toMatchObject({
      decision: "allow",
      detected_intent: "read",
      target_hints: { target_type: "file", target_name: "README.md" },
    });
  });

  it("recall what the memory holds of this folder", async () => {
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
    expect(await new DefaultControl({ memory }).ask("memory_recall", payload, call)).toEqual({
      decision: "allow",
      injected_facts: [{ content: "tests need a database", source: "session:1", confidence: 1 }],
    });
    expect(await new DefaultControl().ask("memory_recall", payload, call)).toEqual({
      decision: "allow",
      injected_facts: [],
    });
  });

  it("look at the workspace as far as they may", async () => {
    const control = new DefaultControl({ mayRead: () => () => false });
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

  it("let prompts pass, and background work by load", async () => {
    const prompt = {
      session_id: "s",
      prompt: "x",
      message_count: 1,
      model: "m",
      request: 1,
      tokens_used: 0,
      purpose: "turn" as const,
    };
    expect(await new DefaultControl().ask("pre_prompt", prompt, call)).toEqual({ decision: "allow" });
    const idle = { idle_duration_ms: 100_000, idle_reason: "turn ended" };
    expect(await new DefaultControl({ load: () => 0 }).ask("idle", idle, call)).toEqual({
      decision: "allow",
    });
    expect(await new DefaultControl({ load: () => 9 }).ask("idle", idle, call)).toMatchObject({
      decision: "defer",
    });
  });

  it("pass on what nobody waits for", () => {
    const told: unknown[] = [];
    const control = new DefaultControl({ onTold: (type) => void told.push(type) });
    control.tell("error", { session_id: "s", code: "x", message: "m", retryable: false });
    expect(told).toEqual(["error"]);
  });
});
