import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { connect, type ReinsClient, type ReinsClientOptions } from "./connect.ts";
import { ConnectionError } from "./errors.ts";
import { delay } from "./events.ts";
import { Http } from "./http.ts";

/** Options of {@link start}. */
export interface StartServerOptions extends ReinsClientOptions {
  /** The token of the operator; a random one by default. */
  readonly token?: string | undefined;
  /** The port; a free one by default. */
  readonly port?: number | undefined;
  /** The folder with ledger, policy and sessions; by default a temporary one, which is removed at the end. */
  readonly home?: string | undefined;
  /** The folder of sessions that name none; the current one by default. */
  readonly workspace?: string | undefined;
  /** The program and its first arguments; by default the package `reins`, or else `reins` on the PATH. */
  readonly command?: readonly string[] | undefined;
  /** More variables for the server; it inherits those of this process. */
  readonly env?: Readonly<Record<string, string>> | undefined;
  /** How long the start may take, in milliseconds; a minute by default. */
  readonly timeoutMs?: number | undefined;
}

/** A Reins of this process. It stops with `close`, or when the process ends, also when that is killed. */
export interface StartedServer extends ReinsClient {
  readonly url: string;
  readonly token: string;
  readonly pid: number;
}

const POLL_MS = 50;
const STOP_MS = 15_000;
/** How much of what the server prints is kept for the message of a failed start. */
const KEPT_OUTPUT = 16_384;

/** Starts a server of its own on a free port, with a random token, and connects when it is healthy. */
export async function start(options: StartServerOptions = {}): Promise<StartedServer> {
  const temporary = options.home === undefined ? await mkdtemp(join(tmpdir(), "reins-")) : undefined;
  const home = options.home ?? temporary ?? "";
  const server = new Server(home, options);
  const stop = async () => {
    await server.stop();
    if (temporary !== undefined) await rm(temporary, { recursive: true, force: true });
  };
  try {
    const url = await server.healthy(options);
    const reins = await connect(url, { ...options, token: server.token });
    const close = async () => {
      await reins.close();
      await stop();
    };
    return { ...reins, url, token: server.token, pid: server.pid, close, [Symbol.asyncDispose]: close };
  } catch (error) {
    await stop();
    throw error;
  }
}

class Server {
  readonly token: string;
  readonly #child: ChildProcess;
  readonly #ended = new AbortController();
  #output = "";

  constructor(home: string, options: StartServerOptions) {
    const { command = reinsCommand(), workspace = process.cwd(), env, port = 0 } = options;
    this.token = options.token ?? Buffer.from(crypto.getRandomValues(new Uint8Array(32))).toString("hex");
    const [program = "reins", ...first] = command;
    const args = ["up", "--port", `${port}`, "--no-open", "--home", home, "--workspace", workspace];
    this.#child = spawn(program, [...first, ...args], {
      // The token is in no command line, which other users can see.
      env: {
        ...{ ...process.env, ...env },
        ...{ REINS_TOKEN: this.token, REINS_HOST: "127.0.0.1", REINS_LOG: "info", REINS_STOP_AT_EOF: "1" },
      },
      // The system closes its input when this process ends, however it does, and the server stops.
      stdio: ["pipe", "pipe", "pipe"],
    });
    for (const stream of [this.#child.stdout, this.#child.stderr])
      stream?.setEncoding("utf8").on("data", (text: string) => this.#print(text));
    this.#child.on("error", (error) => this.#ended.abort(error));
    this.#child.on("exit", () => this.#ended.abort());
    this.#child.stdin?.on("error", () => undefined);
  }

  get pid(): number {
    return this.#child.pid ?? 0;
  }

  /** Resolves with the address when the server can decide. */
  async healthy({ timeoutMs = 60_000, signal, ...options }: StartServerOptions): Promise<string> {
    const late = AbortSignal.timeout(timeoutMs);
    const end = signal ? AbortSignal.any([signal, late]) : late;
    while (!this.#ended.signal.aborted && !late.aborted) {
      signal?.throwIfAborted();
      const url = /http:\/\/127\.0\.0\.1:\d+/.exec(this.#output)?.[0];
      if (url !== undefined) {
        const health = new Http(url, options).request("/v1/health", { method: "GET", signal: end });
        const isHealthy = await health.then(
          () => true,
          () => false,
        );
        if (isHealthy) return url;
      }
      await delay(POLL_MS, this.#ended.signal);
    }
    const why = late.aborted ? `was not healthy after ${timeoutMs} ms` : "ended at its start";
    const { reason } = this.#ended.signal;
    throw new ConnectionError("unreachable", `Reins ${why}.\n${this.#output}`, { cause: reason });
  }

  /** Ends the server; one that does not end is killed. */
  async stop(): Promise<void> {
    if (this.#child.pid === undefined || this.#child.exitCode !== null || this.#child.signalCode !== null)
      return;
    const exited = once(this.#child, "exit");
    const timer = setTimeout(() => this.#child.kill("SIGKILL"), STOP_MS);
    this.#child.kill("SIGTERM");
    await exited;
    clearTimeout(timer);
  }

  #print(text: string): void {
    this.#output = (this.#output + text).slice(0, KEPT_OUTPUT);
  }
}

/** The command of the package `reins`, if it is installed beside this one or in the current folder. */
function reinsCommand(): readonly string[] {
  for (const from of [import.meta.url, join(process.cwd(), "package.json")]) {
    try {
      const manifest = createRequire(from).resolve("reins/package.json");
      const { bin }: { bin: { reins: string } } = JSON.parse(readFileSync(manifest, "utf8"));
      return [process.execPath, join(dirname(manifest), bin.reins)];
    } catch {
      // Not installed there.
    }
  }
  return ["reins"];
}
