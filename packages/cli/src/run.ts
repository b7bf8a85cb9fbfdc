import { CommanderError } from "commander";
import { exitCodeOf, renderError } from "./errors/render.ts";
import { systemCode } from "./errors/system-code.ts";
import { EXIT } from "./exit-codes.ts";
import { newInvocation } from "./invocation.ts";
import { makeProgram } from "./program.ts";

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
