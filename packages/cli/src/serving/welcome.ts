import { homedir } from "node:os";
import { table } from "../operator/table.ts";

/** What a person is told when Reins is up. */
export interface WelcomeFacts {
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
