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
