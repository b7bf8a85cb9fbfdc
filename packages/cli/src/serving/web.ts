import { type AhpServer, type HttpOptions, serveHttp } from "@reins/ahp";
import { hostNames, listenError, refuseOpenServer } from "./address.ts";
import type { ListeningServer, ServerAddress } from "./listen.ts";
import { authenticatorOf } from "./tokens.ts";

export interface WebPlace {
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

export async function serveWeb(server: AhpServer, place: WebPlace): Promise<ListeningServer> {
  const { host, port, path, protocols, tokens, tls, command } = place;
  refuseOpenServer(host, tokens);
  const allowedHosts = [...hostNames(host), ...place.allowHosts.map((name) => name.toLowerCase())];
  const options = {
    host,
    port,
    path,
    protocols,
    allowedHosts,
    ...authenticatorOf(tokens, place.principal),
    ...(tls && { tls }),
  };
  try {
    const served = await serveHttp(server, options);
    return { served, entrances: protocols.map((protocol) => entrance(protocol, served.address)) };
  } catch (error) {
    throw listenError(error, host, port, command);
  }
}

function entrance(transport: WebPlace["protocols"][number], address: string): ServerAddress {
  return { transport, address: transport === "websocket" ? address.replace(/^http/, "ws") : address };
}
