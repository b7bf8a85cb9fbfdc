import type { Refusal } from "../errors/rpc.ts";
import { stringifySorted } from "../json/stringify.ts";
import type { MessageId } from "./message.ts";

/** The text of a response; `result` is JSON already. */
export function resultText(id: MessageId, result: string): string {
  return `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":${result}}`;
}

/** The text of an error response; upstream sends no `data`. */
export function errorText(id: MessageId, refusal: Refusal, compat: boolean): string {
  const message = JSON.stringify(refusal.message.toWellFormed());
  const data = compat ? "" : `,"data":${stringifySorted({ ...refusal.details, reason: refusal.reason })}`;
  return `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"error":{"code":${refusal.code},"message":${message}${data}}}`;
}
