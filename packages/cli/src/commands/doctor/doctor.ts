import { homedir } from "node:os";
import { EXIT, type ExitCode, errorMessage } from "../../errors.ts";
import { homeFolder } from "../../home.ts";
import { print } from "../../output.ts";
import { agentsCheck, credentialsCheck } from "./checks/agents.ts";
import { constitutionCheck } from "./checks/constitution.ts";
import { databaseCheck } from "./checks/database.ts";
import { homeCheck, keysCheck } from "./checks/home.ts";
import { browserCheck, diskCheck } from "./checks/machine.ts";
import { nodeCheck } from "./checks/node.ts";
import { rosterCheck } from "./checks/roster.ts";
import { reachCheck, sandboxCheck } from "./checks/sandbox.ts";
import { serverCheck } from "./checks/server.ts";
import { vaultCheck } from "./checks/vault.ts";
import { describeFindings } from "./describe.ts";
import { type Check, type Finding, type Patient, wrong } from "./finding.ts";

/** The flags of `reins doctor` as they were written. */
export interface DoctorFlags {
  readonly home?: string;
  readonly json?: boolean;
}

const CHECKS: readonly Check[] = [
  nodeCheck,
  homeCheck,
  keysCheck,
  databaseCheck,
  vaultCheck,
  diskCheck,
  serverCheck,
  constitutionCheck,
  rosterCheck,
  agentsCheck,
  credentialsCheck,
  sandboxCheck,
  reachCheck,
  browserCheck,
];

/** Looks at everything that Reins needs, and says how to mend what is amiss; the exit code. */
export async function doctor(flags: DoctorFlags): Promise<ExitCode> {
  const home = homeFolder(flags.home, process.env);
  const patient = { home, environment: process.env, userHome: homedir() };
  const findings = (await Promise.all(CHECKS.map((check) => examine(check, patient)))).flat();
  const isWell = findings.every(({ state }) => state !== "wrong");
  print(flags.json ? `${JSON.stringify({ home, well: isWell, findings })}\n` : describeFindings(findings));
  return isWell ? EXIT.done : EXIT.failed;
}

/** A check that fails says something too. */
async function examine(check: Check, patient: Patient): Promise<Finding[]> {
  const { name } = check;
  try {
    return (await check.look(patient)).map((finding) => ({ check: name, ...finding }));
  } catch (error) {
    return [
      {
        check: name,
        ...wrong(`it could not be found out: ${errorMessage(error)}`, "Mend what it says, then look again."),
      },
    ];
  }
}
