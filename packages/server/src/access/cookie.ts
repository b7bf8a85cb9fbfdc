import type { IncomingMessage } from "node:http";

type Headed = Pick<IncomingMessage, "headers">;

/** The value of a request's cookie. */
export function cookieIn({ headers }: Headed, name: string): string | undefined {
  for (const pair of (headers.cookie ?? "").split(";")) {
    const [key = "", value] = pair.trim().split("=", 2);
    if (key === name) return value;
  }
  return undefined;
}

/** Formats a cookie that scripts cannot read and other sites cannot send; an empty value deletes it. */
export function setCookie(
  name: string,
  value: string,
  { expires, secure }: { expires: Date; secure: boolean },
) {
  const rules = [`Path=/`, `Expires=${expires.toUTCString()}`, "HttpOnly", "SameSite=Strict"];
  return [`${name}=${value}`, ...rules, ...(secure ? ["Secure"] : [])].join("; ");
}

const SAFE: ReadonlySet<string | undefined> = new Set(["GET", "HEAD"]);

/**
 * Explains why the cookie of a request must be ignored. Browsers attach cookies to requests from any page, and a page
 * on another port of this machine counts as the same site.
 */
export function cookieFault(
  request: Headed & Pick<IncomingMessage, "method">,
  upgrades: boolean,
): string | undefined {
  const { origin, host } = request.headers;
  const site = request.headers["sec-fetch-site"];
  if (site !== undefined && site !== "same-origin" && site !== "none")
    return "the cookie counts only for pages of this server";
  if (origin !== undefined) {
    const own = host !== undefined && [`http://${host}`, `https://${host}`].includes(origin);
    return own ? undefined : "the cookie counts only for pages of this server";
  }
  if ((SAFE.has(request.method) && !upgrades) || site === "same-origin") return undefined;
  return "a change by cookie needs an Origin or Sec-Fetch-Site header that says it comes from a page of this server";
}
