import { readFile } from "node:fs/promises";
import { AhpClient, type AuthConfig, type Transport } from "@reins/ahp";
import { type ExternalHarness, milliseconds } from "@reins/policy";

/** A connection, and how many use it. */
interface Connection {
  readonly client: Promise<AhpClient>;
  users: number;
  /** Set after a failure: gets no new users and closes after the last one. */
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

  /** `capabilities` are sent in the handshake. */
  constructor(capabilities: readonly string[]) {
    this.#capabilities = capabilities;
  }

  /** Runs something with the client of a harness. After a failure, the next caller gets a new connection. */
  async use<Result>(harness: ExternalHarness, run: (client: AhpClient) => Promise<Result>): Promise<Result> {
    if (this.#isClosed) throw new Error("the connections to other harnesses are closed");
    const { timeout, url, token_file = "", api_key_file = "" } = harness;
    const key = JSON.stringify([timeout, url, token_file, api_key_file]);
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

  #connect(key: string, harness: ExternalHarness): Connection {
    const client = this.#greeted(harness, milliseconds(harness.timeout));
    const connection = { client, users: 0, hasFailed: false };
    this.#connections.set(key, connection);
    return connection;
  }

  async #greeted(harness: ExternalHarness, timeoutMs: number): Promise<AhpClient> {
    const client = await AhpClient.connect(await transportTo(harness), { timeoutMs, onFailure: "throw" });
    try {
      await client.handshake(this.#capabilities);
      return client;
    } catch (error) {
      await client.close();
      throw error;
    }
  }

  /** Closes in the background; only `close` waits for it. */
  #end({ client }: Connection): void {
    const ended = client
      .then((connected) => connected.close())
      .catch(() => undefined)
      .finally(() => this.#ending.delete(ended));
    this.#ending.add(ended);
  }
}

const UNIX = "unix:";

/** How a harness is reached. Its credential is read anew for each connection, so that it can be changed on the disk. */
async function transportTo(harness: ExternalHarness): Promise<Transport> {
  const { url } = harness;
  if (url.startsWith(UNIX)) return { type: "unix", path: url.slice(UNIX.length).replace(/^\/\//, "") };
  const auth = await authOf(harness);
  const type = url.startsWith("ws") ? ("websocket" as const) : ("http" as const);
  return { type, url, ...(auth && { auth }) };
}

async function authOf({ url, token_file, api_key_file }: ExternalHarness): Promise<AuthConfig | undefined> {
  if (token_file !== undefined)
    return { method: { type: "bearer", token: await credentialFor(url, token_file) } };
  if (api_key_file !== undefined)
    return { method: { type: "api_key", key: await credentialFor(url, api_key_file) } };
  return undefined;
}

/**
 * The credential in a file, which says for whom it is: `https://harness.example.com <token>`. So the author of a
 * constitution cannot have it, or any other file, sent somewhere else.
 */
async function credentialFor(url: string, file: string): Promise<string> {
  const { origin } = new URL(url);
  const [whose, credential, ...more] = (await readFile(file, "utf8")).trim().split(/\s+/);
  if (whose === origin && credential !== undefined && more.length === 0) return credential;
  throw new Error(`the credential file holds no "${origin} <credential>"`);
}
