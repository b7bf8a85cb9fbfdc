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

/** Whether whoever asks would rather have the answer on the stream. */
export function prefersLater(request: Headed): boolean {
  const preferences = headerIn(request, "prefer")?.toLowerCase().split(",") ?? [];
  return preferences.some((preference) => preference.split(";")[0]?.trim() === "respond-async");
}
