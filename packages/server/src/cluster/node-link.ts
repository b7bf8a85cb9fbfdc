import { createHmac } from "node:crypto";
import { once } from "node:events";
import type { ClientRequest, IncomingHttpHeaders, IncomingMessage, ServerResponse } from "node:http";
import { Agent, createServer, request as requestOver } from "node:https";
import type { Server } from "node:net";
import type { Duplex } from "node:stream";
import type { TLSSocket } from "node:tls";
import { PROBLEM_TYPE } from "@reins/api";
import type { TenantOwner } from "@reins/store";
import type { Caller } from "../access/authenticator.ts";
import { httpSettings, liftArrivalTimeout } from "../gateway/listener.ts";
import type { GatewayLimits, Log } from "../limits.ts";
import { closeWithProblem, HttpProblem, SECURITY_HEADERS } from "../problems.ts";
import { hopsOf, NODE_CALLER, NODE_DIRECT, NODE_HOPS } from "./link-headers.ts";

const MOST_HOPS = 3;
const IDENTITY = "reins-node";
/** Both ends prove that they know the secret; each connection has keys of its own. */
const CIPHERS = "ECDHE-PSK-CHACHA20-POLY1305:DHE-PSK-AES256-GCM-SHA384:DHE-PSK-CHACHA20-POLY1305";
const PROTOCOL = "TLSv1.2";
/** How long a connection to another node may take to be made. */
const CONNECT_MS = 3_000;
const MOST_IDLE = 256;
/** How long a node that is asked itself may take to answer. */
const ASK_MS = 20_000;

/** Headers about one connection, which the next does not get. */
const OF_CONNECTION: ReadonlySet<string> = new Set([
  ...["connection", "keep-alive", "proxy-connection", "te", "trailer", "transfer-encoding", "upgrade"],
  ...["http2-settings", "expect", NODE_CALLER, NODE_DIRECT, NODE_HOPS],
]);

/** Headers by which the node that a browser asked says who may read the answer. */
const OF_ORIGIN = ["cross-origin-resource-policy", "access-control-allow-origin", "vary"];

/** A request that no connection could be made for: nothing of it was sent. */
export class NodeUnreachable extends Error {
  override readonly name = "NodeUnreachable";
}

interface Passed {
  readonly request: IncomingMessage;
  /** Absent where the owner authenticates it. */
  readonly caller?: Caller | undefined;
}

/** Passes requests on to other nodes, over TLS in which both ends prove that they know the cluster's secret. */
export class NodeLink {
  readonly #key: Buffer;
  readonly #log: Log;
  readonly #agent: Agent;
  /** What is under way, by the node that answers it. */
  readonly #underWay = new Map<string, Set<ClientRequest>>();

  constructor({ secret, log }: { readonly secret: string; readonly log: Log }) {
    const key = createHmac("sha256", secret).update("the link between nodes").digest();
    this.#key = key;
    this.#log = log;
    this.#agent = new Agent({
      ...{ keepAlive: true, maxFreeSockets: MOST_IDLE, ciphers: CIPHERS },
      ...{ minVersion: PROTOCOL, maxVersion: PROTOCOL },
      pskCallback: () => ({ psk: key, identity: IDENTITY }),
      // There is no certificate; the key is what both have in common.
      checkServerIdentity: () => undefined,
    });
  }

  /** A server for requests of other nodes, not yet listening. */
  newServer(limits: GatewayLimits): Server {
    return createServer({
      ...httpSettings(limits),
      ...{ ciphers: CIPHERS, minVersion: PROTOCOL, maxVersion: PROTOCOL },
      pskCallback: (_socket: unknown, identity: string) => (identity === IDENTITY ? this.#key : null),
    });
  }

  /** Passes a request on. Rejects with {@link NodeUnreachable} where nothing was sent; all else goes to the client. */
  async forward(
    owner: Pick<TenantOwner, "address" | "claim">,
    { request, caller }: Passed,
    response: ServerResponse,
  ): Promise<void> {
    const passed = await this.#send(owner, request, caller, {});
    passed.on("response", (answer) => {
      const headers = withoutConnection(answer.headers);
      // Which origins may read it is for the node that they ask.
      for (const name of OF_ORIGIN) if (response.hasHeader(name)) delete headers[name];
      // Over HTTP/2 the status has no text.
      response.writeHead(answer.statusCode ?? 502, headers);
      response.flushHeaders();
      answer.pipe(response);
      answer.once("error", () => response.destroy());
    });
    passed.once("error", (error) => this.#fail(request, response, error));
    response.once("close", () => passed.destroy());
    liftArrivalTimeout(request);
    if (request.headers.expect !== undefined) response.writeContinue();
    request.pipe(passed);
  }

  /** Passes an upgrade on, and then what both ends send. Rejects with {@link NodeUnreachable} where nothing was sent. */
  async upgrade(
    owner: Pick<TenantOwner, "address" | "claim">,
    { request, caller }: Passed,
    socket: Duplex,
    head: Buffer,
  ): Promise<void> {
    const { upgrade = "websocket" } = request.headers;
    const passed = await this.#send(owner, request, caller, { connection: "Upgrade", upgrade });
    passed.once("upgrade", (answer, other, first) => {
      socket.write(headOf(answer));
      if (first.length > 0) socket.write(first);
      if (head.length > 0) other.write(head);
      other.once("error", () => socket.destroy());
      other.once("close", () => socket.destroy());
      socket.once("close", () => other.destroy());
      socket.pipe(other).pipe(socket);
    });
    passed.once("response", (answer) => {
      socket.write(headOf(answer));
      answer.pipe(socket);
    });
    passed.once("error", () => closeWithProblem(socket, lost()));
    socket.once("close", () => passed.destroy());
    passed.end();
  }

  /** Asks a node itself, with a body in JSON; gives the status and the body of its answer. */
  async ask(
    node: Pick<TenantOwner, "address">,
    { path, body, caller }: { readonly path: string; readonly body: unknown; readonly caller: Caller },
  ): Promise<{ readonly status: number; readonly body: unknown }> {
    const { hostname: host, port } = new URL(`tcp://${node.address}`);
    const headers = {
      "content-type": "application/json",
      [NODE_DIRECT]: "1",
      [NODE_CALLER]: Buffer.from(JSON.stringify(caller)).toString("base64url"),
    };
    const signal = AbortSignal.timeout(ASK_MS);
    const sent = requestOver({ agent: this.#agent, host, port, path, method: "POST", headers, signal });
    sent.end(JSON.stringify(body));
    const [answer]: IncomingMessage[] = await once(sent, "response");
    const text = await readText(answer);
    return { status: answer?.statusCode ?? 502, body: text === "" ? undefined : JSON.parse(text) };
  }

  /** Cuts off what a process that is no node any more has still to answer. */
  drop(claim: string): void {
    for (const passed of this.#underWay.get(claim) ?? []) passed.destroy(new Error("the node is gone"));
  }

  /** The processes that have something to answer. */
  get claims(): readonly string[] {
    return [...this.#underWay.keys()];
  }

  close(): void {
    for (const claim of this.claims) this.drop(claim);
    this.#agent.destroy();
  }

  /** Connects, and sends nothing before that. */
  #send(
    { address, claim }: Pick<TenantOwner, "address" | "claim">,
    request: IncomingMessage,
    caller: Caller | undefined,
    extra: Readonly<Record<string, string>>,
  ): Promise<ClientRequest> {
    const { hostname: host, port } = new URL(`tcp://${address}`);
    const hops = hopsOf(request) + 1;
    if (hops > MOST_HOPS) throw new HttpProblem("unavailable", "the sessions move; try again", RETRY);
    const headers = {
      ...withoutConnection(request.headers),
      ...extra,
      [NODE_HOPS]: String(hops),
      ...(caller && { [NODE_CALLER]: Buffer.from(JSON.stringify(caller)).toString("base64url") }),
    };
    const { method = "GET", url: path = "/" } = request;
    const passed = requestOver({ agent: this.#agent, host, port, method, path, headers });
    const underWay = this.#underWay.get(claim) ?? new Set();
    this.#underWay.set(claim, underWay.add(passed));
    passed.once("close", () => {
      underWay.delete(passed);
      if (underWay.size === 0 && this.#underWay.get(claim) === underWay) this.#underWay.delete(claim);
    });
    return new Promise((resolve, reject) => {
      const failed = (cause: Error) => reject(new NodeUnreachable(`the node at ${address}`, { cause }));
      passed.once("error", failed);
      passed.once("socket", (socket: TLSSocket) => {
        const ready = () => {
          socket.setTimeout(0);
          passed.off("error", failed);
          resolve(passed);
        };
        if (!socket.connecting && socket.encrypted && socket.getCipher()) ready();
        else {
          socket.setTimeout(CONNECT_MS, () => passed.destroy(new Error("it does not answer")));
          socket.once("secureConnect", ready);
        }
      });
    });
  }

  #fail(request: IncomingMessage, response: ServerResponse, error: Error): void {
    this.#log.debug({ err: error, path: request.url?.split("?")[0] }, "a request to another node failed");
    // What was sent may have had its effect: the client sees what it would see if this server had died. So it does where
    // the other node hung up on a body that is too long: its answer may be lost, and nothing of the request was done.
    if (response.headersSent || !request.complete) response.destroy();
    else sendProblem(response, lost());
  }
}

const RETRY = { headers: { "retry-after": "1" } };

function lost(): HttpProblem {
  return new HttpProblem(
    "bad_gateway",
    "the node that serves this was lost before it answered; what was asked may or may not have happened",
    RETRY,
  );
}

function sendProblem(response: ServerResponse, { problem, headers }: HttpProblem): void {
  response.writeHead(problem.status, { ...SECURITY_HEADERS, ...headers, "content-type": PROBLEM_TYPE });
  response.end(JSON.stringify(problem));
}

async function readText(answer: IncomingMessage | undefined): Promise<string> {
  const pieces = answer ? await answer.toArray() : [];
  return Buffer.concat(pieces).toString();
}

function withoutConnection(headers: IncomingHttpHeaders): Record<string, string | string[]> {
  const kept: Record<string, string | string[]> = {};
  for (const [name, value] of Object.entries(headers))
    if (value !== undefined && !name.startsWith(":") && !OF_CONNECTION.has(name)) kept[name] = value;
  return kept;
}

function headOf({ statusCode = 502, statusMessage = "", rawHeaders }: IncomingMessage): string {
  const lines = [`HTTP/1.1 ${statusCode} ${statusMessage}`];
  for (let index = 0; index < rawHeaders.length; index += 2)
    lines.push(`${rawHeaders[index]}: ${rawHeaders[index + 1]}`);
  return `${lines.join("\r\n")}\r\n\r\n`;
}
