import { readdirSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { z } from "zod";
import { nextTick } from "../src/idleness.ts";
import { spawnWorker, workerUpdate } from "../src/worker.ts";
import { BRIDGE_SCHEMA_FOLDER, bridgeSchemaFiles } from "./json-schema.ts";
import type { BRIDGE_MESSAGES } from "./messages.ts";

const files = bridgeSchemaFiles();
const advice = "the schemas are not current; run `node packages/bridge/generate/write.ts`";

test("the folder of the schemas holds the current files and no others", () => {
  expect(readdirSync(BRIDGE_SCHEMA_FOLDER).sort(), advice).toEqual([...files.keys()].sort());
  for (const [name, text] of files)
    expect(readFileSync(new URL(name, BRIDGE_SCHEMA_FOLDER), "utf8"), advice).toBe(text);
});

const accepts = (name: keyof typeof BRIDGE_MESSAGES, message: unknown) =>
  z.fromJSONSchema(JSON.parse(files.get(`${name}.json`) ?? "false")).safeParse(message).success;

const PERMISSION = {
  sessionId: "session_123",
  toolCall: { toolCallId: "call_123", toolName: "edit_file", rawInput: { path: "src/main.rs" } },
  mutation: {
    session_id: "session_123",
    run_id: "run_123",
    worker_id: null,
    mutation_scope: "apply_workspace",
    approval_policy: { require_approval: ["edit*"] },
  },
  declaredPaths: ["src/main.rs"],
};
const WORKER = spawnWorker({
  ...{ id: "w", name: "n", task: "t", mode: "sub_agent", at: "2026-01-01T00:00:00Z" },
  audit: { parent_session_id: "s" },
});
const TOOL = { name: "Read", description: "Read a file", schema: { type: "object" }, deprecated: false };
const SKILL = { id: "deploy", name: "deploy", description: "Ship it", source: "host" };
const MATCH = { name: "ship", score: 0.92, reason: "matched by embedding similarity" };

test.each<[keyof typeof BRIDGE_MESSAGES, unknown]>([
  ["session-request_permission.params", PERMISSION],
  ["session-request_permission.result", { outcome: { outcome: "selected" } }],
  ["session-request_permission.result", { granted: true, args: { path: "x" } }],
  ["session-request_permission.result", { granted: false, reason: "no" }],
  ["host-tools-list.result", { tools: [TOOL] }],
  ["host-tools-list.result", [{ name: "a", short_description: "b", parameters: {} }]],
  ["host-tools-list.result", { result: { tools: [{ name: "a", input_schema: {} }] } }],
  ["builtin_call.params", { name: "Read", args: [{ path: "a" }] }],
  ["tool_search-query.params", { strategy: "semantic", query: "deploy", candidates: ["deploy_service"] }],
  ["tool_search-query.result", { tool_names: ["deploy_service"], diagnostic: "by similarity" }],
  ["tool_search-query.result", { result: { tool_names: [] } }],
  ["skills-list.result", [SKILL]],
  ["skills-list.result", { skills: [SKILL] }],
  ["skills-fetch.params", { id: "deploy" }],
  ["skills-fetch.result", { name: "deploy", body: "# Deploy", manifest: { allowed_tools: ["bash"] } }],
  ["skills-fetch.result", { name: "deploy", body: "# Deploy", allowed_tools: ["bash"] }],
  [
    "skill-match.params",
    { strategy: "host", prompt: "Ship", working_files: [], candidates: [{ name: "ship" }] },
  ],
  ["skill-match.result", { matches: [MATCH] }],
  ["skill-match.result", [MATCH]],
  ["skill-match.result", { skills: [{ name: "ship" }] }],
  ["skill-match.result", { result: { matches: [MATCH] } }],
  ["agent-idle.params", { iteration: 3, backoff_ms: 1000 }],
  ["agent-idle.params", nextTick(undefined)],
  ["user_message.params", { content: "go on", mode: "finish_step" }],
  ["worker_update.update", workerUpdate(WORKER)],
])("%s accepts what the protocol shows: %j", (name, message) => expect(accepts(name, message)).toBe(true));

test.each<[keyof typeof BRIDGE_MESSAGES, unknown]>([
  ["session-request_permission.params", { ...PERMISSION, toolCall: {} }],
  ["session-request_permission.result", { granted: "yes" }],
  ["host-tools-list.result", { tools: {} }],
  ["builtin_call.params", { name: "", args: [] }],
  ["tool_search-query.params", { strategy: "bm25", query: "x", candidates: [] }],
  ["skill-match.result", { matches: [{ name: "ship", score: -1 }] }],
  ["agent-idle.params", { iteration: 0, backoff_ms: 100 }],
  ["worker_update.update", { sessionUpdate: "worker_update", content: {} }],
])("%s rejects another shape: %j", (name, message) => expect(accepts(name, message)).toBe(false));
