import { randomBytes } from "node:crypto";
import { tmpdir } from "node:os";
import { fileURLToPath } from "node:url";
import { type Clock, systemClock } from "@reins/kit";
import { Owner } from "@reins/runner";
import { HttpListener, SocketListener } from "./agent/http-listener.ts";
import type { Fault, FaultKind } from "./faults.ts";
import { McpError } from "./faults.ts";
import type { McpGate } from "./gate.ts";
import { GovernedServer } from "./governed-server.ts";
import { MCP_LIMITS, type McpLimits } from "./limits.ts";
import { type ServerLogin, ServerLogins } from "./login/server-login.ts";
import type { LoginStore } from "./login/stored-login.ts";
import { httpLink } from "./server/http-link.ts";
import type { Fetch } from "./server/http-requests.ts";
import {
  type LocalServer,
  localLink,
  minimalEnvironment,
  processLink,
  type SpawnServer,
  spawnOwned,
} from "./server/process-link.ts";
import type { OpenLink } from "./server/server-run.ts";
import { sseLink } from "./server/sse-link.ts";
import { isHttpServer, type McpServer, otherMembers, readServer } from "./server-entry.ts";
import type { KnownTool } from "./tools/catalog.ts";

/** Removes secrets from texts: those that are known by their form, and the values it is given. */
interface Redaction {
  also(values: readonly string[]): (text: string) => unknown;
}

/** How a gateway is opened. */
export interface McpGatewayOptions {
  /** Where the folder of the socket is made. It has to be short, and is by default the system's temporary folder. */
  readonly folder?: string;
  readonly limits?: Partial<McpLimits>;
  readonly clock?: Clock;
  /** The owner of started servers; by default the folder. */
  readonly owner?: Owner;
  /** Removes secrets from the texts about a server that reach agents. */
  readonly redactor: Redaction;
  /** How servers are started. */
  readonly spawn?: SpawnServer;
  /** How servers are reached over HTTP. */
  readonly fetch?: Fetch;
  /** The logins to servers that declarations may name. */
  readonly logins?: LoginStore;
  /** What every started server gets of the environment, besides what its declaration names. */
  readonly environment?: Readonly<Record<string, string>>;
  /** Whether servers may have the agent's model write for them. By default they are refused. */
  readonly sampling?: "refuse" | "pass";
  /** Receives faults that end nothing. */
  readonly onFault?: (fault: Fault) => void;
}

/** Where a session is at home. */
export interface SessionPlace {
  readonly cwd: string;
}

/** A server that an agent reaches only through us. */
export interface WrappedServer {
  /** What the agent is given in place of the server. */
  readonly server: McpServer;
  /** The tools as last listed. */
  tools(): readonly KnownTool[];
  /** Whether an agent is connected to it. */
  isConnected(): boolean;
  /** Notifies the agent that the tools it is offered may be others now. */
  announceTools(): void;
  /** How much was wrong with the server so far. */
  faults(): Partial<Record<FaultKind, number>>;
  /** Ends the server, and what is under way. */
  close(): Promise<void>;
}

/** The program that agents run in place of a server, whether it runs from source or was built. */
const SHIM = fileURLToPath(
  import.meta.url.endsWith(".ts")
    ? new URL("./shim.ts", import.meta.url)
    : new URL("./shim.js", import.meta.url),
);

/** Relays between agents and their MCP servers, and performs a call only after its verdict. */
export class McpGateway {
  readonly #options: McpGatewayOptions;
  readonly #limits: McpLimits;
  readonly #spawn: SpawnServer;
  readonly #clock: Clock;
  readonly #socket: SocketListener;
  readonly #logins: ServerLogins;
  readonly #wrapped = new Set<WrappedServer>();
  #http: Promise<HttpListener> | undefined;
  #isClosed = false;

  private constructor(options: McpGatewayOptions, socket: SocketListener, clock: Clock) {
    this.#options = options;
    this.#limits = { ...MCP_LIMITS, ...options.limits };
    this.#clock = clock;
    this.#spawn = options.spawn ?? spawnOwned(options.owner ?? new Owner(folderOf(options)), clock);
    this.#socket = socket;
    const { logins: store, fetch = globalThis.fetch } = options;
    this.#logins = new ServerLogins({ store, fetch, clock });
  }

  /** Opens a gateway. */
  static async open(options: McpGatewayOptions): Promise<McpGateway> {
    const clock = options.clock ?? systemClock;
    return new McpGateway(options, await SocketListener.open(folderOf(options), clock), clock);
  }

  /** The socket that agents with a stdio entry have to reach; a sandbox binds it in at the same path. */
  get socketPath(): string {
    return this.#socket.path;
  }

  /** The file that agents with a stdio entry run; a sandbox has to show it to them. */
  get shimPath(): string {
    return SHIM;
  }

  /** Wraps a server for a session. It is started when the agent first asks it something. */
  async wrap(
    declared: McpServer,
    gate: McpGate,
    how: "stdio" | "http",
    place: SessionPlace,
  ): Promise<WrappedServer> {
    if (this.#isClosed) throw new McpError("closed", "the MCP gateway is closed");
    const read = readServer(declared);
    const { server, login } = isHttpServer(read)
      ? await this.#logins.take(read)
      : { server: read, login: undefined };
    const credentials = isHttpServer(server) ? server.headers : server.env;
    const given = credentials.map(({ value }) => value);
    const { redactor } = this.#options;
    const redact = redactor.also(given);
    // The tokens of a login are others after a while.
    const hide = (text: string) =>
      String(login ? redactor.also([...given, ...login.secrets])(text) : redact(text));
    const open = this.#linkTo(server, hide, place, login);
    const governed = this.#govern(server.name, gate, { hide, open });
    return this.#admit({ ...otherMembers(server), name: server.name }, governed, how);
  }

  /** Wraps a server that runs in this process. */
  wrapLocal(server: LocalServer, gate: McpGate, how: "stdio" | "http"): Promise<WrappedServer> {
    if (this.#isClosed) throw new McpError("closed", "the MCP gateway is closed");
    const redact = this.#options.redactor.also([]);
    const hide = (text: string) => String(redact(text));
    const governed = this.#govern(server.name, gate, { hide, open: localLink(server) });
    return this.#admit({ name: server.name }, governed, how);
  }

  async #admit(
    declared: { readonly name: string },
    governed: GovernedServer,
    how: "stdio" | "http",
  ): Promise<WrappedServer> {
    const { entry, remove } =
      how === "stdio" ? this.#bySocket(declared, governed) : await this.#byHttp(declared, governed);
    const wrapped: WrappedServer = {
      server: entry,
      tools: () => governed.tools(),
      isConnected: () => governed.isConnected,
      announceTools: () => governed.announceTools(),
      faults: () => governed.faults(),
      close: async () => {
        remove();
        this.#wrapped.delete(wrapped);
        await governed.close();
      },
    };
    this.#wrapped.add(wrapped);
    return wrapped;
  }

  /** Ends all servers, and stops listening. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await Promise.all([...this.#wrapped].map((wrapped) => wrapped.close()));
    await Promise.all([this.#socket.close(), this.#http?.then((listener) => listener.close())]);
  }

  #govern(
    name: string,
    gate: McpGate,
    link: { readonly hide: (text: string) => string; readonly open: OpenLink },
  ): GovernedServer {
    const { sampling, onFault } = this.#options;
    return new GovernedServer({
      name,
      gate,
      ...link,
      limits: this.#limits,
      clock: this.#clock,
      mayAskForSampling: sampling === "pass",
      onFault,
    });
  }

  #linkTo(
    server: McpServer,
    hide: (text: string) => string,
    { cwd }: SessionPlace,
    login: ServerLogin | undefined,
  ): OpenLink {
    const { environment = minimalEnvironment(), fetch = globalThis.fetch } = this.#options;
    const parts = { hide, limits: this.#limits, clock: this.#clock };
    if (!isHttpServer(server)) return processLink({ ...parts, server, cwd, environment, spawn: this.#spawn });
    const link = server.type === "sse" ? sseLink : httpLink;
    return link({ ...parts, server, fetch, login });
  }

  #bySocket(declared: { readonly name: string }, governed: GovernedServer): Admitted {
    const secret = newSecret();
    const remove = this.#socket.admit(secret, (socket, first) => governed.enter(socket, first));
    const env = [
      { name: "REINS_MCP_SOCKET", value: this.#socket.path },
      { name: "REINS_MCP_SECRET", value: secret },
    ];
    const entry = {
      ...declared,
      command: process.execPath,
      args: [SHIM],
      env,
    };
    return { entry, remove };
  }

  async #byHttp(declared: { readonly name: string }, governed: GovernedServer): Promise<Admitted> {
    this.#http ??= HttpListener.open().catch((error: unknown) => {
      // A later attempt may succeed.
      this.#http = undefined;
      throw error;
    });
    const listener = await this.#http;
    const token = newSecret();
    const { url, remove } = listener.admit(randomBytes(9).toString("base64url"), token, governed.http);
    const headers = [{ name: "Authorization", value: `Bearer ${token}` }];
    return { entry: { ...declared, type: "http", url, headers }, remove };
  }
}

function folderOf({ folder = tmpdir() }: McpGatewayOptions): string {
  return folder;
}

interface Admitted {
  readonly entry: McpServer;
  readonly remove: () => void;
}

/** Made for one server of one session, and of no use after it. */
function newSecret(): string {
  return randomBytes(32).toString("base64url");
}
