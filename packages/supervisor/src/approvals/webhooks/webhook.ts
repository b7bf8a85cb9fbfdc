import { createHmac } from "node:crypto";
import { SupervisorError } from "../../errors.ts";

/** An address that receives every change. */
export interface Webhook {
  /** Known by this across restarts. */
  readonly name: string;
  readonly url: string;
  /** Signs what is sent; at least 16 characters. */
  readonly secret: string;
  /** The tenant whose changes it receives; by default those of all. */
  readonly tenant?: string | undefined;
  /** Whether it receives what is asked, without secrets, and not only that something is. */
  readonly details?: boolean | undefined;
}

const SHORTEST_SECRET = 16;

/** Refuses webhooks that cannot be used. */
export function expectUsable(webhooks: readonly Webhook[]): void {
  const names = new Set<string>();
  for (const { name, url, secret } of webhooks) {
    const fault = faultOf(url, secret) ?? (names.has(name) ? "there are two of that name" : undefined);
    if (fault !== undefined) throw new SupervisorError("invalid", `the webhook "${name}": ${fault}`);
    names.add(name);
  }
}

/** The names of the webhooks that receive the changes of a tenant. */
export function webhooksFor(webhooks: readonly Webhook[], tenant: string): string[] {
  return webhooks
    .filter((webhook) => webhook.tenant === undefined || webhook.tenant === tenant)
    .map(({ name }) => name);
}

function faultOf(url: string, secret: string): string | undefined {
  const parsed = URL.parse(url);
  if (!parsed || (parsed.protocol !== "https:" && parsed.protocol !== "http:"))
    return "its address is not one of http or https";
  if (parsed.username !== "" || parsed.password !== "") return "its address holds a password; sign instead";
  return secret.length < SHORTEST_SECRET
    ? `its secret has fewer than ${SHORTEST_SECRET} characters`
    : undefined;
}

/** The header that carries the signature. */
export const SIGNATURE_HEADER = "Reins-Signature";

/** The value of the header: when it was signed, in seconds since 1970, and HMAC-SHA256 of that, a dot and the body. */
export function sign(body: string, secret: string, now: Date): string {
  const time = Math.floor(now.getTime() / 1_000);
  return `t=${time},v1=${digest(time, body, secret).toString("hex")}`;
}

/** HMAC-SHA256 of a time, a dot and a body. */
function digest(time: number, body: string | Uint8Array, secret: string): Buffer {
  return createHmac("sha256", secret).update(`${time}.`).update(body).digest();
}

/** A message on its way. */
interface Posting {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  readonly signal: AbortSignal;
}

/** What counts of a receiver's response; its body never does. */
interface Posted {
  readonly status: number;
  /** The value of `Retry-After`, as it was sent. */
  readonly retryAfter?: string | undefined;
}

/** Posts a message. Rejects when there is no response. */
export type Post = (url: string, posting: Posting) => Promise<Posted>;

/** Posts over HTTP. Redirects are not followed: a signed message reaches the configured address or none. */
export const postOverHttp: Post = async (url, { headers, body, signal }) => {
  const response = await fetch(url, { method: "POST", headers, body, signal, redirect: "manual" });
  // The status has arrived; a body that breaks off or cannot be decoded changes nothing about it.
  await response.body?.cancel().catch(() => undefined);
  return { status: response.status, retryAfter: response.headers.get("retry-after") ?? undefined };
};

const MOST_RETRY_AFTER_MS = 600_000;

/** How long a receiver wants to be left alone: seconds or a date, bounded; nothing when it is neither. */
export function retryAfterMs(value: string | undefined, now: Date): number | undefined {
  const text = value?.trim() ?? "";
  const wanted = /^\d+$/.test(text) ? Number(text) * 1_000 : dateIn(text) - now.getTime();
  return Number.isNaN(wanted) ? undefined : Math.min(Math.max(0, wanted), MOST_RETRY_AFTER_MS);
}

/** Reads the date of RFC 9110 only: `Date.parse` accepts far more. */
function dateIn(text: string): number {
  const isDate = /^[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT$/.test(text);
  return isDate ? Date.parse(text) : Number.NaN;
}
