import type { Operation } from "@reins/api";
import type { z } from "zod";
import { type Input, request } from "./call.ts";
import { parseExact } from "./exact-json.ts";
import { serverEvents } from "./server-events.ts";

/** Has the server do something that takes a while, and gives each word of how far it is. */
export async function* progress<
  P extends z.ZodType,
  Q extends z.ZodType,
  B extends z.ZodType,
  A extends z.ZodType,
>(operation: Operation<P, Q, B, A>, input: Input<P, Q, B>): AsyncGenerator<z.output<A>> {
  const { body } = await request(operation, input);
  if (body === null) return;
  for await (const data of serverEvents(body)) yield operation.answer.parse(parseExact(data));
}
