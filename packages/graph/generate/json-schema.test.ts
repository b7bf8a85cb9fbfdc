import { readdirSync, readFileSync } from "node:fs";
import { describe, expect, it, test } from "vitest";
import { z } from "zod";
import { carrierTool } from "../src/declaration/carrier.ts";
import { GRAPH_SCHEMA_FOLDER, graphSchemaFiles } from "./json-schema.ts";

const files = graphSchemaFiles();
const advice = "the schemas are not current; run `node packages/graph/generate/write.ts`";
const published = (name: string) =>
  z.fromJSONSchema(JSON.parse(readFileSync(new URL(name, GRAPH_SCHEMA_FOLDER), "utf8")));

test("The folder of the schemas holds the current files and no others", () => {
  expect(readdirSync(GRAPH_SCHEMA_FOLDER).sort(), advice).toEqual([...files.keys()].sort());
  for (const [name, text] of files)
    expect(readFileSync(new URL(name, GRAPH_SCHEMA_FOLDER), "utf8"), advice).toBe(text);
});

describe("The published schema", () => {
  const call = { id: "read_package", type: "tool", name: "read", args: { filePath: "package.json" } };

  const RESULTS = ["summary", "full", "structured", "on_failure", "on_demand", "adaptive"];

  it.each([
    [true, { kind: "act", calls: [{ ...call, depends: "a", result: "summary" }] }],
    [true, { kind: "answer", message: "It is an extension." }],
    [true, { kind: "done" }],
    [true, { kind: "act", calls: RESULTS.map((result) => ({ ...call, result })) }],
    [false, { kind: "act", calls: [{ ...call, result: "excerpt" }] }],
    [false, { kind: "act" }],
    [false, { kind: "act", calls: [{ ...call, result: "none" }] }],
    [false, { kind: "done", calls: [] }],
  ])("of the carrier accepts (%s) %j", (isValid, output) => {
    expect(published("agent-protocol-output.json").safeParse(output).success).toBe(isValid);
  });

  const envelope = { type: "agent.protocol", version: "1", intent: "execute", payload: {} };
  const action = { id: "a", failure_policy: "ask-model", loop: { max_iterations: 3 } };

  it.each([
    [true, envelope],
    [
      true,
      { ...envelope, payload: { actions: [action, { id: "b", failure_policy: { on_failure: "retry" } }] } },
    ],
    [true, { ...envelope, intent: "plan", payload: { type: "final_report_spec", sections: ["Findings"] } }],
    [true, { ...envelope, intent: "decide", payload: { run_id: "r", action_id: "a", decision: "retry" } }],
    [true, { ...envelope, intent: "expand_ref", payload: { refs: [{ ref: "runtime://run_123" }] } }],
    [false, { ...envelope, intent: "decide" }],
    [false, { ...envelope, intent: "run" }],
    [false, { ...envelope, script: "x" }],
    [false, { ...envelope, payload: { actions: [{ ...action, loop: {} }] } }],
    [false, { ...envelope, payload: { actions: [{ ...action, executor: { type: "auto" } }] } }],
  ])("of the full form accepts (%s) %j", (isValid, declared) => {
    expect(published("agent-protocol.json").safeParse(declared).success).toBe(isValid);
  });

  it("of the carrier is one object where it is the arguments of a tool", () => {
    const { parameters } = carrierTool();
    expect(parameters).toMatchObject({ type: "object", required: ["kind"], additionalProperties: false });
    expect(Object.keys(Object(parameters.properties))).toEqual(["kind", "message", "calls"]);
  });
});
