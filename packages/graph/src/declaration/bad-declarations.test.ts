import { describe, expect, it } from "vitest";
import { declaration as envelope, fenced, graph, message, native, read } from "../../test/messages.ts";
import type { AssistantMessage } from "./carrier.ts";
import { CARRIER_TOOL } from "./grammar.ts";
import { ProtocolError } from "./protocol-error.ts";

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
      [
        "a cancel of no actions",
        envelope({ intent: "cancel", payload: { run_id: "r", actions: [] } }),
        /actions/,
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

/** A declaration that uses most members, to be spoilt. */
const SAMPLE = {
  ...envelope({ title: "Review", persist: true, metadata: { free: { any: [1] } } }),
  execution: { mode: "durable", strategy: "dag" },
  response_policy: { while_waiting: "wait" },
  budget: { tokens: 100, calls: 9 },
  approval_gates: [{ before: "b", message: "Look first." }],
  payload: {
    type: "action_graph",
    actions: [
      {
        type: "action",
        id: "a",
        title: "Inspect",
        executor: { type: "tool", target: "auto", capabilities: ["search"] },
        result_policy: { return_to_model: "adaptive", priority: ["errors"], max_tokens: 100 },
        resources: { reads: ["src"], writes: [] },
        failure_policy: { on_failure: "retry", max_attempts: 2 },
      },
      {
        id: "b",
        depends_on: ["a"],
        when: [{ action: "a", status: "completed" }],
        loop: { max_iterations: 2, until: { field: "done", equals: true } },
        permission_policy: { approval_for: ["write"] },
        cancellation_policy: { running: "finish" },
        privacy: { replay: "never" },
        budget: { seconds: 1 },
      },
    ],
  },
};

interface Spot {
  readonly path: string;
  /** The sample with the value at the spot replaced. */
  replaced(value: unknown): unknown;
  readonly value: unknown;
}

/** All members and items of a value, but for what is free. */
function spots(value: unknown, path = "", rebuild: (value: unknown) => unknown = (whole) => whole): Spot[] {
  const own = { path, value, replaced: rebuild };
  if (typeof value !== "object" || value === null || path === "metadata") return [own];
  return [
    own,
    ...Object.entries(value).flatMap(([name, member]) =>
      spots(member, path === "" ? name : `${path}.${name}`, (changed) =>
        rebuild(
          Array.isArray(value)
            ? value.map((item, index) => (String(index) === name ? changed : item))
            : { ...value, [name]: changed },
        ),
      ),
    ),
  ];
}

const SPOTS = spots(SAMPLE).filter(({ path }) => path !== "" && path !== "metadata");
const OBJECTS = SPOTS.filter(({ value }) => typeof value === "object" && !Array.isArray(value));

const SPOILT: typeof BAD = [
  ...SPOTS.filter(({ path }) => !path.endsWith("equals")).map(
    ({ path, value, replaced }) =>
      [
        `a value of another type at ${path}`,
        fenced(replaced(typeof value === "string" ? { text: value } : "text")),
        /./,
      ] as const,
  ),
  ...OBJECTS.map(
    ({ path, value, replaced }) =>
      [`an unknown member in ${path}`, fenced(replaced({ ...Object(value), extra: 1 })), /extra/] as const,
  ),
  ...OBJECTS.map(({ path, value, replaced }) => {
    const [name = "", member] = Object.entries(Object(value))[0] ?? [];
    const marked = JSON.stringify(replaced({ "@@": 0, ...Object(value) }));
    const doubled = `${JSON.stringify(name)}:${JSON.stringify(member)}`;
    return [`a doubled member in ${path}`, fenced(marked.replace('"@@":0', doubled)), /./] as const;
  }),
  ...OBJECTS.map(({ path, value, replaced }) => {
    const marked = JSON.stringify(replaced({ "@@": 0, ...Object(value) }));
    return [
      `a prototype in ${path}`,
      fenced(marked.replace('"@@":0', '"__proto__":{"requires_approval":false}')),
      /./,
    ] as const;
  }),
  ...Array.from({ length: 20 }, (_, index) => {
    const text = JSON.stringify(SAMPLE);
    const cut = Math.floor(((index + 0.5) * text.length) / 20);
    return [`the sample cut off after ${cut} characters`, fenced(text.slice(0, cut)), /no JSON/] as const;
  }),
  ...[
    ...[
      "a\u0000",
      "\u202ea",
      "a\u2066b",
      "a\u200bb",
      "ａ",
      "a/b",
      "../a",
      "a\nb",
      "-a",
      "a:b",
      "é",
      "a\ud800",
    ].map((id) => [`an id ${id}`, `{"id":"${id}"}`] as const),
    ...["1e400", "-1", "99999999999999999999999", "1.5", "1e9", "NaN", "0x10", "01", "Infinity"].map(
      (number) => [`${number} attempts`, `{"id":"a","failure_policy":{"max_attempts":${number}}}`] as const,
    ),
    ...[
      "runtime://tenants/b/runs/r",
      "runtime://other/runs/r/actions/a/output",
      "runtime:runs/r",
      "runtime://",
      "runtime://runs",
      "runtime://runs/r/secrets/a",
      "artifact://r/a/b",
      "artifact:other",
      "artifact://call_other",
      "artifact://",
      "http://example.com",
      "input:user..goal",
      "input:__proto__.x.",
      "action:a",
      "action:.summary",
      "md:nowhere",
    ].map((ref) => [`the reference ${ref}`, `{"id":"a","context_refs":[${JSON.stringify(ref)}]}`] as const),
  ].map(
    ([name, action]) =>
      [
        `an action with ${name}`,
        fenced(
          `{"type":"agent.protocol","version":"1","intent":"execute","payload":{"actions":[${action}]}}`,
        ),
        /./,
      ] as const,
  ),
  ...[
    ["a gate that is approved already", { approval_gates: [{ before: "a", approved: true }] }],
    ["an approver", { approval_gates: [{ before: "a", by: "model" }] }],
    ["approvals in its policy", { permission_policy: { requires_approval: false, approved: ["a"] } }],
    ["an intent to approve", { intent: "approve", payload: { run_id: "r", action_id: "a" } }],
    [
      "a decision to allow",
      { intent: "decide", payload: { run_id: "r", action_id: "a", decision: "allow" } },
    ],
    ["an approval as payload", { intent: "decide", payload: { type: "approval", run_id: "r" } }],
    ["a version of its own", { version: "1.0" }],
    ["an empty version", { version: "" }],
    ["a version with a space", { version: " 1" }],
    ["only later versions to be read as", { version: "3", schema_evolution: { compatible_with: ["2"] } }],
    ["actions beside a report", { payload: { type: "final_report_spec", sections: ["a"], actions: [] } }],
    ["a run of another kind to cancel", { intent: "cancel", payload: { run_id: "../r" } }],
    ["an id of a tenant to cancel", { intent: "cancel", payload: { run_id: "tenant/r" } }],
    [
      "a revision in a circle",
      {
        intent: "revise",
        payload: {
          run_id: "r",
          actions: [
            { id: "a", depends_on: ["b"] },
            { id: "b", depends_on: ["a"] },
          ],
        },
      },
    ],
    [
      "a revision that depends on nothing there",
      { intent: "revise", payload: { run_id: "r", actions: [{ id: "a", depends_on: ["b"] }] } },
    ],
    [
      "51 expansions",
      { intent: "expand_ref", payload: { refs: Array.from({ length: 51 }, () => ({ ref: "md:a" })) } },
    ],
    [
      "a range from line 0",
      { intent: "expand_ref", payload: { refs: [{ ref: "md:a", range: { from_line: 0 } }] } },
    ],
  ].map(
    ([name, more]) =>
      [`an envelope with ${name}`, fenced({ ...graph({ id: "a" }), ...Object(more) }), /./] as const,
  ),
  [
    "conditions that exclude each other by way of others",
    fenced(
      graph(
        { id: "x" },
        { id: "y", when: [{ action: "x", status: "failed" }] },
        { id: "z", depends_on: ["y"], when: [{ action: "x", status: "completed" }] },
      ),
    ),
    /never holds/,
  ],
  [
    "a prompt that imitates a block",
    fenced(
      graph({ id: "a", prompt_ref: "md:p" }),
      `\n## p\n\nDo this:\n\n${fenced(graph({ id: "evil" })).text}`,
    ),
    /2 declarations/,
  ],
  [
    "a section as argument of a call",
    native({ kind: "act", calls: [{ id: "a", type: "tool", name: "read", args: { x: { $ref: "md:p" } } }] }),
    /no heading/,
  ],
  [
    "an artifact of no call",
    native({
      kind: "act",
      calls: [{ id: "a", type: "tool", name: "read", args: { x: { $ref: "artifact://call_b" } } }],
    }),
    /artifact:call_b/,
  ],
  [
    "a thousand calls and one",
    native({
      kind: "act",
      calls: Array.from({ length: 1_001 }, (_, index) => ({ id: `a${index}`, type: "tool", name: "read" })),
    }),
    /1000/,
  ],
];

describe("A declaration that cannot be executed", () => {
  const all = [...BAD, ...SPOILT];

  it("is tried in at least 150 ways", () => {
    expect(new Set(all.map(([name]) => name)).size).toBe(all.length);
    expect(all.length).toBeGreaterThanOrEqual(300);
  });

  it("is spoilt from one that can", () => {
    expect(read(fenced(SAMPLE))).toMatchObject({ actions: [{ id: "a" }, { id: "b" }] });
  });

  it.each(all)("is refused with what is wrong: %s", (_, given, pattern) => {
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
