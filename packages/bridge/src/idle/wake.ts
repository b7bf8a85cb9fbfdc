import { z } from "zod";

/** When a message that came in while the agent was at work is to be read. */
export type Delivery = "interrupt_immediate" | "finish_step" | "wait_for_completion";

/** What ends an agent's idleness. */
export type Wake =
  /** Nothing was said; it is only to look around. */
  | { readonly kind: "resume" }
  | { readonly kind: "message"; readonly content: string; readonly delivery: Delivery };

const MESSAGES: ReadonlySet<string> = new Set(["user_message", "session/input", "agent/user_message"]);

const DELIVERIES: Readonly<Record<string, Delivery | undefined>> = {
  interrupt: "interrupt_immediate",
  interrupt_immediate: "interrupt_immediate",
  finish_step: "finish_step",
  after_current_operation: "finish_step",
  wait_for_completion: "wait_for_completion",
};

const Message = z.looseObject({ content: z.string(), mode: z.string().optional().catch(undefined) });

/** What a notification of a host wakes an idle agent with; `undefined` when it does not, as one that says nothing. */
export function wakeOf(method: string, params: unknown): Wake | undefined {
  if (method === "agent/resume") return { kind: "resume" };
  if (!MESSAGES.has(method)) return undefined;
  const { data } = Message.safeParse(params);
  if (!data || data.content === "") return undefined;
  return {
    kind: "message",
    content: data.content,
    delivery: DELIVERIES[data.mode ?? ""] ?? "wait_for_completion",
  };
}
