import { EXIT, type ExitCode } from "../../../errors.ts";
import { printable } from "../../../printable.ts";

/** A decision of any family: what it is called, why, and what goes with it. */
interface AnyDecision {
  readonly decision: string;
  readonly reason?: unknown;
}

const EXIT_CODES: ReadonlyMap<string, ExitCode> = new Map([
  ["allow", EXIT.done],
  ["approve", EXIT.done],
  ["block", EXIT.blocked],
  ["reject", EXIT.blocked],
  ["skip", EXIT.blocked],
  ["modify", EXIT.modified],
  ["refine", EXIT.modified],
  ["defer", EXIT.deferred],
  ["retry", EXIT.deferred],
  ["queue", EXIT.deferred],
  ["escalate", EXIT.escalated],
]);

/** Whether a value is a decision of some family. */
export function isDecision(value: unknown): value is AnyDecision {
  return (
    typeof value === "object" && value !== null && "decision" in value && typeof value.decision === "string"
  );
}

/** What a decision ends the command with; one that nobody knows does not let go on. */
export function exitCodeFor({ decision }: AnyDecision): ExitCode {
  return EXIT_CODES.get(decision) ?? EXIT.blocked;
}

/** A decision for people: the word and the reason on one line, what goes with it below. */
export function describe({ decision, reason, ...rest }: AnyDecision): string {
  const line = typeof reason === "string" ? `${decision}: ${reason}` : decision;
  const more = Object.keys(rest).length > 0 ? `\n${JSON.stringify(rest, null, 2)}` : "";
  return printable(`${line}${more}\n`);
}
