import { type LookupAddress, lookup as systemLookup } from "node:dns";
import { once } from "node:events";
import {
  createServer,
  type IncomingMessage,
  type Server,
  type ServerResponse,
  request as sendRequest,
} from "node:http";
import { BlockList, connect, isIP, isIPv6, type LookupFunction, type Socket } from "node:net";
import { type Duplex, pipeline } from "node:stream";
import { errorMessage } from "@reins/kit";
import { SandboxError } from "../errors.ts";

/** A host that a confined agent tried to reach. */
export interface NetworkAttempt {
  readonly host: string;
  readonly port: number;
  readonly allowed: boolean;
  /** Why it was not reached, even if allowed. */
  readonly reason?: string;
}

/** What a proxy needs to know. */
export interface HostProxyOptions {
  readonly rules: readonly HostRule[];
  readonly onAttempt: (attempt: NetworkAttempt) => void;
  readonly findAddresses?: FindAddresses;
}

/** The most connections of one agent. */
const CONNECTIONS = 512;
/** What concerns one hop only. */
const HOP_BY_HOP = [
  "connection",
  "keep-alive",
  "proxy-authorization",
  "proxy-connection",
  "te",
  "trailer",
  "upgrade",
];
const REFUSED = { 400: "Bad Request", 403: "Forbidden", 502: "Bad Gateway" };

/** A proxy for HTTP on a Unix socket, which reaches the hosts that rules name and no others. */
export class HostProxy {
  readonly #server: Server;
  readonly #options: HostProxyOptions;
  readonly #sockets = new Set<Duplex>();

  private constructor(options: HostProxyOptions) {
    this.#options = options;
    this.#server = createServer((request, response) => void this.#request(request, response));
    this.#server.maxConnections = CONNECTIONS;
    this.#server.on("connect", (request, socket, head) => void this.#tunnel(request, socket, head));
    this.#server.on("connection", (socket: Socket) => this.#keep(socket));
  }

  /** Listens on a Unix socket. */
  static async listen(path: string, options: HostProxyOptions): Promise<HostProxy> {
    const proxy = new HostProxy(options);
    proxy.#server.listen(path);
    await once(proxy.#server, "listening");
    return proxy;
  }

  /** Closes the listener and all connections. */
  async close(): Promise<void> {
    const closed = once(this.#server, "close");
    this.#server.close();
    for (const socket of this.#sockets) socket.destroy();
    await closed;
  }

  async #tunnel({ url = "" }: IncomingMessage, client: Duplex, head: Buffer): Promise<void> {
    // An error here concerns this connection only.
    client.on("error", () => client.destroy());
    const upstream = await this.#reach(URL.parse(`http://${url}/`), portIn(url));
    if (!(upstream instanceof Refusal)) {
      client.write("HTTP/1.1 200 Connection Established\r\n\r\n");
      upstream.write(head);
      pipeline(client, upstream, client, () => undefined);
      return;
    }
    const body = `${upstream.reason}\n`;
    client.end(
      `HTTP/1.1 ${upstream.status} ${REFUSED[upstream.status]}\r\ncontent-length: ${Buffer.byteLength(body)}\r\nconnection: close\r\n\r\n${body}`,
    );
  }

  async #request(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = URL.parse(request.url ?? "");
    const target = url?.protocol === "http:" ? url : null;
    const upstream = await this.#reach(target, Number(target?.port || 80));
    if (upstream instanceof Refusal || target === null) {
      const { status, reason } = upstream instanceof Refusal ? upstream : new Refusal(400, "not for a proxy");
      request.resume();
      response.writeHead(status, { "content-type": "text/plain", connection: "close" }).end(`${reason}\n`);
      return;
    }
    const outgoing = sendRequest({
      // With this, Node keeps no connection for another request, which it would lead to the wrong host.
      createConnection: () => upstream,
      method: request.method,
      path: target.pathname + target.search,
      headers: { ...headersFor(request), host: target.host },
    });
    outgoing.on("response", (incoming) => {
      const { statusCode = 0, headers } = incoming;
      // A host may answer with a number that is none of HTTP's.
      if (statusCode < 200) return void outgoing.destroy(new Error(`it answered with ${statusCode}`));
      response.writeHead(statusCode, headers);
      pipeline(incoming, response, () => undefined);
    });
    pipeline(request, outgoing, (error) => {
      if (error) upstream.destroy();
    });
    outgoing.on("error", (error) => {
      if (response.headersSent) response.destroy();
      else
        response
          .writeHead(502, { "content-type": "text/plain", connection: "close" })
          .end(`${error.message}\n`);
    });
    response.on("close", () => upstream.destroy());
  }

  /** Connects to a host if a rule allows it, and reports the attempt. */
  async #reach(url: URL | null, port: number): Promise<Socket | Refusal> {
    const host = url && normalHost(url.hostname);
    if (!host || !(port > 0 && port < 65_536)) return new Refusal(400, "not the address of a host");
    const { rules, onAttempt, findAddresses } = this.#options;
    const rule = ruleFor(host, port, rules);
    if (rule === undefined) {
      const reason = `${host}:${port} is not among the hosts that may be reached`;
      onAttempt({ host, port, allowed: false, reason });
      return new Refusal(403, reason);
    }
    try {
      const socket = await dial(host, port, rule, findAddresses);
      this.#keep(socket);
      onAttempt({ host, port, allowed: true });
      return socket;
    } catch (error) {
      const reason = `${host}:${port} was not reached: ${errorMessage(error)}`;
      onAttempt({ host, port, allowed: true, reason });
      return new Refusal(502, reason);
    }
  }

  #keep(socket: Duplex): void {
    this.#sockets.add(socket);
    socket.once("close", () => this.#sockets.delete(socket));
    socket.on("error", () => socket.destroy());
  }
}

class Refusal {
  readonly status: keyof typeof REFUSED;
  readonly reason: string;

  constructor(status: keyof typeof REFUSED, reason: string) {
    this.status = status;
    this.reason = reason;
  }
}

/** The port in `host:port`; an address without one leads nowhere. */
function portIn(authority: string): number {
  return Number(/:(\d{1,5})$/.exec(authority)?.[1] ?? Number.NaN);
}

function headersFor({ headers }: IncomingMessage): Record<string, string | string[]> {
  const named = (headers.connection ?? "").toLowerCase().split(/ *, */);
  const kept: Record<string, string | string[]> = {};
  for (const [name, value] of Object.entries(headers))
    if (value !== undefined && !HOP_BY_HOP.includes(name) && !named.includes(name)) kept[name] = value;
  return kept;
}

/** Finds all addresses of a name, as `dns.lookup` does. */
type FindAddresses = (
  host: string,
  done: (error: Error | null, addresses: readonly LookupAddress[]) => void,
) => void;

const CONNECT_MS = 15_000;

/** The addresses of a name, as this machine finds them. */
const findAddresses: FindAddresses = (host, done) =>
  systemLookup(host, { all: true }, (error, addresses) => done(error, addresses ?? []));

/**
 * Connects to a host that a rule allows. The resolved addresses are checked too, against DNS rebinding: this machine only
 * if it was named as such, a private network only if the host was named exactly.
 */
async function dial(
  host: string,
  port: number,
  rule: HostRule,
  find: FindAddresses = findAddresses,
): Promise<Socket> {
  const named = rule.kind === "exact" && (isIP(host) !== 0 || host === "localhost");
  const reachable = (address: string) => {
    const scope = addressScope(address);
    return named || scope === "public" || (scope === "private" && rule.kind === "exact");
  };
  if (isIP(host) !== 0 && !reachable(host))
    throw new Error(`${host} is an address of this machine or network`);
  const lookup: LookupFunction = (name, options, done) =>
    find(name, (error, found) => {
      if (error) return done(error, []);
      const addresses = found.filter(({ address }) => reachable(address));
      const [first] = addresses;
      if (first === undefined) return done(new Error(`${name} leads to this machine or network`), []);
      if (options.all) done(null, addresses);
      else done(null, first.address, first.family);
    });
  const socket = connect({ host, port, lookup, autoSelectFamily: true });
  const signal = AbortSignal.timeout(CONNECT_MS);
  try {
    await once(socket, "connect", { signal });
    return socket;
  } catch (error) {
    socket.destroy();
    throw signal.aborted ? new Error(`it did not answer within ${CONNECT_MS / 1_000} s`) : error;
  }
}

/** Which hosts, and which of their ports, may be reached. */
export interface HostRule {
  /** A name or an address, or what a name has to end with. */
  readonly host: string;
  readonly kind: "exact" | "suffix" | "any";
  /** All, if there are none. */
  readonly ports?: readonly number[];
}

const USUAL_PORTS = [80, 443];
const RULE = /^(\*\.(?=.)|\*)?(\[[^\]]+\]|[^:*]*)(?::(\d{1,5}|\*))?$/;

/** Reads a rule: `api.example.com`, `*.example.com:8443`, `127.0.0.1:*`, `[::1]:8080`, `*`. */
export function parseHostRule(text: string): HostRule {
  const [match, star, name = "", port] = RULE.exec(text.trim()) ?? [];
  const host = name === "" ? "" : normalHost(name);
  const port16 = port === undefined || port === "*" || (Number(port) > 0 && Number(port) < 65_536);
  const sound = star === "*" ? name === "" : host !== undefined && host !== "" && !(star && isIP(host));
  if (match === undefined || !sound || !port16 || host === undefined)
    throw new SandboxError(
      "invalid_host",
      `"${text}" does not name hosts that an agent may reach.`,
      'Write a name ("api.example.com"), a suffix ("*.example.com"), an address or "*", with ":port" if need be.',
    );
  return {
    host,
    kind: star === "*" ? "any" : star ? "suffix" : "exact",
    ...(port !== "*" && { ports: port === undefined ? USUAL_PORTS : [Number(port)] }),
  };
}

/** Returns the rule that allows a host; an exact one first. */
export function ruleFor(host: string, port: number, rules: readonly HostRule[]): HostRule | undefined {
  const fitting = rules.filter((rule) => fits(host, rule) && (rule.ports?.includes(port) ?? true));
  return fitting.find(({ kind }) => kind === "exact") ?? fitting[0];
}

/** Normalizes a host: lower case, encoded, without a trailing dot; addresses in canonical form. */
export function normalHost(name: string): string | undefined {
  if (!/^[^\s/?#@\\]+$/.test(name)) return undefined;
  const url = URL.parse(`http://${name}/`);
  if (url === null || url.port !== "" || url.pathname !== "/") return undefined;
  return url.hostname.replace(/^\[|\]$/g, "").replace(/\.$/, "");
}

function fits(host: string, rule: HostRule): boolean {
  switch (rule.kind) {
    case "any":
      return true;
    case "exact":
      return host === rule.host;
    case "suffix":
      return host.endsWith(`.${rule.host}`) && isIP(host) === 0;
  }
}

/** The scope of an address: this machine or its link, a private network, or the internet. */
export type AddressScope = "local" | "private" | "public";

const LOCAL = blockList(
  ["0.0.0.0/8", "127.0.0.0/8", "169.254.0.0/16", "224.0.0.0/4", "240.0.0.0/4"],
  ["::/128", "::1/128", "fe80::/10", "ff00::/8"],
);
const PRIVATE = blockList(
  ["10.0.0.0/8", "100.64.0.0/10", "172.16.0.0/12", "192.0.0.0/24", "192.168.0.0/16", "198.18.0.0/15"],
  // The last two hold IPv4 addresses, of whichever kind.
  ["fc00::/7", "fec0::/10", "64:ff9b::/96", "2002::/16"],
);

/** Classifies an address. An IPv4 address written as IPv6 counts as IPv4. */
export function addressScope(address: string): AddressScope {
  const family = isIPv6(address) ? "ipv6" : "ipv4";
  if (LOCAL.check(address, family)) return "local";
  return PRIVATE.check(address, family) ? "private" : "public";
}

function blockList(ipv4: readonly string[], ipv6: readonly string[]): BlockList {
  const list = new BlockList();
  for (const [family, ranges] of [["ipv4", ipv4] as const, ["ipv6", ipv6] as const])
    for (const range of ranges) {
      const [net = "", prefix] = range.split("/");
      list.addSubnet(net, Number(prefix), family);
    }
  return list;
}

/** Resolves a name, and fails if any of its addresses is not on the internet. */
export const publicLookup: LookupFunction = (hostname, options, callback) => {
  systemLookup(hostname, { ...options, all: true }, (error, addresses) => {
    const inside = addresses?.find(({ address }) => addressScope(address) !== "public");
    if (error) callback(error, "");
    else if (inside) callback(new Error(`${hostname} is not on the internet: ${inside.address}`), "");
    else if (options.all) callback(null, addresses);
    else callback(null, addresses[0]?.address ?? "", addresses[0]?.family ?? 4);
  });
};
