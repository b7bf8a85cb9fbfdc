import { describe, expect, test } from "vitest";
import { annotationIn, contentText, verdictWith } from "./tool-call.ts";

describe("a content block", () => {
  test.each([
    [{ type: "text", text: "hello" }, "hello"],
    [{ type: "resource_link", uri: "file:///a", name: "a" }, "[a]"],
    [{ type: "resource_link", uri: "file:///a" }, "[file:///a]"],
    [{ type: "resource", resource: { uri: "file:///a", text: "content" } }, "content"],
    [{ type: "resource", resource: { uri: "file:///a", blob: "AAAA" } }, "[file:///a]"],
    [{ type: "image", mimeType: "image/png", data: "AAAA" }, "[image (image/png)]"],
    [{ type: "audio" }, "[audio (unknown type)]"],
    [{ type: "hologram" }, "[unknown content]"],
    [{ type: "text", text: 7 }, "[unknown content]"],
    ["text", "[unknown content]"],
    [undefined, "[unknown content]"],
  ])("of %j reads as text without loading anything", (block, text) => {
    expect(contentText(block)).toBe(text);
  });
});

describe("the annotation of a message", () => {
  const message = (reins: unknown) => ({ sessionUpdate: "tool_call", _meta: { reins } });

  test("is read with unknown members", () => {
    expect(annotationIn(message({ verdict: "blocked", reason: "no", later: 1 }))).toEqual({
      verdict: "blocked",
      reason: "no",
      later: 1,
    });
  });

  test.each([undefined, null, {}, { _meta: null }, { _meta: {} }])("is absent in %j", (given) => {
    expect(annotationIn(given)).toBeUndefined();
    expect(verdictWith(undefined, given)).toBeUndefined();
  });

  test.each([message("blocked"), message({ verdict: 1 }), message({ reason: "why" })])(
    "has no verdict in %j",
    (given) => {
      expect(verdictWith(undefined, given)).toBeUndefined();
      expect(verdictWith({ verdict: "ask" }, given)?.verdict).toBe("ask");
    },
  );

  test("is a verdict only if it has one, and a rule that is null is absent", () => {
    expect(verdictWith(undefined, message({ verdict: "ask", rule: null }))).toEqual({ verdict: "ask" });
  });
});
