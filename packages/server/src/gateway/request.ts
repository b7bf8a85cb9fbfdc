import type { IncomingMessage } from "node:http";
import { HttpProblem } from "../problems.ts";

/** The path of a request. What comes after it may hold secrets. */
export function pathOf({ url = "/" }: Pick<IncomingMessage, "url">): string {
  const end = url.indexOf("?");
  return end < 0 ? url : url.slice(0, end);
}

type Headed = Pick<IncomingMessage, "headers">;

/** The only value of a header; nothing when it is not there. */
export function headerOf({ headers }: Headed, name: string): string | undefined {
  const value = headers[name.toLowerCase()];
  return typeof value === "string" && value !== "" ? value : undefined;
}

/** The value of a header that has to be there. */
export function requireHeader(request: Headed, name: string): string {
  const value = headerOf(request, name);
  if (value !== undefined) return value;
  throw new HttpProblem("invalid", `the header ${name} is needed`);
}

/** Whether whoever asks would rather have the answer on the stream. */
export function prefersAsync(request: Headed): boolean {
  const preferences = headerOf(request, "prefer")?.toLowerCase().split(",") ?? [];
  return preferences.some((preference) => preference.split(";")[0]?.trim() === "respond-async");
}

/** Whether whoever asks takes answers of a type. Who says nothing takes any. */
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

/** Refuses who does not take answers of a type. */
export function requireAccepted(request: Pick<IncomingMessage, "headers">, type: string): void {
  if (!accepts(request, type)) throw new HttpProblem("not_acceptable", `answers come as ${type}`);
}

/** The id of the last event that a reader saw, if it says so. */
export function lastEventId({ headers }: Pick<IncomingMessage, "headers">): number | undefined {
  const given = headers["last-event-id"];
  if (given === undefined || given === "") return undefined;
  if (typeof given === "string" && /^\d{1,15}$/.test(given)) return Number(given);
  throw new HttpProblem("invalid", "Last-Event-ID is the number of an event that was seen");
}
