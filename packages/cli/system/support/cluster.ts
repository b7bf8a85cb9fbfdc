import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { cp, mkdir, writeFile } from "node:fs/promises";
import { type AddressInfo, connect as connectTo, createServer, type Server, type Socket } from "node:net";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { freePort } from "../../../restate/test/restate-server.ts";
import { OperatedHome } from "./operated-home.ts";
import { listening, type Reins } from "./reins.ts";

/** An agent that counts as far as its prompt says. */
const SCRIPTED = {
  id: "scripted",
  name: "Scripted",
  support: { level: "supported" },
  start: {
    with: "node",
    file: fileURLToPath(new URL("../../../sdk/system/fixtures/scripted-agent.mjs", import.meta.url)),
  },
  tools: "claude-code",
  enforcement: { level: "asked" },
};

/** A node: its home, and the process that serves it. */
export interface RunningNode {
  readonly name: string;
  readonly home: OperatedHome;
  reins: Reins;
}

/** Passes each connection on to the next node that can be reached, whatever it carries. */
class Balancer {
  readonly #server: Server;
  readonly #open = new Set<Socket>();
  readonly #ports: () => readonly number[];
  #turn = 0;

  private constructor(ports: () => readonly number[]) {
    this.#ports = ports;
    this.#server = createServer((client) => {
      this.#keep(client);
      this.#pass(client, this.#ports().length);
    });
  }

  static async start(ports: () => readonly number[]): Promise<Balancer> {
    const balancer = new Balancer(ports);
    balancer.#server.listen(0, "127.0.0.1");
    await once(balancer.#server, "listening");
    return balancer;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  close(): void {
    this.#server.close();
    this.cut();
  }

  /** Ends what is open. */
  cut(): void {
    for (const socket of this.#open) socket.destroy();
  }

  #pass(client: Socket, tries: number): void {
    const ports = this.#ports();
    this.#turn += 1;
    const port = ports[this.#turn % ports.length];
    if (port === undefined || tries === 0) {
      client.destroy();
      return;
    }
    const node = connectTo(port, "127.0.0.1");
    this.#keep(node);
    const again = () => this.#pass(client, tries - 1);
    node.once("error", again);
    node.once("connect", () => {
      node.off("error", again);
      node.on("error", () => client.destroy());
      client.on("error", () => node.destroy());
      node.once("close", () => client.destroy());
      client.once("close", () => node.destroy());
      client.pipe(node).pipe(client);
    });
  }

  #keep(socket: Socket): void {
    this.#open.add(socket);
    socket.on("error", () => undefined);
    socket.once("close", () => this.#open.delete(socket));
  }
}

/** A link to a server that can be cut. */
export class Link {
  isCut = false;
  readonly #balancer: Balancer;

  private constructor(balancer: Balancer) {
    this.#balancer = balancer;
  }

  static async to(port: number): Promise<Link> {
    const link: Link = new Link(await Balancer.start(() => (link.isCut ? [] : [port])));
    return link;
  }

  /** Where other nodes reach the one behind it, as host:port. */
  get address(): string {
    return new URL(this.#balancer.url).host;
  }

  /** Ends what is open; nothing passes until `isCut` is false again. */
  cut(): void {
    this.isCut = true;
    this.#balancer.cut();
  }

  close(): void {
    this.#balancer.close();
  }
}

export interface ClusterOptions {
  /** Lines of `reins.yaml` besides. */
  readonly settings?: string;
  /** Files of every home besides. */
  readonly files?: Readonly<Record<string, string>>;
  /** Whether other nodes reach each by a link that can be cut. */
  readonly hasLinks?: boolean;
}

/** Nodes on one database, each a `reins up` with a home of its own, behind a balancer. */
export class TestCluster {
  readonly token = randomBytes(16).toString("hex");
  readonly nodes: RunningNode[] = [];
  readonly #store: string;
  readonly #options: ClusterOptions;
  readonly #links = new Map<string, Link>();
  readonly #secret = randomBytes(32).toString("hex");
  readonly #hanging = new Set<string>();
  #balancer: Balancer | undefined;
  #workspace = "";

  constructor(store: string, options: ClusterOptions = {}) {
    this.#store = store;
    this.#options = options;
  }

  static async start(
    store: string,
    names: readonly string[],
    options: ClusterOptions = {},
  ): Promise<TestCluster> {
    const cluster = new TestCluster(store, options);
    for (const name of names) await cluster.add(name);
    cluster.#balancer = await Balancer.start(() => cluster.#answering().map(({ reins }) => portOf(reins)));
    return cluster;
  }

  /** The folder of all sessions, which all nodes share. */
  get workspace(): string {
    return this.#workspace;
  }

  /** The names of the nodes that serve, each with its tenants. */
  async serving(url = this.url): Promise<ReadonlyMap<string, readonly string[]>> {
    const { body } = await this.ask("/v1/nodes", { url });
    const nodes: { name: string; state: string; tenants: string[] }[] = body.nodes;
    return new Map(nodes.flatMap(({ name, state, tenants }) => (state === "gone" ? [] : [[name, tenants]])));
  }

  /** The node that serves a tenant. */
  async ownerOf(tenant = "default", url = this.url): Promise<string> {
    const found = [...(await this.serving(url))].find(([, tenants]) => tenants.includes(tenant));
    return found?.[0] ?? "";
  }

  /** Stops a node for a while; the balancer notices. */
  async hang(name: string, milliseconds: number): Promise<void> {
    const { reins } = this.node(name);
    this.#hanging.add(name);
    reins.signal("SIGSTOP");
    await sleep(milliseconds);
    reins.signal("SIGCONT");
    this.#hanging.delete(name);
  }

  /** Has no other node reach one for a while. */
  async cutOff(name: string, milliseconds: number): Promise<void> {
    const link = this.#links.get(name);
    if (!link) throw new Error(`there is no link to ${name}`);
    link.cut();
    await sleep(milliseconds);
    link.isCut = false;
  }

  #answering(): readonly RunningNode[] {
    return this.nodes.filter(({ name }) => !this.#hanging.has(name));
  }

  /** The address of the balancer. */
  get url(): string {
    return this.#balancer?.url ?? "";
  }

  node(name: string): RunningNode {
    const node = this.nodes.find((one) => one.name === name);
    if (!node) throw new Error(`there is no node ${name}`);
    return node;
  }

  /** The address of a node. */
  urlOf(name: string): string {
    return new URL(this.node(name).reins.addressOf("http")).origin;
  }

  /** Starts a node with the keys of the first, or again on its home. */
  async add(name: string): Promise<RunningNode> {
    const { settings = "", files: shared, hasLinks = false } = this.#options;
    const port = hasLinks ? await freePort() : 0;
    if (hasLinks) this.#links.set(name, await Link.to(port));
    const home = new OperatedHome({ REINS_STORE: this.#store });
    await mkdir(home.path, { mode: 0o700 });
    const [first] = this.nodes;
    this.#workspace ||= home.workspace;
    if (first) await cp(join(first.home.path, "keys"), join(home.path, "keys"), { recursive: true });
    const lines = [
      "node:",
      `  name: ${name}`,
      `  listen: 127.0.0.1:${port}`,
      ...[this.#links.get(name)].flatMap((link) => (link ? [`  advertise: ${link.address}`] : [])),
      `  secret: ${this.#secret}`,
      `  labels: { zone: ${name} }`,
      settings,
    ];
    const files = {
      ...shared,
      "reins.yaml": lines.join("\n"),
      "agents.yaml": JSON.stringify({ agents: [SCRIPTED] }),
      "agent-roster.jsonl": ["native", SCRIPTED.id].map(rosterLine).join(""),
    };
    for (const [file, text] of Object.entries(files))
      await writeFile(join(home.path, file), text, { mode: 0o600 });
    const node = { name, home, reins: await this.#up(home) };
    this.nodes.push(node);
    return node;
  }

  /** Ends a node, giving it no time for anything. */
  kill(name: string): Promise<void> {
    return this.node(name).reins.kill();
  }

  async restart(name: string): Promise<void> {
    const node = this.node(name);
    node.reins = await this.#up(node.home);
  }

  /** Asks a node, or whichever the balancer chooses, as the operator or with another token. */
  async ask(path: string, { url = this.url, token = this.token, ...init }: RequestInit & Where = {}) {
    const response = await fetch(new URL(path, url), {
      ...init,
      headers: { authorization: `Bearer ${token}`, connection: "close", ...init.headers },
    });
    const text = await response.text();
    return { status: response.status, body: text === "" ? undefined : JSON.parse(text) };
  }

  close(): void {
    this.#balancer?.close();
    for (const link of this.#links.values()) link.close();
  }

  async #up(home: OperatedHome): Promise<Reins> {
    const environment = { ...home.environment, REINS_TOKEN: this.token };
    const args = ["up", "--port", "0", "--workspace", this.workspace];
    const reins = await listening(args, environment);
    await reins.printed("decisions are recorded");
    return reins;
  }
}

interface Where {
  readonly url?: string;
  readonly token?: string;
}

function rosterLine(session_id: string): string {
  return `${JSON.stringify({ session_id, kind: "agent", state: "live" })}\n`;
}

function portOf(reins: Reins): number {
  return Number(new URL(reins.addressOf("http")).port);
}
