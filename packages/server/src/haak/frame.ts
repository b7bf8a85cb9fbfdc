import { parseExact } from "@reins/ahp";
import { z } from "zod";

const Request = z.looseObject({
  jsonrpc: z.unknown().optional(),
  id: z.unknown().optional(),
  method: z.string(),
  params: z.unknown().optional(),
});

/** A request of a client, or why a text is none. */
export type Frame =
  | {
      readonly kind: "request";
      readonly envelope: Envelope;
      readonly method: string;
      readonly params: unknown;
    }
  | { readonly kind: "fault"; readonly envelope: Envelope; readonly reason: string };

/** What every answer to a request begins with: the id as it came, and the version if the client names it. */
export type Envelope = Readonly<Record<string, unknown>>;

/** Reads a text as a request. */
export function frameIn(text: string): Frame {
  const value = parsed(text);
  if (value === undefined) return fault({ id: null }, "this is no JSON, or is nested too deep");
  const { data } = Request.safeParse(value);
  if (!data) return fault({ id: idIn(value) }, "a request is an object with id, method and params");
  const { jsonrpc, id = null, method, params } = data;
  const envelope = jsonrpc === undefined ? { id } : { jsonrpc, id };
  return { kind: "request", envelope, method, params };
}

function fault(envelope: Envelope, reason: string): Frame {
  return { kind: "fault", envelope, reason };
}

function idIn(value: unknown): unknown {
  return typeof value === "object" && value !== null && "id" in value ? value.id : null;
}

function parsed(text: string): unknown {
  try {
    return parseExact(text) ?? null;
  } catch {
    return undefined;
  }
}
