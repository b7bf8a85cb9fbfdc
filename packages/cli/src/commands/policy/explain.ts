import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { homedir } from "node:os";
import { resolve } from "node:path";
import {
  type ControlEvent,
  type Counters,
  type DecisionInput,
  ENFORCEMENTS,
  type Explained,
  explainedBy,
  type FactsContext,
  gatherFacts,
  History,
  loadToolTables,
  type Policy,
  RecordReader,
  Roster,
  realFiles,
  STARTS,
  type Subject,
  TRUST_LEVELS,
  withMembers,
} from "@reins/policy";
import { policyFiles } from "@reins/supervisor";
import type { Command } from "commander";
import { CliError, helpText, systemCode } from "../../errors.ts";
import { repeated } from "../../flags.ts";
import { databaseIn, homeFolder } from "../../home.ts";
import { readLedger } from "../../ledger/open-ledger.ts";
import { noticeOnStderr, print } from "../../output.ts";
import { LOOKING, type PolicyFlags, policyIn, readConstitutionFile } from "./constitution-file.ts";
import { type GivenEvent, readEvent } from "./event.ts";
import { describeExplanation, type ExplainReport } from "./explanation.ts";
import { eachVerdict } from "./replay.ts";

const HELP = `
The event is an AHP event, or only the payload of a tool call, such as
  {"tool_name":"Bash","arguments":{"command":"ls"}}
Determines its effects on this machine as it is now; performs none of them. If rules
count what came before, uses the ledger of the home, when there is
one.

Examples:
  reins policy explain event.json
  reins policy explain '{"tool_name":"bash","arguments":{"command":"make"}}'
  reins policy explain event.json --agent claude --tools claude-code
  reins policy explain event.json --workspace ~/project --cwd ~/project/src
  reins policy explain event.json --file draft.yaml --trust unknown
  reins policy explain event.json --enforcement confined --json | jq .verdict`;

export function declareExplain(policy: Command): void {
  policy
    .command("explain")
    .summary("explain what would be decided on an event")
    .description(
      "Determines what an event would do, evaluates the rules, and explains which conditions held, which " +
        "failed, what the verdict is and why.",
    )
    .argument("<event>", "a file with the event, the JSON itself, or - for stdin")
    .option("--file <file>", "the constitution (default: constitution.yaml of the home)")
    .option("--home <folder>", "the home folder")
    .option("--cwd <folder>", "where the agent's relative paths start (default: here)")
    .option(
      "--workspace <folder>",
      "a folder the session works in (default: --cwd); may be repeated",
      repeated,
    )
    .option("--agent <id>", "the agent (default: the event's, or native)")
    .option("--tools <agent>", "whose tool table applies (default: that of the agent)")
    .option("--trust <trust>", "unknown, registered or standing (default: what the roster says)")
    .option("--enforcement <level>", "performed, confined, asked or observed", "asked")
    .option("--session <id>", "the session (default: the event's)")
    .option("--user <id>", "on whose behalf", "operator")
    .option("--tenant <name>", "the tenant", "default")
    .option("--role <role>", "a role of the user; may be repeated", repeated)
    .option("--scope <scope>", "a scope of the subject (default: *, all); may be repeated", repeated)
    .option("--started <how>", "interactive, sub-agent, background or api", "interactive")
    .option("--mode <mode>", "the mode the session is in", "default")
    .option("--at <time>", "the time of the event, RFC 3339 (default: now)")
    .option("--json", "print it as JSON")
    .addHelpText("after", helpText(HELP, { ...LOOKING, done: "explained, whatever the verdict" }))
    .action((event: string, _, command: Command) => explain(event, command.optsWithGlobals<ExplainFlags>()));
}

export interface ExplainFlags extends PolicyFlags {
  readonly file?: string;
  readonly cwd?: string;
  readonly workspace?: readonly string[];
  readonly agent?: string;
  readonly tools?: string;
  readonly trust?: string;
  readonly enforcement: string;
  readonly session?: string;
  readonly user: string;
  readonly tenant: string;
  readonly role?: readonly string[];
  readonly scope?: readonly string[];
  readonly started: string;
  readonly mode: string;
  readonly at?: string;
}

interface ExplainSettings {
  readonly subject: Subject;
  readonly cwd: string;
  readonly roots: readonly string[];
  /** The agent whose tool table applies. */
  readonly tools: string;
  readonly at: number;
}

const NATIVE_AGENT = "native";
const SOME_SESSION = "explain";

/** Takes what the flags leave open from the event, the roster and this machine. */
export function explainSettings(
  flags: ExplainFlags,
  event: GivenEvent,
  roster: Pick<Roster, "trustOf">,
  now: Date,
): ExplainSettings {
  const agent = flags.agent ?? event.agent_id ?? NATIVE_AGENT;
  const cwd = resolve(flags.cwd ?? ".");
  return {
    subject: {
      user: flags.user,
      tenant: flags.tenant,
      roles: flags.role ?? [],
      scopes: flags.scope ?? ["*"],
      agent,
      trust: flags.trust === undefined ? roster.trustOf(agent) : oneOf(TRUST_LEVELS, flags.trust, "--trust"),
      session: flags.session ?? event.session_id ?? SOME_SESSION,
      started: oneOf(STARTS, flags.started, "--started"),
      chain: [],
      depth: event.depth,
      mode: flags.mode,
      enforcement: oneOf(ENFORCEMENTS, flags.enforcement, "--enforcement"),
    },
    cwd,
    roots: flags.workspace?.map((folder) => resolve(folder)) ?? [cwd],
    tools: flags.tools ?? agent,
    at: flags.at === undefined ? now.getTime() : readTime(flags.at),
  };
}

function oneOf<Word extends string>(words: readonly Word[], text: string, flag: string): Word {
  const word = words.find((each) => each === text);
  if (word !== undefined) return word;
  throw new CliError(`${flag} is "${text}".`, { next: `Use one of: ${words.join(", ")}.` });
}

function readTime(text: string): number {
  const time = Date.parse(text);
  if (!Number.isNaN(time)) return time;
  throw new CliError(`--at is "${text}".`, { next: "Give a time such as 2026-11-15T05:20:00Z." });
}

async function explain(source: string, flags: ExplainFlags): Promise<void> {
  const given = await readEvent(source, process.stdin);
  const home = homeFolder(flags.home, process.env);
  const settings = explainSettings(flags, given, await rosterOf(home), new Date());
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

/** Decides a modified action again in its new form. */
async function decidedAgain(
  policy: Policy,
  event: ControlEvent,
  { verdict, facts }: Explained,
  decide: (event: ControlEvent) => Promise<DecisionInput>,
): Promise<Explained | null> {
  if (verdict.verdict !== "modify") return null;
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

async function rosterOf(home: string): Promise<Roster> {
  try {
    return Roster.read(await readFile(policyFiles(home, "default").roster, "utf8"));
  } catch (error) {
    if (systemCode(error) === "ENOENT") return Roster.read("");
    throw error;
  }
}

/** What the subject did before, by the rules that count it; undefined without a ledger. */
async function countersOf(
  policy: Policy,
  subject: Subject,
  at: number,
  flags: PolicyFlags,
): Promise<Counters | undefined> {
  if (policy.sequences.length === 0) return {};
  if (!existsSync(databaseIn(homeFolder(flags.home, process.env)))) return undefined;
  const history = new History(policy.sequences);
  const reader = new RecordReader();
  await readLedger(flags, (ledger) =>
    eachVerdict(ledger, { since: undefined, limit: undefined }, (_, payload) => {
      const recorded = reader.read(payload);
      if (typeof recorded === "string" || recorded.subject.tenant !== subject.tenant) return;
      if (recorded.outcome === "allowed" || recorded.outcome === "modify") history.note(recorded);
    }),
  );
  return history.counters(subject, at);
}
