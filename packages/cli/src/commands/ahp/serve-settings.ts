import { resolve } from "node:path";
import {
  type AhpServer,
  type HarnessConfig,
  type HttpOptions,
  type ServerOptions,
  serveHttp,
} from "@reins/ahp";
import { CliError } from "../../errors.ts";
import { wholeNumber } from "../../flags.ts";
import { DEFAULT_PORT, hostNames, listenError, readPort, refuseOpenServer } from "../../serving/address.ts";
import type { ListeningServer, ServerAddress } from "../../serving/listen.ts";
import { readTls, type TlsFlags, tlsFiles } from "../../serving/tls.ts";
import { authenticatorOf, readTokens } from "../../serving/tokens.ts";

export interface ServeFlags extends TlsFlags {
  readonly verbose?: boolean;
  readonly handlers?: string;
  readonly home?: string;
  readonly stdio?: boolean;
  readonly http?: boolean;
  readonly ws?: boolean;
  readonly unix?: string;
  readonly host?: string;
  readonly port?: string;
  readonly path?: string;
  readonly token?: readonly string[];
  readonly allowHost?: readonly string[];
  readonly name?: string;
  readonly compat?: boolean;
  readonly requireHandshake?: boolean;
  readonly deadlineMs?: string;
  readonly maxDepth?: string;
  readonly batchSize?: string;
}

export interface ServeTargets {
  readonly stdio: boolean;
  readonly web: WebOptions | undefined;
  readonly unix: string | undefined;
}

const WEB_FLAGS = ["host", "port", "path", "token", "allowHost", "tlsCert", "tlsKey"] as const;

/** Requires at least one target, and stdio alone. */
export function resolveServeTargets(flags: ServeFlags, environment: NodeJS.ProcessEnv): ServeTargets {
  const web = webOf(flags, environment);
  const unix = flags.unix === undefined ? undefined : resolve(flags.unix);
  const stdio = flags.stdio ?? false;
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
    port: flags.port === undefined ? DEFAULT_PORT : readPort(flags.port, "--port"),
    path: pathOf(flags.path ?? "/ahp"),
    protocols,
    tokens: readTokens(flags.token ?? [], environment),
    allowHosts: flags.allowHost ?? [],
    command: "reins ahp serve …",
    ...(tls && { tls }),
  };
}

/** Rejects flags that would have no effect. */
function rejectUnusedFlags(flags: ServeFlags): undefined {
  const idle = WEB_FLAGS.filter((flag) => flags[flag] !== undefined);
  if (idle.length === 0) return undefined;
  const names = idle.map((flag) => `--${flag.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`);
  throw new CliError(`Only HTTP and WebSocket use ${names.join(", ")}.`, {
    next: "Add --http or --ws, or leave that out.",
  });
}

function pathOf(path: string): string {
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
    timeout_ms: number(flags.deadlineMs, "--deadline-ms", 1) ?? DEFAULT_LIMIT.timeoutMs,
    batch_size: number(flags.batchSize, "--batch-size", 1) ?? DEFAULT_LIMIT.batchSize,
    max_depth: number(flags.maxDepth, "--max-depth", 0) ?? DEFAULT_LIMIT.maxDepth,
  };
  return {
    config,
    compat: flags.compat ?? false,
    requireHandshake: flags.requireHandshake ?? false,
    ...(flags.name !== undefined && { info: { name: flags.name } }),
  };
}

function number(text: string | undefined, flag: string, least: number): number | undefined {
  return text === undefined ? undefined : wholeNumber(text, flag, least);
}

interface WebOptions {
  readonly host: string;
  readonly port: number;
  readonly path: string;
  readonly protocols: NonNullable<HttpOptions["protocols"]>;
  /** Without tokens, every client is served. */
  readonly tokens: readonly string[];
  /** The principal of all tokens; by default each has its own. */
  readonly principal?: string;
  readonly allowHosts: readonly string[];
  readonly tls?: NonNullable<HttpOptions["tls"]>;
  /** The command to repeat with another port, for the error message. */
  readonly command: string;
}

export async function serveWeb(server: AhpServer, web: WebOptions): Promise<ListeningServer> {
  const { host, port, path, protocols, tokens, tls, command } = web;
  refuseOpenServer(host, tokens);
  const allowedHosts = [...hostNames(host), ...web.allowHosts.map((name) => name.toLowerCase())];
  const options = {
    host,
    port,
    path,
    protocols,
    allowedHosts,
    ...authenticatorOf(tokens, web.principal),
    ...(tls && { tls }),
  };
  try {
    const served = await serveHttp(server, options);
    return { served, addresses: protocols.map((protocol) => webAddress(protocol, served.address)) };
  } catch (error) {
    throw listenError(error, host, port, command);
  }
}

function webAddress(transport: WebOptions["protocols"][number], address: string): ServerAddress {
  return { transport, address: transport === "websocket" ? address.replace(/^http/, "ws") : address };
}
