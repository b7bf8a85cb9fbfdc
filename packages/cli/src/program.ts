import { Command, CommanderError } from "commander";
import { EXIT, exitCodeOf, helpText, renderError, systemCode } from "./errors.ts";
import { version } from "./installation.ts";

/** One run of the command line: the global flags, and the exit code that a command sets. */
export interface Invocation {
  verbose: boolean;
  json: boolean;
  exitCode: number;
}

export function newInvocation(): Invocation {
  return { verbose: false, json: false, exitCode: EXIT.done };
}

interface CommandRow {
  readonly name: string;
  readonly summary: string;
  /** Loads what declares the flags and subcommands. */
  readonly load: () => Promise<(command: Command, invocation: Invocation) => void>;
}

const COMMANDS: readonly CommandRow[] = [
  {
    name: "up",
    summary: "serve the agents of this machine",
    load: async () => (await import("./commands/up/up.ts")).declareUp,
  },
  {
    name: "open",
    summary: "open the page in a browser",
    load: async () => (await import("./commands/open.ts")).declareOpen,
  },
  {
    name: "run",
    summary: "give an agent one task, in this terminal",
    load: async () => (await import("./commands/run/run.ts")).declareRun,
  },
  {
    name: "acp",
    summary: "run an agent for an editor, governed by the constitution",
    load: async () => (await import("./commands/acp/acp.ts")).declareAcp,
  },
  {
    name: "agents",
    summary: "install agents, and verify that they ask for permission",
    load: async () => (await import("./commands/agents/command.ts")).declareAgents,
  },
  {
    name: "kill",
    summary: "end a session, an agent or everything, at once",
    load: async () => (await import("./commands/kill.ts")).declareKill,
  },
  {
    name: "doctor",
    summary: "check this machine and the home, and how to repair them",
    load: async () => (await import("./commands/doctor/doctor.ts")).declareDoctor,
  },
  {
    name: "backup",
    summary: "copy the database, also while Reins runs",
    load: async () => (await import("./commands/backup.ts")).declareBackup,
  },
  {
    name: "ahp",
    summary: "serve, test and query harnesses of the Agent Harness Protocol",
    load: async () => (await import("./commands/ahp/command.ts")).declareAhp,
  },
  {
    name: "approvals",
    summary: "see and answer approvals",
    load: async () => (await import("./commands/approvals/command.ts")).declareApprovals,
  },
  {
    name: "roster",
    summary: "manage the known agents and their trust",
    load: async () => (await import("./commands/roster.ts")).declareRoster,
  },
  {
    name: "mailbox",
    summary: "send messages to agents, and read their messages",
    load: async () => (await import("./commands/mailbox.ts")).declareMailbox,
  },
  {
    name: "board",
    summary: "read and write the shared board",
    load: async () => (await import("./commands/board.ts")).declareBoard,
  },
  {
    name: "memory",
    summary: "read and change the memory of the native agent",
    load: async () => (await import("./commands/memory.ts")).declareMemory,
  },
  {
    name: "token",
    summary: "create, list and revoke tokens",
    load: async () => (await import("./commands/token.ts")).declareToken,
  },
  {
    name: "user",
    summary: "add, change, remove and list users",
    load: async () => (await import("./commands/user.ts")).declareUser,
  },
  {
    name: "service",
    summary: "keep Reins running in the background",
    load: async () => (await import("./commands/service/command.ts")).declareService,
  },
  {
    name: "ledger",
    summary: "read, export and verify the ledger",
    load: async () => (await import("./commands/ledger/command.ts")).declareLedger,
  },
  {
    name: "policy",
    summary: "check, test, explain and backtest a constitution",
    load: async () => (await import("./commands/policy/command.ts")).declarePolicy,
  },
];

const EXAMPLES = `
Examples:
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
    .addHelpText("after", helpText(EXAMPLES, { done: "done", failed: "failed", usage: "wrong usage" }))
    .exitOverride()
    .hook("preAction", (_, command) => {
      const { verbose, json }: { verbose?: boolean; json?: boolean } = command.optsWithGlobals();
      invocation.verbose = verbose ?? false;
      invocation.json = json ?? false;
    });
  for (const { name, summary, load } of COMMANDS) {
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

async function resultOf(args: readonly string[]): Promise<number> {
  const invocation = newInvocation();
  try {
    const program = await makeProgram(invocation, args);
    await program.parseAsync(args, { from: "user" });
    return invocation.exitCode;
  } catch (error) {
    // Commander has printed the error or the help.
    if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.done : EXIT.usage;
    process.stderr.write(renderError(error, invocation));
    return exitCodeOf(error);
  }
}
