import { constants } from "node:fs";
import { access } from "node:fs/promises";
import { delimiter, isAbsolute, join, resolve } from "node:path";
import { type AgentEntry, isPassable, MODEL_API_NAMES, undescribed } from "@reins/agents";
import { replaceFile } from "@reins/kit";
import { z } from "zod";
import { CliError } from "../errors.ts";
import { readIfExists, readYamlFile, unusable } from "../files.ts";

/** A command that speaks ACP: its words, or these with the API that it asks its model by. */
const Command = z.union([
  z.array(z.string().min(1)).min(1),
  z.strictObject({
    command: z.array(z.string().min(1)).min(1),
    model_api: z.enum(MODEL_API_NAMES).optional(),
  }),
]);
type Command = z.infer<typeof Command>;

const AgentsFile = z.strictObject({
  /** Whether an agent must be verified as it is now. */
  require_verified: z.boolean().default(false),
  /** Whether an agent must be installed; none is installed on first use. */
  require_installed: z.boolean().default(false),
  /** Whether an archive of the registry is refused of which no checksum is known. */
  require_checksums: z.boolean().default(false),
  /** Whether nothing is fetched: neither the registry nor agents. */
  offline: z.boolean().default(false),
  /** Environment variables that agents get beside what they need, by agent; `*` is all. */
  pass: z
    .record(
      z.string(),
      z.array(
        z
          .string()
          .regex(/^[A-Za-z_]\w*$/, "is not the name of a variable")
          .refine(isPassable, "would make programs load code, and is never passed on"),
      ),
    )
    .default({}),
  /** Agents that declare action graphs by what they say; the text of every other is text. */
  protocol: z.array(z.string()).default([]),
  /** Agents of which only the command is given. */
  commands: z
    .record(z.string().regex(/^[a-z][a-z0-9-]{0,63}$/, "must be small letters, digits and dashes"), Command)
    .default({}),
  /** Agents in the form of the catalogue; one with the same id replaces the catalogue's. */
  agents: z.array(z.unknown()).default([]),
});
export type AgentsFile = z.infer<typeof AgentsFile>;

export function agentsFileIn(home: string): string {
  return join(home, "agents.yaml");
}

/** Reads the file; the environment overrides it. */
export async function readAgentsFile(home: string): Promise<AgentsFile> {
  const file = await readYamlFile(agentsFileIn(home), AgentsFile);
  const { env } = process;
  return {
    ...file,
    offline: isOn(env.REINS_OFFLINE) ?? file.offline,
    require_installed:
      isOn(env.REINS_REQUIRE_PREINSTALL ?? env.SANDBOX_AGENT_REQUIRE_PREINSTALL) ?? file.require_installed,
  };
}

function isOn(value: string | undefined): boolean | undefined {
  return value === undefined || value === "" ? undefined : /^(?:1|true|yes|on)$/i.test(value);
}

/** The agents that the file adds to the catalogue. */
export function addedIn({ agents, commands }: AgentsFile): readonly unknown[] {
  const named = Object.entries(commands).map(([id, given]) => commandEntry(id, given));
  return [...named, ...agents];
}

function commandEntry(id: string, given: Command): AgentEntry {
  const { command, model_api: modelApi } = Array.isArray(given) ? { command: given } : given;
  const [file = "", ...args] = command;
  return undescribed({ id, modelApi, start: { with: "file", file: resolve(file), args } });
}

/** Adds an agent by its command, and keeps everything else in the file as it is. */
export async function addCommand(
  home: string,
  id: string,
  { command, modelApi }: { readonly command: readonly string[]; readonly modelApi?: string | undefined },
): Promise<void> {
  const given = modelApi === undefined ? command : { command, model_api: modelApi };
  const { success } = AgentsFile.safeParse({ commands: { [id]: given } });
  if (!success)
    throw new CliError(`"${id}" is no name of an agent.`, {
      next: "Take small letters, digits and dashes, and name a program.",
    });
  await changeFile(home, (document) =>
    document.setIn(["commands", id], document.createNode(given, { flow: true })),
  );
}

/** Whether an agent was added by its command. */
export async function isAdded(home: string, id: string): Promise<boolean> {
  return Object.hasOwn((await readAgentsFile(home)).commands, id);
}

/** Removes an agent that was added by its command; returns whether there was one. */
export async function removeCommand(home: string, id: string): Promise<boolean> {
  if (!(await isAdded(home, id))) return false;
  await changeFile(home, (document) => void document.deleteIn(["commands", id]));
  return true;
}

type Document = ReturnType<typeof import("yaml")["parseDocument"]>;

async function changeFile(home: string, change: (document: Document) => void): Promise<void> {
  const path = agentsFileIn(home);
  const { parseDocument } = await import("yaml");
  const document: Document = parseDocument((await readIfExists(path)) ?? "", { uniqueKeys: true });
  const [fault] = document.errors;
  if (fault) throw unusable(path, fault.message);
  change(document);
  await replaceFile(path, document.toString());
}

/** The absolute path of a program: as it is named, or as PATH finds it. Undefined if there is none. */
export async function programPath(name: string): Promise<string | undefined> {
  const folders = (process.env.PATH ?? "").split(delimiter).filter((folder) => isAbsolute(folder));
  const paths = /[/\\]/.test(name) ? [resolve(name)] : folders.map((folder) => join(folder, name));
  for (const path of paths) {
    const isThere = await access(path, constants.X_OK).then(
      () => true,
      () => false,
    );
    if (isThere) return path;
  }
  return undefined;
}
