import { z } from "zod";

/** What the harness says of an action, or of a message that it wrote itself, under `_meta.reins`. */
const Said = z.looseObject({
  verdict: z.string().optional(),
  reason: z.string().optional(),
  rule: z.string().nullish(),
  enforcement: z.string().optional(),
  entry: z.string().optional(),
  approval: z.string().optional(),
  ungated: z.boolean().optional(),
  interrupted: z.boolean().optional(),
  prompt: z.string().optional(),
});

/** What the harness says under `_meta.reins`; whatever does not read as such says nothing. */
export type Said = z.infer<typeof Said>;

/** The verdict on an action. */
export interface Verdict extends Said {
  readonly verdict: string;
}

const Carrier = z.looseObject({ _meta: z.looseObject({ reins: Said }) });

/** What the harness says in a message, if it says something. */
export function saidIn(message: unknown): Said | undefined {
  const read = Carrier.safeParse(message);
  return read.success ? read.data._meta.reins : undefined;
}

/** The verdict in a message, if there is one. */
export function verdictIn(message: unknown): Verdict | undefined {
  const said = saidIn(message);
  return said?.verdict === undefined ? undefined : { ...said, verdict: said.verdict };
}
