import { readFile } from "node:fs/promises";
import { resolve } from "node:path";
import { text as readAll } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";
import { graphOperations, type RunGraph } from "@reins/api";
import {
  CARRIER_TOOL,
  controlText,
  type Graph,
  graphOfCalls,
  graphOfDeclaration,
  ProtocolError,
  readCarried,
  readDeclared,
} from "@reins/graph";
import { isRecord, parseExact } from "@reins/kit";
import type { ApiClient } from "../../client/api-client.ts";
import { CLIENT, CLIENT_CODES, CLIENT_HELP, withClient } from "../../client/connect.ts";
import { operationCommand } from "../../client/operation-command.ts";
import { command, group } from "../../command.ts";
import { CliError, EXIT, isNotFound } from "../../errors.ts";
import { counted, printableLine, screenWidth, table } from "../../output.ts";

const POLL_MS = 300;
const RUN = ["<run>", "the run's id"] as const;
const FILE = ["<file>", "a declaration as JSON, or a message of a model; - reads stdin"] as const;
const ADVICE = {
  not_found: "Runs are on the page at /ui/runs; graphs are run by a Reins that serves agents: reins up",
} as const;

const checkCommand = command({
  summary: "check a declaration without running it",
  description: "Checks that a file declares a graph that can be run, and shows its actions. Needs no server.",
  inputs: { file: FILE, json: ["--json", "print the graph as JSON"] },
  note: "Whether the executors and what other runs stored are there is checked when it is run.",
  examples: ["reins graph check review.md", "cat answer.txt | reins graph check -"],
  codes: { done: "it can be run", failed: "it cannot; says what is wrong and where", usage: "wrong usage" },
  async run({ file }) {
    const declared = await readDeclarationFile(file);
    const graph = checked(() => graphIn(declared));
    const json = graph ?? { actions: [] };
    return {
      json,
      text: () => (graph ? describeDeclared(graph) : "It declares no graph, and is well formed.\n"),
    };
  },
});

const runCommand = command({
  summary: "run a graph, and show how it ends",
  description:
    "Runs the graph of a file in a session and shows how its actions end, each under a verdict of its own.",
  inputs: {
    file: FILE,
    session: ["--session <id>", "the session it runs in (default: a new one)"],
    cwd: [
      "--cwd <folder>",
      "the folder of the new session (default: this one)",
      { read: (text) => resolve(text) },
    ],
    agent: ["--agent <name>", "the agent of the new session (default: native)"],
    goal: ["--goal <text>", "what `input:user.goal` refers to"],
    id: ["--id <run>", "its id, so that a repeated command starts it once"],
    detach: ["--detach", "do not wait for its end"],
    ...CLIENT,
  },
  note: `While it waits for a person, answer with reins approvals, on the page, or in a
client of the session. A durable run continues after any restart.\n\n${CLIENT_HELP}`,
  examples: ["reins graph run review.md", "reins graph run release.json --session 4f3a9c01 --detach"],
  codes: { ...CLIENT_CODES, done: "it is completed, or was started with --detach" },
  async run({ file, session, cwd, agent, goal, id, detach, ...flags }) {
    const declared = await readDeclarationFile(file);
    checked(() => graphIn(declared));
    const place =
      session === undefined ? { cwd: cwd ?? process.cwd(), ...(agent && { agent }) } : { session };
    const context = goal === undefined ? {} : { context: { user: { goal } } };
    const body = { ...declared, ...place, ...context, ...(id !== undefined && { run_id: id }) };
    return withClient(flags, async (client) => {
      const advice = ADVICE;
      const started = await client.call(graphOperations.startRun, { body, advice });
      const run = detach ? started : await awaitEnd(client, started);
      return { json: run, text: () => describeRun(run), exitCode: detach ? EXIT.done : exitCodeFor(run) };
    });
  },
});

const showCommand = operationCommand({
  operation: graphOperations.getRunGraph,
  summary: "show a run and the state of each action",
  inputs: { id: RUN },
  output: (run) => ({ text: () => describeRun(run) }),
  advice: ADVICE,
  examples: ["reins graph show run_7Qx2", "reins graph show run_7Qx2 --json | jq '.actions[].status'"],
});

const resumeCommand = command({
  summary: "try the failed actions of a run again",
  description: "Continues a run that failed or is blocked: tries its failed and blocked actions again.",
  inputs: { id: RUN, detach: ["--detach", "do not wait for its end"], ...CLIENT },
  note: `What is completed is not repeated. A durable run needs no resume after a restart.\n\n${CLIENT_HELP}`,
  examples: ["reins graph resume run_7Qx2"],
  codes: CLIENT_CODES,
  async run({ id, detach, ...flags }) {
    return withClient(flags, async (client) => {
      const params = { id };
      const found = await client.call(graphOperations.getRunGraph, { params, advice: ADVICE });
      const open = found.actions.filter(({ status }) => status === "failed" || status === "blocked");
      if (open.length === 0)
        throw new CliError(`No action of ${id} has failed or is blocked.`, {
          next: `reins graph show ${id}`,
        });
      let run = found;
      for (const { id: action } of open) {
        const body = { action, decision: "retry" as const };
        run = await client.call(graphOperations.decideRun, { params, body, advice: ADVICE });
      }
      const ended = detach ? run : await awaitEnd(client, run);
      return {
        json: ended,
        text: () => describeRun(ended),
        exitCode: detach ? EXIT.done : exitCodeFor(ended),
      };
    });
  },
});

const cancelCommand = operationCommand({
  operation: graphOperations.cancelRun,
  summary: "cancel a run, or some of its actions",
  inputs: { id: RUN, actions: ["--action <ids>", "these actions alone"] },
  output: (run) => ({ text: () => describeRun(run) }),
  advice: ADVICE,
  examples: ["reins graph cancel run_7Qx2", "reins graph cancel run_7Qx2 --action deploy,announce"],
});

const decideCommand = operationCommand({
  operation: graphOperations.decideRun,
  summary: "decide about an action that failed or is blocked",
  inputs: {
    id: RUN,
    action: ["<action>", "the action"],
    decision: ["<decision>", "retry, continue without it, or abort"],
    note: ["--note <text>", "a note for the model and the record"],
  },
  output: (run) => ({ text: () => describeRun(run) }),
  advice: ADVICE,
  note: "It answers no approval: for those, see reins approvals.",
  examples: ["reins graph decide run_7Qx2 tests retry", "reins graph decide run_7Qx2 lint continue"],
});

export const graphCommand = group(
  "A graph declares actions and what they depend on; Reins decides, executes and records each of them.",
  {
    check: checkCommand,
    run: runCommand,
    show: showCommand,
    resume: resumeCommand,
    cancel: cancelCommand,
    decide: decideCommand,
  },
);

/** Turns what is wrong with a declaration into an error of the command. */
function checked<Value>(read: () => Value): Value {
  try {
    return read();
  } catch (error) {
    if (error instanceof ProtocolError)
      throw new CliError(`The declaration cannot be run: ${error.message}.`, {
        next: "docs/action-graphs.md describes both forms of a declaration.",
        exitCode: EXIT.failed,
      });
    throw error;
  }
}

/** Waits until a run is over or needs a decision that no person in front of it gives. */
async function awaitEnd(client: ApiClient, started: RunGraph): Promise<RunGraph> {
  let run = started;
  while (run.ended_at === undefined && run.waits_for !== "model") {
    await sleep(POLL_MS);
    run = await client.call(graphOperations.getRunGraph, { params: { id: run.run_id } });
  }
  return run;
}

function exitCodeFor({ status, plan }: RunGraph): typeof EXIT.done | typeof EXIT.failed {
  return status === "completed" || plan ? EXIT.done : EXIT.failed;
}

function describeDeclared({ title, actions, isPlan, isDurable }: Graph): string {
  const kind = [isPlan ? "a plan" : "a graph", ...(isDurable ? ["durable"] : [])].join(", ");
  const rows = actions.map(({ id, executor: { type = "any", target }, dependsOn }) => [
    id,
    `${type}:${target}`,
    dependsOn.length > 0 ? `after ${dependsOn.join(", ")}` : "",
  ]);
  const head = `${title === "" ? "" : `${printableLine(title)}: `}${kind} of ${counted(actions.length, "action")}`;
  return `${head}\n${table(rows, screenWidth())}`;
}

/** The state of a run, one action per line. */
export function describeRun(run: RunGraph): string {
  const { run_id, title, status, status_reason, waits_for, session_id, actions, controls } = run;
  const rows = actions.map(({ id, status: stands, executor: { type = "any", target }, ...action }) => {
    const why = action.status_reason ?? action.approval ?? action.result_summary ?? "";
    const shown = stands === "completed" ? (action.result_summary ?? "") : why;
    return [stands, id, `${type}:${target}`, printableLine(shown.split("\n", 1)[0] ?? "")];
  });
  const waits = waits_for === undefined ? "" : ` (needs ${waits_for})`;
  const lines = [
    `${run_id}  ${status}${waits}${title === "" ? "" : `  ${printableLine(title)}`}`,
    ...(status_reason === undefined ? [] : [printableLine(status_reason)]),
    `session ${session_id}`,
  ];
  const changes = controls.map((control) => printableLine(`${control.at}  ${controlText(control)}`));
  return `${lines.join("\n")}\n${table(rows, screenWidth())}${changes.map((line) => `${line}\n`).join("")}`;
}

/** What a file declares: a declaration as JSON, or a whole message of a model. */
type DeclarationFile = { readonly declaration: unknown } | { readonly message: string };

/** Reads a file, or stdin for `-`. */
async function readDeclarationFile(path: string): Promise<DeclarationFile> {
  const text = path === "-" ? await readAll(process.stdin) : await textIn(path);
  if (!/^\s*\{/.test(text)) return { message: text };
  try {
    return { declaration: parseExact(text) };
  } catch (error) {
    throw new CliError(`${path} begins like JSON and is none: ${String(error)}`, {
      next: "Give a declaration as JSON, or a message with a block ```json agent-protocol.",
    });
  }
}

/** The graph that a file declares; throws a {@link ProtocolError} that says what is wrong. */
function graphIn(file: DeclarationFile): Graph | undefined {
  const context = { isEnabled: true, knowsTool: () => true };
  if ("message" in file) {
    const carried = readCarried({ text: file.message, calls: [], isComplete: true }, context);
    if (carried.kind === "calls") return graphOfCalls(carried.output);
    if (carried.kind !== "declaration")
      throw new ProtocolError(
        "malformed",
        "the message declares nothing: it has no block json agent-protocol",
      );
    const { declaration, sections } = carried;
    return isGraph(declaration) ? graphOfDeclaration(declaration, sections) : undefined;
  }
  if (isRecord(file.declaration) && file.declaration.kind !== undefined) {
    const call = { name: CARRIER_TOOL, arguments: JSON.stringify(file.declaration) };
    const carried = readCarried({ text: "", calls: [call], isComplete: true }, context);
    return carried.kind === "calls" ? graphOfCalls(carried.output) : undefined;
  }
  const declaration = readDeclared(file.declaration);
  return isGraph(declaration) ? graphOfDeclaration(declaration, []) : undefined;
}

type Declared = ReturnType<typeof readDeclared>;

function isGraph(
  declaration: Declared,
): declaration is Extract<Declared, { intent: "execute" | "plan" | "revise" }> {
  return ["execute", "plan", "revise"].includes(declaration.intent);
}

async function textIn(path: string): Promise<string> {
  try {
    return await readFile(path, "utf8");
  } catch (error) {
    if (isNotFound(error))
      throw new CliError(`There is no file ${path}.`, { next: "Name a file, or - for stdin." });
    throw error;
  }
}
