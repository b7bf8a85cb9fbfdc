import type { IncomingMessage } from "node:http";
import { Refusal } from "../problems/refusal.ts";

type Headed = Pick<IncomingMessage, "headers">;

/** The only value of a header; nothing when it is not there. */
export function headerIn({ headers }: Headed, name: string): string | undefined {
  const value = headers[name.toLowerCase()];
  return typeof value === "string" && value !== "" ? value : undefined;
}

/** The value of a header that has to be there. */
export function expectHeader(request: Headed, name: string): string {
  const value = headerIn(request, name);
  if (value !== undefined) return value;
  throw new Refusal("invalid", `the header ${name} is needed`);
}

/** The id of the last event that a reader saw, if it says so. */
export function lastEventIn(request: Headed): number | undefined {
  const given = headerIn(request, "last-event-id");
  if (given === undefined) return undefined;
  if (/^\d{1,15}$/.test(given)) return Number(given);
  throw new Refusal("invalid", "Last-Event-ID is the number of an event that was seen");
}

/** Whether whoever asks would rather have the answer on the stream. */
export function prefersLater(request: Headed): boolean {
  const preferences = (headerIn(request, "prefer") ?? "").toLowerCase().split(",");
  return preferences.some((preference) => preference.split(";")[0]?.trim() === "respond-async");
}
