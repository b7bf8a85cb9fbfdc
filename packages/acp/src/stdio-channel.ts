import type { Readable, Writable } from "node:stream";
import { JsonError, type MessageFault, MessageReader, MessageWriter } from "@reins/kit";
import { type Channel, CODE, type JsonObject } from "./json-rpc.ts";

const MAX_LINE_BYTES = 32 << 20;

/** A channel over two streams, one message per line. It closes when the input ends or breaks. */
export function stdioChannel(
  input: Readable,
  output: Writable,
  onFault: (reason: string) => void = () => undefined,
): Channel {
  const writer = new MessageWriter(output, MAX_LINE_BYTES);
  return {
    send: (message) => writer.send(message),
    onMessage: (listener) => {
      new MessageReader(input, MAX_LINE_BYTES, {
        message: listener,
        fault: (fault) => {
          onFault(`${fault.kind}: ${fault.excerpt}`);
          const response = errorResponse(fault);
          if (response) writer.send(response).catch(() => undefined);
        },
      });
    },
    closed: new Promise((resolve) => input.once("close", () => resolve(new Error("the client has gone")))),
  };
}

/** The response to a line that is no message. */
function errorResponse({ kind, id, cause }: MessageFault): JsonObject | undefined {
  if (kind === "listener_failed") return undefined;
  const error =
    kind === "line_too_long"
      ? { code: CODE.invalidRequest, message: `a message has at most ${MAX_LINE_BYTES} bytes` }
      : cause === undefined
        ? {
            code: CODE.invalidRequest,
            message: "a message is an object of JSON-RPC 2.0; there are no batches",
          }
        : cause instanceof JsonError && cause.fault === "duplicate_member"
          ? { code: CODE.invalidRequest, message: cause.message }
          : { code: CODE.parse, message: "this is no JSON in UTF-8" };
  return { jsonrpc: "2.0", id: id ?? null, error };
}
