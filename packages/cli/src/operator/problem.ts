import { Problem, type ProblemCode } from "@reins/api";
import { CliError } from "../errors/cli-error.ts";
import { EXIT, type ExitCode } from "../exit-codes.ts";
import { printable } from "../printable.ts";
import type { CarriedAnswer } from "./carrier.ts";

/** What to do about a problem of a kind, where a command knows better than to say it in general. */
export type Advice = Partial<Record<ProblemCode, string>>;

const NEXT: Advice = {
  invalid: "Add --help to see what is possible.",
  unauthenticated: "Give a token that is valid there: --token @file, or REINS_TOKEN.",
  forbidden: "Use a token of somebody who may: --token @file, or REINS_TOKEN.",
  not_found: "Check the name.",
  conflict: "Look at what is there now.",
  too_many_requests: "Wait a little, then run the same command again.",
  unavailable: "See what the log of reins up says, then run the same command again.",
};

const EXIT_CODES: Partial<Record<string, ExitCode>> = {
  invalid: EXIT.usage,
  unauthenticated: EXIT.unreachable,
};

/** The problem that an answer tells of, as an error for a person. */
export function problemFault({ status, body }: CarriedAnswer, place: string, advice: Advice): CliError {
  const { data } = Problem.safeParse(body);
  if (!data) return foreign(`It answered with status ${status}`, place);
  const { code, detail, errors = [] } = data;
  const faults = errors.map(({ path, message }) => (path === "" ? message : `${path}: ${message}`));
  const known = Object.entries({ ...NEXT, ...advice }).find(([name]) => name === code)?.[1];
  return new CliError(sentence(printable(faults.join("; ") || detail)), {
    next: known ?? "See what the log of reins up says.",
    exitCode: EXIT_CODES[code] ?? EXIT.failed,
  });
}

/** An answer that no Reins of this version gives. */
export function foreign(what: string, place: string, cause?: unknown): CliError {
  return new CliError(`What answers at ${place} is no Reins that this one understands. ${what}.`, {
    next: "Check the address, and that both are of the same version: reins --version",
    exitCode: EXIT.unreachable,
    ...(cause !== undefined && { cause }),
  });
}

/** Words that a sentence of the harness begins with; anything else at its beginning is a name and stays as it is. */
const BEGINNINGS = /^(?:an?|it|no|nothing|only|something|that|the|there|this) /;

/** The words of the harness, which are a part of a sentence, as a whole one. */
function sentence(text: string): string {
  const begun = BEGINNINGS.test(text) ? text.charAt(0).toUpperCase() + text.slice(1) : text;
  return /[.!?]$/.test(begun) ? begun : `${begun}.`;
}
