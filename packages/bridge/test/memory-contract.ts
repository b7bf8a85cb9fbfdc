import { expect, test } from "vitest";
import { MAX_FACT_LENGTH, type Memory } from "../src/memory.ts";

/** Tests of every memory, wherever it stores facts. */
export function memoryContract(open: () => Promise<Memory>): void {
  const contents = (facts: readonly { content: string }[]) => facts.map(({ content }) => content);

  test("finds facts by their words, best first, within the limit", async () => {
    const memory = await open();
    await memory.remember({ content: "The tests are run with vitest", source: "session:a" });
    await memory.remember({ content: "The server listens on port 18789", source: "session:a" });
    await memory.remember({ content: "The port of the test server is 18799", source: "session:b" });
    expect(contents(await memory.recall({ query: "how do I run the tests with vitest?", limit: 1 }))).toEqual(
      ["The tests are run with vitest"],
    );
    expect(await memory.recall({ query: "port", limit: 10 })).toHaveLength(2);
    expect(await memory.recall({ query: "kubernetes", limit: 10 })).toEqual([]);
  });

  test("stores source, confidence and time", async () => {
    const memory = await open();
    const kept = await memory.remember({
      content: "Deploys happen on Fridays",
      source: "user",
      confidence: 0.5,
    });
    const [found] = await memory.recall({ query: "deploys", limit: 1 });
    expect(found).toMatchObject({ ...kept, source: "user", confidence: 0.5, workspace: "" });
    expect(found?.score).toBeGreaterThan(0);
  });

  test("ranks the fact with the higher confidence first", async () => {
    const memory = await open();
    await memory.remember({ content: "the linter is eslint", source: "guess", confidence: 0.2 });
    await memory.remember({ content: "the linter is biome", source: "user", confidence: 1 });
    expect(contents(await memory.recall({ query: "linter", limit: 2 }))[0]).toBe("the linter is biome");
  });

  test("stores a repeated fact once, with the newest time and the highest confidence", async () => {
    const memory = await open();
    const first = await memory.remember({ content: "Use tabs", source: "session:a", confidence: 0.9 });
    await memory.remember({ content: "Ask Bob", source: "session:a" });
    const again = await memory.remember({ content: "  Use tabs ", source: "session:b", confidence: 0.1 });
    expect(again).toMatchObject({ id: first.id, source: "session:b", confidence: 0.9 });
    expect(contents(await memory.list(10))).toEqual(["Use tabs", "Ask Bob"]);
    expect(await memory.recall({ query: "tabs", limit: 10 })).toHaveLength(1);
  });

  test("keeps facts of one folder out of others", async () => {
    const memory = await open();
    await memory.remember({ content: "build with make", source: "a", workspace: "/code/one" });
    await memory.remember({ content: "build with cargo", source: "a", workspace: "/code/two" });
    await memory.remember({ content: "build on Linux", source: "a" });
    const inOne = await memory.recall({ query: "build", limit: 10, workspace: "/code/one/packages/x" });
    expect(contents(inOne).toSorted()).toEqual(["build on Linux", "build with make"]);
    const beside = await memory.recall({ query: "build", limit: 10, workspace: "/code/one-more" });
    expect(contents(beside)).toEqual(["build on Linux"]);
  });

  test("forgets facts", async () => {
    const memory = await open();
    const { id } = await memory.remember({ content: "a secret plan", source: "a" });
    expect(await memory.forget(id)).toBe(true);
    expect(await memory.forget(id)).toBe(false);
    expect(await memory.recall({ query: "plan", limit: 10 })).toEqual([]);
    expect(await memory.list(10)).toEqual([]);
  });

  test("accepts any text as a query, whatever it means to a search engine", async () => {
    const memory = await open();
    await memory.remember({ content: 'quotes " and NEAR(things) * work', source: "a" });
    for (const query of ['"', "NEAR(", "a OR", "things*", "col:x", "", "^", "-things", "'; DROP TABLE x"])
      await memory.recall({ query, limit: 5 });
    expect(await memory.recall({ query: "NEAR things", limit: 5 })).toHaveLength(1);
  });

  test("rejects empty and overlong facts and an invalid confidence", async () => {
    const memory = await open();
    const invalid = expect.objectContaining({ code: "invalid" });
    await expect(memory.remember({ content: "  ", source: "a" })).rejects.toThrow(invalid);
    await expect(memory.remember({ content: "x".repeat(MAX_FACT_LENGTH + 1), source: "a" })).rejects.toThrow(
      invalid,
    );
    await expect(memory.remember({ content: "x", source: "a", confidence: 1.1 })).rejects.toThrow(invalid);
    await expect(memory.remember({ content: "x", source: "a", confidence: Number.NaN })).rejects.toThrow(
      invalid,
    );
  });
}
