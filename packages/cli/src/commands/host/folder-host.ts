import { execFile } from "node:child_process";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { RpcError } from "@reins/acp";
import { type HostOffer, hostRankers } from "@reins/bridge";
import { errorMessage, hasCode } from "@reins/kit";
import { z } from "zod";
import { CliError } from "../../errors.ts";

const HostFile = z.object({
  tools: z
    .array(
      z.looseObject({
        name: z.string().min(1),
        /** The program that runs it, and its arguments; the payload comes on its standard input as JSON. */
        command: z.array(z.string()).min(1),
      }),
    )
    .default([]),
  /** What permission requests are answered with. */
  permission: z.enum(["allow", "deny"]).default("deny"),
});
type HostFile = z.infer<typeof HostFile>;

const FILE = "host.json";
const TOOL_MS = 60_000;
const MAX_OUTPUT = 1024 * 1024;

/** What a folder lends: the tools and answers of its `host.json`, and the skills below `skills`. */
export async function folderHost(folder: string): Promise<HostOffer> {
  const { tools, permission } = await readHostFile(folder);
  const listed = tools.map(({ command: _, ...tool }) => tool);
  const isAllowed = permission === "allow";
  return {
    ...hostRankers(listed.map(({ name, description }) => ({ name, description: String(description ?? "") }))),
    "host/capabilities": () => ({
      tools: { ops: ["list", "call"] },
      tool_search: { ops: ["query"] },
      skills: { ops: ["list", "fetch"] },
      skill: { ops: ["match"] },
    }),
    "host/tools/list": () => ({ tools: listed }),
    builtin_call: ({ name, args }, signal) => {
      const tool = tools.find((one) => one.name === name);
      if (!tool) throw new RpcError(-32001, `there is no tool ${JSON.stringify(name)}`);
      return run(tool.command, Array.isArray(args) ? args[0] : undefined, { folder, signal });
    },
    "skills/list": () => skillsIn(folder),
    "skills/fetch": async ({ id }) => {
      const found = (await skillsIn(folder)).find((skill) => skill.id === id);
      if (!found) throw new RpcError(-32002, `there is no skill ${JSON.stringify(id)}`);
      return { name: found.name, body: await readFile(join(folder, "skills", found.id, "SKILL.md"), "utf8") };
    },
    "session/request_permission": () =>
      isAllowed ? { granted: true } : { granted: false, reason: "this host allows nothing" },
  };
}

async function readHostFile(folder: string): Promise<HostFile> {
  const path = join(folder, FILE);
  try {
    return HostFile.parse(JSON.parse(await readFile(path, "utf8")));
  } catch (error) {
    if (hasCode(error, "ENOENT")) return HostFile.parse({});
    throw new CliError(`${path} cannot be used: ${errorMessage(error)}`, {
      next: 'It holds {"tools": [{"name", "description", "schema", "command": [program, argument, ...]}], "permission": "allow" or "deny"}.',
    });
  }
}

async function skillsIn(folder: string): Promise<{ id: string; name: string; source: string }[]> {
  const entries = await readdir(join(folder, "skills"), { withFileTypes: true }).catch((error: unknown) => {
    if (hasCode(error, "ENOENT")) return [];
    throw error;
  });
  return entries
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => ({ id: name, name, source: "host" }))
    .toSorted((one, other) => (one.id < other.id ? -1 : 1));
}

/** Runs a tool of the folder; returns what it prints, read as JSON where it is some. */
async function run(
  [program = "", ...args]: readonly string[],
  payload: unknown,
  { folder, signal }: { readonly folder: string; readonly signal: AbortSignal },
): Promise<unknown> {
  const text = await new Promise<string>((resolve, reject) => {
    const options = { cwd: folder, signal, timeout: TOOL_MS, maxBuffer: MAX_OUTPUT };
    const child = execFile(program, args, options, (error, output) =>
      error ? reject(new RpcError(-32603, errorMessage(error))) : resolve(output),
    );
    child.stdin?.on("error", () => undefined).end(JSON.stringify(payload ?? null));
  });
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
