import { Command, CommanderError } from "commander";
import { declareAcp } from "./commands/acp/command.ts";
import { declareAgents } from "./commands/agents/command.ts";
import { declareAhp } from "./commands/ahp/command.ts";
import { declareApprovals } from "./commands/approvals/command.ts";
import { declareBackup } from "./commands/backup/command.ts";
import { declareBoard } from "./commands/board/command.ts";
import { declareDoctor } from "./commands/doctor/command.ts";
import { declareKill } from "./commands/kill/command.ts";
import { declareLedger } from "./commands/ledger/command.ts";
import { declareMailbox } from "./commands/mailbox/command.ts";
import { declareMemory } from "./commands/memory/command.ts";
import { declareOpen } from "./commands/open/command.ts";
import { declarePolicy } from "./commands/policy/command.ts";
import { declareRoster } from "./commands/roster/command.ts";
import { declareRun } from "./commands/run/command.ts";
import { declareService } from "./commands/service/command.ts";
import { declareToken } from "./commands/token/command.ts";
import { declareUp } from "./commands/up/command.ts";
import { declareUser } from "./commands/user/command.ts";
import { EXIT, exitCodeOf, exitCodesHelp, renderError, systemCode } from "./errors.ts";
import { version } from "./installation.ts";

/** One run of the command line: how it was asked to speak, and what it came to. */
export interface Invocation {
  verbose: boolean;
  json: boolean;
  exitCode: number;
}

/** A run that has not begun. */
export function newInvocation(): Invocation {
  return { verbose: false, json: false, exitCode: EXIT.done };
}

const EXAMPLES = `
Examples:
  reins up                                         serve this machine's agents
  reins agents install claude                      install an agent, and prove that it asks
  reins run "what is here?" --agent claude         give it a task, under the constitution
  reins kill --all                                 end everything that agents run, at once
  reins ahp serve --http --handlers ./handlers.ts  serve rules of your own
  reins ahp send pre_action                        ask the running Reins for a decision
  reins ahp conformance http http://127.0.0.1:18789/ahp
  reins approvals watch                            see what agents ask leave for, and answer
  reins roster add reed                            make an agent known
  reins token create --user ann --agents reed      give it a token
  reins mailbox send reed "rain tonight"           leave word for it; reins board is for everybody
  reins policy check                               is the constitution fine?
  reins policy explain event.json                  what would be decided, and why?
  reins ledger log -f                              see what is recorded, as it comes
  reins ledger verify                              check that nobody changed it

Every command has its own --help with examples and exit codes.`;

/** The command line. Declaring a command is cheap; what it needs is loaded when it runs. */
export function makeProgram(invocation: Invocation): Command {
  const program = new Command("reins")
    .description("A harness for AI agents: decides what an agent may do, and keeps a record.")
    .version(version(), "--version", "print the version")
    .option("--verbose", "say more, and show where errors come from")
    .helpOption("-h, --help", "show this help")
    .helpCommand("help [command]", "show the help of a command")
    .configureHelp({ showGlobalOptions: true })
    .configureOutput({ outputError: (text, write) => write(text.replace(/^error: /, "reins: ")) })
    .showHelpAfterError("  Add --help to see what is possible.")
    .addHelpText("after", EXAMPLES)
    .addHelpText("after", exitCodesHelp({ done: "done", failed: "failed", usage: "wrong usage" }))
    .exitOverride()
    .hook("preAction", (_, command) => {
      const { verbose, json }: { verbose?: boolean; json?: boolean } = command.optsWithGlobals();
      invocation.verbose = verbose ?? false;
      invocation.json = json ?? false;
    });
  declareUp(program);
  declareOpen(program);
  declareRun(program, invocation);
  declareAcp(program);
  declareAgents(program, invocation);
  declareKill(program, invocation);
  declareDoctor(program, invocation);
  declareBackup(program);
  declareAhp(program, invocation);
  declareApprovals(program);
  declareRoster(program);
  declareMailbox(program);
  declareBoard(program);
  declareMemory(program);
  declareToken(program);
  declareUser(program);
  declareService(program, invocation);
  declareLedger(program, invocation);
  declarePolicy(program, invocation);
  return program;
}

/** Runs a command line and sets the exit code of this process. */
export async function run(args: readonly string[]): Promise<void> {
  // A reader that has seen enough and gone, such as `head`, is no error.
  process.stdout.on("error", (error) => {
    if (systemCode(error) !== "EPIPE") throw error;
  });
  process.exitCode = await resultOf(args);
}

async function resultOf(args: readonly string[]): Promise<number> {
  const invocation = newInvocation();
  try {
    await makeProgram(invocation).parseAsync(args, { from: "user" });
    return invocation.exitCode;
  } catch (error) {
    // Commander has said already what was wrong with the command line, or shown the help that was asked for.
    if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.done : EXIT.usage;
    process.stderr.write(renderError(error, invocation));
    return exitCodeOf(error);
  }
}
