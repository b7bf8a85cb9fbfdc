import type { IncomingMessage } from "node:http";
import { HttpProblem } from "../problems.ts";

/** The path of a request without its query, which may contain secrets. */
export function pathOf({ url = "/" }: Pick<IncomingMessage, "url">): string {
  const end = url.indexOf("?");
  return end < 0 ? url : url.slice(0, end);
}

type Headed = Pick<IncomingMessage, "headers">;

/** The value of a header; undefined if absent or repeated. */
export function headerOf({ headers }: Headed, name: string): string | undefined {
  const value = headers[name.toLowerCase()];
  return typeof value === "string" && value !== "" ? value : undefined;
}

/** The value of a required header. */
export function requireHeader(request: Headed, name: string): string {
  const value = headerOf(request, name);
  if (value !== undefined) return value;
  throw new HttpProblem("invalid", `the header ${name} is needed`);
}

/** Whether the client prefers the response on its stream (`Prefer: respond-async`). */
export function prefersAsync(request: Headed): boolean {
  const preferences = headerOf(request, "prefer")?.toLowerCase().split(",") ?? [];
  return preferences.some((preference) => preference.split(";")[0]?.trim() === "respond-async");
}

/** Whether a client accepts a media type; without a header it accepts any. */
export function accepts({ headers }: Pick<IncomingMessage, "headers">, type: string): boolean {
  const { accept } = headers;
  if (accept === undefined || accept.trim() === "") return true;
  const [family = ""] = type.split("/");
  const fitting = [type, `${family}/*`, "*/*"];
  return accept.split(",").some((range) => {
    const [name = "", ...parameters] = range.split(";").map((part) => part.trim().toLowerCase());
    return fitting.includes(name) && !parameters.some((parameter) => /^q=0(\.0*)?$/.test(parameter));
  });
}

/** Rejects a client that does not accept a media type. */
export function requireAccepted(request: Pick<IncomingMessage, "headers">, type: string): void {
  if (!accepts(request, type)) throw new HttpProblem("not_acceptable", `answers come as ${type}`);
}

/** Parses `Last-Event-ID`. */
export function lastEventId({ headers }: Pick<IncomingMessage, "headers">): number | undefined {
  const given = headers["last-event-id"];
  if (given === undefined || given === "") return undefined;
  if (typeof given === "string" && /^\d{1,15}$/.test(given)) return Number(given);
  throw new HttpProblem("invalid", "Last-Event-ID is the number of an event that was seen");
}
