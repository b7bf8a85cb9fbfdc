import { lookup } from "node:dns";
import { request as httpRequest, type IncomingMessage } from "node:http";
import { request as httpsRequest } from "node:https";
import { isIP } from "node:net";
import type { FetchedPage, WebService } from "@reins/agent";
import { addressScope, publicLookup } from "@reins/runner";

const MOST_REDIRECTS = 5;
const MAX_BYTES = 2 * 1024 * 1024;
const TIME_MS = 20_000;
/** What stays as it was decided is followed: the host, and no step down from TLS. */
const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);

/**
 * Gets pages for the native agent. An address was decided by its host, so no name may lead elsewhere: one of the internet
 * not to this machine or its network, by its addresses or by a redirect.
 */
export function webService(reach: WebReach): WebService {
  return { fetch: (address, signal) => fetchPage(address, signal, reach) };
}

/** How far pages are looked for: on the internet alone, or on this machine and its network, too, where an address says so. */
export type WebReach = "internet" | "machine";

async function fetchPage(address: URL, signal: AbortSignal, reach: WebReach): Promise<FetchedPage> {
  const over = AbortSignal.any([signal, AbortSignal.timeout(TIME_MS)]);
  let url = address;
  for (let redirects = 0; redirects <= MOST_REDIRECTS; redirects += 1) {
    const response = await send(url, over, reach);
    const { statusCode: status = 0, headers } = response;
    if (!REDIRECTS.has(status) || headers.location === undefined) return pageOf(response, status);
    response.destroy();
    const next = URL.parse(headers.location, url.href);
    if (!next || !/^https?:$/.test(next.protocol)) throw new Error("it redirects to what is no page");
    if (next.origin !== url.origin) return { kind: "elsewhere", url: next.href.slice(0, 2_048) };
    url = next;
  }
  throw new Error(`it redirects more than ${MOST_REDIRECTS} times`);
}

async function send(url: URL, signal: AbortSignal, reach: WebReach): Promise<IncomingMessage> {
  const host = url.hostname.replace(/^\[|\]$/g, "");
  if (reach === "internet" && isIP(host) !== 0 && addressScope(host) !== "public")
    throw new Error(`${host} is not on the internet`);
  if (isIP(host) !== 0 && addressScope(host) === "local" && !isLoopback(host))
    throw new Error(`${host} is an address of this machine's link`);
  const request = url.protocol === "https:" ? httpsRequest : httpRequest;
  const headers = {
    accept: "text/html, text/*, application/json",
    "accept-encoding": "identity",
    "user-agent": "reins",
  };
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  const sent = request(
    url,
    { headers, signal, lookup: host === "localhost" && reach === "machine" ? lookup : publicLookup },
    resolve,
  );
  sent.on("error", reject);
  sent.end();
  return promise;
}

function isLoopback(host: string): boolean {
  return host === "::1" || host.startsWith("127.");
}

async function pageOf(response: IncomingMessage, status: number): Promise<FetchedPage> {
  const { "content-type": contentType = "", "content-encoding": encoding = "identity" } = response.headers;
  if (encoding !== "identity") {
    response.destroy();
    throw new Error("the server packs what it sends, although it was asked not to");
  }
  const pieces: Buffer[] = [];
  let length = 0;
  for await (const piece of response) {
    pieces.push(piece);
    length += piece.length;
    if (length > MAX_BYTES) break;
  }
  const body = Buffer.concat(pieces).subarray(0, MAX_BYTES);
  return { kind: "page", status, contentType, body, isCut: length > MAX_BYTES };
}
