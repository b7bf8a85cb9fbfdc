import { execFile } from "node:child_process";
import { mkdir, mkdtemp, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { type JsonObject, membersOf } from "@reins/acp";
import { errorMessage } from "@reins/kit";
import { reply, type Script, ScriptedModel, say } from "@reins/scripted-model";
import type { PrintedTable } from "../../../../scripts/bench/bench.ts";
import {
  bareClient,
  governedClient,
  type NativeClient,
  type NativeClientOptions,
} from "../native/native-client.ts";
import type { Task } from "./task.ts";

/** What one attempt at a task came to. */
export interface Attempt {
  readonly isPassed: boolean;
  /** Why it was not passed. */
  readonly fault?: string;
  /** Requests to the model. */
  readonly requests: number;
  /** Calls of tools that clients saw. */
  readonly calls: number;
  readonly tokens: number;
  /** In dollars; absent where the price of the model is not known. */
  readonly cost?: number;
  /** How often a person was asked. */
  readonly asks: number;
  readonly milliseconds: number;
}

/** A task, as the governed agent did it and as the same agent did it that nothing governed. */
export interface Comparison {
  readonly task: Task;
  readonly governed: Attempt;
  readonly bare: Attempt;
}

/** Has the native agent do tasks, governed and not, with the model that an environment names. */
export async function evaluate(
  tasks: readonly Task[],
  options: NativeClientOptions,
): Promise<readonly Comparison[]> {
  const [governed, bare] = [await governedClient(options), await bareClient(options)];
  try {
    const comparisons: Comparison[] = [];
    for (const task of tasks)
      comparisons.push({ task, governed: await attempt(governed, task), bare: await attempt(bare, task) });
    return comparisons;
  } finally {
    await governed.close();
    await bare.close();
  }
}

/** Has the native agent do tasks with a model that plays their scripts. */
export async function evaluateScripted(tasks: readonly Task[]): Promise<readonly Comparison[]> {
  await using model = await ScriptedModel.listen({ script: scriptOf(tasks), estimatesUsage: true });
  const { url, key } = model.endpoint;
  return await evaluate(tasks, {
    environment: {
      PATH: PATH,
      ANTHROPIC_API_KEY: key,
      ANTHROPIC_BASE_URL: url,
      REINS_MODEL: "anthropic:scripted",
    },
    // A round price, of no real model.
    prices: { scripted: { input: 1, output: 10 } },
  });
}

/** The path of commands, with the Node that runs this first. */
export const PATH = `${dirname(process.execPath)}:${process.env.PATH ?? "/usr/bin:/bin"}`;

/** Plays the steps of the task that a conversation is about: as many as its results have followed. */
function scriptOf(tasks: readonly Task[]): Script {
  return ({ items }) => {
    const said = items.flatMap((item) => (item.role === "user" ? [item.text] : [])).join("\n");
    const task = tasks.find(({ prompt }) => said.includes(prompt));
    let results = items.filter(({ role }) => role === "tool").length;
    const step = task?.steps.find((parts) => {
      results -= parts.length;
      return results < 0;
    });
    return step ? reply(...step) : reply(say("Done."));
  };
}

async function attempt(client: NativeClient, task: Task): Promise<Attempt> {
  const cwd = await folderOf(client, task);
  const session = String((await client.ask("session/new", { cwd, mcpServers: [] })).sessionId);
  const seen = { requests: 0, calls: 0, asks: 0 };
  client.onAsked = (id) => {
    if (id === session) seen.asks += 1;
  };
  client.onUpdate = (id, { sessionUpdate }) => {
    if (id !== session) return;
    if (sessionUpdate === "usage_update") seen.requests += 1;
    if (sessionUpdate === "tool_call") seen.calls += 1;
  };
  const began = performance.now();
  const prompt = [{ type: "text", text: task.prompt }];
  const ended: JsonObject = await client
    .ask("session/prompt", { sessionId: session, prompt })
    .catch((error: unknown) => ({ stopReason: errorMessage(error) }));
  const milliseconds = performance.now() - began;
  await client.ask("session/close", { sessionId: session });
  const { totalTokens, cost } = membersOf(ended.usage);
  const fault = ended.stopReason === "end_turn" ? await faultIn(task, cwd) : `it ended: ${ended.stopReason}`;
  return {
    ...seen,
    isPassed: fault === undefined,
    ...(fault !== undefined && { fault }),
    tokens: Number(totalTokens ?? 0),
    ...(typeof cost === "number" && { cost }),
    milliseconds,
  };
}

async function folderOf({ workspace }: NativeClient, { files, check, isVisible }: Task): Promise<string> {
  const cwd = await mkdtemp(join(workspace, "task-"));
  for (const [path, content] of Object.entries({ ...files, ...(isVisible && { "check.mjs": check }) })) {
    await mkdir(dirname(join(cwd, path)), { recursive: true });
    await writeFile(join(cwd, path), content);
  }
  return cwd;
}

const CHECK_MS = 60_000;

/** Runs the check of a task; gives the first line of what is wrong, if anything is. */
async function faultIn({ check }: Task, cwd: string): Promise<string | undefined> {
  await writeFile(join(cwd, "check.mjs"), check);
  const options = { cwd, env: { PATH }, timeout: CHECK_MS };
  return promisify(execFile)(process.execPath, ["check.mjs"], options).then(
    () => undefined,
    ({ stderr, message }) => String(/^\w*Error.*$/m.exec(String(stderr))?.[0] ?? message).slice(0, 200),
  );
}

/** The table of an evaluation: what each task took, governed and, behind the slash, not governed. */
export function evaluationTable(comparisons: readonly Comparison[]): PrintedTable {
  const both = ({ governed, bare }: Comparison, figure: (attempt: Attempt) => string) =>
    `${figure(governed)} / ${figure(bare)}`;
  const rows = comparisons.map((each) => [
    each.task.name,
    both(each, ({ isPassed }) => (isPassed ? "yes" : "NO")),
    both(each, ({ requests }) => String(requests)),
    both(each, ({ calls }) => String(calls)),
    both(each, ({ tokens }) => String(tokens)),
    both(each, ({ cost }) => (cost === undefined ? "-" : cost.toFixed(4))),
    String(each.governed.asks),
    each.governed.fault ?? each.bare.fault ?? "",
  ]);
  return {
    heading: ["task", "passed", "requests", "calls", "tokens", "dollars", "asks", "fault"],
    rows,
    alignments: ["left", "left", "right", "right", "right", "right", "right", "left"],
  };
}
