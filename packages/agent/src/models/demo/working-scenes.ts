import { pathsIn, quotedIn } from "../../control/defaults/intent/target.ts";
import type { ToolResult } from "../../history/part.ts";
import { calling, isRefusal, refused, type Scene, type Step, saying } from "./step.ts";

/** Which command runs the tests of a project, by a file that it has. */
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

/** The home folder's own entry: by its standard, rm removes no such thing, whoever lets it run. */
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
