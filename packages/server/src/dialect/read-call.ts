import { Nothing, type Operation } from "@reins/api";
import { memberFaults } from "@reins/supervisor";
import type { z } from "zod";
import { Refusal } from "../problems/refusal.ts";
import { surelyFits } from "./surely-fits.ts";

/** What came with a request, unchecked. */
export interface Given {
  readonly params: unknown;
  readonly query: unknown;
  readonly body: unknown;
}

/** What came with a request, as the operation has it; what does not fit is refused, member by member. */
export function readCall<Op extends Operation>(
  operation: Op,
  { params, query, body }: Given,
): {
  readonly params: z.output<Op["params"]>;
  readonly query: z.output<Op["query"]>;
  readonly body: z.output<Op["body"]>;
};
export function readCall(operation: Operation, given: Given) {
  return {
    params: read("path", operation.params, given.params),
    query: read("query", operation.query, given.query),
    body: operation.body === Nothing ? undefined : read("body", operation.body, given.body),
  };
}

function read(part: string, schema: z.ZodType, given: unknown): unknown {
  if (surelyFits(schema, given)) return given;
  const checked = schema.safeParse(given);
  if (checked.success) return checked.data;
  const errors = memberFaults(checked.error).map(({ path, message }) => ({
    path: path === "" ? part : `${part}.${path}`,
    message,
  }));
  const detail = errors.map(({ path, message }) => `${path} ${message}`).join("; ");
  throw new Refusal("invalid", detail, { errors });
}
