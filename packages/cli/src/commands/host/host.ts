import { execFile } from "node:child_process";
import { readdir, readFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { chunkText, RpcError, readResult, updateIn } from "@reins/acp";
import { stdioChannel } from "@reins/acp/stdio";
import { type HostOffer, hostRankers, serveHost } from "@reins/bridge";
import { errorMessage, hasCode } from "@reins/kit";
import { z } from "zod";
import { command, homeInput } from "../../command.ts";
import { CliError } from "../../errors.ts";
import { openHome } from "../../home.ts";
import { openAgentChannel } from "../../hosting/agent-channel.ts";
import { ensureInstalled } from "../../hosting/install-agent.ts";
import { logLevel, openLog } from "../../log.ts";
import { printable } from "../../output.ts";

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

/** Tries the bridge: lends an agent what a folder holds. */
export const hostCommand = command({
  description:
    "Lends tools, skills and answers of a folder to an agent by the bridge, to try it: the tools and the answer in its\n" +
    "host.json, and the skills below skills. With a prompt, a session of an agent runs with it; without one, it\n" +
    "serves an agent on standard input and output.",
  inputs: {
    folder: ["<folder>", "what the host lends"],
    prompt: ["--prompt <text>", "prompt an agent that may use it"],
    agent: ["--agent <id>", "with --prompt: the agent; see reins agents list", { default: ["native"] }],
    cwd: ["--cwd <folder>", "with --prompt: where the agent works (default: here)"],
    home: homeInput("the home folder (default: reins in the user's data folder)"),
  },
  examples: ['reins host ./lab --prompt "deploy it" --agent claude', "reins host ./lab"],
  codes: { done: "done", failed: "failed", usage: "wrong usage", taken: "another process holds the home" },
  async run({ folder, prompt, agent, cwd = ".", home }, { verbose, notice }) {
    const offer = await folderHost(resolve(folder));
    if (prompt === undefined) {
      const channel = stdioChannel(process.stdin, process.stdout);
      serveHost(channel, offer);
      await channel.closed;
      return;
    }
    await openHome(home, notice);
    const log = await openLog(process.stderr, logLevel(verbose, { REINS_LOG: "warn", ...process.env }));
    await ensureInstalled(home, agent);
    const { channel, close } = await openAgentChannel(home, agent, log);
    try {
      const peer = serveHost(channel, offer, (method, params) => {
        if (method !== "session/update") return;
        const { kind, update } = updateIn(params);
        if (kind === "agent_message_chunk") process.stdout.write(printable(chunkText(update) ?? ""));
      });
      const clientCapabilities = { _meta: { reins: { bridge: true } } };
      await peer.request("initialize", { protocolVersion: 1, clientCapabilities });
      const begun = await peer.request("session/new", { cwd: resolve(cwd), mcpServers: [] });
      const { sessionId } = readResult("session/new", begun);
      await peer.request("session/prompt", { sessionId, prompt: [{ type: "text", text: prompt }] });
      process.stdout.write("\n");
    } finally {
      await close();
    }
  },
});
