import { readFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { errorMessage } from "@reins/kit";
import { type ConstitutionText, checkConstitution, type Policy } from "@reins/policy";
import { policyFiles } from "@reins/supervisor";
import { readConfiguration } from "../../configuration/configuration.ts";
import { namedPolicyFiles } from "../../configuration/policy-files.ts";
import { CliError, EXIT, systemCode } from "../../errors.ts";
import { homeFolder } from "../../home.ts";
import type { Notice } from "../../output.ts";
import { counted, describeFault } from "./layout.ts";

/** What the exit codes of a command mean that reads a constitution. */
export const LOOKING = {
  done: "done",
  failed: "the file is not valid",
  usage: "wrong usage, or there is no such file",
} as const;

/** The same for a command that also reads the ledger. */
export const REPLAYING = { ...LOOKING, unreachable: "there is no ledger, or it cannot be read" } as const;

export interface PolicyFlags {
  readonly home?: string;
  readonly tenant?: string;
  readonly json?: boolean;
}

export const DEFAULT_TENANT = "default";

/** Reads the constitution in a file, with the prose beside it, or the one of the home. */
export async function readConstitutionFile(
  file: string | undefined,
  flags: PolicyFlags,
): Promise<ConstitutionText> {
  const files = file === undefined ? await homeFiles(flags) : { rules: file, prose: proseBeside(file) };
  const { rules: path } = files;
  const rules = await readFile(path, "utf8").catch((error: unknown) => {
    throw unreadable(path, file === undefined, error);
  });
  return { file: path, rules, prose: await proseIn(files.prose) };
}

async function homeFiles({ home: flag, tenant = DEFAULT_TENANT }: PolicyFlags) {
  const home = homeFolder(flag, process.env);
  const inHome = policyFiles(home, tenant);
  if (tenant !== DEFAULT_TENANT) return inHome;
  const file = await readConfiguration(home);
  return { ...inHome, ...namedPolicyFiles({ home, environment: process.env, file }) };
}

function proseBeside(file: string): string {
  return join(dirname(file), "constitution.md");
}

async function proseIn(path: string): Promise<Uint8Array> {
  try {
    return await readFile(path);
  } catch (error) {
    if (systemCode(error) === "ENOENT") return new Uint8Array();
    throw error;
  }
}

function unreadable(path: string, isInHome: boolean, cause: unknown): CliError {
  if (isInHome && systemCode(cause) === "ENOENT")
    return new CliError(`There is no constitution in ${dirname(path)} yet.`, {
      next: "Reins writes one when it first runs there: reins up. Or name a file.",
      cause,
    });
  return new CliError(`${path} cannot be read: ${errorMessage(cause)}`, {
    next: "Check the path and the permissions of the file.",
    cause,
  });
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
