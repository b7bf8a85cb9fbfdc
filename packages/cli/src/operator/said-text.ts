import { text as readAll } from "node:stream/consumers";
import { CliError } from "../errors/cli-error.ts";

/** What somebody says in a command: its words, or what comes on stdin where the only word is `-`. */
export async function saidText(words: readonly string[], what: string): Promise<string> {
  const text = words.length === 1 && words[0] === "-" ? await readAll(process.stdin) : words.join(" ");
  if (text.trim() !== "") return text.trim();
  throw new CliError(`There is nothing in ${what}.`, {
    next: "Say something, or give - and write it to stdin.",
  });
}
