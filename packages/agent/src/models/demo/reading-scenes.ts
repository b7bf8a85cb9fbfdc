import { pathsIn, quotedIn } from "../../control/defaults/intent/target.ts";
import { calling, refused, type Scene, saying } from "./step.ts";

const SHOWN = 12;
/** What the tool says of a folder in which it found nothing. */
const NOTHING = /^(?:There is nothing in|Nothing in) /;

/** Looks into a folder. */
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

/** Reads a file and says what is in it. */
export const read: Scene = (words, [content]) => {
  const path = pathsIn(words)[0] ?? quotedIn(words)[0];
  if (path === undefined) return saying('Which file? Say, for example, "read README.md and summarise it".');
  if (!content) return calling(`Let me read ${path}.\n`, "read_file", { path });
  return content.isError ? refused(content) : saying(summaryOf(path, content.text));
};

/** Looks for a text. */
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
