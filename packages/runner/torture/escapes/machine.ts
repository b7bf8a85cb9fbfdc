import { type ChildProcess, spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { createSocket } from "node:dgram";
import { once } from "node:events";
import { mkdir, mkdtemp, readFile, realpath, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Targets } from "./targets.ts";

const CACHE = fileURLToPath(new URL("../../../../.cache/", import.meta.url));
const KEPT = "as it was\n";

interface MachineParts {
  readonly targets: Omit<Targets, "confined" | "proxied" | "rounds">;
  readonly folders: readonly string[];
  readonly sleeper: ChildProcess;
  readonly servers: readonly { close(): unknown }[];
  readonly visits: readonly string[];
  /** The user's home, as it was before. */
  readonly home: string | undefined;
}

/** A machine with something to steal, and a way to see from outside whether it was. */
export class TargetMachine {
  readonly #parts: MachineParts;

  private constructor(parts: MachineParts) {
    this.#parts = parts;
  }

  /** What there is to go for. */
  get targets(): MachineParts["targets"] {
    return this.#parts.targets;
  }

  /** Builds one. Until it is torn down, the user's home is in it. */
  static async build(): Promise<TargetMachine> {
    const canary = `canary-${randomBytes(8).toString("hex")}`;
    const place = await realpath(await mkdtemp(join(tmpdir(), "escapes-")));
    await mkdir(CACHE, { recursive: true });
    // Not in the temporary folder, which is hidden: this is for what can be seen and must not be changed.
    const visible = await mkdtemp(join(CACHE, "escapes-"));
    for (const folder of ["workspace", "user/.ssh", "reins/home", "reins/tmp"])
      await mkdir(join(place, folder), { recursive: true });
    const files = {
      reins: join(place, "reins/reins.db"),
      key: join(place, "user/.ssh/id_ed25519"),
      shared: `/dev/shm/${canary.replace("canary", "reins")}`,
    };
    for (const path of Object.values(files)) await writeFile(path, canary);
    const outside = join(visible, "outside");
    await writeFile(outside, KEPT);

    const visits: string[] = [];
    const abstract = `reins-${randomBytes(8).toString("hex")}`;
    const socket = join(place, "reins/ahp.sock");
    const answer = `HTTP/1.1 200 OK\r\ncontent-length: ${canary.length}\r\nconnection: close\r\n\r\n${canary}`;
    const servers = [{ path: `\0${abstract}` }, { path: socket }, { host: "127.0.0.1", port: 0 }].map(
      (where) =>
        createServer((visitor) => {
          visits.push(JSON.stringify(where));
          visitor.on("error", () => visitor.destroy());
          visitor.end(answer);
        }).listen(where),
    );
    await Promise.all(servers.map((server) => once(server, "listening")));
    const address = servers[2]?.address();
    const port = typeof address === "object" ? (address?.port ?? 0) : 0;
    const datagrams = createSocket("udp4").on("message", () => visits.push("a datagram"));
    datagrams.bind(port, "127.0.0.1");
    await once(datagrams, "listening");
    const sleeper = spawn("sleep", ["600"], { argv0: canary, env: { CANARY: canary }, stdio: "ignore" });
    await once(sleeper, "spawn");
    const home = process.env.HOME;
    process.env.HOME = join(place, "user");

    const targets = {
      workspace: join(place, "workspace"),
      reins: join(place, "reins"),
      key: files.key,
      shared: files.shared,
      outside,
      canary,
      pid: sleeper.pid ?? 0,
      port,
      abstract,
      socket,
    };
    const folders = [place, visible];
    return new TargetMachine({ targets, folders, sleeper, servers: [...servers, datagrams], visits, home });
  }

  /** What has been done to it, as seen from outside. */
  async damage(): Promise<string[]> {
    const { visits, sleeper, targets } = this.#parts;
    const found = visits.map((visit) => `${visit} was reached`);
    const outside = await readFile(targets.outside, "utf8").catch(() => "nothing");
    if (outside !== KEPT) found.push(`the file outside holds ${outside}`);
    if (sleeper.exitCode !== null || sleeper.signalCode !== null) found.push("the process was ended");
    return found;
  }

  /** Leaves nothing of it. */
  async tearDown(): Promise<void> {
    const { home, sleeper, servers, folders, targets } = this.#parts;
    if (home === undefined) delete process.env.HOME;
    else process.env.HOME = home;
    sleeper.kill("SIGKILL");
    for (const server of servers) server.close();
    for (const path of [targets.shared, ...folders]) await rm(path, { recursive: true, force: true });
  }
}
