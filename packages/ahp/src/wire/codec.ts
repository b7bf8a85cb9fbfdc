import type { z } from "zod";
import type { Floats } from "../json/floats.ts";
import { stringifySorted } from "../json/stringify.ts";
import { decoderOf } from "./decoder.ts";
import { withoutEmpty } from "./omission.ts";

/**
 * Reads a parsed JSON value as a type of the protocol. Unknown members are dropped, defaults filled in, `null`
 * for an optional member means absent. Throws {@link DecodeError} with the text that AHP peers give.
 */
export function decode<Output>(schema: z.ZodType<Output>, value: unknown, floats?: Floats): Output {
  const holder = { value };
  // The decoder is derived from the schema, which is what makes its result the schema's output.
  return decoderOf(schema)(value, holder, "value", floats) as Output;
}

/**
 * A value of the protocol in the exact form in which it goes on the wire, where it will stand in `around` other
 * containers. Throws {@link DecodeError}.
 */
export function encode(schema: z.ZodType, value: unknown, around = 0): string {
  return stringifySorted(withoutEmpty(schema, decode(schema, value)), around);
}
