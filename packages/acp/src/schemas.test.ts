import * as fc from "fast-check";
import { describe, expect, expectTypeOf, test } from "vitest";
import {
  type AcpMethod,
  chunkText,
  metaOf,
  readContent,
  readParams,
  readResult,
  readUpdate,
  reinsData,
  reinsMeta,
  sandboxMeta,
  toolCallIn,
  type UpdateKind,
  updateIn,
  usageIn,
  withReinsMeta,
} from "./schemas.ts";

const METHODS: AcpMethod[] = [
  ...(["initialize", "session/new", "session/load", "session/resume", "session/fork"] as const),
  ...(["session/list", "session/close", "session/delete", "session/set_mode", "session/set_model"] as const),
  ...(["session/set_config_option", "session/prompt", "session/cancel"] as const),
  ...([
    "session/request_permission",
    "elicitation/create",
    "fs/read_text_file",
    "fs/write_text_file",
  ] as const),
  ...(["terminal/create", "terminal/output", "terminal/wait_for_exit", "terminal/kill"] as const),
  ...(["terminal/release", "$/cancel_request"] as const),
];
const KINDS: UpdateKind[] = [
  ...(["user_message_chunk", "agent_message_chunk", "agent_thought_chunk", "tool_call"] as const),
  ...(["tool_call_update", "plan", "available_commands_update", "current_mode_update"] as const),
  ...(["config_option_update", "session_info_update", "usage_update", "notice"] as const),
  ...(["compaction_update", "worker_update", "tool_search_query", "tool_search_result"] as const),
];

/** Objects that use the names of ACP for values of every type. */
const hostile = fc.letrec((tie) => ({
  value: fc.oneof(
    { depthSize: "small" },
    fc.constantFrom(null, true, 0, 1.5, "", "text", [], {}),
    fc.array(tie("value"), { maxLength: 3 }),
    tie("object"),
  ),
  object: fc.dictionary(
    fc.constantFrom(
      ...["sessionId", "toolCall", "toolCallId", "title", "content", "text", "locations", "path", "options"],
      ...["update", "sessionUpdate", "prompt", "outcome", "usage", "modes", "availableModes", "entries", "x"],
    ),
    tie("value"),
    { maxKeys: 6 },
  ),
})).value;

describe("every reader", () => {
  test("accepts any value", () => {
    fc.assert(
      fc.property(hostile, (value) => {
        for (const method of METHODS) {
          readParams(method, value);
          readResult(method, value);
        }
        for (const kind of KINDS) readUpdate(kind, value);
        for (const read of [readContent, toolCallIn, updateIn, usageIn]) read(value);
      }),
      { numRuns: 300 },
    );
  });

  test("reads an object as empty when it is none, so that nested members can be taken apart", () => {
    for (const value of [undefined, null, 5, "text", [], [{}]]) {
      const { toolCall, options } = readParams("session/request_permission", value);
      expect([toolCall.toolCallId, toolCall.locations, options]).toEqual([undefined, [], []]);
    }
  });

  test("keeps members that it does not know, at every depth", () => {
    const call = { toolCallId: "1", vendor: { deep: 1 }, locations: [{ path: "/a", extra: true }] };
    expect(toolCallIn(call)).toMatchObject(call);
    const params = { sessionId: "s", _meta: { acme: 1 }, prompt: [{ type: "hologram", shape: [1] }] };
    expect(readParams("session/prompt", params)).toMatchObject(params);
  });
});

describe("a member of another type", () => {
  test("reads as absent, and hides nothing beside it", () => {
    const call = {
      toolCallId: 7,
      kind: ["execute"],
      title: "rm",
      rawInput: { command: "rm -rf /" },
      locations: [null, { path: 5 }, { path: "/etc", line: "1" }],
      content: [{ type: "diff", path: "/a", newText: null }, "text"],
    };
    const { toolCallId, kind, title, rawInput, locations, content } = toolCallIn(call);
    expect([toolCallId, kind]).toEqual([undefined, undefined]);
    expect([title, rawInput]).toEqual(["rm", { command: "rm -rf /" }]);
    expect(locations.map(({ path, line }) => [path, line])).toEqual([
      [undefined, undefined],
      [undefined, undefined],
      ["/etc", undefined],
    ]);
    expect(content.map(({ path, newText }) => [path, newText])).toEqual([
      ["/a", undefined],
      [undefined, undefined],
    ]);
  });
});

test("results are typed by their method", () => {
  const { stopReason } = readResult("session/prompt", { stopReason: "end_turn" });
  expectTypeOf(stopReason).toEqualTypeOf<string | undefined>();
  expect(stopReason).toBe("end_turn");
  const { outcome } = readResult("session/request_permission", { outcome: { outcome: "cancelled" } });
  expectTypeOf(outcome.optionId).toEqualTypeOf<string | undefined>();
  expect(outcome.outcome).toBe("cancelled");
});

test("an update is read without parsing its content", () => {
  const update = { sessionUpdate: "agent_message_chunk", content: { type: "text", text: "hi" } };
  const read = updateIn({ sessionId: "s", update });
  expect(read).toEqual({ sessionId: "s", kind: "agent_message_chunk", update });
  expect(read.update).toBe(update);
  expect(chunkText(read.update)).toBe("hi");
  expect(chunkText({ content: { text: 5 } })).toBeUndefined();
  expect(updateIn({ sessionId: 1, update: [] })).toEqual({
    sessionId: undefined,
    kind: undefined,
    update: {},
  });
});

test("usage holds the numbers of a result, in snake_case", () => {
  const usage = { inputTokens: 5, outputTokens: 2, cachedReadTokens: 0, note: "much", odd: Number.NaN };
  expect(usageIn({ stopReason: "end_turn", usage })).toEqual({
    input_tokens: 5,
    output_tokens: 2,
    cached_read_tokens: 0,
  });
  expect([usageIn(undefined), usageIn({ usage: "none" })]).toEqual([{}, {}]);
});

describe("_meta.reins", () => {
  test("reads as empty where it is missing or no object", () => {
    for (const holder of [undefined, null, {}, { _meta: null }, { _meta: [] }, { _meta: { reins: "x" } }])
      expect(reinsMeta(holder).agent).toBeUndefined();
  });

  test("reads a member of another type as absent, and keeps the others", () => {
    const meta = reinsMeta({ _meta: { reins: { agent: 5, turns: "yes", key: "k", later: [1] } } });
    expect([meta.agent, meta.turns, meta.key, meta.later]).toEqual([undefined, undefined, "k", [1]]);
  });

  test("is added to what is there, without changing the holder", () => {
    const holder = { title: "x", _meta: { acme: 1, reins: { approval: "apr_1" } } };
    expect(withReinsMeta(holder, { child_agent: "codex" })).toEqual({
      title: "x",
      _meta: { acme: 1, reins: { approval: "apr_1", child_agent: "codex" } },
    });
    expect(holder._meta.reins).toEqual({ approval: "apr_1" });
    expect(withReinsMeta({}, { ungated: true })).toEqual({ _meta: { reins: { ungated: true } } });
  });

  test("has siblings, and a namesake in the data of an error", () => {
    expect(metaOf({ _meta: { acme: 1 } })).toEqual({ acme: 1 });
    expect(sandboxMeta({ _meta: { "sandboxagent.dev": { agent: "codex" } } })).toEqual({ agent: "codex" });
    expect(sandboxMeta({ _meta: { "sandboxagent.dev": "codex" } })).toEqual({});
    expect(reinsData({ reins: { code: "unauthorized" } }).code).toBe("unauthorized");
  });
});

describe("what the page reads", () => {
  test("commands have the hint of their input, or none", () => {
    const availableCommands = [
      { name: "help", input: { hint: "with what" } },
      { name: "go", input: null },
    ];
    const read = readUpdate("available_commands_update", { availableCommands });
    expect(read.availableCommands.map(({ name, input }) => [name, input.hint])).toEqual([
      ["help", "with what"],
      ["go", undefined],
    ]);
  });

  test("options of a session have values, or groups of values", () => {
    const options = [
      { value: "a", name: "A" },
      { group: "g", name: "G", options: [{ value: "b", name: "B" }, 7] },
      "c",
    ];
    const { configOptions } = readResult("session/load", { configOptions: [{ id: "model", options }] });
    expect(
      configOptions[0]?.options.map(({ value, options: of }) => [value, of.map((one) => one.value)]),
    ).toEqual([
      ["a", []],
      [undefined, ["b", undefined]],
      [undefined, []],
    ]);
  });

  test("a question to the user has its message, and a form or an address", () => {
    const schema = { type: "object", properties: { size: { type: "integer" } } };
    const params = { sessionId: "s", message: "Which?", mode: "form", requestedSchema: schema };
    expect(readParams("elicitation/create", params)).toEqual(params);
    expect(readParams("elicitation/create", { message: 7, url: [] })).toEqual({});
  });
});
