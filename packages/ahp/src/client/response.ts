import type { z } from "zod";
import { AhpError } from "../errors/ahp-error.ts";
import type { ParsedJson } from "../json/parse.ts";
import { RpcError } from "../protocol/envelope.ts";
import { decode } from "../wire/codec.ts";
import { DecodeError } from "../wire/decode-error.ts";
import { isObject } from "../wire/decoder.ts";

/** The operations a client performs, as its errors name them. */
export type Operation = "Handshake" | "Event" | "Query" | "Batch";

/** The result of a response, or why it has none, checked in the order the protocol's clients share. */
export function resultOf(
  operation: Operation,
  id: string,
  { value, floats, duplicateKeys }: ParsedJson,
): unknown {
  const fail = (text: string, rpc?: RpcError) =>
    new AhpError("protocol", `${operation} failed: ${text}`, rpc ? { rpc } : {});
  if (!isObject(value)) throw fail("the response is not an object");
  if (duplicateKeys) throw fail("the response names a key twice");
  if (value.jsonrpc !== "2.0") throw fail(`invalid JSON-RPC version ${String(value.jsonrpc)}`);
  if (value.id !== id) throw fail(`response id mismatch, expected ${id}, got ${String(value.id)}`);
  if (value.error !== undefined && value.error !== null) {
    const rpc = decodeResult(RpcError, { value: value.error, floats });
    throw fail(rpc.message, rpc);
  }
  if (value.result === undefined || value.result === null) throw fail("missing result");
  return value.result;
}

/** A result as its type, or `Serialization error: …`. */
export function decodeResult<Result>(
  schema: z.ZodType<Result>,
  result: Pick<ParsedJson, "value" | "floats">,
): Result {
  try {
    return decode(schema, result.value, result.floats);
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error;
    throw new AhpError("serialization", error.message, { cause: error, retryable: false });
  }
}
