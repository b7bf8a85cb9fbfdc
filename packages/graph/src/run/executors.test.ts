import { describe, expect, it } from "vitest";
import { graphOf } from "../../test/graphs.ts";
import { chooseExecutor, type Executor, misfit, registryView, writesOf } from "./executors.ts";

const EXECUTORS: readonly Executor[] = [
  {
    name: "read_file",
    type: "tool",
    description: "Reads.",
    capabilities: ["filesystem.read"],
    isReadOnly: true,
  },
  { name: "run_command", type: "tool", description: "Runs.", capabilities: ["shell", "testing"], cost: 2 },
  { name: "test_runner", type: "tool", description: "Tests.", capabilities: ["testing"], cost: 1 },
  {
    name: "offline",
    type: "agent",
    description: "Away.",
    capabilities: ["code_review", "testing"],
    isAvailable: false,
  },
  { name: "talker", type: "agent", description: "Talks.", capabilities: ["code_review"], canExecute: false },
  { name: "reviewer", type: "agent", description: "Reviews.", capabilities: ["code_review", "testing"] },
];

const choose = (executor: object, mayUse?: (one: Executor) => boolean) => {
  const [action] = graphOf([{ id: "a", executor }]).actions;
  return chooseExecutor(action!, EXECUTORS, mayUse).name;
};

describe("The executor of an action", () => {
  it.each([
    [{ target: "run_command" }, "run_command"],
    [{ type: "tool", capabilities: ["testing"] }, "test_runner"],
    [{ type: "tool", target: "auto", capabilities: ["filesystem"] }, "read_file"],
    [{ type: "agent", capabilities: ["code_review"] }, "reviewer"],
    [{ capabilities: ["code_review", "testing", "frontend"] }, "reviewer"],
    [{ type: "tool", capabilities: ["testing", "shell"] }, "run_command"],
  ])("for %j is %s: by name, else by type, capabilities, availability and cost", (executor, name) => {
    expect(choose(executor)).toBe(name);
  });

  it.each([
    { target: "nothing" },
    { type: "service" },
    { type: "tool", capabilities: ["code_review"] },
    { type: "agent", target: "offline" },
    { type: "agent", target: "talker" },
    { type: "agent", target: "run_command" },
  ])("for %j is none, and the error lists the registry", (executor) => {
    expect(() => choose(executor)).toThrow(/no executor fits a.*read_file \(tool: filesystem.read\)/);
  });

  it("is another one where the policy refuses the best, and none where it refuses all", () => {
    expect(choose({ type: "tool", capabilities: ["testing"] }, ({ name }) => name !== "test_runner")).toBe(
      "run_command",
    );
    expect(() => choose({ type: "tool" }, () => false)).toThrow("the policy allows none of those that fit a");
  });

  it("is shown to models with name, type, description and capabilities, and nothing else", () => {
    const { executors } = registryView(EXECUTORS);
    expect(executors[4]).toEqual({
      name: "talker",
      type: "agent",
      description: "Talks.",
      capabilities: ["code_review"],
      can_execute: false,
    });
    expect(Object.keys(executors[0] ?? {})).toEqual(["name", "type", "description", "capabilities"]);
  });
});

describe("An input", () => {
  const schema = {
    type: "object",
    properties: {
      path: { type: "string" },
      lines: { type: ["integer", "null"] },
      how: { enum: ["a", "b"] },
      all: { type: "array", items: { type: "object", required: ["x"] } },
    },
    required: ["path"],
    additionalProperties: false,
  };

  it.each([
    [{ path: "a", lines: 3, how: "b", all: [{ x: 1 }] }, undefined],
    [{ path: { $ref: "action:a.output" }, lines: null, all: [{ $ref: "action:b.output" }] }, undefined],
    [{ path: "a", lines: JSON.rawJSON("12345678901234567890") }, undefined],
    [{}, "the input has no path"],
    [{ path: 1 }, "the input.path has to be of type string"],
    [{ path: "a", lines: 1.5 }, "the input.lines has to be of type integer or null"],
    [{ path: "a", how: "c" }, 'the input.how has to be one of "a", "b"'],
    [{ path: "a", all: [{ x: 1 }, {}] }, "the input.all[1] has no x"],
    [{ path: "a", line: 1 }, "the input takes no line, but path, lines, how, all"],
    [{ path: "a", constructor: 1 }, "the input takes no constructor, but path, lines, how, all"],
    ["a", "the input has to be of type object"],
  ])("fits a schema or is refused with the reason: %j", (value, reason) => {
    expect(misfit(schema, value)).toBe(reason);
  });

  it("is shown to models by its schema, a long one by its members", () => {
    const shown = (input: Readonly<Record<string, unknown>>) =>
      registryView([{ ...EXECUTORS[0]!, input }]).executors[0];
    expect(shown({ $schema: "s", ...schema })).toMatchObject({ input: schema });
    const long = { ...schema, description: "x".repeat(5_000) };
    expect(shown(long)).toMatchObject({
      input: { type: "object", properties: { path: { type: "string" }, lines: {} }, required: ["path"] },
    });
  });
});

describe("What an action writes", () => {
  const known = (name: string, more: Partial<Executor> = {}) => ({
    ...EXECUTORS.find((one) => one.name === name)!,
    ...more,
  });
  const bound = { bindsWrites: true };

  it.each([
    [{ resources: { writes: ["./src/"] } }, known("run_command", bound), ["src"]],
    [{ resources: { writes: [] } }, known("run_command", bound), []],
    [{ resources: { writes: ["src"] } }, known("run_command"), ["*"]],
    [{ resources: { writes: [] } }, known("run_command"), ["*"]],
    [{ resources: { writes: ["src"] } }, known("read_file"), []],
    [{}, known("run_command", bound), ["*"]],
    [{}, known("reviewer", bound), ["*"]],
    [{}, known("read_file"), []],
    [{ side_effects: ["read"] }, known("run_command", bound), ["*"]],
    [{ side_effects: ["none"] }, known("run_command"), ["*"]],
  ])(
    "is what its executor is kept to, else the whole workspace unless it only reads: %j",
    (more, executor, writes) => {
      const [action] = graphOf([{ id: "a", ...more }]).actions;
      expect(writesOf(action!, executor, "/ws")).toEqual(writes);
    },
  );
});
