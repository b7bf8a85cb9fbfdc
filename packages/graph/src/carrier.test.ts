import { describe, expect, it } from "vitest";
import { type AssistantMessage, type CarrierContext, readCarried } from "./carrier.ts";
import { CARRIER_TOOL } from "./grammar.ts";
import { graphOfCalls, graphOfDeclaration } from "./graph.ts";
import { ProtocolError } from "./protocol-error.ts";

const CONTEXT: CarrierContext = { isEnabled: true, knowsTool: (name) => name === "read" || name === "glob" };

function message(text: string, ...calls: readonly (readonly [string, unknown])[]): AssistantMessage {
  return {
    text,
    calls: calls.map(([name, args]) => ({
      name,
      arguments: typeof args === "string" ? args : JSON.stringify(args),
    })),
    isComplete: true,
  };
}

const native = (output: unknown, text = "") => message(text, [CARRIER_TOOL, output]);
const fenced = (declaration: unknown, after = "") =>
  message(
    `Before.\n\n\`\`\`json agent-protocol\n${typeof declaration === "string" ? declaration : JSON.stringify(declaration)}\n\`\`\`\n${after}`,
  );
const envelope = (more: object) => ({ type: "agent.protocol", version: "1", intent: "execute", ...more });
const graph = (...actions: readonly object[]) => envelope({ payload: { type: "action_graph", actions } });

/** Reads a message as far as to a graph, where it declares one. */
function read(given: AssistantMessage, context = CONTEXT) {
  const carried = readCarried(given, context);
  if (carried.kind === "calls") return graphOfCalls(carried.output);
  if (carried.kind !== "declaration") return carried;
  const { declaration, sections } = carried;
  const { intent } = declaration;
  return intent === "execute" || intent === "plan" || intent === "revise"
    ? graphOfDeclaration(declaration, sections)
    : declaration;
}

describe("The native carrier", () => {
  it("carries one call, as the seed has it", () => {
    const read_package = {
      ...{
        id: "read_package",
        type: "tool",
        name: "read",
        args: { filePath: "package.json" },
        result: "summary",
      },
    };
    expect(
      read(
        native({ kind: "act", message: "I will inspect the package files first.", calls: [read_package] }),
      ),
    ).toMatchObject({
      title: "I will inspect the package files first.",
      actions: [
        {
          id: "read_package",
          executor: { type: "tool", target: "read" },
          input: { filePath: "package.json" },
        },
      ],
    });
  });

  it.each(["find_manifests", ["find_manifests"]])("takes a dependency as a text or a list: %j", (depends) => {
    const calls = [
      { id: "find_manifests", type: "tool", name: "glob", args: { pattern: "*.json" } },
      { id: "read_package", type: "tool", name: "read", args: {}, depends, result: "summary" },
    ];
    expect(read(native({ kind: "act", calls }))).toMatchObject({
      actions: [{ dependsOn: [], result: { return_to_model: "summary" } }, { dependsOn: ["find_manifests"] }],
    });
  });

  it("answers and ends", () => {
    expect(readCarried(native({ kind: "answer", message: "It is an extension." }), CONTEXT)).toEqual({
      kind: "answer",
      message: "It is an extension.",
      violations: [],
    });
    expect(readCarried(native({ kind: "done" }), CONTEXT)).toMatchObject({ kind: "done", message: "" });
  });

  it("counts against a block and a direct request beside it, which are violations", () => {
    const given = message(fenced(graph()).text, [CARRIER_TOOL, { kind: "done" }], ["read", {}]);
    expect(readCarried(given, CONTEXT)).toMatchObject({
      kind: "done",
      violations: [{ kind: "block_beside_call" }, { kind: "direct_request_beside_declaration" }],
    });
  });
});

describe("A fenced block", () => {
  it("declares a graph with prompts from the sections of its message, as the seed has it", () => {
    const declared = envelope({
      persist: false,
      title: "Toolbar Button Review",
      payload: {
        type: "action_graph",
        actions: [
          {
            ...{
              type: "action",
              id: "inspect_code",
              operation: "inspect_sources",
              prompt_ref: "md:inspect_code.prompt",
            },
            executor: { type: "tool", target: "auto", capabilities: ["filesystem", "search"] },
            result_policy: { return_to_model: "summary", store_full: true },
          },
          {
            ...{
              type: "action",
              id: "review_toolbar",
              depends_on: ["inspect_code"],
              prompt_ref: "md:review_toolbar.prompt",
            },
            context_refs: ["action:inspect_code.summary"],
            result_policy: { return_to_model: "structured", store_full: true },
          },
        ],
      },
    });
    const after =
      "\n## inspect_code.prompt\n\nLocate it.\n\n## review_toolbar.prompt\n\nReview it.\n\n## user.visible\n\nI look.";
    expect(read(fenced(declared, after))).toMatchObject({
      title: "Toolbar Button Review",
      note: "I look.",
      isDurable: false,
      actions: [{ id: "inspect_code", prompt: { kind: "section" } }, { dependsOn: ["inspect_code"] }],
      sections: [
        { id: "inspect_code.prompt", text: "Locate it.", hash: expect.stringMatching(/^[0-9a-f]{64}$/) },
        { id: "review_toolbar.prompt", text: "Review it.", hash: expect.any(String) },
      ],
    });
  });

  it("may hold no actions, no payload type and an empty payload", () => {
    for (const payload of [{ type: "action_graph", actions: [] }, { actions: [] }, {}])
      expect(read(fenced(envelope({ persist: true, payload })))).toMatchObject({
        actions: [],
        isDurable: true,
      });
  });

  it("asks to expand a reference without naming the payload, as the seed has it", () => {
    const refs = [
      {
        ref: "runtime://run_123/actions/review_toolbar/output",
        reason: "Need exact evidence.",
        range: { around_matches: true, context_lines: 20 },
      },
    ];
    expect(read(fenced(envelope({ intent: "expand_ref", payload: { refs } })))).toMatchObject({
      intent: "expand_ref",
      payload: { type: "expand_ref", refs },
    });
  });

  it.each([
    ["a quote", "> ```json agent-protocol\n> {}\n> ```"],
    ["a list item", "- item\n\n  ```json agent-protocol\n  {}\n  ```"],
    ["a numbered item", "1. ```json agent-protocol\n   {}\n   ```"],
    ["another fence", "````md\n```json agent-protocol\n{}\n```\n````"],
    ["a fence of tildes", "~~~\n```json agent-protocol\n{}\n```\n~~~"],
    ["a comment", "<!--\n```json agent-protocol\n{}\n```\n-->"],
    ["code by indentation", "    ```json agent-protocol\n    {}\n    ```"],
    ["another info string", "```json agent-protocols\n{}\n```"],
    ["an info string in capitals", "```JSON agent-protocol\n{}\n```"],
    ["plain JSON", '```json\n{"type":"agent.protocol"}\n```'],
  ])("is text in %s", (_, text) => {
    expect(readCarried(message(text), CONTEXT)).toEqual({ kind: "text", text });
  });

  it("is text from an agent that is not configured for the protocol", () => {
    const given = { ...native({ kind: "done" }), text: fenced(graph()).text };
    expect(readCarried(given, { ...CONTEXT, isEnabled: false })).toEqual({ kind: "text", text: given.text });
  });
});

describe("A direct request", () => {
  it.each([
    ["by a native call", message("", ["read", { filePath: "a" }])],
    [
      "in the transcript's own form",
      message('```shell\ntool read <<\'JSON\'\n{ "filePath": "a" }\nJSON\n```'),
    ],
  ])("%s of a known tool is recovered and counted", (_, given) => {
    expect(readCarried(given, CONTEXT)).toMatchObject({
      kind: "calls",
      carrier: "recovered",
      output: { calls: [{ type: "tool", name: "read", args: { filePath: "a" } }] },
      violations: [{ kind: "direct_request" }],
    });
  });

  it.each([
    ["of an unknown tool", message("", ["rm", {}])],
    ["of two tools", message("", ["read", {}], ["glob", {}])],
    [
      "twice in the text",
      message("```shell\ntool read <<'JSON'\n{}\nJSON\n```\n\n```shell\ntool read <<'JSON'\n{}\nJSON\n```"),
    ],
    ["with arguments that are no object", message("", ["read", "[]"])],
    ["with arguments that are no JSON", message("", ["read", "{"])],
    ["in a message that was cut off", { ...message("", ["read", {}]), isComplete: false }],
  ])("%s fails closed, and says how to declare it", (_, given) => {
    expect(() => readCarried(given, CONTEXT)).toThrow(ProtocolError);
  });
});

const action = (more: object = {}) => ({ id: "a", ...more });
const deep = (levels: number): unknown => (levels === 0 ? 1 : { a: deep(levels - 1) });

/** What is wrong with each is in its name; the pattern is in the error. */
const BAD: readonly (readonly [string, AssistantMessage, RegExp])[] = [
  ...(
    [
      ["no object", "[]"],
      ["a text", '"act"'],
      ["no kind", {}],
      ["an unknown kind", { kind: "run", calls: [] }],
      ["no calls", { kind: "act" }],
      ["an empty list of calls", { kind: "act", calls: [] }],
      ["calls beside an answer", { kind: "answer", message: "m", calls: [] }],
      ["an answer without a message", { kind: "answer" }],
      ["an unknown member", { kind: "done", extra: 1 }],
      ["a call without an id", { kind: "act", calls: [{ type: "tool", name: "read" }] }],
      ["a call without a name", { kind: "act", calls: [{ id: "a", type: "tool" }] }],
      ["a call of an unknown type", { kind: "act", calls: [{ id: "a", type: "runtime", name: "x" }] }],
      [
        "a call with an unknown member",
        { kind: "act", calls: [{ id: "a", type: "tool", name: "read", path: "x" }] },
      ],
      [
        "arguments that are a list",
        { kind: "act", calls: [{ id: "a", type: "tool", name: "read", args: [] }] },
      ],
      [
        "a result policy of the full form",
        { kind: "act", calls: [{ id: "a", type: "tool", name: "read", result: "none" }] },
      ],
      ["an id with a space", { kind: "act", calls: [{ id: "a b", type: "tool", name: "read" }] }],
      ["an id that begins with a dot", { kind: "act", calls: [{ id: ".a", type: "tool", name: "read" }] }],
      ["an empty id", { kind: "act", calls: [{ id: "", type: "tool", name: "read" }] }],
      ["an id of 129 letters", { kind: "act", calls: [{ id: "a".repeat(129), type: "tool", name: "read" }] }],
      [
        "two calls with one id",
        { kind: "act", calls: [1, 2].map(() => ({ id: "a", type: "tool", name: "read" })) },
      ],
      [
        "a call that depends on itself",
        { kind: "act", calls: [{ id: "a", type: "tool", name: "read", depends: "a" }] },
      ],
      [
        "a call that depends on none",
        { kind: "act", calls: [{ id: "a", type: "tool", name: "read", depends: "b" }] },
      ],
      [
        "a reference to no action",
        {
          kind: "act",
          calls: [{ id: "a", type: "tool", name: "read", args: { x: { $ref: "action:b.output" } } }],
        },
      ],
      [
        "a reference with members beside it",
        {
          kind: "act",
          calls: [{ id: "a", type: "tool", name: "read", args: { x: { $ref: "md:a", y: 1 } } }],
        },
      ],
      [
        "a reference that is no text",
        { kind: "act", calls: [{ id: "a", type: "tool", name: "read", args: { x: { $ref: 1 } } }] },
      ],
      ["a doubled member", '{"kind":"done","kind":"act"}'],
      ["JSON that is cut off", '{"kind":"act","calls":['],
      [
        "JSON that is nested too deep",
        JSON.stringify({ kind: "act", calls: [{ id: "a", type: "tool", name: "read", args: deep(600) }] }),
      ],
      ["JSON with a comment", '{"kind":"done"} // ok'],
      ["JSON with a trailing comma", '{"kind":"done",}'],
      ["two values", '{"kind":"done"}{"kind":"done"}'],
    ] as const
  ).map(([name, output]) => [`the carrier with ${name}`, native(output), /./] as const),
  [
    "two native calls",
    message("", [CARRIER_TOOL, { kind: "done" }], [CARRIER_TOOL, { kind: "done" }]),
    /2 calls/,
  ],
  [
    "a native call in a message that was cut off",
    { ...native({ kind: "done" }), isComplete: false },
    /cut off/,
  ],
  ["two blocks", message(`${fenced(graph()).text}\n${fenced(graph()).text}`), /2 declarations/],
  ["an open block", message("```json agent-protocol\n{}"), /not closed/],
  ...(
    [
      ["no type", { version: "1", intent: "execute", payload: {} }, /^type: /],
      ["another type", { ...graph(), type: "agent.protocol.result" }, /^type: /],
      ["the carrier's form", { kind: "done" }, /^type: /],
      ["no version", { type: "agent.protocol", intent: "execute", payload: {} }, /version/],
      ["a number as version", { ...graph(), version: 1 }, /version/],
      ["a later version", { ...graph(), version: "2" }, /reads version 1/],
      ["no intent", { type: "agent.protocol", version: "1", payload: {} }, /intent.*execute, plan/],
      ["an unknown intent", { ...graph(), intent: "run" }, /intent/],
      ["no payload", { type: "agent.protocol", version: "1", intent: "execute" }, /payload/],
      ["a list as payload", envelope({ payload: [] }), /payload/],
      ["an unknown payload type", envelope({ payload: { type: "script" } }), /payload.type.*action_graph/],
      ["the payload type of another intent", envelope({ payload: { type: "decision" } }), /payload.type/],
      ["an unknown member", { ...graph(), priority: 1 }, /priority/],
      ["an unknown member of the payload", envelope({ payload: { actions: [], nodes: [] } }), /nodes/],
      ["actions that are no list", envelope({ payload: { actions: {} } }), /payload.actions/],
      [
        "a durable run that is not persisted",
        { ...graph(), persist: false, execution: { mode: "durable" } },
        /persist/,
      ],
      ["an unknown strategy", { ...graph(), execution: { mode: "durable", strategy: "loop" } }, /strategy/],
      ["an unknown mode", { ...graph(), execution: { mode: "forever" } }, /mode/],
      ["a gate before no action", { ...graph(action()), approval_gates: [{ before: "b" }] }, /no action "b"/],
      [
        "a budget below what runs in any case",
        { ...graph(action(), { id: "b" }), budget: { calls: 1 } },
        /2 actions run/,
      ],
      ["a negative budget", { ...graph(), budget: { tokens: -1 } }, /tokens/],
      ["an unknown budget", { ...graph(), budget: { dollars: 1 } }, /dollars/],
      [
        "10,000 actions",
        envelope({
          payload: { actions: Array.from({ length: 10_000 }, (_, index) => ({ id: `a${index}` })) },
        }),
        /1000/,
      ],
      ["a cancel without a run", envelope({ intent: "cancel", payload: {} }), /run_id/],
      [
        "a decision without an action",
        envelope({ intent: "decide", payload: { run_id: "r", decision: "retry" } }),
        /action_id/,
      ],
      [
        "a decision to approve",
        envelope({ intent: "decide", payload: { run_id: "r", action_id: "a", decision: "approve" } }),
        /decision/,
      ],
      ["an expansion of nothing", envelope({ intent: "expand_ref", payload: { refs: [] } }), /refs/],
      [
        "an expansion with an unknown range",
        envelope({ intent: "expand_ref", payload: { refs: [{ ref: "md:a", range: { all: true } }] } }),
        /all/,
      ],
      [
        "a report without sections",
        envelope({ payload: { type: "final_report_spec", sections: [] } }),
        /sections/,
      ],
      ["a revision without a run", envelope({ intent: "revise", payload: { actions: [] } }), /run_id/],
      ["a doubled heading that is referenced", graph(action({ prompt_ref: "md:p" })), /2 headings/],
    ] as const
  ).map(
    ([name, declared, pattern]) =>
      [
        `a declaration with ${name}`,
        fenced(declared, name.includes("heading") ? "\n## p\n\none\n\n## p\n\ntwo" : ""),
        pattern,
      ] as const,
  ),
  ...(
    [
      ["without an id", { title: "x" }, /id/],
      ["with an id that is a number", { id: 1 }, /id/],
      ["with another type", action({ type: "task" }), /type/],
      ["with an unknown member", action({ script: "rm -rf /" }), /script/],
      ["with an expression as condition", action({ when: "a > b" }), /when/],
      [
        "with a condition on itself",
        action({ when: [{ action: "a", status: "completed" }] }),
        /waits for itself/,
      ],
      [
        "with a condition on no action",
        action({ when: [{ action: "z", status: "completed" }] }),
        /no action "z"/,
      ],
      [
        "with a condition on a status that is no end",
        action({ when: [{ action: "b", status: "running" }] }),
        /status/,
      ],
      [
        "with conditions that exclude each other",
        action({
          when: [
            { action: "b", status: "completed" },
            { action: "b", status: "failed" },
          ],
        }),
        /never holds/,
      ],
      ["with an executor of type auto", action({ executor: { type: "auto" } }), /executor/],
      ["with an unknown executor type", action({ executor: { type: "script" } }), /executor/],
      [
        "with an unknown member of its executor",
        action({ executor: { type: "tool", command: "x" } }),
        /command/,
      ],
      ["with a loop without a bound", action({ loop: {} }), /max_iterations/],
      ["with an endless loop", action({ loop: { max_iterations: 1_000_000 } }), /max_iterations/],
      ["with a loop of zero iterations", action({ loop: { max_iterations: 0 } }), /max_iterations/],
      ["with a loop until an expression", action({ loop: { max_iterations: 2, until: "x == 1" } }), /until/],
      [
        "with a loop until a path that is none",
        action({ loop: { max_iterations: 2, until: { field: "a[0]", equals: 1 } } }),
        /until/,
      ],
      ["with an unknown failure policy", action({ failure_policy: "ignore" }), /failure_policy/],
      [
        "with endless attempts",
        action({ failure_policy: { on_failure: "retry", max_attempts: 1e9 } }),
        /failure_policy/,
      ],
      [
        "with an unknown result policy",
        action({ result_policy: { return_to_model: "everything" } }),
        /return_to_model/,
      ],
      [
        "with an unknown member of its result policy",
        action({ result_policy: { return_to_model: "full", raw: true } }),
        /raw/,
      ],
      ["with no tokens", action({ result_policy: { max_tokens: 0 } }), /max_tokens/],
      ["that depends on itself", action({ depends_on: ["a"] }), /waits for itself/],
      ["that depends on no action", action({ depends_on: ["z"] }), /no action "z"/],
      ["that depends on a text", action({ depends_on: "b" }), /depends_on/],
      ["with a prompt that is no reference", action({ prompt_ref: "do it" }), /no reference/],
      ["with a prompt from an action", action({ prompt_ref: "action:b.output" }), /md: or input:/],
      ["with a prompt that is no section", action({ prompt_ref: "md:none" }), /no heading/],
      ["with a prompt of another case", action({ prompt_ref: "md:P" }), /no heading/],
      ["with context from itself", action({ context_refs: ["action:a.summary"] }), /waits for itself/],
      ["with context from no action", action({ context_refs: ["action:z.summary"] }), /no action "z"/],
      ["with an unknown part of a result", action({ context_refs: ["action:b.raw"] }), /no reference/],
      ["with an unknown scheme", action({ context_refs: ["file:/etc/passwd"] }), /no reference/],
      [
        "with a path in a runtime reference",
        action({ context_refs: ["runtime://../other"] }),
        /no reference/,
      ],
      [
        "with a query in a runtime reference",
        action({ context_refs: ["runtime://runs/r?x=1"] }),
        /no reference/,
      ],
      [
        "with too long a runtime reference",
        action({ context_refs: ["runtime://runs/r/actions/a/output/more"] }),
        /no reference/,
      ],
      ["with a path as artifact", action({ context_refs: ["artifact:../x"] }), /no reference/],
      ["with an empty section", action({ context_refs: ["md:"] }), /no reference/],
      ["with an empty reference", action({ context_refs: [""] }), /context_refs/],
      [
        "with a reference in its input to no action",
        action({ input: { x: [{ $ref: "action:z.output" }] } }),
        /no action "z"/,
      ],
      ["with an input that is a list", action({ input: [] }), /input/],
      ["with an unknown side effect", action({ side_effects: ["hack"] }), /side_effects/],
      ["with an unknown visibility", action({ data_visibility: ["world"] }), /data_visibility/],
      ["that approves itself", action({ approved: true }), /approved/],
      ["that names its approver", action({ requires_approval: "me" }), /requires_approval/],
      ["with a permission of its own", action({ permission_policy: { granted: true } }), /granted/],
      ["with an unknown idempotency", action({ idempotency: "maybe" }), /idempotency/],
      ["with a title of a megabyte", action({ title: "x".repeat(1 << 20) }), /title/],
    ] as const
  ).map(
    ([name, declared, pattern]) =>
      [`an action ${name}`, fenced(graph(declared, { id: "b" }), "\n## p\n\ntext"), pattern] as const,
  ),
  [
    "two actions in a circle",
    fenced(graph(action({ depends_on: ["b"] }), { id: "b", depends_on: ["a"] })),
    /circle: a, b/,
  ],
  [
    "a circle through a condition",
    fenced(graph(action({ when: [{ action: "b", status: "failed" }] }), { id: "b", depends_on: ["a"] })),
    /circle/,
  ],
  [
    "a circle through a reference",
    fenced(graph(action({ context_refs: ["action:b.summary"] }), { id: "b", depends_on: ["a"] })),
    /circle/,
  ],
  [
    "a long circle",
    fenced(
      graph(
        ...Array.from({ length: 300 }, (_, index) => ({
          id: `a${index}`,
          depends_on: [`a${(index + 1) % 300}`],
        })),
      ),
    ),
    /circle/,
  ],
  ...[1, 8, 50, 90].map(
    (cut) =>
      [
        `a block that was cut off after ${cut} characters`,
        fenced(JSON.stringify(graph(action())).slice(0, cut)),
        /no JSON/,
      ] as const,
  ),
  ...[
    "\u0000",
    "NaN",
    "undefined",
    "{'type':'agent.protocol'}",
    '{"a":1,"a":2}',
    "[1,2",
    "\ufeff{}",
    '{"type":"agent.protocol"',
  ].map((text) => [`a block with ${JSON.stringify(text)}`, fenced(text), /./] as const),
  ...["__proto__", "constructor", "toString"].map(
    (name) =>
      [
        `an envelope with the member ${name}`,
        fenced(`{"type":"agent.protocol","version":"1","intent":"execute","payload":{},"${name}":{"x":1}}`),
        new RegExp(name),
      ] as const,
  ),
  ...["__proto__", "constructor", "hasOwnProperty"].map(
    (type) =>
      [`a payload of the type ${type}`, fenced(envelope({ payload: { type } })), /payload.type/] as const,
  ),
];

describe("What cannot be executed", () => {
  it("is tried in at least 150 ways", () => {
    expect(new Set(BAD.map(([name]) => name)).size).toBe(BAD.length);
    expect(BAD.length).toBeGreaterThanOrEqual(130);
  });

  it.each(BAD)("is refused with what is wrong: %s", (_, given, pattern) => {
    const thrown = (() => {
      try {
        return read(given);
      } catch (error) {
        return error;
      }
    })();
    expect(thrown).toBeInstanceOf(ProtocolError);
    expect(String(Object(thrown).message)).toMatch(pattern);
  });
});
