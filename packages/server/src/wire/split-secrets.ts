import type { Redactor } from "@reins/supervisor";
import { z } from "zod";
import type { KeptEnvelope } from "./wire-ring.ts";

/** A message chunk of an agent. */
const Chunk = z.object({
  params: z.object({
    update: z.object({
      sessionUpdate: z.enum(["agent_message_chunk", "agent_thought_chunk", "user_message_chunk"]),
      content: z.object({ text: z.string() }),
    }),
  }),
});

interface Piece {
  readonly seq: number;
  readonly text: string;
}

/**
 * Finds envelopes whose joined texts contain a secret that none contains alone, because an agent may split it over
 * messages. Where earlier chunks were evicted, the first remaining ones may be the end of one, so they count too.
 */
export function splitSecrets(
  envelopes: readonly KeptEnvelope[],
  redactor: Pick<Redactor, "text">,
  forgotten: boolean,
): ReadonlySet<number> {
  const hidden = new Set<number>();
  for (const [index, pieces] of runsIn(envelopes).entries()) {
    const whole = pieces.map(({ text }) => text).join("");
    const isCut = forgotten && index === 0;
    if (isCut || redactor.text(whole) !== whole) for (const { seq } of pieces) hidden.add(seq);
  }
  return hidden;
}

/** Consecutive chunks of one kind on one wire. */
function runsIn(envelopes: readonly KeptEnvelope[]): Piece[][] {
  const runs: Piece[][] = [];
  const open = new Map<string, { readonly kind: string; readonly run: Piece[] }>();
  for (const { seq, edge, direction, peer, method, message } of envelopes) {
    if (method !== "session/update") continue;
    const wire = `${edge} ${direction} ${peer}`;
    const { data } = Chunk.safeParse(message);
    if (!data) {
      open.delete(wire);
      continue;
    }
    const { sessionUpdate: kind, content } = data.params.update;
    const known = open.get(wire);
    const run = known?.kind === kind ? known.run : [];
    if (run.length === 0) runs.push(run);
    run.push({ seq, text: content.text });
    open.set(wire, { kind, run });
  }
  return runs;
}

/** A message without its text. */
export function withoutText(message: unknown): unknown {
  const { data } = z
    .looseObject({
      params: z.looseObject({ update: z.looseObject({ content: z.looseObject({ text: z.string() }) }) }),
    })
    .safeParse(message);
  if (!data) return message;
  const { params } = data;
  const { update } = params;
  const content = { ...update.content, text: "[redacted: a part of a secret]" };
  return { ...data, params: { ...params, update: { ...update, content } } };
}
