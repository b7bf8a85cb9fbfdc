import type { ServerResponse } from "node:http";

/**
 * What a browser is told about the page. Everything comes from here, as files of their own: no script, style, font or
 * image of somebody else's, none that stands in the page, and a picture in what an agent says is not loaded.
 */
const POLICY = [
  "default-src 'self'",
  "base-uri 'none'",
  "form-action 'self'",
  "frame-ancestors 'none'",
  "object-src 'none'",
].join("; ");

/** Allows the page what it needs, in place of what any other answer is allowed. */
export function protectPage(response: ServerResponse): void {
  response.setHeader("content-security-policy", POLICY);
  response.setHeader("permissions-policy", "camera=(), geolocation=(), microphone=()");
}
