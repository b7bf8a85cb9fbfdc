import type { MessagePort } from "node:worker_threads";
import { StoreError } from "../store-error.ts";
import type { Reply } from "./messages.ts";
import { failed, type Outcome, type SentOutcome, sent } from "./outcome.ts";

/** A thread's answers to what it was asked. */
export class Replies {
  readonly #port: Pick<MessagePort, "postMessage">;

  constructor(port: Pick<MessagePort, "postMessage">) {
    this.#port = port;
  }

  answer(id: number, results: unknown): void {
    try {
      this.#send({ id, outcome: { results } });
    } catch (error) {
      this.fail(id, error);
    }
  }

  fail(id: number, error: unknown): void {
    this.#send({ id, outcome: failed(error) });
  }

  /** The outcomes of commits. One whose results cannot be sent does not keep the others from being told. */
  applied(id: number, outcomes: readonly Outcome[]): void {
    try {
      this.#send([id, allSent(outcomes)]);
    } catch {
      this.#send([id, allSent(outcomes.map(sendable))]);
    }
  }

  #send(reply: Reply): void {
    this.#port.postMessage(reply);
  }
}

/** Not by `map`: what that makes is copied like an array with holes, in twice the time. */
function allSent(outcomes: readonly Outcome[]): SentOutcome[] {
  const all: SentOutcome[] = [];
  for (const outcome of outcomes) all.push(sent(outcome));
  return all;
}

function sendable(outcome: Outcome): Outcome {
  try {
    return structuredClone(outcome);
  } catch (error) {
    const text = "the commit was kept, but what its changes gave back is not plain data";
    return failed(new StoreError("invalid", text, { cause: error }));
  }
}
