import { readFile } from "node:fs/promises";
import { homedir } from "node:os";
import { resolve } from "node:path";
import { text } from "node:stream/consumers";
import { EventType, parseExact } from "@reins/ahp";
import { errorMessage } from "@reins/kit";
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
import { command, HOME, type ValuesOf } from "../../command.ts";
import { CliError, systemCode } from "../../errors.ts";
import { readNamedFile } from "../../files.ts";
import { oneOf } from "../../flags.ts";
import { hasDatabase } from "../../home-database.ts";
import { readLedger } from "../../ledger/open-ledger.ts";
import { eachVerdict } from "./backtest.ts";
import { findConstitution, JSON_FLAG, LOOKING, policyIn } from "./constitution-file.ts";
import { describeExplanation, type ExplainReport } from "./explanation.ts";

interface GivenEvent {
  readonly event_type: EventType;
  readonly session_id: string | undefined;
  readonly agent_id: string | undefined;
  readonly depth: number;
  readonly payload: unknown;
}

/** Reads an event from a file, from JSON, or from stdin. */
export async function readEvent(source: string, input: NodeJS.ReadableStream): Promise<GivenEvent> {
  return asEvent(parse(await textFrom(source, input)));
}

const EXAMPLE = `{"tool_name":"bash","arguments":{"command":"ls"}}`;

async function textFrom(source: string, input: NodeJS.ReadableStream): Promise<string> {
  if (source === "-") return text(input);
  if (source.trimStart().startsWith("{")) return source;
  const next = `Give a file, - for stdin, or the JSON itself: '${EXAMPLE}'`;
  return readNamedFile(source, "The event cannot be read", next);
}

function parse(json: string): unknown {
  try {
    return parseExact(json);
  } catch (error) {
    throw new CliError(`The event is not JSON: ${errorMessage(error)}`, {
      next: `Give JSON such as ${EXAMPLE}.`,
      cause: error,
    });
  }
}

/** Keeps an AHP event; anything else is the payload of a `pre_action`. */
export function asEvent(value: unknown): GivenEvent {
  if (typeof value !== "object" || value === null || Array.isArray(value))
    throw new CliError("The event is not a JSON object.", {
      next: `Give one such as ${EXAMPLE}.`,
    });
  const event: { readonly [name: string]: unknown } = { ...value };
  if (typeof event.event_type !== "string")
    return {
      event_type: "pre_action",
      session_id: undefined,
      agent_id: undefined,
      depth: 0,
      payload: value,
    };
  if (event.payload === undefined && event.tool_name !== undefined)
    throw new CliError("The event names a tool beside its payload, where it has no effect.", {
      next: `Give {"event_type":"${event.event_type}","payload":{"tool_name":…}}, or the payload alone.`,
    });
  const { data: event_type } = EventType.safeParse(event.event_type);
  if (event_type === undefined)
    throw new CliError(`There is no control event "${event.event_type}".`, {
      next: `Give one of ${EventType.options.join(", ")}.`,
    });
  return {
    event_type,
    session_id: textIn(event.session_id),
    agent_id: textIn(event.agent_id),
    depth: typeof event.depth === "number" ? event.depth : 0,
    payload: event.payload ?? {},
  };
}

function textIn(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}

const NATIVE_AGENT = "native";
const SOME_SESSION = "explain";
const folder = { read: (path: string) => resolve(path) } as const;
const readTrust = oneOf(TRUST_LEVELS);
const readEnforcement = oneOf(ENFORCEMENTS);
const readStart = oneOf(STARTS);

/** The flags of `reins policy explain`. */
export const EXPLAIN_FLAGS = {
  file: ["--file <file>", "the constitution (default: constitution.yaml of the home)"],
  home: HOME,
  cwd: ["--cwd <folder>", "where the agent's relative paths start (default: here)", folder],
  workspace: [
    "--workspace <folder>",
    "a folder the session works in (default: --cwd); may be repeated",
    { many: "repeated" },
  ],
  agent: ["--agent <id>", "the agent (default: the event's, or native)"],
  tools: ["--tools <agent>", "whose tool table applies (default: that of the agent)"],
  trust: [
    "--trust <trust>",
    "unknown, registered or standing (default: what the roster says)",
    { read: readTrust },
  ],
  enforcement: [
    "--enforcement <level>",
    "performed, confined, asked or observed",
    { default: ["asked"], read: readEnforcement },
  ],
  session: ["--session <id>", "the session (default: the event's)"],
  user: ["--user <id>", "on whose behalf", { default: ["operator"] }],
  tenant: ["--tenant <name>", "the tenant", { default: ["default"] }],
  role: ["--role <role>", "a role of the user; may be repeated", { many: "repeated" }],
  scope: [
    "--scope <scope>",
    "a scope of the subject (default: *, all); may be repeated",
    { many: "repeated" },
  ],
  started: [
    "--started <how>",
    "interactive, sub-agent, background or api",
    { default: ["interactive"], read: readStart },
  ],
  mode: ["--mode <mode>", "the mode the session is in", { default: ["default"] }],
  at: ["--at <time>", "the time of the event, RFC 3339 (default: now)", { read: readTime }],
  json: JSON_FLAG,
} as const;

export const explainCommand = command({
  summary: "explain what would be decided on an event",
  description:
    "Determines what an event would do, evaluates the rules, and explains which conditions held, which " +
    "failed, what the verdict is and why.",
  inputs: { source: ["<event>", "a file with the event, the JSON itself, or - for stdin"], ...EXPLAIN_FLAGS },
  note: `The event is an AHP event, or only the payload of a tool call, such as
  {"tool_name":"Bash","arguments":{"command":"ls"}}
Determines its effects on this machine as it is now; performs none of them. If rules
count what came before, uses the ledger of the home, when there is
one.`,
  examples: [
    "reins policy explain event.json",
    `reins policy explain '{"tool_name":"bash","arguments":{"command":"make"}}'`,
    "reins policy explain event.json --agent claude --tools claude-code",
    "reins policy explain event.json --workspace ~/project --cwd ~/project/src",
    "reins policy explain event.json --file draft.yaml --trust unknown",
    "reins policy explain event.json --enforcement confined --json | jq .verdict",
  ],
  codes: { ...LOOKING, done: "explained, whatever the verdict" },
  async run({ source, ...flags }, { notice }) {
    const { home, json } = flags;
    const given = await readEvent(source, process.stdin);
    const settings = explainSettings(flags, given, await rosterOf(home), new Date());
    const { subject, at } = settings;
    const text = await findConstitution(flags.file, home, flags.tenant);
    const policy = await policyIn(text, notice);
    const event = { ...given, session_id: subject.session, agent_id: subject.agent };
    const counters = await countersOf(policy, subject, at, { home, json });
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
    return { json: report, text: () => describeExplanation(report) };
  },
});

interface ExplainSettings {
  readonly subject: Subject;
  readonly cwd: string;
  readonly roots: readonly string[];
  /** The agent whose tool table applies. */
  readonly tools: string;
  readonly at: number;
}

/** Takes what the flags leave open from the event, the roster and this machine. */
export function explainSettings(
  flags: ValuesOf<typeof EXPLAIN_FLAGS>,
  event: GivenEvent,
  roster: Pick<Roster, "trustOf">,
  now: Date,
): ExplainSettings {
  const agent = flags.agent ?? event.agent_id ?? NATIVE_AGENT;
  const cwd = flags.cwd ?? resolve(".");
  return {
    subject: {
      user: flags.user,
      tenant: flags.tenant,
      roles: flags.role ?? [],
      scopes: flags.scope ?? ["*"],
      agent,
      trust: flags.trust ?? roster.trustOf(agent),
      session: flags.session ?? event.session_id ?? SOME_SESSION,
      started: flags.started,
      chain: [],
      depth: event.depth,
      mode: flags.mode,
      enforcement: flags.enforcement,
    },
    cwd,
    roots: flags.workspace?.map((folder) => resolve(folder)) ?? [cwd],
    tools: flags.tools ?? agent,
    at: flags.at ?? now.getTime(),
  };
}

function readTime(text: string): number {
  const time = Date.parse(text);
  if (!Number.isNaN(time)) return time;
  throw new CliError(`--at is "${text}".`, { next: "Give a time such as 2026-11-15T05:20:00Z." });
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
  flags: Parameters<typeof readLedger>[0],
): Promise<Counters | undefined> {
  if (policy.sequences.length === 0) return {};
  if (!(await hasDatabase(flags.home))) return undefined;
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
