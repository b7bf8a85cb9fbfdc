import type { Clock } from "@reins/ahp";
import type { Hub } from "@reins/host";

/** How long agents may take. */
export interface AgentPatience {
  /** For anything but a prompt. */
  readonly requestMs: number;
  /** For a prompt: how long its session may say nothing while it waits for no person. */
  readonly silenceMs: number;
}

/** A wait that is over when an agent has taken too long. */
export interface Deadline {
  readonly passed: Promise<"late">;
  callOff(): void;
}

/** The deadline of a request. A prompt may last for days, as long as something happens or a person is asked. */
export function deadlineOf(
  request: { readonly method: string; readonly session: string | undefined },
  { hub, clock, patience }: { readonly hub: Hub; readonly clock: Clock; readonly patience: AgentPatience },
): Deadline {
  const { promise: passed, resolve } = Promise.withResolvers<"late">();
  const { method, session } = request;
  if (method !== "session/prompt" || session === undefined)
    return { passed, callOff: clock.after(patience.requestMs, () => resolve("late")) };
  let callOff: () => void = () => undefined;
  const watch = (heard: number) => {
    callOff = clock.after(patience.silenceMs, () => {
      const live = hub.live(session);
      const now = live?.lastOrder ?? heard;
      if (now === heard && !live?.clients.questions.length) resolve("late");
      else watch(now);
    });
  };
  watch(hub.live(session)?.lastOrder ?? 0);
  return { passed, callOff: () => callOff() };
}
