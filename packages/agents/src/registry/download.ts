import { request as httpRequest, type IncomingMessage } from "node:http";
import { request as httpsRequest } from "node:https";
import { isIP } from "node:net";
import { errorMessage } from "@reins/kit";
import { addressScope, publicLookup } from "@reins/runner";
import { AgentError } from "../agent-error.ts";

/** How a file is downloaded. */
export interface DownloadOptions {
  /** The address that the operator configured: whatever else is fetched has to be there, or on the internet. */
  readonly trusted: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal: AbortSignal;
  /** How long a server may send nothing, in milliseconds; a minute by default. */
  readonly stallMs?: number;
}

/** A response whose body is not read yet. */
export interface Download {
  readonly status: number;
  readonly body: IncomingMessage;
  readonly etag: string | undefined;
  /** Where it came from after redirects. */
  readonly url: string;
}

const MOST_REDIRECTS = 5;
const STALL_MS = 60_000;

/**
 * Requests a file. What a registry names may be at the registry's own origin, or at a public address over TLS: never at this
 * machine, its network or a cloud's metadata service, also not by a redirect or a name that leads there.
 */
export async function download(address: string, options: DownloadOptions): Promise<Download> {
  let url = new URL(address);
  for (let redirects = 0; redirects <= MOST_REDIRECTS; redirects += 1) {
    const response = await send(url, options);
    const { statusCode: status = 0, headers } = response;
    if (status < 300 || status > 399 || status === 304 || headers.location === undefined)
      return { status, body: response, etag: headers.etag, url: url.href };
    response.destroy();
    const next = URL.parse(headers.location, url.href);
    if (!next) throw refused(url, "redirects to what is no address");
    url = next;
  }
  throw refused(url, `redirects more than ${MOST_REDIRECTS} times`);
}

function send(
  url: URL,
  { trusted, headers, signal, stallMs = STALL_MS }: DownloadOptions,
): Promise<IncomingMessage> {
  const isOwn = url.origin !== "null" && url.origin === new URL(trusted).origin;
  if (!isOwn && url.protocol !== "https:") throw refused(url, "is neither the registry's own nor https:");
  if (!isOwn && isIP(bare(url)) !== 0 && addressScope(bare(url)) !== "public")
    throw refused(url, "is not an address of the internet");
  const request = url.protocol === "https:" ? httpsRequest : httpRequest;
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  const given = { "accept-encoding": "identity", "user-agent": "reins", ...headers };
  let response: IncomingMessage | undefined;
  const sent = request(
    url,
    { headers: given, signal, ...(!isOwn && { lookup: publicLookup }) },
    (arrived) => {
      response = arrived;
      resolve(arrived);
    },
  );
  sent.setTimeout(stallMs, () => {
    const message = `${url.origin} sent nothing for ${stallMs / 1_000} seconds.`;
    (response ?? sent).destroy(new AgentError("download_failed", message));
  });
  sent.on("error", (cause) =>
    reject(
      cause instanceof AgentError
        ? cause
        : new AgentError("download_failed", `${url.origin} cannot be reached: ${errorMessage(cause)}`, {
            cause,
          }),
    ),
  );
  sent.end();
  return promise;
}

function bare({ hostname }: URL): string {
  return hostname.replace(/^\[|\]$/g, "");
}

function refused(url: URL, why: string): AgentError {
  return new AgentError("download_failed", `${url.href.slice(0, 200)} is not fetched: it ${why}.`);
}
