import { type RewindReport, type RewindTurns, rewindOperations, sessionOperations } from "@reins/api";
import { type ApiClient, idByPrefix } from "../client/api-client.ts";
import { CLIENT, CLIENT_CODES, CLIENT_HELP, withClient } from "../client/connect.ts";
import { command } from "../command.ts";
import { CliError, EXIT } from "../errors.ts";
import { counted, printableLine, screenWidth, table } from "../output.ts";

const ID_LENGTH = 64;
const PAGE = 500;

/** Takes a session back to before a turn, or lists its turns. */
export const rewindCommand = command({
  description:
    "Takes a session back to before a turn: the files that Reins wrote for its agent, and the conversation of the native agent. Without a turn, lists them.",
  inputs: {
    given: ["<session>", "the id of the session, or its beginning"],
    turn: ["[turn]", "the number of the turn in the list, or its id"],
    files: ["--files", "the files alone"],
    conversation: ["--conversation", "the conversation alone"],
    dryRun: ["--dry-run", "show what it would do, and do nothing"],
    force: [
      "--force",
      "replace what was changed otherwise, and restore what can be where not everything can",
    ],
    ...CLIENT,
  },
  note: `Each file is decided about before the first is written. While one is not as Reins
left it last, nothing is changed. A rewind is in the list, too: to go back to
before it undoes it. What commands, MCP servers and the agent by itself did is not
undone; it is listed.

${CLIENT_HELP}`,
  examples: [
    "reins rewind 4f3a9c01                  the turns of a session",
    "reins rewind 4f3a9c01 3 --dry-run      what going back to before the third would do",
    "reins rewind 4f3a9c01 3 --files        go back, with its files alone",
  ],
  codes: { ...CLIENT_CODES, failed: "not everything was done, or it was refused; the message says why" },
  run({ given, turn, files = false, conversation = false, dryRun = false, force = false, ...client }) {
    if (files && conversation)
      throw new CliError("--files and --conversation each mean that alone.", {
        next: "Leave both out for both.",
      });
    return withClient(client, async (api) => {
      const id = await sessionId(api, given);
      const listed = await api.call(rewindOperations.listTurns, { params: { id } });
      if (turn === undefined) return { json: listed, text: () => turnTable(listed) };
      const body = {
        turn: turnNamed(listed, turn),
        ...{ files: !conversation, dry_run: dryRun, force },
        ...((files || conversation) && { conversation }),
      };
      const json = await api.call(rewindOperations.rewindSession, { params: { id }, body });
      const exitCode = json.done || dryRun ? EXIT.done : EXIT.failed;
      return { json, text: () => describeRewind(json, dryRun), exitCode };
    });
  },
});

function sessionId(client: ApiClient, given: string): Promise<string> {
  const form = { what: "session", mark: "", length: ID_LENGTH, list: "reins run, or the page" };
  return idByPrefix(given, form, [() => pages(client)]);
}

async function* pages(client: ApiClient): AsyncGenerator<readonly { readonly id: string }[]> {
  for (let after: string | undefined; ; ) {
    const query = { limit: PAGE, ...(after !== undefined && { after }) };
    const { sessions, next } = await client.call(sessionOperations.listSessions, { query });
    yield sessions;
    if (next === undefined) return;
    after = next;
  }
}

/** The id of a turn that is named by its number or its id. */
function turnNamed({ turns }: RewindTurns, given: string): string {
  const found = /^\d{1,6}$/.test(given) ? turns[Number(given) - 1] : turns.find(({ id }) => id === given);
  if (found) return found.id;
  throw new CliError(`There is no turn ${given}.`, { next: "To see them, leave it out." });
}

/** What an action did, in one line. */
function lineOf({
  tool,
  outcome,
  runs,
  writes,
  hosts,
  ungated,
  session,
}: RewindReport["effects"][number]): string {
  const parts = [
    runs.join("; "),
    ...(writes.length > 0 ? [`wrote ${writes.join(", ")}`] : []),
    ...(hosts.length > 0 ? [`spoke to ${hosts.join(", ")}`] : []),
    ...(outcome === "completed" ? [] : [outcome === "failed" ? "failed" : "its outcome is unknown"]),
    ...(ungated ? ["without being asked"] : []),
    ...(session === undefined ? [] : [`by the sub-agent ${session.slice(0, 8)}`]),
  ].filter((part) => part !== "");
  return printableLine([tool, parts.join(", ")].filter((part) => part !== "").join("  "));
}

/** The turns of a session as a table. */
export function turnTable({ turns, conversation, forgotten }: RewindTurns): string {
  if (turns.length === 0) return "There is no turn to go back to before.\n";
  const rows = turns.map(({ at, kind, prompt = "", files, in_effect, cut }, index) => [
    ...[String(index + 1), at.slice(0, 19).replace("T", " "), String(files)],
    cut ? "cut off" : in_effect === false ? "left out" : kind === "rewind" ? "rewind" : "",
    printableLine(prompt),
  ]);
  const notes = [
    conversation ? "" : "The conversation stays: the agent holds it itself.\n",
    forgotten === undefined ? "" : "The files of earlier turns are not kept any more.\n",
  ];
  return `${table([["turn", "began (UTC)", "files", "", "prompt"], ...rows], screenWidth())}${notes.join("")}`;
}

/** What became of a rewind, or would. */
export function describeRewind(
  { done, files, conversation, effects, effects_cut, rewind }: RewindReport,
  dryRun: boolean,
): string {
  const lines = files.map(({ path, change, state, reason }) => {
    const what = state === "unchanged" ? "as it was" : change === "remove" ? "removed" : "written";
    const how = state === "restored" ? what : state === "pending" ? `to be ${what}` : state;
    return `  ${how}  ${printableLine(path)}${reason === undefined ? "" : `: ${printableLine(reason)}`}`;
  });
  const hindered = files.some(({ state }) => state === "conflict" || state === "lost");
  const said = { rewound: "went back", pending: "would go back", kept: "stays as it is" }[conversation.state];
  if (!dryRun && rewind === undefined && hindered)
    lines.push("Nothing was changed. --force replaces conflicts, and restores what can be.");
  else if (!dryRun && !done) lines.push("Not everything was done.");
  lines.push(`The conversation ${said}${conversation.reason ? `: ${conversation.reason}` : ""}.`);
  if (effects.length > 0 || effects_cut) {
    const all = effects_cut ? `More than ${effects.length} actions` : counted(effects.length, "action");
    lines.push(`Not undone: ${all} since`, ...effects.map((effect) => `  ${lineOf(effect)}`));
  } else lines.push("Nothing else was changed since, by the record.");
  if (rewind !== undefined) lines.push(`To undo it, go back to before ${rewind}`);
  return `${lines.join("\n")}\n`;
}
