import { describe, expect, it } from "vitest";
import { memoryContract } from "../test/memory-contract.ts";
import { completeFact, mergeFacts, VolatileMemory } from "./memory.ts";

describe("a memory in the process", () => {
  memoryContract(async () => new VolatileMemory());
});

describe("a completed fact", () => {
  const marks = { newId: () => "id-1", now: () => new Date("2026-01-02T03:04:05Z") };

  it("is trimmed, certain and true everywhere by default", () => {
    expect(completeFact({ content: " Use tabs\n", source: "user" }, marks)).toEqual({
      id: "id-1",
      content: "Use tabs",
      source: "user",
      confidence: 1,
      workspace: "",
      created_at: "2026-01-02T03:04:05.000Z",
    });
  });

  it.each([0, 0.5, 1])("accepts the confidence %d", (confidence) => {
    expect(completeFact({ content: "x", source: "a", confidence }, marks).confidence).toBe(confidence);
  });

  it.each([-0.1, 1.1, Number.NaN, Number.POSITIVE_INFINITY])("rejects the confidence %d", (confidence) => {
    expect(() => completeFact({ content: "x", source: "a", confidence }, marks)).toThrow("from 0 to 1");
  });

  it("replaces an equal one with its id, its own source and the higher confidence", () => {
    const known = completeFact({ content: "x", source: "a", confidence: 0.9 }, marks);
    const fresh = completeFact(
      { content: "x", source: "b", confidence: 0.1 },
      { ...marks, newId: () => "id-2" },
    );
    expect(mergeFacts(known, fresh)).toMatchObject({ id: "id-1", source: "b", confidence: 0.9 });
    expect(mergeFacts(fresh, known)).toMatchObject({ id: "id-2", source: "a", confidence: 0.9 });
  });
});

it("a memory in the process lists its newest facts first", async () => {
  const memory = new VolatileMemory();
  for (let count = 0; count < 3; count += 1) await memory.remember({ content: `fact ${count}`, source: "a" });
  expect((await memory.list(2)).map(({ content }) => content)).toEqual(["fact 2", "fact 1"]);
});
