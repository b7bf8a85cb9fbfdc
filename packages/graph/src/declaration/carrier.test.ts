import { describe, expect, it } from "vitest";
import {
  CONTEXT,
  declaration as envelope,
  fenced,
  graph,
  message,
  native,
  read,
} from "../../test/messages.ts";
import { readCarried } from "./carrier.ts";
import { CARRIER_TOOL } from "./grammar.ts";
import { ProtocolError } from "./protocol-error.ts";

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

  it("is stored with its sections, without what the message says around it, and declares the same again", () => {
    const declared = envelope({ payload: { actions: [{ id: "a", prompt_ref: "md:p" }] } });
    const sections = "\n## p\n\nDo it.\n\n### Then\n\n```\nThis.\n```\n\n## user.visible\n\nI do.";
    const { text } = fenced(declared, sections);
    const carried = readCarried(message(`# My plan\n\nI thought of this.\n\n${text}`), CONTEXT);
    if (carried.kind !== "declaration") throw new Error("it declares nothing");
    expect(carried.raw).toBe(text.trim().replace("Before.\n\n", ""));
    const again = readCarried(message(carried.raw), CONTEXT);
    expect(again).toMatchObject({ declaration: carried.declaration, raw: carried.raw });
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
