import type { Decided } from "@reins/supervisor";
import { describe, expect, test } from "vitest";
import type { ControlPoint } from "./control-point.ts";
import { enforcedBy, whyInexpressible } from "./enforce.ts";
import { NATIVE, THIRD_PARTY } from "./scope.ts";

const base = { reason: "the rule says so", rule: "r", enforcement: "asked", entry: "cid" } as const;
const ALLOWED: Decided = { ...base, verdict: "allowed" };
const BLOCKED: Decided = { ...base, verdict: "blocked", entry: undefined };
const ASK: Decided = { ...base, verdict: "ask", approval: "a", entry: undefined };
const DEFER: Decided = { ...base, verdict: "defer", retry_after_ms: 5, entry: undefined };
const MODIFY: Decided = { ...base, verdict: "modify", modified_arguments: { command: "ls" } };

const call = { id: "call-1", reported: {} };
const payload = { tool_name: "Bash", arguments: { command: "rm" } };
const toolCall = (takesOnce = true) => ({ kind: "tool_call", payload, call, takesOnce }) as const;

/** Points that are neither tool calls nor able to act on modified arguments. */
const EXACT: readonly ControlPoint[] = [
  { kind: "file_access", tool: "fs/read_text_file", arguments: { path: "/w/a" } },
  { kind: "terminal", tool: "terminal/create", arguments: { line: "make" } },
  { kind: "client_request", tool: "_acme/run", arguments: {} },
  { kind: "mcp_start", tool: "mcp/start", arguments: {} },
  { kind: "setting", tool: "session/set_mode", arguments: {} },
  { kind: "agent_command", tool: "agent/command", arguments: {} },
  { kind: "session_start", tool: "session/new", arguments: {}, origin: "client" },
  { kind: "after_the_fact", payload, tools: "agent" },
  { kind: "unprompted_work", message: "plan" },
];
/** Points that act on modified arguments. */
const MODIFIABLE: readonly ControlPoint[] = [
  { kind: "prompt", payload: { prompt: "hello" }, origin: "client" },
  { kind: "mcp_call", tool: "mcp:lab/x", arguments: {}, call },
];
const ALL = [...EXACT, ...MODIFIABLE, toolCall()];

describe.each([
  ["a third-party agent", THIRD_PARTY],
  ["the native agent", NATIVE],
])("a verdict on an action of %s", (_, profile) => {
  test.each(ALL.map((point) => [point.kind, point] as const))("that allows %s allows it", (__, point) => {
    expect(enforcedBy(point, ALLOWED, profile)).toEqual({ kind: "allowed", verdict: ALLOWED });
  });

  test.each(ALL.map((point) => [point.kind, point] as const))(
    "that blocks %s refuses it with the reason",
    (__, point) => {
      const refused = { kind: "refused", reason: BLOCKED.reason, verdict: BLOCKED };
      expect(enforcedBy(point, BLOCKED, profile)).toEqual(refused);
    },
  );

  test.each(EXACT.map((point) => [point.kind, point] as const))(
    "that modifies %s refuses it, because it is done as requested or not at all",
    (__, point) => {
      const refused = { kind: "refused", reason: MODIFY.reason, verdict: MODIFY };
      expect(enforcedBy(point, MODIFY, profile)).toEqual(refused);
    },
  );

  test.each(MODIFIABLE.map((point) => [point.kind, point] as const))(
    "that modifies %s passes it with the new arguments",
    (__, point) => {
      const modified = { kind: "modified", arguments: { command: "ls" }, verdict: MODIFY };
      expect(enforcedBy(point, MODIFY, profile)).toEqual(modified);
    },
  );

  test.each(EXACT.map((point) => [point.kind, point] as const))(
    "that is not final never allows %s",
    (__, point) => {
      for (const verdict of [ASK, DEFER]) expect(enforcedBy(point, verdict, profile).kind).toBe("refused");
    },
  );

  test("that an agent's options cannot express is refused, with the reason", () => {
    expect(enforcedBy(toolCall(false), ALLOWED, profile).kind).toBe("refused");
    const why = "the agent takes no permission for once";
    expect(whyInexpressible(toolCall(false), undefined, profile)).toBe(why);
  });
});

describe("a modified tool call", () => {
  test("is refused with what would pass where the agent cannot be sent other arguments", () => {
    expect(enforcedBy(toolCall(), MODIFY, THIRD_PARTY).kind).toBe("refused");
    const why = 'it would pass with {"command":"ls"}, which the agent cannot be sent';
    const modified = { arguments: { command: "ls" } };
    expect(whyInexpressible(toolCall(), modified, THIRD_PARTY)).toBe(why);
  });

  test("is performed as modified by the native agent", () => {
    expect(enforcedBy(toolCall(), MODIFY, NATIVE)).toEqual({
      kind: "modified",
      arguments: { command: "ls" },
      verdict: MODIFY,
    });
  });
});
