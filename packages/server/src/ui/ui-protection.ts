import type { ServerResponse } from "node:http";

/**
 * What a browser is told about the page. Everything comes from here: no script, font or image of somebody else's, and
 * a picture in what an agent says is not loaded. Styles may stand in the page, because menus and dialogs set their
 * places that way; they can load nothing either.
 */
const POLICY = [
  "default-src 'self'",
  "style-src 'self' 'unsafe-inline'",
  "img-src 'self' data:",
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
