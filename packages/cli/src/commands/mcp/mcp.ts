import { mkdir } from "node:fs/promises";
import { connect } from "node:net";
import { homedir } from "node:os";
import { basename, dirname, join, resolve } from "node:path";
import { type Channel, CODE, isObject, type JsonObject, membersOf, metaOf, Peer, RpcError } from "@reins/acp";
import { command, homeInput } from "../../command.ts";
import { CliError, EXIT } from "../../errors.ts";
import { requireFolder } from "../../files.ts";
import { openHome } from "../../home.ts";
import { agentError } from "../../hosting/agent-error.ts";
import { type Log, logLevel, openLog } from "../../log.ts";
import { type Notice, noticeOnStderr } from "../../output.ts";
import { printableLine } from "../../printable.ts";
import { watchForStop } from "../../serving/stop.ts";
import { openWhenFree } from "../acp/acp.ts";
import { declaredServer } from "./declared-server.ts";
import { pinsCommand } from "./pins.ts";

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
    "reins mcp pins list",
  ],
  codes: {
    done: "the client closed it",
    failed: "the server may not be started, or failed",
    usage: "wrong usage",
    unreachable: "the Reins that served it went away",
    taken: "another process holds the home and does not answer",
  },
  subcommands: { pins: pinsCommand },
  async run({ server, home, cwd, ...given }, { verbose, notice }) {
    const declared = declaredServer(server, given, process.env);
    if (cwd !== undefined) await requireFolder(resolve(cwd), "--cwd");
    await openHome(home, notice);
    const log = await openLog(process.stderr, logLevel(verbose, { REINS_LOG: "warn", ...process.env }));
    const place = cwd === undefined ? await defaultFolder(home) : resolve(cwd);
    await serve({ home, place, declared }, log);
  },
});

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
