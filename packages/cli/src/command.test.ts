import { Command } from "commander";
import { afterEach, describe, expect, it, vi } from "vitest";
import { readInputs } from "../test/read-inputs.ts";
import { type CommandResult, command, group, HOME, helpText, newInvocation } from "./command.ts";
import { EXIT } from "./errors.ts";
import { wholeNumber } from "./flags.ts";

afterEach(() => vi.restoreAllMocks());

describe("the inputs of a command", () => {
  const inputs = {
    id: ["<id>", ""],
    rest: ["[word...]", "", { words: (words: readonly string[]) => words.join("+") }],
    name: ["--name <name>", ""],
    all: ["-a, --all", ""],
    open: ["--no-open", ""],
    size: ["--size <size>", "", { default: ["3"], read: wholeNumber(1) }],
    role: ["--role <role>", "", { many: "repeated" }],
    scope: ["--scope <scope>", "", { many: "commas" }],
    at: ["--at <time>", "", { absent: () => "now" }],
  } as const;

  it("have their defaults", async () => {
    const values = await readInputs(inputs, "x");
    expect(values).toEqual({ id: "x", rest: "", open: true, size: 3, at: "now" });
  });

  it("are read by name, whatever the flag is called", async () => {
    const flags = ["--name", "n", "-a", "--no-open", "--size", "4", "--at", "then"];
    const lists = ["--role", "a", "--role", "b,c", "--scope", "d, e", "--scope", "f"];
    expect(await readInputs(inputs, "x", "y", "z", ...flags, ...lists)).toEqual({
      ...{ id: "x", rest: "y+z", name: "n", all: true, open: false, size: 4, at: "then" },
      ...{ role: ["a", "b,c"], scope: ["d", "e", "f"] },
    });
  });

  it("are rejected under the name of their flag", async () => {
    await expect(readInputs(inputs, "x", "--size", "0")).rejects.toThrow('--size is "0".');
  });

  it("have the home of the environment unless the flag names another", async () => {
    vi.stubEnv("REINS_HOME", "/from/env");
    expect(await readInputs({ home: HOME })).toEqual({ home: "/from/env" });
    expect(await readInputs({ home: HOME }, "--home", "/flag")).toEqual({ home: "/flag" });
    vi.unstubAllEnvs();
  });
});

describe("the result of a command", () => {
  const result: CommandResult = {
    json: { a: 1 },
    text: () => "text\n",
    notices: ["careful"],
    exitCode: EXIT.failed,
  };

  async function run(json: boolean, given: CommandResult | undefined) {
    const printed = { stdout: "", stderr: "" };
    for (const name of ["stdout", "stderr"] as const)
      vi.spyOn(process[name], "write").mockImplementation((text) => {
        printed[name] += String(text);
        return true;
      });
    const invocation = { ...newInvocation(), json };
    const declared = new Command("test");
    group("all", { one: command({ description: "", codes: {}, run: async () => given }) })(
      declared,
      invocation,
    );
    await declared.parseAsync(["one"], { from: "user" });
    return { ...printed, exitCode: invocation.exitCode };
  }

  it("is text, then notices", async () => {
    expect(await run(false, result)).toEqual({ stdout: "text\n", stderr: "reins: careful\n", exitCode: 1 });
  });

  it("is one JSON document for programs", async () => {
    expect(await run(true, result)).toEqual({ stdout: '{"a":1}\n', stderr: "", exitCode: 1 });
  });

  it("is nothing where the command printed itself", async () => {
    expect(await run(true, { exitCode: EXIT.failed })).toEqual({ stdout: "", stderr: "", exitCode: 1 });
    expect(await run(true, undefined)).toEqual({ stdout: "", stderr: "", exitCode: 0 });
  });
});

it("the help ends with paragraphs, examples and exit codes, in the order of the codes", () => {
  const codes = { blocked: "no", done: "yes" };
  expect(helpText({ note: "A note.", examples: ["reins a"] }, codes)).toBe(
    "\nA note.\n\nExamples:\n  reins a\n\nExit codes:\n   0  yes\n  10  no",
  );
  expect(helpText({}, { done: "yes" })).toBe("\nExit codes:\n   0  yes");
});
