import { z } from "zod";
import { type ToolCall, toolCallWith } from "./conversation/tool-call.ts";

/** An answer that may be chosen. */
const Option = z.looseObject({ optionId: z.string(), name: z.string(), kind: z.string() });
export type Option = z.infer<typeof Option>;

const Permission = z.looseObject({
  toolCall: z.unknown(),
  options: z.array(Option),
  _meta: z
    .looseObject({
      reins: z
        .looseObject({
          approval: z.string(),
          reason: z.string().optional(),
          rule: z.string().nullish(),
          expires_at: z.string().optional(),
        })
        .optional(),
    })
    .nullish(),
});

const Elicitation = z.looseObject({
  message: z.string(),
  mode: z.string().default("form"),
  requestedSchema: z.unknown(),
  url: z.string().optional(),
});

/** What an agent asks the person in front of it, and how that is answered. */
export type Question =
  | {
      readonly kind: "permission";
      readonly id: string;
      readonly call: ToolCall | undefined;
      readonly options: readonly Option[];
      /** The approval that stands for it, which other people may answer too. */
      readonly approval: string | undefined;
      readonly reason: string | undefined;
      readonly answer: (value: unknown) => void;
    }
  | {
      readonly kind: "elicitation";
      readonly id: string;
      readonly message: string;
      readonly schema: unknown;
      readonly url: string | undefined;
      readonly answer: (value: unknown) => void;
    };

/** The methods by which agents ask. */
export const ASKING = ["session/request_permission", "elicitation/create"] as const;

/** A question as it came; `undefined` when it is none that this page can put. */
export function questionOf(
  method: string,
  params: unknown,
  id: string,
  answer: (value: unknown) => void,
): Question | undefined {
  if (method === "elicitation/create") {
    const read = Elicitation.safeParse(params);
    if (!read.success) return undefined;
    const { message, requestedSchema: schema, url } = read.data;
    return { kind: "elicitation", id, message, schema, url, answer };
  }
  const read = Permission.safeParse(params);
  if (!read.success) return undefined;
  const { toolCall, options, _meta } = read.data;
  return {
    kind: "permission",
    id,
    call: toolCallWith(undefined, toolCall, undefined),
    options,
    approval: _meta?.reins?.approval,
    reason: _meta?.reins?.reason,
    answer,
  };
}

/** What is said for a question that nobody answers any more. */
export function withdrawn(method: string): unknown {
  return method === "elicitation/create" ? { action: "cancel" } : { outcome: { outcome: "cancelled" } };
}
