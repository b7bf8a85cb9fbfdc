import { homedir } from "node:os";
import { errorMessage } from "@reins/kit";
import { command, HOME } from "../../command.ts";
import { EXIT } from "../../errors.ts";
import { printableLine, table } from "../../output.ts";
import { agentsCheck, credentialsCheck, hooksCheck, reachCheck, sandboxCheck } from "./agents.ts";
import { databaseCheck, homeCheck, keysCheck, vaultCheck } from "./home.ts";
import {
  auditCheck,
  browserCheck,
  diskCheck,
  issuersCheck,
  nodeCheck,
  restateCheck,
  serverCheck,
  telemetryCheck,
} from "./machine.ts";
import { constitutionCheck, rosterCheck } from "./policy.ts";

/** The checks in the order of the report. */
const CHECKS: Readonly<Record<string, Check>> = {
  node: nodeCheck,
  home: homeCheck,
  keys: keysCheck,
  database: databaseCheck,
  vault: vaultCheck,
  disk: diskCheck,
  server: serverCheck,
  constitution: constitutionCheck,
  roster: rosterCheck,
  agents: agentsCheck,
  hooks: hooksCheck,
  credentials: credentialsCheck,
  sandbox: sandboxCheck,
  reach: reachCheck,
  browser: browserCheck,
  issuers: issuersCheck,
  audit: auditCheck,
  telemetry: telemetryCheck,
  restate: restateCheck,
};

export const doctorCommand = command({
  description:
    "Checks whether this machine and this home have what Reins needs, and shows how to repair what is wrong.",
  inputs: { home: HOME, json: ["--json", "print the findings as JSON"] },
  note: `Checks Node, the home, keys, the database, disk, the port or the running Reins, the
constitution, the roster, agents, their hooks and credentials, the sandbox, whether an
agent could reach Reins itself, the browser, OpenID issuers, exports, telemetry and Restate.
Changes nothing.`,
  examples: ["reins doctor", `reins doctor --json | jq '.findings[] | select(.state != "fine")'`],
  codes: { done: "nothing is wrong", failed: "something is", usage: "wrong usage" },
  async run({ home }) {
    const context = { home, environment: process.env, userHome: homedir() };
    const findings = (
      await Promise.all(Object.entries(CHECKS).map(([name, check]) => runCheck(name, check, context)))
    ).flat();
    const well = findings.every(({ state }) => state !== "wrong");
    const exitCode = well ? EXIT.done : EXIT.failed;
    return { json: { home, well, findings }, text: () => describeFindings(findings), exitCode };
  },
});

interface NamedFinding extends Finding {
  readonly check: string;
}

async function runCheck(name: string, check: Check, context: CheckContext): Promise<NamedFinding[]> {
  const findings = await check(context).catch((error: unknown) => [
    wrong(`the check failed: ${errorMessage(error)}`, "Correct that, then run the command again."),
  ]);
  return findings.map((finding) => ({ check: name, ...finding }));
}

const MARKS: Readonly<Record<Finding["state"], string>> = { fine: "ok", note: "note", wrong: "WRONG" };

export function describeFindings(findings: readonly NamedFinding[]): string {
  const rows = findings.flatMap(({ check, state, found, mend }) => [
    [MARKS[state], check, onOneLine(found)],
    ...(mend === undefined ? [] : [["", "", `→ ${onOneLine(mend)}`]]),
  ]);
  const wrong = findings.filter(({ state }) => state === "wrong").length;
  const end =
    wrong === 0 ? "Nothing is wrong." : `${wrong} ${wrong === 1 ? "problem" : "problems"} to repair.`;
  return `${table(rows)}\n${end}\n`;
}

function onOneLine(text: string): string {
  return printableLine(text.replace(/\s*\n\s*/g, " "));
}

/** What a check found. */
export interface Finding {
  readonly state: "fine" | "note" | "wrong";
  /** A sentence without its full stop. */
  readonly found: string;
  readonly mend?: string | undefined;
}

export interface CheckContext {
  readonly home: string;
  readonly environment: NodeJS.ProcessEnv;
  /** The user's home folder. */
  readonly userHome: string;
}

/** An error that a check throws becomes a finding. */
export type Check = (context: CheckContext) => Promise<readonly Finding[]>;

export function fine(found: string): Finding {
  return { state: "fine", found };
}

export function note(found: string, mend?: string): Finding {
  return { state: "note", found, mend };
}

export function wrong(found: string, mend: string): Finding {
  return { state: "wrong", found, mend };
}
