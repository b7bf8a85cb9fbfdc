import type { Random } from "../../../../scripts/torture/random.ts";
import type { AhpClient } from "../../src/index.ts";
import { within } from "../bounds.ts";

const AT_ONCE = 20;
/** Some calls outlast an absence of the harness, others do not. */
const PATIENCE_MS = [50, 300, 5_000];

/**
 * Calls of one client, many at once and without end. Each carries a nonce; an allow must bring it back, because only
 * a harness can know it. Everything else must be a block that says why.
 */
export class Callers {
  readonly #client: AhpClient;
  readonly #random: Random;
  readonly #done: Promise<unknown>;
  #stopped = false;
  #calls = 0;
  #allows = 0;
  #blocks = 0;
  #pid = 0;
  #allowed = Promise.withResolvers<void>();

  constructor(client: AhpClient, random: Random) {
    this.#client = client;
    this.#random = random;
    this.#done = Promise.all(Array.from({ length: AT_ONCE }, () => this.#call()));
    this.#done.catch((error: unknown) => this.#allowed.reject(error));
    this.#allowed.promise.catch(() => {});
  }

  /** The process that allowed something last. */
  get pid(): number {
    return this.#pid;
  }

  /** Settles with the next allow; rejects when a call did not go as it must. */
  nextAllow(): Promise<void> {
    this.#allowed = Promise.withResolvers<void>();
    return Promise.race([this.#allowed.promise, this.#done.then(() => {})]);
  }

  /** Lets every call settle. */
  async stop(): Promise<void> {
    this.#stopped = true;
    await within("all calls", this.#done);
  }

  /** For a log. */
  toString(): string {
    return `${this.#calls} calls, ${this.#allows} allowed by a harness, ${this.#blocks} blocked for want of one`;
  }

  async #call(): Promise<void> {
    while (!this.#stopped) {
      this.#calls += 1;
      const nonce = `call-${this.#calls}`;
      const timeoutMs = this.#random.pick(PATIENCE_MS);
      const decision = await this.#client.sendEvent("pre_action", { nonce, pid: true }, { timeoutMs });
      if (decision.decision === "block" && decision.reason !== "") this.#blocks += 1;
      else if (decision.decision === "allow" && decision.metadata?.nonce === nonce)
        this.#allow(decision.metadata.pid);
      else throw new Error(`call ${nonce} was answered with ${JSON.stringify(decision)}`);
    }
  }

  #allow(pid: unknown): void {
    this.#allows += 1;
    this.#pid = Number(pid);
    this.#allowed.resolve();
  }
}
