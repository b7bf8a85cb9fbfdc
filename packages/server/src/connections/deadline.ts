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

/** What a deadline is for. */
interface Awaited {
  readonly method: string;
  readonly session: string | undefined;
}

interface DeadlineParts {
  readonly hub: Hub;
  readonly clock: Clock;
  readonly patience: AgentPatience;
}

/** The deadline of a request. A prompt may last for days, as long as something happens or a person is asked. */
export function deadlineOf(request: Awaited, parts: DeadlineParts): Deadline {
  const { promise: passed, resolve } = Promise.withResolvers<"late">();
  return { passed, callOff: whenLate(request, parts, () => resolve("late")) };
}

/** Does something when the deadline of a request has passed; gives back how to call that off. */
export function whenLate(
  { method, session }: Awaited,
  { hub, clock, patience }: DeadlineParts,
  run: () => void,
): () => void {
  if (method !== "session/prompt" || session === undefined) return clock.after(patience.requestMs, run);
  let callOff: () => void = () => undefined;
  const watch = (heard: number) => {
    callOff = clock.after(patience.silenceMs, () => {
      const live = hub.live(session);
      const now = live?.lastOrder ?? heard;
      if (now === heard && !live?.clients.questions.length) run();
      else watch(now);
    });
  };
  watch(hub.live(session)?.lastOrder ?? 0);
  return () => callOff();
}
