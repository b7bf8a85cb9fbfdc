import { isUtf8 } from "node:buffer";
import type { IncomingMessage } from "node:http";
import { JsonError, parseJson, readBody } from "@reins/ahp";
import type { Clock } from "@reins/kit";
import { Refusal } from "../problems/refusal.ts";

/** Bodies in JSON, whatever it is called more precisely. */
export const JSON_TYPES = /^application\/([\w.-]+\+)?json(;|$)/i;

/** The value in a body of JSON; `undefined` when it is empty. */
export async function readJson(request: IncomingMessage, maxBytes: number, clock: Clock): Promise<unknown> {
  const body = await readBody(request, maxBytes, clock);
  if ("fault" in body) throw new Refusal("too_large", `a body has at most ${maxBytes} bytes`);
  if (body.bytes.length === 0) return undefined;
  if (!isUtf8(body.bytes)) throw new Refusal("invalid", "the body is not UTF-8");
  return valueIn(body.bytes.toString());
}

function valueIn(text: string): unknown {
  try {
    const { value, duplicateKeys } = parseJson(text);
    if (!duplicateKeys) return value;
  } catch (error) {
    if (!(error instanceof JsonError)) throw error;
    const why = error.fault === "syntax" ? "" : `: ${error.message}`;
    throw new Refusal("invalid", `the body is not JSON that is accepted here${why}`, { cause: error });
  }
  throw new Refusal("invalid", "the body names a member twice");
}
