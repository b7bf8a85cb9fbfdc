import type { ServerResponse } from "node:http";

/** What browsers are told about every answer. None may be kept: they are for whoever asked. */
export const PROTECTION: Readonly<Record<string, string>> = {
  "content-security-policy":
    "default-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; object-src 'none'",
  "x-content-type-options": "nosniff",
  "referrer-policy": "no-referrer",
  "cross-origin-resource-policy": "same-origin",
  "cache-control": "no-store",
};

const HEADERS = Object.entries(PROTECTION);

/** Sets them on an answer, whoever writes it. */
export function protect(response: ServerResponse): void {
  for (const [name, value] of HEADERS) response.setHeader(name, value);
}
