import type { JsonObject } from "@reins/host";

/**
 * Puts a message into the form in which it goes over the wire; `order` is its place in the log, if it has one, and `json`
 * the message as JSON, if that is known.
 */
export type Frame = (message: JsonObject, order: number | undefined, json?: string) => string;

/** A form that is made once of each message, however many get it. */
export function framed(form: (text: string, order: number | undefined) => string): Frame {
  const made = new WeakMap<JsonObject, string>();
  return (message, order, json) => {
    const known = order === undefined ? undefined : made.get(message);
    if (known !== undefined) return known;
    const text = form(json ?? JSON.stringify(message), order);
    if (order !== undefined) made.set(message, text);
    return text;
  };
}
