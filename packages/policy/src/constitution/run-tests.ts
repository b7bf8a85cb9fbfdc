import { posix } from "node:path";
import type { Action, DecisionInput, Effect } from "../action.ts";
import type { Policy } from "../decision/policy.ts";
import type { PolicyVerdict } from "../decision/verdict.ts";
import type { FileKind, FilePort } from "../facts/files.ts";
import { type FactsContext, gatherFacts } from "../facts/gather.ts";
import { loadToolTables, type ToolTables } from "../facts/tool/tool-call.ts";
import type { SubjectGraph } from "../subject.ts";
import type { PolicyTest, RuleVerdict } from "./constitution.ts";

/** An example, and the verdict it got. */
export interface TestOutcome {
  readonly index: number;
  readonly test: PolicyTest;
  readonly got: Pick<PolicyVerdict, "verdict" | "rule">;
  /** Why that is not what it should be; absent when it is. */
  readonly fault: string | undefined;
}

/** Runs the examples of a constitution on itself; commands are read as those of agents are. */
export async function testOutcomes(policy: Policy): Promise<TestOutcome[]> {
  const outcomes: TestOutcome[] = [];
  for (const [index, test] of policy.file.tests.entries())
    outcomes.push(outcomeOf(policy, test, index, await commandAction(test)));
  return outcomes;
}

/** What is wrong with the examples that did not get the verdict they should; those with a command are left out. */
export function plainTestFaults(policy: Policy): { readonly message: string }[] {
  return policy.file.tests.flatMap((test, index) => {
    if (test.given.command !== undefined) return [];
    const { fault } = outcomeOf(policy, test, index, undefined);
    return fault === undefined ? [] : [{ message: fault }];
  });
}

function outcomeOf(policy: Policy, test: PolicyTest, index: number, action: Action | undefined): TestOutcome {
  const { verdict, rule } = policy.decide(inputOf(test, action));
  return { index, test, got: { verdict, rule }, fault: faultOf(test, verdict, rule) };
}

async function commandAction({ given }: PolicyTest): Promise<Action | undefined> {
  const { command, tool, agent, files } = given;
  return command === undefined ? undefined : imaginedFacts({ tool, command, agent, files });
}

function faultOf(test: PolicyTest, verdict: RuleVerdict, rule: string | undefined): string | undefined {
  const got = `got ${verdict} by ${rule === undefined ? "no rule" : `rule "${rule}"`}`;
  if (verdict !== test.expect) return `test "${test.name}": expected ${test.expect}, ${got}`;
  if (test.rule === undefined || test.rule === rule) return undefined;
  return `test "${test.name}": expected rule "${test.rule}", ${got}`;
}

function inputOf({ given }: PolicyTest, found: Action | undefined): DecisionInput {
  const { tool, event, effects, opaque, at, arguments: args, command: _, files: __, ...subject } = given;
  const { network, origin, graph, ...who } = subject;

  return {
    event_type: event,
    action: found ?? {
      ...{ tool, effects: effects.map(effectOf), opaque, doubts: [], claims: {} },
      arguments: args ?? {},
    },
    subject: {
      ...{ ...who, network, origin, session: "test", chain: [] },
      ...(graph && { graph: graphOf(graph) }),
    },
    counters: {},
    at: at === undefined ? 0 : Date.parse(at),
  };
}

function graphOf({ operation, ...graph }: NonNullable<PolicyTest["given"]["graph"]>): SubjectGraph {
  return { run: "test", ...graph, ...(operation !== undefined && { operation }) };
}

/** An effect as an example writes it, with what it left out. */
function effectOf(given: PolicyTest["given"]["effects"][number]): Effect {
  switch (given.kind) {
    case "read":
    case "write": {
      const { path = "/workspace/file", place = "workspace" } = given;
      const reach = {
        ...(given.inside !== undefined && { inside: given.inside }),
        ...(given.deep && { deep: true as const }),
      };
      if (given.kind === "read")
        return { kind: "read", path, place, ...reach, ...(given.passing && { passing: true as const }) };
      const { destroys = false, recoverable } = given;
      return {
        ...{ kind: "write", path, place, ...reach, destroys },
        ...(recoverable !== undefined && { recoverable }),
      };
    }
    case "exec": {
      const { command = "true", arguments: words = [], opaque = false } = given;
      return {
        kind: "exec",
        command,
        arguments: words.map((word) => (word === null ? null : String(word))),
        opaque,
      };
    }
    case "net":
      return { kind: "net", host: given.host ?? "*", ...(given.looks && { looks: true as const }) };
  }
}

const WORKSPACE = "/workspace";
const HOME = "/home/user";
const FOLDERS = ["/", WORKSPACE, `${WORKSPACE}/.git`, "/home", HOME, "/tmp", "/etc", "/usr"];

let tables: ToolTables | undefined;

/** A command that an example gives, and where. */
interface ImaginedCall {
  readonly tool: string;
  readonly command: string;
  readonly agent: string;
  /** Files that are there, from the workspace's folder; git keeps none of them. */
  readonly files: readonly string[];
}

/** What a command would do on a machine that has nothing but a workspace, so that it is the same on all machines. */
async function imaginedFacts({ tool, command, agent, files }: ImaginedCall): Promise<Action> {
  tables ??= loadToolTables();
  const table =
    [agent, "claude-code", "native", ...tables.keys()].find((name) => hasTool(name, tool)) ?? agent;
  const roles = tables.get(table)?.tools[tool]?.arguments ?? {};
  const name =
    Object.keys(roles).find((one) => roles[one] === "shell" || roles[one] === "words") ?? "command";
  const context: FactsContext = {
    roots: [WORKSPACE],
    cwd: WORKSPACE,
    home: HOME,
    harness: `${HOME}/.local/share/reins`,
    environment: { HOME, TMPDIR: "/tmp/session" },
    agent: table,
    tables,
    files: imaginedFiles(files.map((file) => posix.join(WORKSPACE, file))),
  };
  const payload = { tool_name: tool, arguments: { [name]: command } };
  return gatherFacts(
    { event_type: "pre_action", session_id: "test", agent_id: agent, depth: 0, payload },
    context,
  );
}

function hasTool(table: string, tool: string): boolean {
  const known = tables?.get(table)?.tools;
  return known !== undefined && Object.hasOwn(known, tool);
}

function imaginedFiles(files: readonly string[]): FilePort {
  const kinds = new Map<string, FileKind>(FOLDERS.map((folder) => [folder, "folder"]));
  for (const file of files) {
    for (let folder = posix.dirname(file); !kinds.has(folder); folder = posix.dirname(folder))
      kinds.set(folder, "folder");
    kinds.set(file, "file");
  }
  const kindOf = (path: string) => kinds.get(posix.normalize(path).replace(/(.)\/$/, "$1"));
  const ifThere = <Value>(path: string, value: Value) =>
    Promise.resolve(kindOf(path) === undefined ? undefined : value);
  return {
    realpath: (path) => ifThere(path, posix.normalize(path).replace(/(.)\/$/, "$1")),
    lstat: (path) => Promise.resolve(kindOf(path)),
    readlink: () => Promise.resolve(undefined),
    list: (path) =>
      ifThere(
        path,
        [...kinds]
          .filter(([one]) => one !== path && posix.dirname(one) === path)
          .map(([one, kind]) => ({ name: posix.basename(one), isFolder: kind === "folder" })),
      ),
    readStart: (path) => Promise.resolve(kindOf(path) === "file" ? "" : undefined),
    bytes: (path) => Promise.resolve(kindOf(path) === "file" ? new Uint8Array() : undefined),
    slice: (path) => Promise.resolve(kindOf(path) === "file" ? new Uint8Array() : undefined),
    state: (path) => ifThere(path, { size: 0, modified: 0n, changed: 0n }),
    linkedIdentity: () => Promise.resolve(undefined),
  };
}
