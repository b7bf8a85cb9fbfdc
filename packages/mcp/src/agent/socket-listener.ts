import { createHash } from "node:crypto";
import { chmod, mkdtemp, rm } from "node:fs/promises";
import { createServer, type Server, type Socket } from "node:net";
import { join } from "node:path";
import { type Clock, errorMessage } from "@reins/kit";
import { McpError } from "../faults.ts";

/** Whoever knows the secret is let in to this; `first` is what was said right after it. */
export type Entrance = (socket: Socket, first: Buffer) => void;

/** The longest path that every system takes for a Unix socket. */
const LONGEST_PATH = 103;
/** A secret is shorter than this, and is said within that time. */
const SECRET_BYTES = 128;
const PATIENCE_MS = 10_000;
/** Connections that have not said their secret yet. */
const MOST_STRANGERS = 64;

/** The Unix socket through which agents reach us, by way of the shim. One for all servers; the secret tells which. */
export class SocketDoor {
  readonly path: string;
  readonly #folder: string;
  readonly #server: Server;
  readonly #clock: Clock;
  readonly #entrances = new Map<string, Entrance>();
  readonly #sockets = new Set<Socket>();
  #strangers = 0;

  private constructor(folder: string, path: string, server: Server, clock: Clock) {
    this.#folder = folder;
    this.path = path;
    this.#server = server;
    this.#clock = clock;
    server.on("connection", (socket) => this.#greet(socket));
  }

  /** Listens in a new folder that only this user can enter. */
  static async open(parent: string, clock: Clock): Promise<SocketDoor> {
    const folder = await mkdtemp(join(parent, "reins-")).catch((error) => {
      throw cannotListen(parent, error);
    });
    const path = join(folder, "mcp.sock");
    try {
      if (Buffer.byteLength(path) > LONGEST_PATH) throw new Error("the path is too long for a Unix socket");
      const server = createServer({ allowHalfOpen: true });
      await listening(server, path);
      await chmod(path, 0o600);
      return new SocketDoor(folder, path, server, clock);
    } catch (error) {
      await rm(folder, { recursive: true, force: true });
      throw cannotListen(path, error);
    }
  }

  /** Lets in whoever knows the secret, until the returned function is called. */
  admit(secret: string, entrance: Entrance): () => void {
    const key = digest(secret);
    this.#entrances.set(key, entrance);
    return () => this.#entrances.delete(key);
  }

  /** Stops listening, hangs up on everybody and removes the folder. */
  async close(): Promise<void> {
    const closed = Promise.withResolvers<void>();
    this.#server.close(() => closed.resolve());
    for (const socket of this.#sockets) socket.destroy();
    await closed.promise;
    await rm(this.#folder, { recursive: true, force: true });
  }

  #greet(socket: Socket): void {
    const leave = () => socket.destroy();
    this.#sockets.add(socket);
    socket.once("close", () => this.#sockets.delete(socket));
    // Whoever breaks off has left, and that is told by the close.
    socket.on("error", leave);
    if (this.#strangers >= MOST_STRANGERS) {
      leave();
      return;
    }
    this.#strangers += 1;
    const callOff = this.#clock.after(PATIENCE_MS, leave);
    let said = Buffer.alloc(0);
    const listen = (chunk: Buffer) => {
      said = Buffer.concat([said, chunk]);
      const newline = said.subarray(0, SECRET_BYTES).indexOf("\n");
      if (newline < 0 && said.length < SECRET_BYTES) return;
      known();
      const entrance = this.#entrances.get(digest(said.subarray(0, Math.max(newline, 0)).toString()));
      if (entrance) entrance(socket, said.subarray(newline + 1));
      else leave();
    };
    const known = () => {
      callOff();
      this.#strangers -= 1;
      socket.off("data", listen).off("end", leave).off("close", known);
    };
    socket.on("data", listen).once("end", leave).once("close", known);
  }
}

function cannotListen(where: string, cause: unknown): McpError {
  return new McpError("cannot_listen", `cannot listen in ${where}: ${errorMessage(cause)}`, { cause });
}

/** Secrets are looked up by their digest, so that nobody learns one by how long the search takes. */
function digest(secret: string): string {
  return createHash("sha256").update(secret).digest("hex");
}

function listening(server: Server, path: string): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  server.once("error", reject);
  server.listen(path, () => {
    server.off("error", reject);
    resolve();
  });
  return promise;
}
