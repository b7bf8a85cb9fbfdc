import { Command, CommanderError } from "commander";
import { type Declaration, helpText, type Invocation, newInvocation } from "./command.ts";
import { EXIT, exitCodeOf, renderError, systemCode } from "./errors.ts";
import { version } from "./installation.ts";

/** The commands, in the order of the help. What declares one is loaded when it is used. */
const COMMANDS: Readonly<Record<string, readonly [summary: string, load: () => Promise<Declaration>]>> = {
  up: ["serve the agents of this machine", async () => (await import("./commands/up/up.ts")).upCommand],
  open: ["open the page in a browser", async () => (await import("./commands/open.ts")).openCommand],
  chat: [
    "talk to an agent in this terminal; what reins alone does",
    async () => (await import("./commands/chat/chat.ts")).chatCommand,
  ],
  run: [
    "give an agent one task, in this terminal",
    async () => (await import("./commands/run/run.ts")).runCommand,
  ],
  acp: [
    "run an agent for an editor, governed by the constitution",
    async () => (await import("./commands/acp/acp.ts")).acpCommand,
  ],
  host: [
    "lend tools and skills of a folder to an agent, to try the bridge",
    async () => (await import("./commands/host/host.ts")).hostCommand,
  ],
  mcp: [
    "put one MCP server behind the constitution, for any MCP client",
    async () => (await import("./commands/mcp/mcp.ts")).mcpCommand,
  ],
  agents: [
    "install agents, and verify that they ask for permission",
    async () => (await import("./commands/agents/agents.ts")).agentsCommand,
  ],
  hooks: [
    "have an agent in a terminal ask Reins before each step",
    async () => (await import("./commands/hooks.ts")).hooksCommand,
  ],
  kill: [
    "end a session, an agent or everything, at once",
    async () => (await import("./commands/kill.ts")).killCommand,
  ],
  doctor: [
    "check this machine and the home, and how to repair them",
    async () => (await import("./commands/doctor/doctor.ts")).doctorCommand,
  ],
  backup: [
    "copy the database, also while Reins runs",
    async () => (await import("./commands/backup.ts")).backupCommand,
  ],
  store: [
    "move the state between SQLite and PostgreSQL",
    async () => (await import("./commands/store.ts")).storeCommand,
  ],
  ahp: [
    "serve, test and query harnesses of the Agent Harness Protocol",
    async () => (await import("./commands/ahp/ahp.ts")).ahpCommand,
  ],
  approvals: [
    "see and answer approvals",
    async () => (await import("./commands/approvals/approvals.ts")).approvalsCommand,
  ],
  graph: [
    "check and run graphs of actions",
    async () => (await import("./commands/graph/graph.ts")).graphCommand,
  ],
  node: [
    "list, show and drain the nodes of a cluster",
    async () => (await import("./commands/node.ts")).nodeCommand,
  ],
  roster: [
    "manage the known agents and their trust",
    async () => (await import("./commands/roster.ts")).rosterCommand,
  ],
  mailbox: [
    "send messages to agents, and read their messages",
    async () => (await import("./commands/mailbox.ts")).mailboxCommand,
  ],
  board: [
    "read and write the shared board",
    async () => (await import("./commands/mailbox.ts")).boardCommand,
  ],
  memory: [
    "read and change the memory of the native agent",
    async () => (await import("./commands/memory.ts")).memoryCommand,
  ],
  skills: [
    "list, match, trust, sign and verify skills",
    async () => (await import("./commands/skills/skills.ts")).skillsCommand,
  ],
  tools: [
    "find the tools of a session, as the model would",
    async () => (await import("./commands/tools.ts")).toolsCommand,
  ],
  rewind: [
    "take a session back to before a turn",
    async () => (await import("./commands/rewind.ts")).rewindCommand,
  ],
  keys: [
    "keep the keys of model providers for the gateway",
    async () => (await import("./commands/keys.ts")).keysCommand,
  ],
  token: ["create, list and revoke tokens", async () => (await import("./commands/token.ts")).tokenCommand],
  user: ["add, change, remove and list users", async () => (await import("./commands/user.ts")).userCommand],
  service: [
    "keep Reins running in the background",
    async () => (await import("./commands/service/service.ts")).serviceCommand,
  ],
  ledger: [
    "read, export and verify the ledger",
    async () => (await import("./commands/ledger/ledger.ts")).ledgerCommand,
  ],
  audit: [
    "export the ledger as audit records",
    async () => (await import("./commands/audit/audit.ts")).auditCommand,
  ],
  policy: [
    "check, test, explain and backtest a constitution",
    async () => (await import("./commands/policy/policy.ts")).policyCommand,
  ],
};

const NOTE = `Examples:
  reins up                                         serve this machine's agents
  reins agents install claude                      install an agent, and verify that it asks
  reins run "what is here?" --agent claude         give it a task, governed by the constitution
  reins kill --all                                 end everything that agents run, at once
  reins ahp serve --http --handlers ./handlers.ts  serve rules of your own
  reins ahp send pre_action                        ask the running Reins for a decision
  reins ahp conformance http http://127.0.0.1:18789/ahp
  reins approvals watch                            see approvals as they come, and answer
  reins roster add reed                            put an agent on the roster
  reins token create --user ann --agents reed      create a token for it
  reins mailbox send reed "rain tonight"           send it a message; reins board is for all
  reins policy check                               is the constitution valid?
  reins policy explain event.json                  what would be decided, and why?
  reins ledger log -f                              follow the ledger
  reins ledger verify                              check that it is unchanged

Every command has its own --help with examples and exit codes.`;

/**
 * Makes the command line. With `args`, loads only commands that occur in them, so that a start does not wait for the
 * others; those have a name and a summary for the help.
 */
export async function makeProgram(invocation: Invocation, args?: readonly string[]): Promise<Command> {
  const program = new Command("reins")
    .description("A harness for AI agents: decides what an agent may do, and keeps a record.")
    .version(version(), "--version", "print the version")
    .option("--verbose", "log more, and show stack traces of errors")
    .helpOption("-h, --help", "show this help")
    .helpCommand("help [command]", "show the help of a command")
    .configureHelp({ showGlobalOptions: true })
    .configureOutput({ outputError: (text, write) => write(text.replace(/^error: /, "reins: ")) })
    .showHelpAfterError("  Add --help to see the options.")
    .addHelpText("after", helpText({ note: NOTE }, { done: "done", failed: "failed", usage: "wrong usage" }))
    .exitOverride()
    .hook("preAction", (_, command) => {
      const { verbose, json }: { verbose?: boolean; json?: boolean } = command.optsWithGlobals();
      invocation.verbose = verbose ?? false;
      invocation.json = json ?? false;
    });
  for (const [name, [summary, load]] of Object.entries(COMMANDS)) {
    const command = program.command(name).summary(summary);
    if (args === undefined || args.includes(name)) (await load())(command, invocation);
  }
  return program;
}

/** Runs a command line and sets the exit code of this process. */
export async function run(args: readonly string[]): Promise<void> {
  // A reader that closed early, such as `head`, is no error.
  process.stdout.on("error", (error) => {
    if (systemCode(error) !== "EPIPE") throw error;
  });
  process.exitCode = await resultOf(args);
}

const CHAT_FLAG = /^--(?:agent|cwd|mode|model|continue|resume|plain)(?:=|$)/;

/** Without a command, flags of a conversation open one, and so does a terminal. */
export function withCommand(args: readonly string[], isTerminal: boolean): readonly string[] {
  const [first] = args;
  const opens = first === undefined ? isTerminal : CHAT_FLAG.test(first);
  return opens ? ["chat", ...args] : args;
}

async function resultOf(args: readonly string[]): Promise<number> {
  const invocation = newInvocation();
  try {
    const given = withCommand(args, process.stdin.isTTY && process.stdout.isTTY);
    const program = await makeProgram(invocation, given);
    await program.parseAsync(given, { from: "user" });
    return invocation.exitCode;
  } catch (error) {
    // Commander has printed the error or the help.
    if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.done : EXIT.usage;
    process.stderr.write(renderError(error, invocation));
    return exitCodeOf(error);
  }
}
