import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { connect, createServer, type Server } from "node:net";
import { fileURLToPath } from "node:url";
import type { WorkerOrder } from "./worker.ts";

const WORKER = fileURLToPath(new URL("./worker.ts", import.meta.url));

/** A worker in a process of its own. */
export class Worker {
  readonly #child: ChildProcess;
  readonly #ended: Promise<unknown>;
  #errors = "";

  private constructor(order: WorkerOrder) {
    this.#child = spawn(process.execPath, [WORKER, JSON.stringify(order)], {
      stdio: ["pipe", "pipe", "pipe"],
    });
    this.#ended = once(this.#child, "exit");
    this.#child.stderr?.on("data", (data) => {
      this.#errors += data;
    });
  }

  /** Starts one; resolves when it carries what it was ordered to begin. */
  static async start(order: WorkerOrder): Promise<Worker> {
    const worker = new Worker(order);
    const failed = worker.#ended.then(() => Promise.reject(new Error(`a worker failed: ${worker.#errors}`)));
    failed.catch(() => undefined);
    if (worker.#child.stdout) await Promise.race([once(worker.#child.stdout, "data"), failed]);
    return worker;
  }

  async kill(): Promise<void> {
    this.#child.kill("SIGKILL");
    await this.#ended;
  }

  /** Stops it for a while, as a machine that does not answer. */
  signal(signal: "SIGSTOP" | "SIGCONT"): void {
    this.#child.kill(signal);
  }
}

/** A load balancer for TCP: each connection goes to the next port that takes it. */
export class Balancer {
  readonly #server: Server;
  readonly #ports: readonly number[];
  #turn = 0;

  private constructor(ports: readonly number[]) {
    this.#ports = ports;
    this.#server = createServer({ pauseOnConnect: true }, (client) => {
      client.on("error", () => client.destroy());
      const tried = (left: number): void => {
        const port = this.#ports[this.#turn++ % this.#ports.length] ?? 0;
        const upstream = connect(port, "127.0.0.1");
        upstream.once("connect", () => {
          client.pipe(upstream).pipe(client);
          client.on("close", () => upstream.destroy());
          upstream.on("close", () => client.destroy());
        });
        upstream.once("error", () => {
          if (upstream.connecting || left <= 1) client.destroy();
          else tried(left - 1);
        });
      };
      tried(this.#ports.length);
    });
  }

  static async open(ports: readonly number[]): Promise<Balancer> {
    const balancer = new Balancer(ports);
    balancer.#server.listen(0, "127.0.0.1");
    await once(balancer.#server, "listening");
    return balancer;
  }

  get address(): string {
    const address = this.#server.address();
    return `http://127.0.0.1:${typeof address === "object" && address ? address.port : 0}`;
  }

  close(): void {
    this.#server.close();
  }
}
