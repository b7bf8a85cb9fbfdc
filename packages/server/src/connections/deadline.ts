import type { Hub } from "@reins/host";
import type { Clock } from "@reins/kit";

/** Timeouts of agents. */
export interface AgentTimeouts {
  /** For requests other than prompts. */
  readonly requestMs: number;
  /** For prompts: the longest time without a message of the session, while no question waits for a person. */
  readonly silenceMs: number;
}

export interface Deadline {
  readonly passed: Promise<"late">;
  cancel(): void;
}

/** The request behind a deadline. */
interface Awaited {
  readonly method: string;
  readonly session: string | undefined;
  /** How many questions the request has asked, and whether one is open. */
  readonly asked?: (() => { readonly times: number; readonly isOpen: boolean }) | undefined;
}

interface DeadlineParts {
  readonly hub: Hub;
  readonly clock: Clock;
  readonly patience: AgentTimeouts;
}

/** The deadline of a request; it pauses while a question is open. A prompt may run for days while messages arrive. */
export function deadlineFor(request: Awaited, parts: DeadlineParts): Deadline {
  const { promise: passed, resolve } = Promise.withResolvers<"late">();
  return { passed, cancel: onTimeout(request, parts, () => resolve("late")) };
}

/** Runs a callback when the deadline of a request passes; returns the function that cancels it. */
export function onTimeout(
  { method, session, asked }: Awaited,
  { hub, clock, patience }: DeadlineParts,
  run: () => void,
): () => void {
  let cancel: () => void = () => undefined;
  const waitsForPerson = () =>
    session !== undefined && (hub.live(session)?.clients.questions.length ?? 0) > 0;
  const countDown = (times: number) => {
    cancel = clock.after(patience.requestMs, () => {
      const now = asked?.() ?? { times, isOpen: false };
      if (now.isOpen || now.times > times || waitsForPerson()) countDown(now.times);
      else run();
    });
  };
  if (method !== "session/prompt" || session === undefined) {
    countDown(0);
    return () => cancel();
  }
  const watch = (heard: number) => {
    cancel = clock.after(patience.silenceMs, () => {
      const live = hub.live(session);
      const now = live?.lastOrder ?? heard;
      if (now === heard && !waitsForPerson()) run();
      else watch(now);
    });
  };
  watch(hub.live(session)?.lastOrder ?? 0);
  return () => cancel();
}
