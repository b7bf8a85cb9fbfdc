import type { Hub } from "@reins/host";
import type { Clock } from "@reins/kit";

/** How long agents may take. */
export interface AgentTimeouts {
  /** For anything but a prompt. */
  readonly requestMs: number;
  /** For a prompt: how long its session may say nothing while it waits for no person. */
  readonly silenceMs: number;
}

/** A wait that is over when an agent has taken too long. */
export interface Deadline {
  readonly passed: Promise<"late">;
  cancel(): void;
}

/** What a deadline is for. */
interface Awaited {
  readonly method: string;
  readonly session: string | undefined;
  /** How often people were asked before it could be answered, and whether they are now. */
  readonly asked?: (() => { readonly times: number; readonly isOpen: boolean }) | undefined;
}

interface DeadlineParts {
  readonly hub: Hub;
  readonly clock: Clock;
  readonly patience: AgentTimeouts;
}

/** The deadline of a request: none runs while a person is asked. A prompt may last for days, as long as something happens. */
export function deadlineFor(request: Awaited, parts: DeadlineParts): Deadline {
  const { promise: passed, resolve } = Promise.withResolvers<"late">();
  return { passed, cancel: onTimeout(request, parts, () => resolve("late")) };
}

/** Does something when the deadline of a request has passed; gives back how to call that off. */
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
