import { readFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { errorMessage } from "@reins/kit";
import { type ConstitutionText, checkConstitution, type Policy } from "@reins/policy";
import { policyFiles } from "@reins/supervisor";
import { HOME } from "../../command.ts";
import { readConfiguration } from "../../configuration/configuration.ts";
import { namedPolicyFiles } from "../../configuration/policy-files.ts";
import { CliError, EXIT, systemCode } from "../../errors.ts";
import { wholeNumber } from "../../flags.ts";
import { counted, type Notice } from "../../output.ts";
import { readPastTime } from "../../time.ts";
import { describeFault } from "./layout.ts";

/** What the exit codes of a command mean that reads a constitution. */
export const LOOKING = {
  done: "done",
  failed: "the file is not valid",
  usage: "wrong usage, or there is no such file",
} as const;

/** The same for a command that also reads the ledger. */
export const REPLAYING = { ...LOOKING, unreachable: "there is no ledger, or it cannot be read" } as const;

export const DEFAULT_TENANT = "default";

export const JSON_FLAG = ["--json", "print it as JSON"] as const;

/** The inputs of a command that reads the constitution of a home, or one in a file. */
export const CONSTITUTION = {
  file: ["[file]", "the constitution (default: constitution.yaml of the home)"],
  home: HOME,
  tenant: ["--tenant <name>", "whose constitution, when no file is named (default: default)"],
  json: JSON_FLAG,
} as const;

/** The flags of a command that reads past verdicts. */
export const VERDICTS = {
  since: ["--since <time>", "only verdicts from then on", { read: readPastTime }],
  limit: ["--limit <count>", "how many at most, the newest ones", { read: wholeNumber(1) }],
} as const;

/** Reads the constitution in a file, with the prose beside it, or the one of the home. */
export async function findConstitution(
  file: string | undefined,
  home: string,
  tenant = DEFAULT_TENANT,
): Promise<ConstitutionText> {
  if (file !== undefined) return readConstitutionFile(file);
  const { rules, prose } = await homeFiles(home, tenant);
  return readText(
    rules,
    prose,
    (cause) =>
      new CliError(`There is no constitution in ${dirname(rules)} yet.`, {
        next: "Reins writes one when it first runs there: reins up. Or name a file.",
        cause,
      }),
  );
}

export function readConstitutionFile(file: string): Promise<ConstitutionText> {
  return readText(file, join(dirname(file), "constitution.md"));
}

async function readText(
  file: string,
  prose: string,
  missing?: (cause: unknown) => CliError,
): Promise<ConstitutionText> {
  const rules = await readFile(file, "utf8").catch((cause: unknown) => {
    if (missing && systemCode(cause) === "ENOENT") throw missing(cause);
    throw new CliError(`${file} cannot be read: ${errorMessage(cause)}`, {
      next: "Check the path and the permissions of the file.",
      cause,
    });
  });
  return { file, rules, prose: await proseIn(prose) };
}

async function homeFiles(home: string, tenant: string) {
  const inHome = policyFiles(home, tenant);
  if (tenant !== DEFAULT_TENANT) return inHome;
  const file = await readConfiguration(home);
  return { ...inHome, ...namedPolicyFiles({ home, environment: process.env, file }) };
}

async function proseIn(path: string): Promise<Uint8Array> {
  try {
    return await readFile(path);
  } catch (error) {
    if (systemCode(error) === "ENOENT") return new Uint8Array();
    throw error;
  }
}

/** Compiles a constitution. Reports failed tests as a notice. */
export async function policyIn(text: ConstitutionText, notice: Notice): Promise<Policy> {
  const { policy, faults } = await checkConstitution(text);
  if (policy) {
    if (faults.length > 0)
      notice(
        `${text.file} fails ${counted(faults.length, "test")} of its own, so Reins would not accept it.`,
      );
    return policy;
  }
  throw new CliError(`${text.file} has ${counted(faults.length, "fault")}, so Reins would not accept it.`, {
    next: faults
      .map((fault) => describeFault(fault, text))
      .join("")
      .trimEnd(),
    exitCode: EXIT.failed,
  });
}
