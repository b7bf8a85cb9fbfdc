import { AhpClient, type Transport } from "../src/index.ts";
import { pause } from "./bounds.ts";

const PAUSE_MS = 2;

/** A client that minds its own business while others misbehave: it asks, and every answer must be right. */
export class Bystander {
  /** Rejects with the first wrong or missing answer. */
  readonly failed: Promise<never>;
  readonly #client: AhpClient;
  readonly #done: Promise<void>;
  #stopped = false;
  #answers = 0;

  private constructor(client: AhpClient, name: string) {
    const failed = Promise.withResolvers<never>();
    this.failed = failed.promise;
    this.failed.catch(() => {});
    this.#client = client;
    this.#done = this.#ask().catch((error: unknown) =>
      failed.reject(
        new Error(`a well-behaved client over ${name} was disturbed: ${error}`, { cause: error }),
      ),
    );
  }

  /** Connects and goes on asking until it is stopped. */
  static async start(transport: Transport): Promise<Bystander> {
    const client = await AhpClient.connect(transport, {
      onFailure: "throw",
      reconnect: false,
      timeoutMs: 60_000,
    });
    await client.handshake(["pre_action"]);
    return new Bystander(client, transport.type);
  }

  /** How many right answers it got. */
  get answers(): number {
    return this.#answers;
  }

  /** Stops asking and waits for the last answer. */
  async stop(): Promise<void> {
    this.#stopped = true;
    await this.#done;
    await this.#client.close();
  }

  async #ask(): Promise<void> {
    while (!this.#stopped) {
      const nonce = `bystander-${this.#answers}`;
      const decision = await this.#client.sendEvent("pre_action", { nonce });
      if (decision.decision !== "allow" || decision.metadata?.nonce !== nonce)
        throw new Error(`asked with ${nonce}, got ${JSON.stringify(decision)}`);
      this.#answers += 1;
      await pause(PAUSE_MS);
    }
  }
}
