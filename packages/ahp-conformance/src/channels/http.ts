import { once } from "node:events";
import * as http from "node:http";
import * as https from "node:https";
import { connect } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import { AhpError, SESSION_HEADER } from "@reins/ahp";
import { errorMessage, readLimited } from "@reins/kit";
import {
  type Channel,
  type Credentials,
  credentialHeaders,
  type ExchangeOptions,
  type Outgoing,
  type Reply,
  type Target,
} from "./channel.ts";

/** How much of a body is written at once. */
const CHUNK = 64 * 1024;
/** For larger bodies, writing pauses so that the harness can reject them early. */
const LARGE = 2 * 1024 * 1024;
/** The number of pauses. */
const TURNS = 10;
const TURN_MS = 30;
const PIECE_MS = 5;
const MAX_BODY = 64 * 1024 * 1024;
const MAX_SOCKETS = 16;

/** One HTTP request, right or wrong. */
export interface HttpRequest {
  readonly method?: string;
  /** The path and query; by default those of the target. */
  readonly path?: string;
  /** Replaces all headers but those of the connection and of the credentials. */
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: Outgoing;
  readonly waitMs: number;
}

/** Opens an HTTP channel after checking that the port accepts connections. */
export async function openHttp(
  { url }: Extract<Target, { transport: "http" }>,
  credentials: Credentials | undefined,
): Promise<HttpChannel> {
  if (!/^https?:/.test(url)) throw new AhpError("transport", `not an HTTP address: ${url}`);
  const { hostname, port, protocol } = new URL(url);
  const socket = connect({
    host: hostname.replace(/^\[|\]$/g, ""),
    port: Number(port || (protocol === "https:" ? 443 : 80)),
  });
  try {
    await once(socket, "connect");
  } catch (error) {
    throw new AhpError("transport", `Failed to connect to ${url}: ${errorMessage(error)}`, { cause: error });
  } finally {
    socket.destroy();
  }
  return new HttpChannel(new URL(url), credentialHeaders(credentials));
}

/** One message per POST. */
export class HttpChannel implements Channel {
  readonly transport = "http";
  readonly noise = [];
  readonly ended = undefined;
  readonly url: URL;
  /** The session of a handshake, for a harness that requires one. */
  sessionToken: string | undefined;
  readonly #credentials: Record<string, string>;
  readonly #agent: http.Agent;
  readonly #underWay = new Set<http.ClientRequest>();

  constructor(url: URL, credentials: Record<string, string>) {
    this.url = url;
    this.#credentials = credentials;
    const options = { keepAlive: true, maxSockets: MAX_SOCKETS };
    this.#agent = url.protocol === "https:" ? new https.Agent(options) : new http.Agent(options);
  }

  async send(message: Outgoing): Promise<void> {
    await this.exchange(message, { waitMs: 10_000 });
  }

  exchange(message: Outgoing, { waitMs }: ExchangeOptions): Promise<Reply> {
    return this.request({ body: message, waitMs });
  }

  /** Makes any request; a failure is part of the reply. */
  request(wanted: HttpRequest): Promise<Reply> {
    const { method = "POST", path, headers, body = "", waitMs } = wanted;
    const request = this.#start(method, path, {
      ...this.#credentials,
      ...(this.sessionToken !== undefined && { [SESSION_HEADER]: this.sessionToken }),
      ...(headers ?? { "content-type": "application/json" }),
      ...(isWhole(body) && { "content-length": String(Buffer.byteLength(body)) }),
    });
    return new Promise((resolve) => {
      const timer = setTimeout(() => request.destroy(new Error(`no answer within ${waitMs} ms`)), waitMs);
      const settle = (reply: Reply | Promise<Reply>) => {
        clearTimeout(timer);
        resolve(reply);
      };
      request.on("error", (error) =>
        settle(wasIdle(request, error) ? this.request(wanted) : { text: undefined, ended: error.message }),
      );
      request.once("response", (response) => {
        readBody(response).then(
          (text) => settle({ text, ...statusOf(response) }),
          (error) => settle({ text: undefined, ...statusOf(response), ended: String(error) }),
        );
      });
      writeBody(request, body);
    });
  }

  unclaimed(): readonly string[] {
    return [];
  }

  async begin(beginning: Buffer): Promise<void> {
    const headers = { "content-type": "application/json", "content-length": String(beginning.length * 2) };
    const request = this.#start("POST", undefined, { ...this.#credentials, ...headers });
    request.on("error", () => {});
    await new Promise<void>((resolve) => request.write(beginning, () => resolve()));
  }

  async vanish(): Promise<void> {
    for (const request of this.#underWay) request.destroy();
    this.#agent.destroy();
  }

  close(): Promise<void> {
    return this.vanish();
  }

  #start(method: string, path: string | undefined, headers: Record<string, string>): http.ClientRequest {
    const { request: start } = this.url.protocol === "https:" ? https : http;
    const request = start(this.url, {
      agent: this.#agent,
      method,
      headers,
      ...(path !== undefined && { path }),
    });
    this.#underWay.add(request);
    request.once("close", () => this.#underWay.delete(request));
    return request;
  }
}

/** Whether a kept connection was closed by the other side just as it was reused; then a new one is opened. */
function wasIdle({ reusedSocket }: http.ClientRequest, error: Error): boolean {
  return reusedSocket && "code" in error && error.code === "ECONNRESET";
}

function isWhole(body: Outgoing): body is string | Buffer {
  return typeof body === "string" || Buffer.isBuffer(body);
}

/** Writes bit by bit and stops as soon as an answer is there: a harness may refuse a body it has not read. */
async function writeBody(request: http.ClientRequest, body: Outgoing): Promise<void> {
  let answered = false;
  request.once("response", () => {
    answered = true;
  });
  const closed = new Promise<void>((resolve) => request.once("close", resolve));
  for (const [index, piece] of (isWhole(body) ? chunksOf(Buffer.from(body)) : body).entries()) {
    await Promise.race([new Promise<void>((resolve) => request.write(piece, () => resolve())), closed]);
    if (!isWhole(body)) await delay(PIECE_MS);
    if (index === 0 && textLength(body) > LARGE)
      for (let turn = 0; turn < TURNS && !answered; turn += 1) await delay(TURN_MS);
    if (answered || request.destroyed) return;
  }
  request.end();
}

function textLength(body: Outgoing): number {
  return isWhole(body) ? body.length : 0;
}

function chunksOf(bytes: Buffer): readonly Buffer[] {
  const count = Math.ceil(bytes.length / CHUNK);
  return Array.from({ length: count }, (_, index) => bytes.subarray(index * CHUNK, (index + 1) * CHUNK));
}

async function readBody(response: http.IncomingMessage): Promise<string> {
  const body = await readLimited(response, MAX_BODY);
  if (!body) throw new RangeError(`an answer of more than ${MAX_BODY} bytes`);
  return body.toString();
}

function statusOf({ statusCode = 0, headers }: http.IncomingMessage): Pick<Reply, "status" | "headers"> {
  const flat = Object.entries(headers).map(([name, value]) => [name, value?.toString()]);
  return { status: statusCode, headers: Object.fromEntries(flat) };
}
