import { mkdir } from "node:fs/promises";
import { connect } from "node:net";
import { homedir } from "node:os";
import { basename, dirname, join, resolve } from "node:path";
import { type Channel, CODE, isObject, type JsonObject, membersOf, metaOf, Peer, RpcError } from "@reins/acp";
import { mcpOperations, type ToolPin } from "@reins/api";
import { idByPrefix } from "../../client/api-client.ts";
import { operationCommand } from "../../client/operation-command.ts";
import { command, group, homeInput } from "../../command.ts";
import { CliError, EXIT } from "../../errors.ts";
import { requireFolder } from "../../files.ts";
import { openHome } from "../../home.ts";
import { agentError } from "../../hosting/agent-error.ts";
import { type Log, logLevel, openLog } from "../../log.ts";
import { type Notice, noticeOnStderr, printableLine, screenWidth, table } from "../../output.ts";
import { watchForStop } from "../../serving/stop.ts";
import { openWhenFree } from "../acp/acp.ts";
import { loginCommand, loginOf, logoutCommand } from "./login.ts";

interface ServerFlags {
  readonly name?: string | undefined;
  readonly env?: readonly string[] | undefined;
  readonly header?: readonly string[] | undefined;
  readonly sse?: boolean | undefined;
}

/** Programs that run another one, and the words that tell them to. */
const RUNNERS = new Set([
  "npx",
  "bunx",
  "uvx",
  "uv",
  "pnpm",
  "dlx",
  "tool",
  "run",
  "node",
  "deno",
  "python",
  "docker",
]);

/** An MCP server as `session/new` declares it, from a command or an address. */
function declaredServer(
  words: readonly string[],
  { name, env = [], header = [], sse = false }: ServerFlags,
  environment: Readonly<Record<string, string | undefined>>,
): JsonObject {
  const [first = "", ...args] = words;
  const variableValue = (variable: string) => {
    const value = environment[variable];
    if (value !== undefined) return value;
    throw new CliError(`The variable ${variable} is not set.`, {
      next: "Set it where reins mcp is started.",
    });
  };
  if (!/^https?:\/\//i.test(first)) {
    if (header.length > 0 || sse)
      throw new CliError("--header and --sse are for a server with an address.", {
        next: "Pass variables to a command with --env.",
      });
    const variables = env.map((variable) => ({ name: variable, value: variableValue(variable) }));
    return { name: name ?? nameOf(words), command: first, args, env: variables };
  }
  if (args.length > 0 || env.length > 0 || !URL.canParse(first))
    throw new CliError(`${first} is not the address of one server.`, {
      next: "Give one address; --env is for a command.",
    });
  const headers = header.map((given) => {
    const [, named = "", variable = ""] = /^([^=]+)=(.+)$/.exec(given) ?? [];
    if (variable !== "") return { name: named, value: variableValue(variable) };
    throw new CliError(`--header ${given} names no variable.`, {
      next: "Name the variable that holds the value: --header Authorization=MY_VARIABLE",
    });
  });
  return { name: name ?? plain(new URL(first).hostname), type: sse ? "sse" : "http", url: first, headers };
}

/** The name of a server from its command: what is run, without what runs it, options and versions. */
function nameOf(words: readonly string[]): string {
  const told = words.filter((word) => !word.startsWith("-") && !RUNNERS.has(basename(word)));
  const [program = words[0] ?? ""] = told;
  return plain(basename(program).replace(/(?<=.)@.*$|\.(?:[cm]?[jt]s|py|exe)$/g, ""));
}

function plain(text: string): string {
  return text.replace(/[^\w.-]+/g, "-").slice(0, 64) || "server";
}

const ID_FORMAT = { what: "server", mark: "", length: 64, list: "reins mcp pins list" } as const;
const SHOWN = 12;
const MAX_SEARCHED = 1_000;

/** The tools of MCP servers as they were pinned. */
const pinsCommand = group(
  "The tools of MCP servers, each pinned by a hash of its definition when it is first listed. One that changes is neither offered nor called until a person accepts it.",
  {
    list: operationCommand({
      operation: mcpOperations.listToolPins,
      summary: "list pinned tools",
      description: "Lists the pinned tools, by server and name.",
      inputs: {
        after: ["--after <place>", "the place where the page before ended"],
        limit: ["--limit <count>", "how many (default: 100)"],
      },
      output: ({ pins, next }) => ({
        text: () => (pins.length === 0 ? "No tools are pinned.\n" : pinTable(pins)),
        ...(next !== undefined && { notices: [`There are more: --after ${printableLine(next)}`] }),
      }),
      examples: ["reins mcp pins list", 'reins mcp pins list --json | jq -r ".pins[].tool"'],
    }),
    reset: operationCommand({
      operation: mcpOperations.resetToolPins,
      summary: "forget the pins of a server",
      description:
        "Removes the pins of a server, or of one of its tools. They are pinned anew when they are next listed, as they are then.",
      inputs: {
        server: [
          "<server>",
          "the server's id, or the beginning of it",
          {
            find: (given, client) =>
              idByPrefix(given, ID_FORMAT, [
                async () => {
                  const query = { limit: MAX_SEARCHED };
                  const { pins } = await client.call(mcpOperations.listToolPins, { query });
                  return pins.map(({ server }) => ({ id: server }));
                },
              ]),
          },
        ],
        tool: ["[tool]", "only this tool of it"],
      },
      output: ({ removed }) => ({ text: () => `removed ${removed} ${removed === 1 ? "pin" : "pins"}\n` }),
      examples: ["reins mcp pins reset 3f9a21c07b1e", "reins mcp pins reset 3f9a21c07b1e read_file"],
    }),
  },
);

function pinTable(pins: readonly ToolPin[]): string {
  const rows = pins.map(({ server, tool, hash, pinned_at, verdict, origin }) =>
    [
      server.slice(0, SHOWN),
      tool,
      hash.slice(0, SHOWN),
      pinned_at,
      verdict === undefined ? "first sight" : "accepted",
      origin,
    ].map(printableLine),
  );
  return table(
    [["server", "tool", "definition", "pinned", "by", "started or reached as"], ...rows],
    screenWidth(),
  );
}

const AGENT = "mcp-client";

/** Serves one MCP server on standard input and output, governed. */
export const mcpCommand = command({
  description:
    "Speaks MCP on standard input and output, as the server itself would; every call is decided and recorded.\n" +
    "Messages for people go to standard error.",
  inputs: {
    server: ["<server...>", "the command of the server, after --, or its http(s) address"],
    name: ["--name <name>", "its name in rules, as in mcp:<name>/<tool> (default: made from the command)"],
    env: ["--env <name>", "pass this variable on to the server; may be repeated", { many: "repeated" }],
    header: [
      "--header <name=variable>",
      "send this HTTP header, its value from a variable; may be repeated",
      { many: "repeated" },
    ],
    sse: ["--sse", "the address speaks HTTP with SSE, as servers did in 2024"],
    cwd: ["--cwd <folder>", "where the server works (default: here)"],
    home: homeInput("the home folder (default: reins in the user's data folder)"),
  },
  note: `An MCP client starts it in place of the server; in its configuration, for instance:
  "mcpServers": { "files": { "command": "reins",
    "args": ["mcp", "--name", "files", "--", "npx", "-y", "@modelcontextprotocol/server-filesystem", "/data"] } }
Answer what it asks on the page, or with reins approvals, while the client waits.`,
  examples: [
    "reins mcp -- npx -y @modelcontextprotocol/server-everything",
    "reins mcp --env GITHUB_TOKEN -- docker run -i --rm -e GITHUB_TOKEN ghcr.io/github/github-mcp-server",
    "reins mcp --name notes --header Authorization=NOTES_AUTH https://notes.example.com/mcp",
    "reins mcp login https://notes.example.com/mcp",
    "reins mcp pins list",
  ],
  codes: {
    done: "the client closed it",
    failed: "the server may not be started, or failed",
    usage: "wrong usage",
    unreachable: "the Reins that served it went away",
    taken: "another process holds the home and does not answer",
  },
  subcommands: { login: loginCommand, logout: logoutCommand, pins: pinsCommand },
  async run({ server, home, cwd, ...given }, { verbose, notice }) {
    const declared = declaredServer(server, given, process.env);
    if (cwd !== undefined) await requireFolder(resolve(cwd), "--cwd");
    await openHome(home, notice);
    const log = await openLog(process.stderr, logLevel(verbose, { REINS_LOG: "warn", ...process.env }));
    const place = cwd === undefined ? await defaultFolder(home) : resolve(cwd);
    await serve({ home, place, declared: await withLogin(home, declared) }, log);
  },
});

/** The declaration with the login of the home to the server, unless it has headers of its own. */
async function withLogin(home: string, declared: JsonObject): Promise<JsonObject> {
  const { url, headers } = declared;
  if (typeof url !== "string" || !Array.isArray(headers) || headers.length > 0) return declared;
  const header = await loginOf(home, url);
  return header ? { ...declared, headers: [header] } : declared;
}

/** Where a server works if no folder is given: here, unless that is no folder to work in, as with desktop apps. */
async function defaultFolder(home: string): Promise<string> {
  const here = process.cwd();
  if (here !== "/" && here !== homedir()) return here;
  const made = join(dirname(home), `${basename(home)}-workspaces`, "mcp");
  await mkdir(made, { recursive: true, mode: 0o700 });
  return made;
}

interface Served {
  readonly home: string;
  readonly place: string;
  readonly declared: JsonObject;
}

/** Begins a session with the server, and relays between it and the client until either leaves. */
async function serve({ home, place, declared }: Served, log: Log): Promise<void> {
  const agents = await openWhenFree(home, AGENT, log, false);
  const stop = watchForStop();
  try {
    const session = new McpSession(agents.channel, noticeOnStderr(false));
    const entry = await session.begin(place, declared).catch((error: unknown) => {
      throw agentError(error, AGENT);
    });
    const isLeft = await Promise.race([relay(entry), stop.requested.then(() => true)]);
    await session.close();
    if (!isLeft)
      throw new CliError("The Reins that served the MCP server went away.", {
        next: "Start it again; reins up keeps one Reins running for all clients.",
        exitCode: EXIT.unreachable,
      });
  } finally {
    stop.dispose();
    process.stdin.destroy();
    await agents.close();
  }
}

/** The session of an MCP client: what is asked about it is answered elsewhere. */
class McpSession {
  readonly #peer: Peer;
  readonly #notice: Notice;
  #id: unknown;

  constructor(channel: Channel, notice: Notice) {
    this.#notice = notice;
    this.#peer = new Peer(channel, {
      request: (method, params, { signal }) => this.#answer(method, params, signal),
      notification: () => undefined,
    });
  }

  /** Starts the server after its verdict; gives what the gateway put in its place. */
  async begin(cwd: string, declared: JsonObject): Promise<JsonObject> {
    const _meta = { reins: { agent: AGENT } };
    await this.#peer.request("initialize", { protocolVersion: 1, clientCapabilities: {}, _meta });
    const begun = await this.#peer.request("session/new", { cwd, mcpServers: [declared], _meta });
    this.#id = membersOf(begun).sessionId;
    const { mcpServers, reins } = metaOf(begun);
    const [entry] = Array.isArray(mcpServers) ? mcpServers : [];
    if (isObject(entry)) return entry;
    await this.close();
    const { refused_servers: refused } = membersOf(reins);
    const [{ reason } = { reason: "it was not started" }] = Array.isArray(refused)
      ? refused.map(membersOf)
      : [];
    throw new CliError(`The MCP server may not be used: ${printableLine(String(reason))}`, {
      next: "The rules decide on mcp/start; see reins ledger log, and reins policy explain.",
      exitCode: EXIT.failed,
    });
  }

  async close(): Promise<void> {
    await this.#peer.request("session/close", { sessionId: this.#id }).catch(() => undefined);
  }

  /** People answer on the page or with `reins approvals`: the client in front of this may be an agent. */
  #answer(method: string, params: JsonObject, signal: AbortSignal): Promise<never> {
    const { promise, reject } = Promise.withResolvers<never>();
    if (method !== "session/request_permission") {
      reject(new RpcError(CODE.methodNotFound, `"${method}" is not known here`));
      return promise;
    }
    const { approval = "" } = membersOf(metaOf(params).reins);
    const { title = "it" } = membersOf(params.toolCall);
    this.#notice(
      `${printableLine(String(title))} waits for an approval: reins approvals show ${printableLine(String(approval))}`,
    );
    signal.addEventListener("abort", () => reject(signal.reason), { once: true });
    return promise;
  }
}

/** Relays between standard input and output and the gateway; gives whether the client left first. */
function relay(entry: JsonObject): Promise<boolean> {
  const env = Array.isArray(entry.env) ? entry.env.map(membersOf) : [];
  const variable = (name: string) => String(env.find((one) => one.name === name)?.value ?? "");
  const { promise, resolve } = Promise.withResolvers<boolean>();
  let hasLeft = false;
  const socket = connect({ path: variable("REINS_MCP_SOCKET"), allowHalfOpen: true });
  const leave = () => {
    hasLeft = true;
    socket.end();
  };
  socket.once("connect", () => {
    socket.write(`${variable("REINS_MCP_SECRET")}\n`);
    process.stdin.once("end", leave).once("error", leave);
    process.stdin.pipe(socket, { end: false });
  });
  socket.pipe(process.stdout, { end: false });
  process.stdout.once("error", () => {
    hasLeft = true;
    socket.destroy();
  });
  socket.once("end", () => socket.end());
  socket.once("error", () => socket.destroy());
  socket.once("close", () => resolve(hasLeft));
  return promise;
}
