import type { JsonObject } from "@reins/acp";
import { pathsIn, quotedIn } from "../advisor/intent.ts";
import type { ToolResult } from "../history/entry.ts";

/** The next step of the demo model: a text, and a tool call unless it is done. */
export interface Step {
  readonly say: string;
  readonly call?: { readonly name: string; readonly arguments: JsonObject };
  /** Milliseconds between two words. */
  readonly pace?: number;
}

/** One ability of the demo model: the next step for a prompt and the results so far. */
export type Scene = (
  words: string,
  results: readonly ToolResult[],
  /** What the harness added to the prompt. */
  context: string,
) => Step;

/** Added once per session, so that the script is not mistaken for a model. */
export const WHO =
  "(This was the demo model, a script that needs no key. Say hello to hear what it can do. For a model that thinks, set ANTHROPIC_API_KEY or OPENAI_API_KEY.)";

/** A step that calls a tool. */
function calling(say: string, name: string, given: JsonObject): Step {
  return { say, call: { name, arguments: given } };
}

/** The last step. */
export function saying(say: string): Step {
  return { say };
}

const REFUSAL = /^Not allowed: (.+?)(?:\. It was not done\b|$)/s;

/** The last step after a call that failed or was refused. */
function refused({ text }: ToolResult): Step {
  const [, reason] = REFUSAL.exec(text) ?? [];
  if (reason === undefined) return saying(`That did not work. ${text}`);
  return saying(
    `I was not allowed to do that: ${reason}. Reins decided so before anything happened, and the verdict is on record (reins ledger log shows it).`,
  );
}

/** Whether a call was refused. */
function isRefusal({ text }: ToolResult): boolean {
  return REFUSAL.test(text);
}

const SHOWN = 12;
/** The tool's text for an empty folder. */
const NOTHING = /^(?:There is nothing in|Nothing in) /;

/** Lists a folder. */
export const explore: Scene = (words, [listing]) => {
  const path = pathsIn(words)[0];
  if (!listing) return calling("Let me look.\n", "list_files", path === undefined ? {} : { path });
  if (listing.isError) return refused(listing);
  const names = NOTHING.test(listing.text) ? [] : linesOf(listing.text);
  if (names.length === 0)
    return saying('There is nothing here yet. Say, for example, "write a file notes.txt that says hello".');
  const more = names.length > SHOWN ? `, and ${names.length - SHOWN} more` : "";
  const guide = names.find((name) => /^readme/i.test(name));
  return saying(
    `${countOf(names)}: ${names.slice(0, SHOWN).join(", ")}${more}.` +
      (guide === undefined ? "" : ` ${guide} may say more; ask me to read it.`),
  );
};

function countOf(names: readonly string[]): string {
  const folders = names.filter((name) => name.endsWith("/")).length;
  if (names.length === 1) return `There is one ${folders === 1 ? "folder" : "file"} here`;
  const some = folders === 1 ? "one of them a folder" : `${folders} of them folders`;
  return `There are ${names.length} entries here, ${folders === 0 ? "none of them a folder" : some}`;
}

/** Reads a file and summarises it. */
export const read: Scene = (words, [content]) => {
  const path = pathsIn(words)[0] ?? quotedIn(words)[0];
  if (path === undefined) return saying('Which file? Say, for example, "read README.md and summarise it".');
  if (!content) return calling(`Let me read ${path}.\n`, "read_file", { path });
  return content.isError ? refused(content) : saying(summaryOf(path, content.text));
};

/** Searches for a text. */
export const search: Scene = (words, [matches]) => {
  const query = quotedIn(words)[0] ?? /\b(?:for|of|is|are)\s+(?:the\s+)?([\w.$-]+)/i.exec(words)?.[1];
  if (query === undefined) return saying('What am I to look for? Say, for example, "search for `port`".');
  if (!matches) return calling(`Looking for ${query}.\n`, "search", { query });
  if (matches.isError) return refused(matches);
  const lines = linesOf(matches.text);
  if (lines.length === 0) return saying(`Nothing that I may show: ${matches.text}`);
  return saying(`This is what I found:\n${lines.slice(0, SHOWN).join("\n")}`);
};

function summaryOf(path: string, text: string): string {
  const lines = text.split("\n");
  const headings = lines.filter((line) => /^#{1,3}\s/.test(line)).map((line) => line.replace(/^#+\s*/, ""));
  const sentence = lines.find((line) => /^[A-Za-z"'`*].{20,}/.test(line.trim()))?.trim();
  const words = text.split(/\s+/).filter((word) => word !== "").length;
  return [
    `${path} has ${lines.length} lines and ${words} words.`,
    ...(headings.length > 0 ? [`Its headings: ${headings.slice(0, SHOWN).join("; ")}.`] : []),
    ...(sentence === undefined ? [] : [`It begins: "${sentence.slice(0, 300)}"`]),
  ].join(" ");
}

function linesOf(text: string): readonly string[] {
  return text.split("\n").filter((line) => line.trim() !== "" && !isNotice(line));
}

function isNotice(line: string): boolean {
  return line.startsWith("[") && line.endsWith("]") && /\s/.test(line);
}

const MOST = 10_000;
/** Shorter counts are said without a pause. */
const COUNT_AT_ONCE = 50;
const COUNT_PACE = 20;

/** Introduces itself. */
export const introduce: Scene = () =>
  saying(
    [
      "I am the demo model: no key, no network, and no more sense than a script. What I do with tools is real, and so are the verdicts on it. Try:",
      "- what is in this folder",
      "- read README.md and summarise it",
      "- write a file notes.txt that says hello",
      "- run the tests",
      "- read .env",
      "- delete everything",
      "- remember that the port is 18789; and later: what do you remember about the port?",
      "",
      "For a model that thinks, set ANTHROPIC_API_KEY or OPENAI_API_KEY, or choose one by REINS_MODEL.",
    ].join("\n"),
  );

/** Counts, for a turn of any length. */
export const count: Scene = (words) => {
  const to = Math.min(Number(/\bcount (?:up )?to (\d+)/i.exec(words)?.[1] ?? 10), MOST);
  const numbers = Array.from({ length: to }, (_, index) => index + 1).join(" ");
  return { say: numbers, ...(to > COUNT_AT_ONCE && { pace: COUNT_PACE }) };
};

/** Stores a fact, or repeats the facts that were recalled. */
export const remember: Scene = (words, [kept], context) => {
  if (/^\s*(?:what|which|who|where|do you)\b/i.test(words)) return recall(context);
  const content = /\b(?:that|this|:)\s+(.+)$/is.exec(words)?.[1]?.trim() ?? words.trim();
  if (!kept) return calling("I will keep that in mind.\n", "remember", { content });
  return kept.isError ? refused(kept) : saying("Noted.");
};

const RECALLED = /^Remembered from earlier sessions:\n((?:- .+\n?)+)/m;

function recall(context: string): Step {
  const [, facts] = RECALLED.exec(context) ?? [];
  if (facts === undefined)
    return saying('I remember nothing about that. Say, for example, "remember that the port is 18789".');
  return saying(`This is what I remember:\n${facts.trim()}`);
}

/** Reads the mailbox, or sends a message. */
export const mail: Scene = (words, [result]) => {
  const outgoing = /\bto\s+@?([\w.:-]+)\b[\s,]*(?:saying|that|about|:)?\s*(.+)$/is.exec(words);
  if (/\b(send|write|tell|notify)\b/i.test(words) && outgoing) {
    const [, to = "", rest = ""] = outgoing;
    const body = quotedIn(rest)[0] ?? rest.trim();
    if (!result)
      return calling(`I will write to ${to}.\n`, "send_message", { to, subject: body.slice(0, 60), body });
    return result.isError ? refused(result) : saying(`The message to ${to} is on its way.`);
  }
  if (!result) return calling("Let me see what has come in.\n", "read_mailbox", {});
  return result.isError ? refused(result) : saying(`This is my mail:\n${result.text}`);
};

/** Reads the board, or posts on it. */
export const board: Scene = (words, [result]) => {
  const post = /\bpost\b/i.test(words)
    ? (quotedIn(words)[0] ?? /\bpost\s+(.+?)\s+(?:on|to) the\b/is.exec(words)?.[1])
    : undefined;
  if (post !== undefined) {
    if (!result) return calling("I will post that.\n", "post_board", { content: post });
    return result.isError ? refused(result) : saying("It is on the board.");
  }
  if (!result) return calling("Let me read the board.\n", "read_board", {});
  return result.isError ? refused(result) : saying(`The board says:\n${result.text}`);
};

/** Delegates to a subagent. */
export const delegate: Scene = (words, [result]) => {
  const prompt = quotedIn(words)[0] ?? /\b(?:to|that)\s+(.+)$/is.exec(words)?.[1]?.trim();
  if (prompt === undefined)
    return saying('What is it to do? Say, for example, "spawn a subagent to list the files".');
  const [, agent] = /\b(?:an?|the) ([a-z][a-z0-9-]*) sub-?agent\b/i.exec(words) ?? [];
  const given = { prompt, ...(agent !== undefined && { agent }) };
  if (!result) return calling("I will delegate that to a subagent.\n", "spawn_subagent", given);
  return result.isError ? refused(result) : saying(`It reports:\n${result.text.replace(WHO, "").trim()}`);
};

/** The command that runs the tests, by a file of the project. */
const TEST_COMMANDS: readonly (readonly [string, string])[] = [
  ["package.json", "npm test"],
  ["Cargo.toml", "cargo test"],
  ["go.mod", "go test ./..."],
  ["pyproject.toml", "python -m pytest"],
  ["Makefile", "make test"],
];

const OUTPUT_SHOWN = 600;

/** Writes a file. */
export const create: Scene = (words, [written]) => {
  const path = pathsIn(words)[0] ?? "hello.txt";
  if (written) return written.isError ? refused(written) : saying(`${path} is written.`);
  return calling(`I will write ${path}.\n`, "write_file", { path, content: `${contentIn(words, path)}\n` });
};

/** Replaces a text in a file. */
export const edit: Scene = (words, [edited]) => {
  const path = pathsIn(words)[0];
  const [old_text, new_text] = quotedIn(words).filter((text) => text !== path);
  if (path === undefined || old_text === undefined || new_text === undefined)
    return saying(
      'I need to know what and where. Say, for example, "replace `old` with `new` in notes.txt".',
    );
  if (edited) return edited.isError ? refused(edited) : saying(`${path} is changed.`);
  return calling(`I will change ${path}.\n`, "edit_file", { path, old_text, new_text });
};

/** Deletes a file, or all of them. */
export const remove: Scene = (words, results) => {
  const path = pathsIn(words)[0];
  const [first, second] = results;
  if (path !== undefined) {
    if (!first) return calling(`I will delete ${path}.\n`, "delete_file", { path });
    return first.isError ? refused(first) : saying(`${path} is deleted.`);
  }
  if (!/\b(everything|all|whole)\b/i.test(words))
    return saying('What am I to delete? Say, for example, "delete notes.txt".');
  if (!first) return calling("Let me see first what would be lost.\n", "list_files", {});
  if (first.isError) return refused(first);
  if (/\b(here|folder|workspace|files?|project)\b/i.test(words)) return removeHere(second);
  if (!second) return calling(AT_YOUR_WORD, "run_command", { command: "rm -rf -- ~/." });
  if (!second.isError) return saying("Nothing was deleted: rm refuses to follow that far.");
  return saying(`${refused(second).say}\nWhat lies in this folder is another matter: ${ASK_A_PERSON}`);
};

/** POSIX rm refuses the entry `.`, so `rm -rf -- ~/.` deletes nothing even if it is allowed. */
const AT_YOUR_WORD = "Taken at your word, everything is the whole home folder.\n";
const ASK_A_PERSON = 'say "delete everything in this folder", and a person is asked first.';

function removeHere(removed: ToolResult | undefined): Step {
  if (!removed) return calling("This cannot be brought back.\n", "run_command", { command: "rm -rf -- ./*" });
  return removed.isError ? refused(removed) : saying("Everything in this folder is deleted.");
}

/** Runs the tests of a project. */
export const test: Scene = (_, results) => {
  const [listing, ran] = results;
  if (!listing) return calling("Let me see what kind of project this is.\n", "list_files", {});
  if (listing.isError) return refused(listing);
  const command = TEST_COMMANDS.find(([file]) => listing.text.split("\n").includes(file))?.[1];
  if (command === undefined)
    return saying(
      "I see nothing here that has tests: no package.json, Cargo.toml, go.mod, pyproject.toml or Makefile.",
    );
  if (!ran) return calling(`Its tests are run with ${command}.\n`, "run_command", { command });
  return ranCommand(ran);
};

/** Runs a command. */
export const run: Scene = (words, [ran]) => {
  const command =
    quotedIn(words)[0] ?? /\b(?:run|execute)\s+(?:the command\s+)?(.+?)[.!?]*$/is.exec(words)?.[1];
  if (command === undefined) return saying('Which command? Say, for example, "run `ls -l`".');
  return ran ? ranCommand(ran) : calling(`Running ${command}.\n`, "run_command", { command });
};

function ranCommand(ran: ToolResult): Step {
  if (isRefusal(ran)) return refused(ran);
  const end = ran.text.slice(-OUTPUT_SHOWN).trim();
  return saying(ran.isError ? `It did not work:\n${end}` : `It went through:\n${end}`);
}

function contentIn(words: string, path: string): string {
  const quoted = quotedIn(words).find((text) => text !== path);
  const said =
    /\b(?:says?|saying|with (?:the )?(?:text|content|words)|containing|that reads)[:\s]+(.+)$/is.exec(
      words,
    )?.[1];
  return quoted ?? said?.trim() ?? "Hello from Reins.";
}
