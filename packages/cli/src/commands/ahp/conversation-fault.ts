import { AhpError } from "@reins/ahp";
import { CliError, EXIT } from "../../errors.ts";
import { printable } from "../../printable.ts";

const NOT_REACHED = ["transport", "io", "timeout", "closed", "authentication"];

/** Why a conversation with a harness failed, and what to do about it. Anything else is given back as it is. */
export function conversationFault(error: unknown, target: string): unknown {
  if (!(error instanceof AhpError)) return error;
  const text = printable(error.message);
  if (/\b401\b/.test(text)) {
    return new CliError(`The harness at ${target} does not let us in: ${text}`, {
      next: "Give --token <secret> or --api-key <secret>; @file reads it from a file.",
      exitCode: EXIT.unreachable,
      cause: error,
    });
  }
  if (NOT_REACHED.includes(error.code)) {
    return new CliError(`The harness at ${target} cannot be reached: ${text}`, {
      next: "Is it running, and is that where? For the harness of this machine, run: reins up",
      exitCode: EXIT.unreachable,
      cause: error,
    });
  }
  return new CliError(`The harness at ${target} gave no decision: ${text}`, {
    next: "Check the event type, its --payload and --depth; the harness says above what is wrong.",
    exitCode: EXIT.failed,
    cause: error,
  });
}
