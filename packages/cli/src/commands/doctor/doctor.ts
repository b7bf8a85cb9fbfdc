import { hash } from "node:crypto";
import { existsSync } from "node:fs";
import { homedir } from "node:os";
import { fileURLToPath } from "node:url";
import { findNpm } from "@reins/agents";
import { errorMessage } from "@reins/kit";
import { LedgerReader, ledgerTables } from "@reins/ledger";
import { checkConstitution, defaultFile, Roster } from "@reins/policy";
import { detectSandbox } from "@reins/runner";
import { foundCredentials } from "@reins/server";
import { openSqliteReader } from "@reins/store";
import { policyFiles } from "@reins/supervisor";
import { command, HOME } from "../../command.ts";
import { readConfiguration, readIfExists } from "../../configuration/configuration.ts";
import { type AuditSettings, isAddress } from "../../configuration/exports.ts";
import { CliError, EXIT } from "../../errors.ts";
import { auditCursorIn, databaseIn, homeFolder } from "../../home.ts";
import { auditDestination } from "../../hosting/audit-exports.ts";
import { HomeAgents } from "../../hosting/home-agents.ts";
import { printableLine, table } from "../../printable.ts";
import { listedAgent } from "../agents/list.ts";
import { DEFAULT_TENANT, findConstitution } from "../policy/constitution-file.ts";
import { type Check, type CheckContext, type Finding, fine, note, wrong } from "./check.ts";
import { databaseCheck, homeCheck, keysCheck, vaultCheck } from "./home.ts";
import { browserCheck, diskCheck, issuersCheck, nodeCheck, serverCheck } from "./machine.ts";

const agentsCheck: Check = async ({ home, environment }) => {
  const agents = await HomeAgents.open(home);
  const listed = await agents.installer.list();
  const installed = await Promise.all(
    listed.map(({ entry, installed }) => (installed ? listedAgent(agents, entry, installed) : undefined)),
  );
  const found = installed.flatMap((agent) => agent ?? []);
  return [
    ...npmFinding(environment),
    ...(found.length === 0
      ? [note("only the built-in one is installed", "To install one: reins agents install claude")]
      : found.map(agentFinding)),
  ];
};

function npmFinding(environment: NodeJS.ProcessEnv): Finding[] {
  if (findNpm(environment)) return [];
  return [wrong("npm is not installed, so no agent can be installed", "Install Node with npm.")];
}

function agentFinding({
  agent,
  version,
  outdated,
  verification,
}: Awaited<ReturnType<typeof listedAgent>>): Finding {
  const name = `${agent} ${version ?? ""}`.trim();
  const { state, live, why, level } = verification;
  if (state === "verified" && live === false)
    return wrong(
      `${name} does not obey verdicts (${level})`,
      `Confine it, or do not use it; see reins agents verify ${agent}`,
    );
  if (state !== "verified")
    return note(
      `${name} was ${state === "outdated" ? `verified before ${why ?? "it changed"}` : "never verified"}`,
      `Verify that it asks for permission: reins agents verify ${agent}`,
    );
  return outdated
    ? note(`${name} is older than the catalogue's`, `reins agents install ${agent}`)
    : fine(`${name} was verified to ask before it acts (${level})`);
}

const credentialsCheck: Check = async ({ home, environment, userHome }) => {
  const agents = await HomeAgents.open(home);
  const all = await Promise.all(
    agents.catalogue.entries.map(async (entry) => {
      const { found } = await foundCredentials(entry, environment, userHome);
      return found.length === 0 ? [] : [fine(`${entry.id}: ${found.join(", ")}`)];
    }),
  );
  const found = all.flat();
  if (found.length > 0) return found;
  return [
    note(
      "none were found, so third-party agents cannot reach a model",
      "Log in with the agent's own program, or set a variable such as ANTHROPIC_API_KEY. The built-in agent can be tried without.",
    ),
  ];
};

const sandboxCheck: Check = async ({ home }) => {
  const [status, confined] = await Promise.all([detectSandbox(), confinedIn(home)]);
  if (status.available)
    return [
      fine(
        `bubblewrap ${status.version} works${confined.length > 0 ? `; confined: ${confined.join(", ")}` : ""}`,
      ),
    ];
  return confined.length > 0
    ? [wrong(`${confined.join(", ")} cannot start: ${status.reason}`, status.remedy)]
    : [note(`agents cannot be confined: ${status.reason}`, status.remedy)];
};

const reachCheck: Check = async ({ home }) => {
  const agents = await HomeAgents.open(home);
  const free = agents.catalogue.entries.filter(({ id, builtIn }) => !builtIn && !agents.isConfined(id));
  if (free.length === 0) return [fine("no agent can reach the home of Reins")];
  return [
    note(
      `agents that are not confined run as this user, and could reach ${home} without asking`,
      'Confine them: in reins.yaml, confine: { "*": { network: open } }. It needs a sandbox.',
    ),
  ];
};

async function confinedIn(home: string): Promise<string[]> {
  const agents = await HomeAgents.open(home);
  return agents.catalogue.entries.flatMap(({ id }) => (agents.isConfined(id) ? [id] : []));
}

/** Checks that Reins would accept the constitution, and that it is not an unchanged older default. */
const constitutionCheck: Check = async (context) => {
  try {
    const text = await findConstitution(undefined, context.home);
    const { policy, faults, tests } = await checkConstitution(text);
    if (policy && faults.length === 0)
      return [
        fine(`${policy.rules.length} rules, ${tests.length} tests of its own passed`),
        ...(areEarlierRules(text.rules) ? [olderDefault(text.file, context)] : []),
      ];
    return [
      areEarlierRules(text.rules)
        ? rejectedDefault(text.file)
        : wrong(`the constitution has faults: ${faults[0]?.message}`, "See them all: reins policy check"),
    ];
  } catch (error) {
    if (!(error instanceof CliError)) throw error;
    return [note(error.message.replace(/\.$/, ""), error.next)];
  }
};

/** An older default that fails its own tests in this version. */
function rejectedDefault(file: string): Finding {
  const current = fileURLToPath(defaultFile("default.yaml"));
  return wrong(
    "it is the default of an earlier version, which this version rejects, so everything is blocked",
    `To see the difference: reins policy diff "${file}" "${current}". To use the current default: cp "${current}" "${file}"`,
  );
}

function olderDefault(file: string, { home, environment }: CheckContext): Finding {
  const current = fileURLToPath(defaultFile("default.yaml"));
  const flag = home === homeFolder(undefined, environment) ? "" : ` --home "${home}"`;
  return note(
    "it is the unchanged default of an earlier version; the current default is another",
    `To see the difference: reins policy diff "${file}" "${current}". ` +
      `To use the current default: cp "${current}" "${file}" && reins policy accept${flag}`,
  );
}

/** The SHA-256 of every default `constitution.yaml`, the oldest first; the last is the current one. */
export const SHIPPED_RULES: readonly string[] = [
  "4e2cc70d54798cbbeb2ff95e978f42f8d54e8af36884a175112b5a5399c652d8",
  "db287522b967d575ca0026421ab959cb15f163389c21b575263cedc800f55f76",
  "c6fbbab4eb2453e36261570c9d0c76986d166af51d6b63eb8c5418f699f75135",
  "875664c00b80661943f304de4e79576368363b535a93d465167a8bd3f51bead3",
  "c5e3e26df6a41eca0d8bd2995917937aa7808c6a74fa1a2b678dcd96f4974f64",
  "20e4633dc7530ace3e5e3909d744985d8ee5b2ec334c932ad32913fe89df19c6",
  "a26e561333b3fc54918889c8b75804747955a2c6d890f8c6b385a9b5da66c4d4",
];

export function areEarlierRules(rules: string): boolean {
  return SHIPPED_RULES.slice(0, -1).includes(hash("sha256", rules, "hex"));
}

/** Agents on lines that cannot be read count as unknown. */
const rosterCheck: Check = async ({ home }) => {
  const path = policyFiles(home, DEFAULT_TENANT).roster;
  const text = await readIfExists(path);
  if (text === undefined) return [];
  const { entries, faults } = Roster.read(text);
  if (faults.length === 0)
    return [fine(`${new Set(entries.map(({ session_id }) => session_id)).size} agents are known`)];
  return [
    wrong(
      `${path}: ${faults[0]}${faults.length > 1 ? `, nor are ${faults.length - 1} others` : ""}; the agents on them are unknown`,
      'Repair it: one agent per line, such as {"session_id":"reed","kind":"agent","state":"live"}',
    ),
  ];
};

/** Whether the audit exports of the configuration get the ledger away. */
const auditCheck: Check = async ({ home }) => {
  const { audit } = await readConfiguration(home);
  if (audit.length === 0) return [];
  const newest = await lastEntry(home);
  return Promise.all(audit.map((one) => auditFinding(home, one, newest)));
};

/** The place of the newest entry; -1 where there is none. */
async function lastEntry(home: string): Promise<number> {
  if (!existsSync(databaseIn(home))) return -1;
  const store = await openSqliteReader(databaseIn(home), [ledgerTables]);
  try {
    return (await (await LedgerReader.of(store)).size()) - 1;
  } finally {
    await store.close();
  }
}

async function auditFinding(home: string, one: AuditSettings[number], newest: number): Promise<Finding> {
  const { name, to } = one;
  try {
    await auditDestination(home, one);
  } catch (error) {
    return wrong(`"${name}" cannot begin: ${errorMessage(error)}`, "Correct audit in reins.yaml.");
  }
  const { CursorFile } = await import("@reins/telemetry/audit");
  const { marks, at, failure } = await new CursorFile(auditCursorIn(home, name)).load();
  const exported = marks.at(-1)?.seq ?? -1;
  const where = `${exported + 1} of ${newest + 1} entries are at ${to}`;
  if (failure)
    return wrong(
      `"${name}" stands still since ${failure.since}: ${failure.error}; ${where}`,
      isAddress(to)
        ? "Repair the receiver, or correct the address under audit in reins.yaml; nothing is lost meanwhile."
        : "Make the file writable, or correct the path under audit in reins.yaml; nothing is lost meanwhile.",
    );
  if (at === undefined)
    return note(`"${name}" has exported nothing yet`, "It begins with the next reins up.");
  return fine(`"${name}": ${where}, the last at ${at}`);
}

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
  credentials: credentialsCheck,
  sandbox: sandboxCheck,
  reach: reachCheck,
  browser: browserCheck,
  issuers: issuersCheck,
  audit: auditCheck,
};

export const doctorCommand = command({
  description:
    "Checks whether this machine and this home have what Reins needs, and shows how to repair what is wrong.",
  inputs: { home: HOME, json: ["--json", "print the findings as JSON"] },
  note: `Checks Node, the home, keys, the database, disk, the port or the running Reins, the
constitution, the roster, agents and their credentials, the sandbox, whether an
agent could reach Reins itself, the browser, OpenID issuers, and exports. Changes nothing.`,
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
