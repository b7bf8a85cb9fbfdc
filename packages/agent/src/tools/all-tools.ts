import { lstat, rm } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { type Memory, SkillError } from "@reins/bridge";
import { errorCode } from "@reins/kit";
import { z } from "zod";
import { FileError, type Roots } from "../files/roots.ts";
import { decodeText, readStart, withFile, withFolder, writeAtomically } from "../files/workspace-files.ts";
import { askPerson } from "./ask-person.ts";
import { readCommand, stopCommand } from "./background-commands.ts";
import { fetchPage } from "./fetch-page.ts";
import type { EntryChange, HostServices } from "./host-services.ts";
import { postBoard, readBoard, readMailbox, remember, sendMessage } from "./host-tools.ts";
import { listFiles } from "./list-files.ts";
import { readFile } from "./read-file.ts";
import { runCommand } from "./run-command.ts";
import { search } from "./search.ts";
import { spawnSubagent } from "./spawn-subagent.ts";
import { defineTool, type Tool, type ToolContext, ToolError } from "./tool.ts";

/** Creates or replaces a file. */
export const writeFile = defineTool({
  name: "write_file",
  description: "Writes a text file of the workspace, replacing what was there. Folders are made as needed.",
  kind: "edit",
  arguments: z.strictObject({
    path: z.string().min(1).describe("The file, from the working folder on or absolute"),
    content: z.string().describe("All of its text"),
  }),
  title: ({ path }) => `Write ${path}`,
  // The old text is not read here: whether it may be read is part of the question.
  prepare: async ({ path, content }, { roots }) => {
    const real = await roots.resolve(path);
    return { locations: [real], content: [{ type: "diff", path: real, oldText: null, newText: content }] };
  },
  async perform({ path, content }, context) {
    const { roots } = context;
    const real = await roots.resolve(path);
    await changing(context, { path: real, content }, () => writeAtomically(roots, real, content));
    return {
      text: `Wrote ${Buffer.byteLength(content)} bytes to ${path}.`,
      content: [{ type: "diff", path: real, oldText: null, newText: content }],
    };
  },
});

const MAX_EDITED_BYTES = 5 * 1024 * 1024;

/** Replaces a text in a file. */
export const editFile = defineTool({
  name: "edit_file",
  description:
    "Replaces a text in a file of the workspace. The old text has to be there exactly, and only once unless all places are to be changed.",
  kind: "edit",
  arguments: z.strictObject({
    path: z.string().min(1).describe("The file, from the working folder on or absolute"),
    old_text: z.string().min(1).describe("What is there now"),
    new_text: z.string().describe("What is to be there instead"),
    replace_all: z.boolean().optional().describe("Whether to change every place"),
  }),
  title: ({ path }) => `Edit ${path}`,
  prepare: async ({ path, old_text, new_text }, { roots }) => {
    const real = await roots.resolve(path);
    return {
      locations: [real],
      content: [{ type: "diff", path: real, oldText: old_text, newText: new_text }],
    };
  },
  async perform({ path, old_text, new_text, replace_all = false }, context) {
    const { roots } = context;
    const text = await withFile(roots, path, async (file) => {
      if ((await file.stat()).size > MAX_EDITED_BYTES)
        throw new FileError("too_large", `${path} is too large to be edited`);
      return decodeText(await readStart(file, MAX_EDITED_BYTES), false);
    });
    if (text === undefined) throw new FileError("not_text", `${path} is not a text file`);
    const places = text.split(old_text).length - 1;
    if (places === 0) throw new ToolError("failed", `the old text is not in ${path}; read it again`);
    if (places > 1 && !replace_all)
      throw new ToolError(
        "failed",
        `the old text is ${places} times in ${path}; give more of it, or set replace_all`,
      );
    const real = await roots.resolve(path);
    const content = text.split(old_text).join(new_text);
    await changing(context, { path: real, content }, () => writeAtomically(roots, real, content));
    return {
      text: `Changed ${places} place${places === 1 ? "" : "s"} in ${path}.`,
      content: [{ type: "diff", path: real, oldText: old_text, newText: new_text }],
    };
  },
});

/** Deletes a file or a folder. */
export const deleteFile = defineTool({
  name: "delete_file",
  description:
    "Deletes a file of the workspace, or a folder with everything in it. It cannot be brought back.",
  kind: "delete",
  arguments: z.strictObject({
    path: z.string().min(1).describe("The file, from the working folder on or absolute"),
  }),
  title: ({ path }) => `Delete ${path}`,
  prepare: async ({ path }, { roots }) => ({ locations: [join(...(await parentAndName(roots, path)))] }),
  async perform({ path }, context) {
    const { roots } = context;
    const [folder, name] = await parentAndName(roots, path);
    const remove = () => removeEntry(roots, folder, name, path);
    await changing(context, { path: join(folder, name) }, remove);
    return { text: `Deleted ${path}.` };
  },
});

/** Removes an entry of a folder; `shown` is the path as given. */
function removeEntry(roots: Roots, folder: string, name: string, shown: string): Promise<void> {
  return withFolder(roots, folder, { make: false }, async (base) => {
    const at = join(base, name);
    await lstat(at).catch((error: unknown) => {
      if (errorCode(error) === "ENOENT") throw new FileError("missing", `there is no ${shown}`);
      throw error;
    });
    // Links inside are removed, not followed.
    await rm(at, { recursive: true });
  });
}

/** Changes an entry of the workspace, after what is there was kept for the turn. */
function changing<Result>(
  { services, sessionId, turn }: ToolContext,
  change: EntryChange,
  run: () => Promise<Result>,
): Promise<Result> {
  if (!services.snapshots || !turn) return run();
  return services.snapshots.change(sessionId, turn, change, run);
}

/** The real parent folder and the name of an entry. A link counts as itself, not as its target. */
async function parentAndName(roots: Roots, path: string): Promise<readonly [folder: string, name: string]> {
  const name = basename(path);
  if (name === "" || name === "." || name === ".." || (await roots.isRoot(await roots.resolve(path))))
    throw new FileError("invalid", "the workspace itself is not deleted; name what is in it");
  return [await roots.resolve(dirname(path)), name];
}

/** The tools of the native agent whose services are available. */
export function allTools(
  { mail, board, subagents, skills, bridge, web }: HostServices,
  memory: Memory | undefined,
): readonly Tool[] {
  return [
    readFile,
    listFiles,
    search,
    askPerson,
    ...(mail ? [sendMessage, readMailbox] : []),
    ...(board ? [readBoard, postBoard] : []),
    ...(subagents ? [spawnSubagent] : []),
    writeFile,
    editFile,
    deleteFile,
    runCommand,
    readCommand,
    stopCommand,
    ...(web ? [fetchPage] : []),
    ...(memory ? [remember] : []),
    ...(skills || bridge ? [loadSkill] : []),
    updatePlan,
  ];
}

/** Shows the plan and its progress. It changes nothing but the agent's own plan. */
export const updatePlan = defineTool({
  name: "update_plan",
  description:
    "Shows the plan for the task and how far it is. Give all entries each time; one is in progress at a time.",
  kind: "think",
  isReadOnly: true,
  isInner: true,
  arguments: z.strictObject({
    entries: z
      .array(
        z.strictObject({
          content: z.string().min(1).max(500),
          status: z.enum(["pending", "in_progress", "completed"]),
          priority: z.enum(["high", "medium", "low"]).default("medium"),
        }),
      )
      .max(50),
  }),
  title: () => "Update the plan",
  perform: async ({ entries }) => ({ text: "Shown.", plan: entries }),
});

/** Shows the instructions of a skill, and puts it to use. */
export const loadSkill = defineTool({
  name: "load_skill",
  description:
    "Loads the instructions of a skill by its name, or a file that they refer to. Call it before you begin work that one of the listed skills is for.",
  kind: "read",
  isReadOnly: true,
  isRuntime: true,
  arguments: z.strictObject({
    name: z.string().min(1).max(200).describe("The skill, as it is listed"),
    arguments: z
      .string()
      .max(4_096)
      .optional()
      .describe("What the skill is to work on, where it takes arguments"),
    file: z
      .string()
      .min(1)
      .max(1_000)
      .optional()
      .describe("A file of the skill to read instead, as the loaded instructions list it"),
  }),
  title: ({ name, file }) =>
    file === undefined ? `Load the skill ${name}` : `Read ${file} of the skill ${name}`,
  async perform({ name, arguments: given, file }, { loadSkill: load }) {
    if (!load) throw new ToolError("failed", "there are no skills here");
    try {
      return { text: await load(name, { arguments: given, file }) };
    } catch (error) {
      if (error instanceof SkillError) throw new ToolError("failed", error.message, { cause: error });
      throw error;
    }
  },
});
