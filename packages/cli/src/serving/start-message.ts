import { access as isThere, readdir } from "node:fs/promises";
import { homedir } from "node:os";
import { join } from "node:path";
import { styleText } from "node:util";
import type { Access } from "@reins/server";
import { startTokenIn } from "../home.ts";
import { version } from "../installation.ts";
import type { Log } from "../log.ts";
import { print, table } from "../output.ts";
import { browserOpener, openInBrowser, pageAddress } from "./address.ts";
import type { ListeningServer, ServerAddress } from "./listen.ts";

const NAMES: Readonly<Record<ServerAddress["transport"], string>> = {
  http: "over HTTP at",
  websocket: "over WebSocket at",
  unix: "on the socket",
  stdio: "on",
  memory: "in",
};

/** Logs one line per address. */
export function announce(opened: readonly ListeningServer[], log: Pick<Log, "info">): void {
  for (const { transport, address } of addressesOf(opened)) {
    log.info({ transport, address }, `listening: AHP ${NAMES[transport]} ${address}`);
  }
}

interface StartedServer {
  readonly opened: readonly ListeningServer[];
  readonly access: Pick<Access, "newCode">;
  readonly home: string;
  readonly workspace: string;
  /** Whether the token of the home is in use. */
  readonly ownToken: boolean;
  readonly mayOpen: boolean;
  readonly log: Log;
}

/** Announces the start: a welcome text and the page on a terminal, log lines elsewhere. */
export async function announceStart(started: StartedServer): Promise<void> {
  const { opened, access, home, workspace, mayOpen, log } = started;
  const address = addressesOf(opened).find(({ transport }) => transport === "http")?.address;
  if (!process.stdout.isTTY || address === undefined) return logStart(started, address);
  const page = pageAddress(address, access.newCode());
  const opens = mayOpen && browserOpener(process.env) !== undefined;
  const agents = ["native", ...(await installedIn(home))];
  const bold = (text: string) => styleText("bold", text, { stream: process.stdout });
  // npm start offers no other way to run commands.
  const reins = process.env.npm_lifecycle_event === "start" ? "npm run reins --" : "reins";
  print(welcomeText({ version: version(), page, home, workspace, agents, reins, opens }, bold));
  announce(opened, { info: log.debug.bind(log) });
  if (opens) await openInBrowser(page, process.env);
}

/** Without a login code, because logs may be kept. */
function logStart({ opened, home, workspace, ownToken, log }: StartedServer, ahp: string | undefined): void {
  announce(opened, log);
  if (ownToken)
    log.info(
      { path: startTokenIn(home) },
      "programs send the token in start-token, or one of reins token create",
    );
  log.info({ version: version(), home }, `reins ${version()} is up; Ctrl-C stops it`);
  if (ahp !== undefined) {
    const page = pageAddress(ahp);
    log.info({ page }, `the page is at ${page}; reins open logs a browser in`);
    const address = ahp.replace(/^http/, "ws").replace(/ahp$/, "ws");
    log.info({ address }, `HAAK's sessions, for OpenClaw clients: ${address}`);
  }
  log.info({ workspace }, `sessions that name no folder work in ${workspace}`);
}

/** The agents that are installed in a home. Reads only folder names, to load nothing else. */
export async function installedIn(home: string): Promise<string[]> {
  const folder = join(home, "agents");
  const names = await readdir(folder).catch(() => []);
  const found = await Promise.all(
    names.map((name) =>
      isThere(join(folder, name, "current")).then(
        () => [name],
        () => [],
      ),
    ),
  );
  return found.flat().sort();
}

function addressesOf(opened: readonly ListeningServer[]): readonly ServerAddress[] {
  return opened.flatMap(({ addresses }) => addresses);
}

interface WelcomeFacts {
  readonly version: string;
  /** With a login code. */
  readonly page: string;
  readonly home: string;
  /** The folder of sessions that name none. */
  readonly workspace: string;
  readonly agents: readonly string[];
  /** How commands are started here. */
  readonly reins: string;
  readonly opens: boolean;
}

export function welcomeText(facts: WelcomeFacts, bold: (text: string) => string = (text) => text): string {
  const { version, page, home, workspace, agents, reins, opens } = facts;
  const once = opens
    ? "opening in your browser"
    : `works once, within ten minutes; ${reins} open creates another`;
  const tries = [
    [`${reins} run "what is in this folder?"`, "give the built-in agent a task"],
    [`${reins} approvals watch`, "answer approvals"],
    [`${reins} ledger log -f`, "follow the ledger"],
  ] as const;
  return `
  ${bold(`Reins ${version} is up.`)} Ctrl-C stops it.

  Page     ${bold(page)}
           ${once}
  Home     ${short(home)}
  Folder   ${short(workspace)}, for sessions that name none
  Agents   ${agents.join(", ")}

  Try, from another terminal:
${table(tries.map(([command, what]) => [`    ${command}`, what]))}
`;
}

function short(path: string): string {
  const home = homedir();
  return path === home || path.startsWith(`${home}/`) ? `~${path.slice(home.length)}` : path;
}
