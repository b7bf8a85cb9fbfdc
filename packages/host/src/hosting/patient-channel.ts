import { type Channel, CODE, classify, type JsonObject, RpcError } from "@reins/acp";
import { type Clock, Inactivity } from "@reins/kit";

/** How long an agent may be silent that owes an answer, in milliseconds. */
export interface Patience {
  readonly answerMs: number;
  /** The same for the end of a turn or of a login: a command, or a person, may take their time without a word. */
  readonly turnMs: number;
}

const PATIENCE: Patience = { answerMs: 3 * 60_000, turnMs: 60 * 60_000 };

const SLOW = new Set(["session/prompt", "authenticate"]);

/** What patience needs. */
export interface PatientOptions {
  readonly label: string;
  readonly clock: Clock;
  readonly patience?: Patience | undefined;
  /** Called when an agent has been silent for too long; from then on it is of no use. */
  readonly giveUp: () => void;
}

/**
 * A way to an agent that is given up when it owes an answer and nothing has been heard of it for too long. There is no
 * end to how long it may work as long as it says something, or waits for an answer itself.
 */
export function patientChannel(channel: Channel, options: PatientOptions): Channel {
  const { label, clock, patience = PATIENCE, giveUp } = options;
  const owed = new Map<unknown, Inactivity>();
  /** What the agent has asked and was not answered yet. */
  const asked = new Set<unknown>();
  const closed = Promise.withResolvers<Error>();
  const close = (reason: Error) => {
    for (const id of [...owed.keys()]) settle(id);
    closed.resolve(reason);
  };
  const expect = (id: unknown, method: string) => {
    const milliseconds = SLOW.has(method) ? patience.turnMs : patience.answerMs;
    const onTimeout = () => {
      if (asked.size > 0) return expect(id, method);
      const message = `${label} has said nothing for ${milliseconds / 1_000} s, and owes an answer to ${method}`;
      close(new RpcError(CODE.internal, message));
      giveUp();
    };
    owed.set(id, new Inactivity({ clock, milliseconds, onTimeout }));
  };
  const settle = (id: unknown) => {
    owed.get(id)?.end();
    owed.delete(id);
  };
  const hear = (message: JsonObject) => {
    const sorted = classify(message);
    if (sorted.kind === "request") asked.add(sorted.id);
    if (sorted.kind === "result" || sorted.kind === "error") settle(sorted.id);
    for (const one of owed.values()) one.touch();
  };
  void channel.closed.then(close);
  return {
    closed: closed.promise,
    send: (message) => {
      const sorted = classify(message);
      if (sorted.kind === "result" || sorted.kind === "error") asked.delete(sorted.id);
      if (sorted.kind !== "request") return channel.send(message);
      expect(sorted.id, sorted.method);
      return channel.send(message).catch((error: unknown) => {
        settle(sorted.id);
        throw error;
      });
    },
    onMessage: (listener) =>
      channel.onMessage((message) => {
        hear(message);
        return listener(message);
      }),
  };
}
