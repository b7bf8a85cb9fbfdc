import { deepStrictEqual } from "node:assert/strict";
import { createServer, type Server } from "node:http";
import type { ApprovalChange } from "../../src/approvals/approval.ts";
import { isSigned } from "../../test/approvals/signed-body.ts";

/** Longer than any run: the process's clock is ahead of ours. */
const TOLERANCE_MS = 10 * 365 * 86_400_000;

/** Hears what webhooks are sent, from any life of the process. */
export class Ear {
  readonly secret = "the secret of the torture run";
  readonly #heard = new Map<number, string>();
  readonly #server: Server;
  #fault: Error | undefined;
  #url = "";

  private constructor() {
    this.#server = createServer(async (request, response) => {
      try {
        const body = Buffer.concat(await Array.fromAsync(request)).toString();
        this.#hear(body, String(request.headers["reins-signature"]));
        response.writeHead(204).end();
      } catch (error) {
        // A process killed in the middle of a message has said nothing.
        if (request.complete) this.#fault ??= new Error("a webhook got what it should not", { cause: error });
        response.destroy();
      }
    });
  }

  static async start(): Promise<Ear> {
    const ear = new Ear();
    await new Promise<void>((resolve) => ear.#server.listen(0, "127.0.0.1", resolve));
    const address = ear.#server.address();
    if (typeof address !== "object") throw new Error("it listens on a port");
    ear.#url = `http://127.0.0.1:${address?.port}/`;
    return ear;
  }

  get url(): string {
    return this.#url;
  }

  /** Every change was heard at least once, as it was committed, and nothing else was. */
  expectHeard(changes: readonly ApprovalChange[]): void {
    if (this.#fault) throw this.#fault;
    const heard = [...this.#heard]
      .sort(([left], [right]) => left - right)
      .map(([, body]) => JSON.parse(body));
    deepStrictEqual(heard, changes, "what webhooks were sent differs from what was committed");
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  #hear(body: string, signature: string): void {
    const signed = { body, signature, secret: this.secret, now: new Date(), tolerance_ms: TOLERANCE_MS };
    if (!isSigned(signed)) throw new Error("the signature is wrong");
    const { type: _, delivery: _id, ...change } = JSON.parse(body);
    const before = this.#heard.get(change.seq);
    const text = JSON.stringify(change);
    if (before !== undefined) deepStrictEqual(text, before, "the same change was reported in two ways");
    this.#heard.set(change.seq, text);
  }
}
