import type { IncomingMessage } from "node:http";
import { Refusal } from "../problems/refusal.ts";

/** The id of the last event that a reader saw, if it says so. */
export function lastEventIn({ headers }: Pick<IncomingMessage, "headers">): number | undefined {
  const given = headers["last-event-id"];
  if (given === undefined || given === "") return undefined;
  if (typeof given === "string" && /^\d{1,15}$/.test(given)) return Number(given);
  throw new Refusal("invalid", "Last-Event-ID is the number of an event that was seen");
}
