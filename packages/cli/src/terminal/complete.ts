import type { Dirent } from "node:fs";
import { readdir } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import type { AutocompleteItem, AutocompleteProvider } from "@earendil-works/pi-tui";
import { hasHidden } from "@reins/kit";
import type { Chat } from "./chat.ts";
import { COMMANDS } from "./commands.ts";
import { proseLine } from "./text.ts";

const MOST_OFFERED = 40;
/** So many entries of folders are looked at for a name without a folder. */
const MOST_LOOKED_AT = 3_000;
const NEVER_SEARCHED: ReadonlySet<string> = new Set([".git", "node_modules"]);

const COMMAND_NAME = /^\/([\w-]*)$/;
const COMMAND_ARGUMENT = /^\/([\w-]+)\s+(\S*)$/;
const MENTION = /(?:^|\s)@("?)([^\s"]*)$/;

/** Completes commands with their arguments, and names of files behind `@`. */
export function completions(chat: Chat, folder: () => string | undefined): AutocompleteProvider {
  return {
    triggerCharacters: ["@", "/"],
    async getSuggestions(lines, line, column, { signal }) {
      const before = (lines[line] ?? "").slice(0, column);
      const found = line === 0 ? await commandItems(chat, before) : undefined;
      if (found) return found.items.length > 0 ? found : null;
      const [, quote = "", name] = MENTION.exec(before) ?? [];
      const root = folder();
      if (name === undefined || root === undefined) return null;
      const names = await filesLike(root, name, signal);
      const items = names.map((path) => ({ value: mention(path), label: path }));
      return items.length > 0 ? { items, prefix: `@${quote}${name}` } : null;
    },
    applyCompletion(lines, cursorLine, cursorCol, { value }, prefix) {
      const text = lines[cursorLine] ?? "";
      const head = text.slice(0, cursorCol);
      // What was offered may be for an earlier text.
      if (!head.endsWith(prefix)) return { lines, cursorLine, cursorCol };
      // A folder is gone on with.
      const done = `${head.slice(0, -prefix.length || undefined)}${value}${value.endsWith("/") ? "" : " "}`;
      const changed = lines.with(cursorLine, done + text.slice(cursorCol));
      return { lines: changed, cursorLine, cursorCol: done.length };
    },
    shouldTriggerFileCompletion: () => true,
  };
}

async function commandItems(
  chat: Chat,
  before: string,
): Promise<{ readonly items: AutocompleteItem[]; readonly prefix: string } | undefined> {
  const [, name] = COMMAND_NAME.exec(before) ?? [];
  if (name !== undefined) {
    const own = [...COMMANDS].map(([command, { about, argument = "" }]) => ({
      value: `/${command}`,
      label: `/${command} ${argument}`.trim(),
      description: about,
    }));
    const agents = chat.state.commands
      .filter((command) => !COMMANDS.has(command.name) && !hasHidden(command.name))
      .map((command) => ({
        value: `/${command.name}`,
        label: `/${command.name}`,
        description: proseLine(command.about),
      }));
    return {
      items: [...own, ...agents].filter(({ value }) => value.startsWith(`/${name}`)),
      prefix: `/${name}`,
    };
  }
  const [, command = "", argument] = COMMAND_ARGUMENT.exec(before) ?? [];
  const offers = COMMANDS.get(command)?.offers;
  if (argument === undefined || !offers) return undefined;
  const items = (await offers(chat).catch(() => []))
    .filter(({ value }) => value.startsWith(argument) && !hasHidden(value))
    .map(({ value, label, about }) => ({
      value,
      label: proseLine(label),
      ...(about !== undefined && { description: proseLine(about) }),
    }));
  return { items: items.slice(0, MOST_OFFERED), prefix: argument };
}

/** Quotes a path that has spaces. */
function mention(path: string): string {
  return path.includes(" ") ? `@"${path}"` : `@${path}`;
}

/** Paths in a folder, relative to it: those below the named folder, or anywhere if only a name is given. */
async function filesLike(root: string, given: string, signal: AbortSignal): Promise<readonly string[]> {
  const folder = given.endsWith("/") ? given : dirname(given);
  const part = given.endsWith("/") ? "" : basename(given);
  const wanted = part.toLowerCase();
  const isShown = (name: string) =>
    !hasHidden(name) && !name.includes('"') && (part.startsWith(".") || !name.startsWith("."));
  if (given.includes("/")) {
    const entries = await entriesOf(join(root, folder));
    const matching = entries.filter(({ name }) => isShown(name) && name.toLowerCase().startsWith(wanted));
    return matching.slice(0, MOST_OFFERED).map((entry) => pathOf(folder.replace(/\/$/, ""), entry));
  }
  const found: string[] = [];
  const folders = [""];
  let looked = 0;
  while (folders.length > 0 && found.length < MOST_OFFERED && looked < MOST_LOOKED_AT && !signal.aborted) {
    const inside = folders.shift() ?? "";
    for (const entry of await entriesOf(join(root, inside))) {
      looked += 1;
      if (!isShown(entry.name)) continue;
      if (entry.name.toLowerCase().includes(wanted)) found.push(pathOf(inside, entry));
      if (entry.isDirectory() && !NEVER_SEARCHED.has(entry.name) && wanted !== "")
        folders.push(join(inside, entry.name));
    }
  }
  return found.slice(0, MOST_OFFERED);
}

function pathOf(folder: string, entry: Dirent): string {
  return `${join(folder, entry.name)}${entry.isDirectory() ? "/" : ""}`;
}

/** What is in a folder; nothing if it cannot be read. */
async function entriesOf(folder: string): Promise<Dirent[]> {
  const entries = await readdir(folder, { withFileTypes: true }).catch(() => []);
  return entries.sort((one, other) => (one.name < other.name ? -1 : 1));
}
