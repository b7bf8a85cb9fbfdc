import { resolve } from "node:path";
import {
  type AhpServer,
  type HarnessConfig,
  type HttpOptions,
  type ServerOptions,
  serveHttp,
} from "@reins/ahp";
import { homeInput, type ValuesOf } from "../../command.ts";
import { CliError } from "../../errors.ts";
import { wholeNumber } from "../../flags.ts";
import { DEFAULT_PORT, hostNames, listenError, readPort, refuseOpenServer } from "../../serving/address.ts";
import { type ListeningServer, readTls, type ServerAddress, tlsFiles } from "../../serving/listen.ts";
import { authenticatorOf, readTokens } from "../../serving/tokens.ts";

/** The flags of `reins ahp serve`. */
export const SERVE_INPUTS = {
  handlers: ["--handlers <file>", "the module that decides; with --stdio, by default the running Reins"],
  home: homeInput("the home of the Reins that decides, with --stdio and without --handlers"),
  stdio: ["--stdio", "serve the process that started this one"],
  http: ["--http", "serve HTTP"],
  ws: ["--ws", "serve WebSocket"],
  unix: ["--unix <path>", "serve a Unix socket", { read: (path: string) => resolve(path) }],
  host: ["--host <host>", "address for HTTP and WebSocket (default: 127.0.0.1)"],
  port: [
    "--port <port>",
    "port for HTTP and WebSocket, 0 for any free one (default: 18789)",
    { read: readPort },
  ],
  path: ["--path <path>", "path for HTTP and WebSocket (default: /ahp)", { read: readPath }],
  token: [
    "--token <secret>",
    "secret that HTTP and WebSocket clients must send; @file reads one per line; may be repeated",
    { many: "repeated" },
  ],
  allowHost: [
    "--allow-host <name>",
    "name this machine is addressed by; may be repeated",
    { many: "repeated" },
  ],
  tlsCert: ["--tls-cert <file>", "certificate in PEM; serves https and wss"],
  tlsKey: ["--tls-key <file>", "its private key in PEM"],
  name: ["--name <name>", "name in the handshake"],
  compat: ["--compat", "behave exactly as the upstream implementation"],
  requireHandshake: ["--require-handshake", "answer only after a handshake"],
  deadlineMs: [
    "--deadline-ms <ms>",
    "timeout of a handler, after which the event is blocked (default: 10000)",
    { read: wholeNumber(1) },
  ],
  maxDepth: ["--max-depth <depth>", "maximum depth of events (default: 10)", { read: wholeNumber() }],
  batchSize: ["--batch-size <events>", "maximum size of batches (default: 100)", { read: wholeNumber(1) }],
} as const;

type ServeFlags = Partial<ValuesOf<typeof SERVE_INPUTS>>;

export interface ServeTargets {
  readonly stdio: boolean;
  readonly web: WebOptions | undefined;
  readonly unix: string | undefined;
}

const WEB_FLAGS = ["host", "port", "path", "token", "allowHost", "tlsCert", "tlsKey"] as const;

/** Requires at least one target, and stdio alone. */
export function resolveServeTargets(flags: ServeFlags, environment: NodeJS.ProcessEnv): ServeTargets {
  const web = webOf(flags, environment);
  const { stdio = false, unix } = flags;
  if (!stdio && !web && unix === undefined) {
    throw new CliError("No transport to serve is given.", {
      next: "Give --stdio, or any of --http, --ws and --unix <path>.",
    });
  }
  if (stdio && (web || unix !== undefined)) {
    throw new CliError("--stdio cannot be combined with other ways to serve.", {
      next: "Run two: one with --stdio, one with the others.",
    });
  }
  return { stdio, web, unix };
}

function webOf(flags: ServeFlags, environment: NodeJS.ProcessEnv): WebOptions | undefined {
  const protocols = [...(flags.http ? ["http" as const] : []), ...(flags.ws ? ["websocket" as const] : [])];
  if (protocols.length === 0) return rejectUnusedFlags(flags);
  const tls = readTls(tlsFiles(flags));
  return {
    host: flags.host ?? "127.0.0.1",
    port: flags.port ?? DEFAULT_PORT,
    path: flags.path ?? "/ahp",
    protocols,
    tokens: readTokens(flags.token ?? [], environment),
    allowHosts: flags.allowHost ?? [],
    ...(tls && { tls }),
  };
}

/** Rejects flags that would have no effect. */
function rejectUnusedFlags(flags: ServeFlags): undefined {
  const idle = WEB_FLAGS.filter((flag) => flags[flag] !== undefined);
  if (idle.length === 0) return undefined;
  const names = idle.map((flag) => SERVE_INPUTS[flag][0].split(" ", 1)[0]);
  throw new CliError(`Only HTTP and WebSocket use ${names.join(", ")}.`, {
    next: "Add --http or --ws, or leave that out.",
  });
}

function readPath(path: string): string {
  if (/^\/[^?#\s]*$/.test(path)) return path;
  throw new CliError(`--path is "${path}".`, { next: "Give a path such as /ahp." });
}

const DEFAULT_LIMIT = { timeoutMs: 10_000, batchSize: 100, maxDepth: 10 };

export function resolveServerOptions(flags: ServeFlags): ServerOptions {
  if (flags.compat && flags.deadlineMs !== undefined) {
    throw new CliError("--deadline-ms has no effect with --compat, which has no handler timeout.", {
      next: "Leave one of them out.",
    });
  }
  const config: HarnessConfig = {
    timeout_ms: flags.deadlineMs ?? DEFAULT_LIMIT.timeoutMs,
    batch_size: flags.batchSize ?? DEFAULT_LIMIT.batchSize,
    max_depth: flags.maxDepth ?? DEFAULT_LIMIT.maxDepth,
  };
  return {
    config,
    compat: flags.compat ?? false,
    requireHandshake: flags.requireHandshake ?? false,
    ...(flags.name !== undefined && { info: { name: flags.name } }),
  };
}

interface WebOptions {
  readonly host: string;
  readonly port: number;
  readonly path: string;
  readonly protocols: NonNullable<HttpOptions["protocols"]>;
  /** Without tokens, every client is served. */
  readonly tokens: readonly string[];
  readonly allowHosts: readonly string[];
  readonly tls?: NonNullable<HttpOptions["tls"]>;
}

export async function serveWeb(server: AhpServer, web: WebOptions): Promise<ListeningServer> {
  const { host, port, path, protocols, tokens, tls } = web;
  refuseOpenServer(host, tokens);
  const allowedHosts = [...hostNames(host), ...web.allowHosts.map((name) => name.toLowerCase())];
  const options = {
    host,
    port,
    path,
    protocols,
    allowedHosts,
    ...authenticatorOf(tokens),
    ...(tls && { tls }),
  };
  try {
    const served = await serveHttp(server, options);
    return { served, addresses: protocols.map((protocol) => webAddress(protocol, served.address)) };
  } catch (error) {
    throw listenError(error, host, port, "reins ahp serve …");
  }
}

function webAddress(transport: WebOptions["protocols"][number], address: string): ServerAddress {
  return { transport, address: transport === "websocket" ? address.replace(/^http/, "ws") : address };
}
