import { describe, expect, it } from "vitest";
import { Bm25Index, tokensOf } from "./bm25.ts";

function indexOf(texts: Readonly<Record<string, string>>): Bm25Index {
  const index = new Bm25Index();
  for (const [id, text] of Object.entries(texts)) index.put(id, text);
  return index;
}

const idsFor = (index: Bm25Index, query: string, limit = 10) =>
  index.search(query, limit).map(({ id }) => id);

describe("tokens", () => {
  it.each([
    ["Run the tests!", ["run", "the", "tests"]],
    ["readFile", ["read", "file", "readfile"]],
    ["HTTPServer2", ["http", "server", "2", "httpserver2"]],
    ["snake_case-and.dots", ["snake", "case", "and", "dots"]],
    ["Größe café", ["größe", "café"]],
    ["部署服务", ["部", "署", "服", "务", "部署服务"]],
    ["…", []],
  ])("of %s are split at word and case boundaries", (text, tokens) => {
    expect(tokensOf(text)).toEqual(tokens);
  });
});

describe("a search", () => {
  it("ranks texts by the words of the query, rare words higher", () => {
    const index = indexOf({
      tests: "the tests of this project are run with vitest",
      deploy: "the service is deployed with terraform",
      style: "the code is formatted with biome",
    });
    expect(idsFor(index, "how are the tests run")[0]).toBe("tests");
    expect(idsFor(index, "terraform")).toEqual(["deploy"]);
  });

  it("ranks the shorter of two texts with the same count higher", () => {
    const index = indexOf({ long: `port ${"filler ".repeat(50)}`, short: "port 18789" });
    expect(idsFor(index, "port")).toEqual(["short", "long"]);
  });

  it("splits identifiers", () => {
    expect(idsFor(indexOf({ a: "call spawnSubagent", b: "call nothing" }), "subagent")).toEqual(["a"]);
  });

  it("returns nothing for unknown words and respects the limit", () => {
    const index = indexOf({ a: "one", b: "one", c: "one" });
    expect(idsFor(index, "two")).toEqual([]);
    expect(idsFor(index, "one", 2)).toEqual(["a", "b"]);
  });

  it("follows replaced and removed texts", () => {
    const index = indexOf({ a: "red", b: "green" });
    index.put("a", "blue");
    expect(idsFor(index, "red")).toEqual([]);
    expect(idsFor(index, "blue")).toEqual(["a"]);
    index.remove("a");
    index.remove("a");
    expect(idsFor(index, "blue")).toEqual([]);
    expect(index.size).toBe(1);
  });
});
