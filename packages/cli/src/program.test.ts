import { type Command, CommanderError } from "commander";
import { describe, expect, it } from "vitest";
import { newInvocation } from "./command.ts";
import { makeProgram, withCommand } from "./program.ts";

/** What a command line prints before anything of it runs, and how commander ends it. */
async function outcomeOf(...args: string[]) {
  const printed: string[] = [];
  const program = await makeProgram(newInvocation());
  for (const command of [program, ...descendants(program)]) {
    command.configureOutput({
      writeOut: (text) => void printed.push(text),
      writeErr: (text) => void printed.push(text),
    });
  }
  const error: unknown = await program.parseAsync(args, { from: "user" }).catch((thrown: unknown) => thrown);
  if (!(error instanceof CommanderError)) throw new Error("the command ran", { cause: error });
  return { output: printed.join(""), exitCode: error.exitCode };
}

function descendants(command: Command): Command[] {
  return command.commands.flatMap((each) => [each, ...descendants(each)]);
}

describe("help", () => {
  const ledger = [
    "show",
    "log",
    "get",
    "verify",
    "prove",
    "checkpoint",
    "export",
    "import",
    "keys",
    "keys rotate",
  ];

  const policy = ["check", "test", "explain", "diff", "backtest", "coverage", "accept"].map(
    (name) => `policy ${name}`,
  );
  const agents = ["list", "install", "verify", "probe", "remove"].map((name) => `agents ${name}`);
  const operator = [
    ...["list", "show", "approve", "deny", "watch", "grants", "revoke"].map((name) => `approvals ${name}`),
    ...["list", "add", "set-state"].map((name) => `roster ${name}`),
    ...["create", "list", "revoke"].map((name) => `token ${name}`),
    ...["list", "add", "set", "remove"].map((name) => `user ${name}`),
  ];

  it.each([
    "",
    "up",
    "chat",
    "run",
    "acp",
    ...agents,
    "ahp serve",
    "ahp conformance",
    "ahp send",
    ...ledger.map((name) => `ledger ${name}`),
    ...policy,
    ...operator,
  ])("of reins %s has examples and exit codes", async (name) => {
    const { output, exitCode } = await outcomeOf(...name.split(" ").filter(Boolean), "--help");
    expect(output).toContain("Usage: reins");
    expect(output).toContain("Examples:\n  reins ");
    expect(output).toMatch(/Exit codes:\n {3}0 {2}/);
    expect(output).toContain("--verbose");
    expect(exitCode).toBe(0);
  });

  it("of reins ahp lists its subcommands", async () => {
    const { output } = await outcomeOf("ahp", "--help");
    for (const name of ["serve", "conformance", "send"]) expect(output).toContain(`  ${name} `);
  });

  it("of reins ledger lists its subcommands", async () => {
    const { output } = await outcomeOf("ledger", "--help");
    for (const name of ledger.slice(0, -1)) expect(output).toContain(`  ${name} `);
  });

  it.each([...operator, ...agents, "policy accept"])(
    "of reins %s stays within 80 columns, and offers JSON",
    async (name) => {
      const { output } = await outcomeOf(...name.split(" "), "--help");
      for (const line of output.split("\n")) expect(line.length).toBeLessThanOrEqual(80);
      expect(output).toContain("--json");
    },
  );

  it("documents every exit code of a decision", async () => {
    const { output } = await outcomeOf("ahp", "send", "--help");
    for (const line of ["10  block", "11  modify", "12  defer", "13  escalate"])
      expect(output).toContain(line);
  });
});

describe("a command line", () => {
  it("loads the commands that its arguments name, and lists all of them", async () => {
    const program = await makeProgram(newInvocation(), ["--verbose", "user", "list"]);
    const subcommands = new Map(program.commands.map((each) => [each.name(), each.commands.length]));
    expect(subcommands.get("user")).toBeGreaterThan(0);
    expect(subcommands.get("policy")).toBe(0);
    expect(program.helpInformation()).toMatch(/^ {2}policy /m);
  });

  it("shows the whole help of a command named after help", async () => {
    const program = await makeProgram(newInvocation(), ["help", "policy"]);
    expect(program.commands.find((each) => each.name() === "policy")?.helpInformation()).toContain(
      "backtest",
    );
  });
});

describe("a wrong command line", () => {
  it.each([
    [["upp"], "Did you mean up?"],
    [["ahp", "sned"], "Did you mean send?"],
    [["up", "--prot", "1"], "Did you mean --port?"],
    [["ledger", "lgo"], "Did you mean log?"],
    [["ledger", "get"], "missing required argument"],
    [["ledger", "keys", "rotate"], "missing required argument"],
    [["approvals", "aprove"], "Did you mean approve?"],
    [["approvals", "approve"], "missing required argument"],
    [["roster", "set-state", "reed", "asleep"], "Allowed choices are live, idle, dead"],
    [["token", "create"], "--user"],
    [["user", "add", "ann"], "--name"],
    [["ahp", "conformance"], "missing required argument"],
    [["up", "now"], "too many arguments"],
    [["agents", "instal"], "Did you mean install?"],
    [["agents", "verify"], "missing required argument"],
  ])("%j prints what to do", async (args, text) => {
    const { output, exitCode } = await outcomeOf(...args);
    expect(output).toMatch(/^reins: /);
    expect(output).toContain(text);
    expect(exitCode).not.toBe(0);
  });
});

describe("a wrong value", () => {
  it.each([
    [["ledger", "log", "--quality", "turns"], "--quality"],
    [["ledger", "log", "--limit", "-1"], "--limit"],
    [["ledger", "log", "--since", "yesterday"], "--since"],
    [["ledger", "log", "--follow", "--newest"], "--follow"],
    [["ledger", "log", "--follow", "--until", "1h"], "--follow"],
    [["ledger", "get", "xyz"], "is not a content id"],
    [["approvals", "list", "--state", "open"], '--state is "open".'],
    [["approvals", "list", "--limit", "0"], "--limit"],
    [["policy", "backtest", "draft.yaml", "--examples", "some"], "--examples"],
    [["policy", "backtest", "draft.yaml", "--limit", "0"], "--limit"],
    [["policy", "backtest", "draft.yaml", "--fail-on", "all"], "--fail-on"],
    [["policy", "coverage", "--since", "then"], "--since"],
    [["ahp", "send", "pre_acton"], "not an event of the protocol"],
    [["ahp", "send", "idle", "--timeout-ms", "0"], "--timeout-ms"],
    [["ahp", "conformance", "http", "http://x", "--wait-ms", "soon"], "--wait-ms"],
    [["kill"], "Nothing to end is named"],
    [["service", "install", "--name", "Reins!"], "is not a name for a service"],
  ])("is rejected before anything runs: %j", async (args, message) => {
    const program = await makeProgram(newInvocation(), args);
    const error: unknown = await program
      .parseAsync(args, { from: "user" })
      .catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ name: "CliError", exitCode: 2, message: expect.stringContaining(message) });
  });
});

it("--version prints the version of the package", async () => {
  expect(await outcomeOf("--version")).toEqual({
    output: expect.stringMatching(/^\d+\.\d+\.\d+\n$/),
    exitCode: 0,
  });
});

describe("without a command", () => {
  it.each([
    [[], true, ["chat"]],
    [[], false, []],
    [["--agent", "claude"], true, ["chat", "--agent", "claude"]],
    [["--resume=4f3a9c01"], false, ["chat", "--resume=4f3a9c01"]],
    [["--verbose", "up"], true, ["--verbose", "up"]],
    [["--help"], true, ["--help"]],
    [["up"], true, ["up"]],
  ])("%j on a terminal (%j) runs %j", (args, isTerminal, run) => {
    expect(withCommand(args, isTerminal)).toEqual(run);
  });
});
