import { access as isThere, readdir } from "node:fs/promises";
import { homedir } from "node:os";
import { join } from "node:path";
import { styleText } from "node:util";
import type { Access } from "@reins/server";
import { startTokenIn } from "../home.ts";
import { version } from "../installation.ts";
import type { Log } from "../log.ts";
import { print } from "../output.ts";
import { table } from "../printable.ts";
import { browserOpener, openInBrowser, pageAddress } from "./browser.ts";
import type { ListeningServer, ServerAddress } from "./listen.ts";

const NAMES: Readonly<Record<ServerAddress["transport"], string>> = {
  http: "over HTTP at",
  websocket: "over WebSocket at",
  unix: "on the socket",
  stdio: "on",
  memory: "in",
};

/** Says what listens where, one line for each way in. */
export function announce(opened: readonly ListeningServer[], log: Pick<Log, "info">): void {
  for (const { transport, address } of addressesOf(opened)) {
    log.info({ transport, address }, `listening: AHP ${NAMES[transport]} ${address}`);
  }
}

/** What is said of a Reins that is up. */
interface StartedServer {
  readonly opened: readonly ListeningServer[];
  readonly access: Pick<Access, "newCode">;
  readonly home: string;
  readonly workspace: string;
  /** Whether the token of the home is in use. */
  readonly ownToken: boolean;
  /** Whether a browser may be opened. */
  readonly mayOpen: boolean;
  readonly log: Log;
}

/** Says that Reins is up: in a few words to a person at a terminal, on whose desktop the page opens; else to the log. */
export async function announceStart(greeting: StartedServer): Promise<void> {
  const { opened, access, home, workspace, mayOpen, log } = greeting;
  const address = addressesOf(opened).find(({ transport }) => transport === "http")?.address;
  if (!process.stdout.isTTY || address === undefined) return logStart(greeting, address);
  const page = pageAddress(address, access.newCode());
  const opens = mayOpen && browserOpener(process.env) !== undefined;
  const agents = ["native", ...(await installedIn(home))];
  const bold = (text: string) => styleText("bold", text, { stream: process.stdout });
  // Who started it with npm, from the repository, has no other way to the commands.
  const reins = process.env.npm_lifecycle_event === "start" ? "npm run reins --" : "reins";
  print(welcomeText({ version: version(), page, home, workspace, agents, reins, opens }, bold));
  announce(opened, { info: log.debug.bind(log) });
  if (opens) await openInBrowser(page, process.env);
}

/** A log may be kept, so that no code goes there. */
function logStart({ opened, home, workspace, ownToken, log }: StartedServer, ahp: string | undefined): void {
  announce(opened, log);
  if (ownToken)
    log.info(
      { path: startTokenIn(home) },
      "programs show the token in start-token, or one of reins token create",
    );
  log.info({ version: version(), home }, `reins ${version()} is up; Ctrl-C stops it`);
  if (ahp !== undefined) {
    const page = pageAddress(ahp);
    log.info({ page }, `the page is at ${page}; reins open lets a browser in`);
    const address = ahp.replace(/^http/, "ws").replace(/ahp$/, "ws");
    log.info({ address }, `HAAK's sessions, for OpenClaw clients: ${address}`);
  }
  log.info({ workspace }, `sessions that name no folder work in ${workspace}`);
}

/** The agents that are installed, by a look at their folders: nothing is loaded for it. */
async function installedIn(home: string): Promise<string[]> {
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
  return opened.flatMap(({ entrances }) => entrances);
}

/** What a person is told when Reins is up. */
interface WelcomeFacts {
  readonly version: string;
  /** The page, with the code that lets a browser in. */
  readonly page: string;
  readonly home: string;
  /** Where sessions work that name no folder. */
  readonly workspace: string;
  /** The agents that can be run without installing anything. */
  readonly agents: readonly string[];
  /** How commands are begun here. */
  readonly reins: string;
  /** Whether the page is being opened in a browser. */
  readonly opens: boolean;
}

/** A few words for whoever has just started Reins: where the page is, what there is, and what to try. */
export function welcomeText(facts: WelcomeFacts, bold: (text: string) => string = (text) => text): string {
  const { version, page, home, workspace, agents, reins, opens } = facts;
  const once = opens
    ? "opening in your browser"
    : `works once, within ten minutes; ${reins} open makes another`;
  const tries = [
    [`${reins} run "what is in this folder?"`, "give the built-in agent a task"],
    [`${reins} approvals watch`, "answer what agents ask"],
    [`${reins} ledger log -f`, "see what is decided, as it is recorded"],
  ] as const;
  return `
  ${bold(`Reins ${version} is up.`)} Ctrl-C stops it.

  Page     ${bold(page)}
           ${once}
  Home     ${short(home)}
  Folder   ${short(workspace)}, where sessions work that name no other
  Agents   ${agents.join(", ")}

  Try, from another terminal:
${table(tries.map(([command, what]) => [`    ${command}`, what]))}
`;
}

function short(path: string): string {
  const home = homedir();
  return path === home || path.startsWith(`${home}/`) ? `~${path.slice(home.length)}` : path;
}
