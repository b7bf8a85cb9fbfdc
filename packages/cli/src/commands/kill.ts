import { randomUUID } from "node:crypto";
import { statSync } from "node:fs";
import { type KillReport, type KillRequest, killOperations } from "@reins/api";
import { errorMessage } from "@reins/kit";
import { type KillOrder, killLeftBehind, killSocketIn, requestKill } from "@reins/runner/kill";
import { ApiError } from "@reins/sdk/http";
import { ApiClient, Unreachable } from "../client/api-client.ts";
import { CLIENT, CLIENT_CODES, resolveServer } from "../client/connect.ts";
import { command } from "../command.ts";
import { readConfiguration } from "../configuration/configuration.ts";
import { CliError, EXIT } from "../errors.ts";
import { operatorSocketIn } from "../home.ts";
import { counted, printableLine } from "../output.ts";

/** Ends what agents run. */
export const killCommand = command({
  description:
    "Ends what agents run, also while Reins is too busy to answer, and reports what the system confirms.",
  inputs: {
    what: ["[what]", "an agent, or the id of a session or its beginning"],
    all: ["--all", "every process of every agent"],
    session: ["--session <id>", "a session, whatever its id looks like"],
    agent: ["--agent <name>", "an agent, whatever its name looks like"],
    process: ["--process <id>", "one process of an agent"],
    reason: ["--reason <text>", "why, for the ledger"],
    ...CLIENT,
  },
  note: `A session ends for good, with its agent; other sessions of the same agent are cut
off, and continue with their next prompt. An agent, or everything, is ended at
once: SIGKILL to every process that descends from it.

On this machine it works while Reins does not answer: a separate thread listens on
kill.sock in the home. Processes reported as gone were checked in the process
table afterwards. Every kill is in the ledger: reins ledger log --quality kill`,
  examples: [
    "reins kill 4f3a9c01                    a session, by the beginning of its id",
    "reins kill claude                      every process of an agent",
    'reins kill --all --reason "it phones home"',
    "reins kill --process 41253             one process; the page shows them at /ui/agents",
  ],
  codes: {
    ...CLIENT_CODES,
    done: "every process is gone",
    failed: "a process is left, nothing matches, or it was rejected",
  },
  async run({ what, reason, ...flags }) {
    const request = { ...targetOf(what, flags), ...(reason !== undefined && { reason }) };
    const server = resolveServer(flags, process.env);
    const json = server.url
      ? await killRemote(ApiClient.at(server), request)
      : ((await killOnNodes(server.home, request)) ?? (await killLocal(server.home, request)));
    const isKnown = (json.nodes ?? []).every(({ error }) => error === null);
    const exitCode = json.left.length === 0 && isKnown ? EXIT.done : EXIT.failed;
    return { json, text: () => describeKill(json), exitCode };
  },
});

type KillNames = { readonly all?: boolean | undefined } & {
  readonly [Name in "session" | "agent" | "process"]?: string | undefined;
};

/** Session ids are hexadecimal; agents have other names. */
const SESSION = /^[0-9a-f]{6,64}$/;

export function targetOf(
  what: string | undefined,
  { all, session, agent, process }: KillNames,
): Omit<KillRequest, "reason"> {
  const given = [
    ...(what === undefined ? [] : [SESSION.test(what) ? { session: what } : { agent: what }]),
    ...(all ? [{ all: true as const }] : []),
    ...(session === undefined ? [] : [{ session }]),
    ...(agent === undefined ? [] : [{ agent }]),
    ...(process === undefined ? [] : [{ process }]),
  ];
  const [target] = given;
  if (target && given.length === 1) return target;
  throw new CliError(given.length === 0 ? "Nothing to end is named." : "More than one thing is named.", {
    next: "Name one: reins kill <session or agent>, or reins kill --all",
  });
}

/** The name of the local operator in the ledger. */
const OPERATOR = "user:default/operator";
const TIMEOUT_MS = 60_000;

function killRemote(client: ApiClient, body: KillRequest): Promise<KillReport> {
  const advice = { not_found: "To see what runs: reins agents list, or the page at /ui/agents" };
  return client.call(killOperations.kill, { body, advice });
}

/**
 * Has all nodes carry it out, where this Reins is one of several; undefined where it is alone. Where the nodes cannot be
 * asked, ends what runs on this machine.
 */
async function killOnNodes(home: string, request: KillRequest): Promise<KillReport | undefined> {
  const { node } = await readConfiguration(home).catch(() => ({ node: undefined }));
  if (!node) return undefined;
  try {
    return await killRemote(ApiClient.over(operatorSocketIn(home)), request);
  } catch (error) {
    // A server that answers may have taken the id for that of a process of another node.
    if (error instanceof Unreachable && request.process !== undefined) return undefined;
    if (!isOutage(error) || request.process !== undefined) throw error;
    const report = await killLocal(home, request);
    const others = { node: "the other nodes", gone: 0, left: 0, error: errorMessage(error) };
    return { nodes: [others], ...report };
  }
}

/** Whether a request failed by what the server is in, and not by what was asked. */
function isOutage(error: unknown): boolean {
  if (!(error instanceof CliError)) return false;
  return error instanceof Unreachable || (error.cause instanceof ApiError && error.cause.status >= 500);
}

/**
 * Asks the kill thread, which answers also while the server is blocked. Without a server, or when even the thread
 * does not answer, ends the processes itself.
 */
export async function killLocal(
  home: string,
  request: KillRequest,
  timeoutMs = TIMEOUT_MS,
): Promise<KillReport> {
  if (!statSync(home, { throwIfNoEntry: false })?.isDirectory())
    throw new Unreachable(
      `${home} is not the home of a Reins, so no agent of it runs.`,
      "For another home, give --home <folder> or set REINS_HOME.",
    );
  const order = killOrder(request);
  const timeout = AbortSignal.timeout(timeoutMs);
  const answer = await requestKill(killSocketIn(home), order, timeout).catch((error: unknown) => {
    if (timeout.aborted) return "silence" as const;
    throw error;
  });
  // No process runs; the server may still know the session and end it.
  if (answer === "nothing") return killRemote(ApiClient.over(operatorSocketIn(home)), request);
  if (answer !== "no_listener" && answer !== "silence") return killReport(answer.report, answer.entry);
  // With a new id: a server that hangs may yet carry out the first request.
  if (order.target.kind === "all") return killReport(await killLeftBehind(home, killOrder(request)), null);
  const why =
    answer === "silence"
      ? `The Reins on ${home} hangs: not even its kill thread answers.`
      : `No Reins runs on ${home}, and so none of its agents.`;
  throw new Unreachable(why, "To make sure: reins kill --all");
}

function killOrder({ session, agent, process, reason }: KillRequest): KillOrder {
  const target: KillOrder["target"] =
    session !== undefined
      ? { kind: "session", name: session }
      : agent !== undefined
        ? { kind: "agent", name: agent }
        : process !== undefined
          ? { kind: "process", name: process }
          : { kind: "all" };
  return { id: randomUUID(), target, tenant: null, by: OPERATOR, reason: reason ?? null };
}

function killReport(report: Awaited<ReturnType<typeof killLeftBehind>>, entry: string | null): KillReport {
  const { tenant: _, ...rest } = report;
  return { ...rest, entry };
}

const MOST_LINES = 40;

function describeKill(report: KillReport): string {
  const { gone, left, sessions, inside, entry, visibility, nodes = [] } = report;
  const lines = [
    `${counted(gone.length, "process", "processes")} gone${left.length > 0 ? `, ${left.length} LEFT` : ""}`,
    ...left.map(({ pid, command }) => `  ! ${pid}  ${printableLine(command)}`),
    ...gone.slice(0, MOST_LINES).map(({ pid, command }) => `    ${pid}  ${printableLine(command)}`),
    ...(gone.length > MOST_LINES ? [`    and ${gone.length - MOST_LINES} more`] : []),
    ...nodes.map(({ node, gone: there, left: more, error }) =>
      error === null
        ? `on ${printableLine(node)}: ${there} gone${more > 0 ? `, ${more} LEFT` : ""}`
        : `on ${printableLine(node)}: NOT KNOWN, ${printableLine(error)}`,
    ),
    ...(sessions.length > 0 ? [`${counted(sessions.length, "session")} cut off`] : []),
    ...(inside.length > 0
      ? [`${inside.length} of them have no process of their own: Reins ends their turns itself`]
      : []),
    ...(visibility === "group"
      ? ["this system shows process groups alone; what left its group was not seen"]
      : []),
    entry === null
      ? "Reins does not answer now; it records this as soon as it can, at the latest at its next start"
      : `in the ledger: ${entry}`,
  ];
  return `${lines.join("\n")}\n`;
}
