import { describe, expect, it } from "vitest";
import { ProtocolError } from "./protocol-error.ts";
import { artifactAction, readReference, withReferences } from "./reference.ts";

describe("A reference", () => {
  it.each([
    ["md:review.prompt", { kind: "section", id: "review.prompt" }],
    ["action:inspect.summary", { kind: "action", action: "inspect", part: "summary" }],
    ["action:a.b.output", { kind: "action", action: "a.b", part: "output" }],
    ["input:user.goal", { kind: "input", path: ["user", "goal"] }],
    ["runtime://run_123", { kind: "run", run: "run_123" }],
    ["runtime://runs/run_123", { kind: "run", run: "run_123" }],
    ["runtime://run_123/actions/a/output", { kind: "run", run: "run_123", action: "a", part: "output" }],
    ["runtime://runs/run_123/actions/a/output", { kind: "run", run: "run_123", action: "a", part: "output" }],
    ["runtime://runs/run_123/actions/a", { kind: "run", run: "run_123", action: "a" }],
    ["artifact:source_index", { kind: "artifact", name: "source_index" }],
    ["artifact://call_x", { kind: "artifact", name: "call_x" }],
    ["artifact://run_123/inspect_code", { kind: "artifact", run: "run_123", name: "inspect_code" }],
  ])("%s resolves", (text, reference) => {
    expect(readReference(text)).toEqual(reference);
  });

  it.each([
    "constructor:x",
    "toString:x",
    "__proto__:x",
    "propertyIsEnumerable:md",
    "__defineGetter__:x",
    ":x",
    "x",
  ])("%s is none", (text) => {
    expect(() => readReference(text, "here")).toThrow(ProtocolError);
  });

  it("to a section is compared in NFC", () => {
    expect(readReference("md:re\u0301sume\u0301")).toEqual({ kind: "section", id: "r\u00e9sum\u00e9" });
  });

  it("to an artifact of the run leads to the action that stores it", () => {
    const ids = new Set(["read", "call_me"]);
    expect(["call_read", "read", "call_me", "other"].map((name) => artifactAction(name, ids))).toEqual([
      ...["read", "read", "call_me", undefined],
    ]);
  });

  it("inside arguments is replaced by what it leads to, at any depth", async () => {
    const value = { a: [{ $ref: "action:x.output" }, 1], b: { c: { $ref: "input:user.goal" } } };
    const resolved = await withReferences(value, async ({ kind }) => `<${kind}>`);
    expect(resolved).toEqual({ a: ["<action>", 1], b: { c: "<input>" } });
  });
});
