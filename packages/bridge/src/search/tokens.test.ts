import { describe, expect, it } from "vitest";
import { queryTokens, tokensOf } from "./bm25.ts";
import { stem } from "./stem.ts";

describe("tokens", () => {
  it.each([
    ["Run the tests!", ["run", "the", "test"]],
    ["readFile", ["read", "fil", "readfil"]],
    ["HTTPServer2", ["http", "server", "2", "httpserver2"]],
    ["snake_case-and.dots", ["snak", "cas", "and", "dot"]],
    ["Größe café", ["größe", "café"]],
    ["ｆｕｌｌ ﬁle", ["ful", "fil"]],
    ["部署服务", ["部", "署", "服", "务", "部署服务"]],
    ["…", []],
  ])("of %s are split at word and case boundaries", (text, tokens) => {
    expect(tokensOf(text)).toEqual(tokens);
  });
});

describe("the words of a query", () => {
  it("count once and without stop words", () => {
    expect(queryTokens("Please list the lists that I have")).toEqual(["list"]);
  });

  it("are stop words where there are no others", () => {
    expect(queryTokens("who am I")).toEqual(["who", "am", "i"]);
  });

  it("are bounded", () => {
    expect(queryTokens(Array.from({ length: 500 }, (_, index) => `w${index}x`).join(" "))).toHaveLength(64);
  });
});

describe("a stem", () => {
  it.each([
    ["create creates created creating creation"],
    ["deploy deploys deployed deploying deployment deployments"],
    ["notify notifies notified notifying notification notifications"],
    ["cancel cancelled canceled cancelling cancellation"],
    ["organise organize organised organizing organisation organization"],
    ["translate translates translated translating translation"],
    ["subscribe subscribed subscription subscriptions"],
    ["run runs running ran"],
    ["query queries queried querying"],
    ["branch branches branched"],
    ["box boxes"],
    ["analyse analyze analysis analysing analyzed"],
    ["pay paid payment payments"],
    ["merge merges merged merging"],
    ["document documents documentation"],
    ["month months monthly"],
  ])("is shared by %s", (words) => {
    expect(new Set(words.split(" ").map(stem)).size).toBe(1);
  });

  it.each([
    ["status", "state"],
    ["format", "form"],
    ["string", "str"],
    ["data", "date"],
    ["need", "ne"],
    ["policy", "police"],
  ])("differs for %s and %s", (one, other) => {
    expect(stem(one)).not.toBe(stem(other));
  });
});
