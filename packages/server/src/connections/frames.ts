import type { JsonObject } from "@reins/acp";

/**
 * Puts a message into the form in which it goes over the wire; `order` is its place in the log, if it has one, and `json`
 * the message as JSON, if that is known.
 */
export type Frame = (message: JsonObject, order: number | undefined, json?: string) => string;

/** A form that is made once of each message, however many get it: everybody gets one before anybody gets the next. */
export function framed(form: (text: string, order: number | undefined) => string): Frame {
  let last: { readonly message: JsonObject; readonly text: string } | undefined;
  return (message, order, json) => {
    if (order !== undefined && last?.message === message) return last.text;
    const text = form(json ?? JSON.stringify(message), order);
    if (order !== undefined) last = { message, text };
    return text;
  };
}
