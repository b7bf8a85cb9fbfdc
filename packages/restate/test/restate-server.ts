import { type ChildProcess, spawn } from "node:child_process";
import { generateKeyPairSync } from "node:crypto";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

/** The program of Restate from npm; `undefined` where there is none for this machine. */
export const restateProgram = findRestate();

function findRestate(): string | undefined {
  try {
    const manifest = fileURLToPath(import.meta.resolve("@restatedev/restate-server/package.json"));
    const name = `restate-server-${process.platform}-${process.arch}`;
    const program = join(manifest, "..", "..", name, "bin", "restate-server");
    return existsSync(program) ? program : undefined;
  } catch {
    return undefined;
  }
}

/** A port of loopback that is free now. */
export async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  server.close();
  await once(server, "close");
  return typeof address === "object" && address ? address.port : 0;
}

/** A Restate of a test's own, on loopback ports, with its data in a temporary folder, that signs its requests. */
export class RestateServer {
  readonly #folder: string;
  readonly #ports: readonly [ingress: number, admin: number, node: number];
  readonly #environment: NodeJS.ProcessEnv;
  #process: ChildProcess | undefined;
  #said = "";

  private constructor(
    folder: string,
    ports: readonly [ingress: number, admin: number, node: number],
    environment: NodeJS.ProcessEnv,
  ) {
    this.#folder = folder;
    this.#ports = ports;
    this.#environment = environment;
  }

  static async start(environment: NodeJS.ProcessEnv = {}): Promise<RestateServer> {
    const folder = await mkdtemp(join(tmpdir(), "restate-"));
    const { privateKey } = generateKeyPairSync("ed25519");
    await writeFile(join(folder, "identity.pem"), privateKey.export({ type: "pkcs8", format: "pem" }));
    const ports = [await freePort(), await freePort(), await freePort()] as const;
    const server = new RestateServer(folder, ports, environment);
    try {
      await server.resume();
    } catch (error) {
      await server.stop();
      throw error;
    }
    return server;
  }

  get ingress(): string {
    return `http://127.0.0.1:${this.#ports[0]}`;
  }

  get admin(): string {
    return `http://127.0.0.1:${this.#ports[1]}`;
  }

  /** The public key of its identity. */
  get identityKey(): string {
    return /publickeyv1_\w+/.exec(this.#said)?.[0] ?? "";
  }

  /** Starts it again, on the data that it has. */
  async resume(): Promise<void> {
    const [ingress, admin, node] = this.#ports;
    const child = spawn(restateProgram ?? "", ["--no-logo", "--listen-mode", "tcp"], {
      cwd: this.#folder,
      env: {
        PATH: process.env.PATH,
        RESTATE_BASE_DIR: join(this.#folder, "data"),
        RESTATE_NODE_NAME: "test",
        RESTATE_BIND_ADDRESS: `127.0.0.1:${node}`,
        RESTATE_ADVERTISED_ADDRESS: `http://127.0.0.1:${node}`,
        RESTATE_INGRESS__BIND_ADDRESS: `127.0.0.1:${ingress}`,
        RESTATE_ADMIN__BIND_ADDRESS: `127.0.0.1:${admin}`,
        RESTATE_DEFAULT_NUM_PARTITIONS: "2",
        RESTATE_ROCKSDB_TOTAL_MEMORY_SIZE: "128MB",
        RESTATE_DISABLE_TELEMETRY: "true",
        RESTATE_REQUEST_IDENTITY_PRIVATE_KEY_PEM_FILE: join(this.#folder, "identity.pem"),
        ...this.#environment,
      },
      stdio: ["ignore", "pipe", "pipe"],
    });
    this.#process = child;
    for (const stream of [child.stdout, child.stderr])
      stream?.on("data", (data) => {
        this.#said = `${this.#said}${data}`.slice(-1_000_000);
      });
    for (;;) {
      if (child.exitCode !== null) throw new Error(`Restate did not start: ${this.#said}`);
      if (await this.#answers()) return;
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }

  /** Ends it, giving it no time for anything. */
  async kill(): Promise<void> {
    const child = this.#process;
    this.#process = undefined;
    if (!child || child.exitCode !== null || child.signalCode !== null) return;
    const ended = once(child, "exit");
    child.kill("SIGKILL");
    await ended;
  }

  /** Ends it, and removes all that it stored. */
  async lose(): Promise<void> {
    await this.kill();
    await rm(join(this.#folder, "data"), { recursive: true, force: true });
  }

  /** Kills the invocations of an object, as an operator does; returns how many there were. */
  async killInvocations(object: string): Promise<number> {
    const invocations = await this.invocations(object);
    for (const { id } of invocations)
      await fetch(`${this.admin}/invocations/${id}/kill`, { method: "PATCH" });
    return invocations.length;
  }

  /** The invocations of an object. */
  async invocations(object: string): Promise<readonly { readonly id: string; readonly status: string }[]> {
    const query = `SELECT id, status FROM sys_invocation WHERE target_service_name = '${object}'`;
    const headers = { "content-type": "application/json", accept: "application/json" };
    const response = await fetch(`${this.admin}/query`, {
      ...{ method: "POST", headers, body: JSON.stringify({ query }) },
    });
    return Object(await response.json()).rows;
  }

  /** Leaves nothing behind. */
  async stop(): Promise<void> {
    await this.kill();
    await rm(this.#folder, { recursive: true, force: true });
  }

  /** Whether a text is in anything that it has stored or written to its log, once it is ended. */
  async holds(text: string): Promise<boolean> {
    await this.kill();
    if (this.#said.includes(text)) return true;
    const files = await readdir(this.#folder, { recursive: true, withFileTypes: true });
    for (const file of files.filter((one) => one.isFile()))
      if ((await readFile(join(file.parentPath, file.name))).includes(text)) return true;
    return false;
  }

  async #answers(): Promise<boolean> {
    try {
      const answers = await Promise.all(
        [`${this.ingress}/restate/health`, `${this.admin}/health`].map((url) => fetch(url)),
      );
      return answers.every(({ ok }) => ok);
    } catch {
      return false;
    }
  }
}
