import { AhpClient } from "@reins/ahp";
import { type ExternalHarness, milliseconds } from "@reins/policy";

/** A connection, and how many use it. */
interface Connection {
  readonly client: Promise<AhpClient>;
  users: number;
  /** It failed somebody: nobody new uses it, and it ends with the last one who does. */
  hasFailed: boolean;
}

/**
 * The connections to external harnesses, one for each address, whatever a constitution calls it: names are a tenant's own,
 * and an edit may put another harness behind one.
 */
export class HarnessConnections {
  readonly #capabilities: readonly string[];
  readonly #connections = new Map<string, Connection>();
  readonly #ending = new Set<Promise<void>>();
  #isClosed = false;

  /** `capabilities` are what is told in the handshake. */
  constructor(capabilities: readonly string[]) {
    this.#capabilities = capabilities;
  }

  /** Runs something with the client of a harness. Where that fails, whoever comes next gets a new connection. */
  async use<Result>(harness: ExternalHarness, run: (client: AhpClient) => Promise<Result>): Promise<Result> {
    if (this.#isClosed) throw new Error("the connections to other harnesses are closed");
    const key = `${harness.timeout} ${harness.url}`;
    const connection = this.#connections.get(key) ?? this.#connect(key, harness);
    connection.users += 1;
    try {
      return await run(await connection.client);
    } catch (error) {
      connection.hasFailed = true;
      if (this.#connections.get(key) === connection) this.#connections.delete(key);
      throw error;
    } finally {
      connection.users -= 1;
      if (connection.hasFailed && connection.users === 0) this.#end(connection);
    }
  }

  /** Ends every connection. */
  async close(): Promise<void> {
    this.#isClosed = true;
    for (const connection of this.#connections.values()) this.#end(connection);
    this.#connections.clear();
    await Promise.all(this.#ending);
  }

  #connect(key: string, { url, timeout }: ExternalHarness): Connection {
    const client = this.#greeted(url, milliseconds(timeout));
    const connection = { client, users: 0, hasFailed: false };
    this.#connections.set(key, connection);
    return connection;
  }

  async #greeted(url: string, timeoutMs: number): Promise<AhpClient> {
    const type = url.startsWith("ws") ? ("websocket" as const) : ("http" as const);
    const client = await AhpClient.connect({ type, url }, { timeoutMs, onFailure: "throw" });
    try {
      await client.handshake(this.#capabilities);
      return client;
    } catch (error) {
      await client.close();
      throw error;
    }
  }

  /** Nobody waits for it but `close`. One that never came to be has nothing to end. */
  #end({ client }: Connection): void {
    const ended = client
      .then((connected) => connected.close())
      .catch(() => undefined)
      .finally(() => this.#ending.delete(ended));
    this.#ending.add(ended);
  }
}
