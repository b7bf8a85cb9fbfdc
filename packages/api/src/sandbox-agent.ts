import { z } from "zod";
import { RpcMessage } from "./acp.ts";
import { Nothing, operation } from "./operation.ts";
import type { ProblemCode } from "./problem.ts";
import { named } from "./schema.ts";

const params = z.strictObject({ server: z.string().min(1).max(256).describe("chosen by the client") });
const Text = z.string().min(1).max(4_096);
const OF_AGENTS: readonly ProblemCode[] = [
  ...(["not_found", "not_acceptable", "conflict", "bad_gateway", "gateway_timeout"] as const),
];

/** ACP as Sandbox Agent ships it: one connection for each id that a client chooses. */
export const sandboxAcpOperations = {
  listAcpServers: operation({
    id: "list_acp_servers",
    method: "GET",
    path: "/v1/acp",
    summary: "Lists the caller's connections of this kind.",
    audience: "principal",
    answer: named(
      "AcpServerList",
      z.looseObject({
        servers: z.array(z.looseObject({ serverId: z.string(), agent: z.string(), createdAtMs: z.int() })),
      }),
    ),
  }),
  postAcpServer: operation({
    id: "post_acp_server",
    method: "POST",
    path: "/v1/acp/{server}",
    summary:
      "Receives one ACP message. The first for an id opens its connection and names the agent. A request gets 200 with its response, any other message 202.",
    audience: "principal",
    params,
    query: z.strictObject({ agent: z.string().min(1).max(128).optional() }),
    body: RpcMessage,
    answer: RpcMessage,
    also: { status: 202, answer: Nothing },
    problems: OF_AGENTS,
  }),
  streamAcpServer: operation({
    id: "stream_acp_server",
    method: "GET",
    path: "/v1/acp/{server}",
    summary: "Every message to a connection, from its beginning or after `Last-Event-ID`, then as they come.",
    audience: "principal",
    params,
    answer: RpcMessage,
    events: "message",
    problems: ["not_found", "not_acceptable", "conflict"],
  }),
  closeAcpServer: operation({
    id: "close_acp_server",
    method: "DELETE",
    path: "/v1/acp/{server}",
    summary: "Ends a connection, once or again, and closes its sessions; they can be resumed.",
    audience: "principal",
    params,
  }),
} as const;

const audience = "person";
const PROBLEMS: readonly ProblemCode[] = ["not_found", "conflict", "unavailable"];

/** A server of MCP, or sources of skills, as clients store them; unknown members are kept. */
const StoredConfig = z.looseObject({});
const mcp = z.strictObject({ directory: Text, mcpName: z.string().min(1).max(256) });
const skills = z.strictObject({ directory: Text, skillName: z.string().min(1).max(256) });

/** Settings that Sandbox Agent's clients store in a folder. */
export const configOperations = {
  getMcpConfig: operation({
    ...{ id: "get_mcp_config", method: "GET", path: "/v1/config/mcp", audience },
    summary: "Returns a server of MCP that was stored for a folder.",
    query: mcp,
    answer: StoredConfig,
    problems: PROBLEMS,
  }),
  putMcpConfig: operation({
    ...{ id: "put_mcp_config", method: "PUT", path: "/v1/config/mcp", audience },
    summary:
      "Stores a server of MCP for a folder. New sessions of the same user in that folder get it, as if their client had named it; what cannot be applied is refused.",
    query: mcp,
    body: z.looseObject({ type: z.enum(["local", "remote", "stdio", "http"]) }),
    problems: PROBLEMS,
  }),
  deleteMcpConfig: operation({
    ...{ id: "delete_mcp_config", method: "DELETE", path: "/v1/config/mcp", audience },
    summary: "Forgets a server of MCP that was stored for a folder.",
    query: mcp,
    problems: PROBLEMS,
  }),
  getSkillsConfig: operation({
    ...{ id: "get_skills_config", method: "GET", path: "/v1/config/skills", audience },
    summary: "Returns sources of skills that were stored for a folder.",
    query: skills,
    answer: StoredConfig,
    problems: PROBLEMS,
  }),
  putSkillsConfig: operation({
    ...{ id: "put_skills_config", method: "PUT", path: "/v1/config/skills", audience },
    summary:
      "Stores sources of skills for a folder. They are stored alone: a skill is used from the folders of Reins, after a person has trusted it.",
    query: skills,
    body: z.looseObject({
      sources: z.array(z.looseObject({ type: z.string(), source: z.string() })).max(256),
    }),
    problems: PROBLEMS,
  }),
  deleteSkillsConfig: operation({
    ...{ id: "delete_skills_config", method: "DELETE", path: "/v1/config/skills", audience },
    summary: "Forgets sources of skills that were stored for a folder.",
    query: skills,
    problems: PROBLEMS,
  }),
} as const;

const command = {
  command: z.string().min(1).max(4_096),
  args: z.array(z.string().max(32_768)).max(1_024).optional(),
  cwd: Text.nullish(),
  env: z.record(z.string().min(1).max(256), z.string().max(32_768)).optional(),
};
const process = z.strictObject({ id: z.string().min(1).max(128) });
const wait = z.strictObject({ waitMs: z.coerce.number().int().min(0).max(60_000).optional() });
const LogStream = z.enum(["stdout", "stderr", "combined", "pty"]);

/** A command that a caller started. */
const CommandProcess = named(
  "CommandProcess",
  z.looseObject({
    id: z.string(),
    command: z.string(),
    args: z.array(z.string()),
    cwd: z.string().nullable(),
    owner: z.enum(["user", "desktop", "system"]),
    interactive: z.boolean(),
    tty: z.boolean(),
    status: z.enum(["running", "exited"]),
    pid: z.int().nullable(),
    exitCode: z.int().nullable(),
    createdAtMs: z.int(),
    exitedAtMs: z.int().nullable(),
  }),
);

/** One piece of output. */
const CommandLog = named(
  "CommandLog",
  z.looseObject({
    sequence: z.int(),
    stream: LogStream,
    timestampMs: z.int(),
    data: z.string(),
    encoding: z.literal("base64"),
  }),
);

const CommandLimits = named(
  "CommandLimits",
  z.looseObject({
    maxConcurrentProcesses: z.int(),
    defaultRunTimeoutMs: z.int(),
    maxRunTimeoutMs: z.int(),
    maxOutputBytes: z.int(),
    maxLogBytesPerProcess: z.int(),
    maxInputBytesPerRequest: z.int(),
  }),
);

/** Commands that callers run. Each start is decided about. */
export const commandOperations = {
  getCommandLimits: operation({
    ...{ id: "get_command_limits", method: "GET", path: "/v1/processes/config", audience },
    summary: "Returns the limits of commands.",
    answer: CommandLimits,
  }),
  setCommandLimits: operation({
    ...{ id: "set_command_limits", method: "POST", path: "/v1/processes/config" },
    audience: "server",
    summary: "Sets limits of commands, up to those that Reins started with, until it stops.",
    body: CommandLimits,
    answer: CommandLimits,
  }),
  runCommand: operation({
    ...{ id: "run_command", method: "POST", path: "/v1/processes/run", audience },
    summary: "Runs a command to its end.",
    body: z.strictObject({
      ...command,
      timeoutMs: z.int().min(1).nullish(),
      maxOutputBytes: z.int().min(1).nullish(),
    }),
    answer: named(
      "CommandResult",
      z.looseObject({
        exitCode: z.int().nullable(),
        timedOut: z.boolean(),
        stdout: z.string(),
        stderr: z.string(),
        stdoutTruncated: z.boolean(),
        stderrTruncated: z.boolean(),
        durationMs: z.int(),
      }),
    ),
    problems: PROBLEMS,
  }),
  startCommand: operation({
    ...{ id: "start_command", method: "POST", path: "/v1/processes", audience },
    summary: "Starts a command, with `tty` in a terminal of its own; 501 where no program makes one.",
    body: z.strictObject({ ...command, interactive: z.boolean().optional(), tty: z.boolean().optional() }),
    answer: CommandProcess,
    problems: [...PROBLEMS, "not_implemented"],
  }),
  listCommands: operation({
    ...{ id: "list_commands", method: "GET", path: "/v1/processes", audience },
    summary: "Lists the commands that the caller started.",
    query: z.strictObject({ owner: z.enum(["user", "desktop", "system"]).optional() }),
    answer: z.looseObject({ processes: z.array(CommandProcess) }),
  }),
  getCommand: operation({
    ...{ id: "get_command", method: "GET", path: "/v1/processes/{id}", audience },
    summary: "Returns one command that the caller started.",
    params: process,
    answer: CommandProcess,
    problems: ["not_found"],
  }),
  stopCommand: operation({
    ...{ id: "stop_command", method: "POST", path: "/v1/processes/{id}/stop", audience },
    summary: "Asks a command and all that came out of it to end, and waits for that for a while.",
    params: process,
    query: wait,
    answer: CommandProcess,
    problems: ["not_found"],
  }),
  killCommand: operation({
    ...{ id: "kill_command", method: "POST", path: "/v1/processes/{id}/kill", audience },
    summary: "Kills a command and all that came out of it.",
    params: process,
    query: wait,
    answer: CommandProcess,
    problems: ["not_found"],
  }),
  forgetCommand: operation({
    ...{ id: "forget_command", method: "DELETE", path: "/v1/processes/{id}", audience },
    summary: "Forgets a command that has ended.",
    params: process,
    problems: ["not_found", "conflict"],
  }),
  getCommandLogs: operation({
    ...{ id: "get_command_logs", method: "GET", path: "/v1/processes/{id}/logs", audience },
    summary: "Returns the last output of a command, or with `follow` streams it as events named `log`.",
    params: process,
    query: z.strictObject({
      stream: LogStream.optional(),
      tail: z.coerce.number().int().min(0).max(100_000).optional(),
      since: z.coerce.number().int().min(0).max(Number.MAX_SAFE_INTEGER).optional(),
      follow: z.enum(["true", "false"]).optional(),
    }),
    answer: named(
      "CommandLogs",
      z.looseObject({ processId: z.string(), stream: LogStream, entries: z.array(CommandLog) }),
    ),
    problems: ["not_found"],
  }),
  writeCommandInput: operation({
    ...{ id: "write_command_input", method: "POST", path: "/v1/processes/{id}/input", audience },
    summary: "Writes to the standard input of an interactive command, or to its terminal.",
    params: process,
    body: z.strictObject({ data: z.string().max(1024 * 1024), encoding: z.string().max(16).nullish() }),
    answer: z.looseObject({ bytesWritten: z.int() }),
    problems: ["not_found", "conflict"],
  }),
  resizeCommandTerminal: operation({
    ...{
      id: "resize_command_terminal",
      method: "POST",
      path: "/v1/processes/{id}/terminal/resize",
      audience,
    },
    summary: "Sets the size of the terminal of a command.",
    params: process,
    body: z.strictObject({ cols: z.int().min(1).max(10_000), rows: z.int().min(1).max(10_000) }),
    answer: z.looseObject({ cols: z.int(), rows: z.int() }),
    problems: ["not_found", "conflict"],
  }),
} as const;
