import { call, type Part } from "@reins/scripted-model";

/** A small piece of work in a folder, with the program that says whether it was done. */
export interface Task {
  readonly name: string;
  /** What the person asks for. */
  readonly prompt: string;
  /** The files of the folder, by path. */
  readonly files: Readonly<Record<string, string>>;
  /** A module that throws unless the work is done. It is run in the folder, from a copy that the agent never had. */
  readonly check: string;
  /** Whether the agent has the check too, as `check.mjs`. */
  readonly isVisible: boolean;
  /** The calls that a model makes which does the work, one message after the other; then it says that it is done. */
  readonly steps: readonly (readonly Part[])[];
}

/** A task whose check the agent can run. */
export function task(
  name: string,
  prompt: string,
  { files, check, steps }: Pick<Task, "files" | "check" | "steps">,
): Task {
  return {
    name,
    prompt: `${prompt} Run \`${CHECK}\` to see whether it works.`,
    files,
    check,
    steps,
    isVisible: true,
  };
}

/** A task that is checked only afterwards. */
export function blindTask(
  name: string,
  prompt: string,
  { files, check, steps }: Pick<Task, "files" | "check" | "steps">,
): Task {
  return { name, prompt, files, check, steps, isVisible: false };
}

const CHECK = "node check.mjs";

export const list = (path = "."): Part => call("list_files", { path });
export const read = (
  path: string,
  range: { readonly start_line?: number; readonly lines?: number } = {},
): Part => call("read_file", { path, ...range });
export const search = (query: string): Part => call("search", { query });
export const write = (path: string, content: string): Part => call("write_file", { path, content });
export const edit = (path: string, old_text: string, new_text: string): Part =>
  call("edit_file", { path, old_text, new_text });
export const remove = (path: string): Part => call("delete_file", { path });
export const run = (command: string): Part => call("run_command", { command });
export const runCheck: Part = run(CHECK);
