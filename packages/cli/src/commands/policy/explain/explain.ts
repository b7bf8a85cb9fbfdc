import { readFile } from "node:fs/promises";
import { homedir } from "node:os";
import {
  type ControlEvent,
  type DecisionInput,
  type Explained,
  explainedBy,
  type FactsContext,
  gatherFacts,
  loadToolTables,
  type Policy,
  Roster,
  realFiles,
  withMembers,
} from "@reins/policy";
import { policyFiles } from "@reins/supervisor";
import { systemCode } from "../../../errors.ts";
import { homeFolder } from "../../../home.ts";
import { noticeOnStderr, print } from "../../../output.ts";
import { readConstitutionFile } from "../constitution-file.ts";
import { policyIn } from "../load-policy.ts";
import { describeExplanation } from "./describe.ts";
import { readEvent } from "./event.ts";
import { countersOf } from "./past.ts";
import type { ExplainReport } from "./report.ts";
import { type ExplainFlags, type ExplainSettings, settleExplain } from "./settings.ts";

/** Tells what would be decided on an event, and why. */
export async function explain(source: string, flags: ExplainFlags): Promise<void> {
  const given = await readEvent(source, process.stdin);
  const home = homeFolder(flags.home, process.env);
  const settings = settleExplain(flags, given, await rosterOf(home), new Date());
  const text = await readConstitutionFile(flags.file, flags);
  const policy = await policyIn(text, noticeOnStderr(flags.json));
  const { subject, at } = settings;
  const event = { ...given, session_id: subject.session, agent_id: subject.agent };
  const counters = await countersOf(policy, subject, at, flags);
  const context = contextOf(settings, home);
  const decide = async (each: ControlEvent): Promise<DecisionInput> => ({
    event_type: each.event_type,
    action: await gatherFacts(each, context),
    subject,
    counters: counters ?? {},
    at,
  });
  const first = explainedBy(policy, await decide(event));
  const report: ExplainReport = {
    file: text.file,
    event_type: event.event_type,
    subject,
    cwd: settings.cwd,
    workspace: settings.roots,
    at: new Date(at).toISOString(),
    counters: counters ?? null,
    ...first,
    again: await decidedAgain(policy, event, first, decide),
  };
  print(flags.json ? `${JSON.stringify(report)}\n` : describeExplanation(report));
}

/** A modified action is decided again as what it has become. */
async function decidedAgain(
  policy: Policy,
  event: ControlEvent,
  { verdict, facts }: Explained,
  decide: (event: ControlEvent) => Promise<DecisionInput>,
): Promise<Explained | null> {
  if (verdict.patch === undefined) return null;
  const modified = withMembers(facts.arguments, verdict.patch);
  return explainedBy(policy, await decide({ ...event, payload: withArguments(event.payload, modified) }));
}

function withArguments(payload: unknown, modified: unknown): unknown {
  return { ...(typeof payload === "object" ? payload : undefined), arguments: modified };
}

function contextOf({ cwd, roots, tools }: ExplainSettings, home: string): FactsContext {
  const tables = loadToolTables();
  return { cwd, roots, home: homedir(), harness: home, agent: tools, tables, files: realFiles };
}

/** Who is known in a home; nobody where there is no roster. */
async function rosterOf(home: string): Promise<Roster> {
  try {
    return Roster.read(await readFile(policyFiles(home, "default").roster, "utf8"));
  } catch (error) {
    if (systemCode(error) === "ENOENT") return Roster.read("");
    throw error;
  }
}
