import { afterAll, beforeAll, expect, it, onTestFinished } from "vitest";
import { requirement } from "../../../scripts/test/requirement.ts";
import { type Random, seededRandom } from "../../../scripts/torture/random.ts";
import { leases } from "../src/leases.ts";
import { type KnownNode, type NodesSince, nodeTables } from "../src/nodes.ts";
import { readPostgresAddress } from "../src/postgres/address.ts";
import type { LinkEnd } from "../src/postgres/messages.ts";
import { startConnector } from "../src/postgres/open.ts";
import { PostgresReader, PostgresWriter } from "../src/postgres/opened.ts";
import { PostgresDatabase } from "../src/postgres/postgres-database.ts";
import { partsOf } from "../src/sqlite/open.ts";
import type { Modules } from "../src/sqlite/opened.ts";
import { change } from "../src/sqlite/sqlite-store.ts";
import { translate } from "../src/sqlite/threads.ts";
import type { Change, Lease } from "../src/store.ts";
import { PostgresServer, postgresFolder } from "../test/postgres-server.ts";
import { SimulatedServer } from "../test/simulated/server.ts";
import { modulesOf } from "../test/simulated/store.ts";

const NAMES = ["a", "b", "c"];
const TABLES = [nodeTables];
const START = 1_767_225_600_000;

/** A database with processes of three names, by a clock that the test sets. */
interface Side {
  readonly schema: string;
  setClock(now: number): Promise<void>;
  connect(name: string, use: "write" | "read"): PostgresDatabase;
}

/** PostgreSQL with a clock of the test's. */
class OwnClock extends PostgresDatabase {
  override connect(settings: readonly string[]): Promise<void> {
    const shown = settings.map((one) => one.replace(/^(SET search_path = .*)$/, "$1, pg_catalog"));
    return super.connect(shown);
  }
}

async function realSide(server: PostgresServer): Promise<Side> {
  const text = server.address();
  const address = readPostgresAddress(text);
  const { schema } = address;
  const client = await server.connect();
  await client.query(`CREATE SCHEMA ${schema}; CREATE TABLE ${schema}.test_clock (now timestamptz);
    INSERT INTO ${schema}.test_clock VALUES (now());
    CREATE FUNCTION ${schema}.clock_timestamp() RETURNS timestamptz LANGUAGE sql VOLATILE
      RETURN (SELECT now FROM ${schema}.test_clock)`);
  const { links, connector } = startConnector({ address }, NAMES.length + 1);
  const free: LinkEnd[] = [...links];
  const used = new Map<string, LinkEnd>();
  onTestFinished(async () => {
    await client.end();
    await connector.terminate();
  });
  return {
    schema,
    async setClock(now) {
      await client.query(`UPDATE ${schema}.test_clock SET now = to_timestamp($1::double precision / 1000)`, [
        now,
      ]);
    },
    connect(name, use) {
      const link = used.get(`${use} ${name}`) ?? free.pop();
      if (!link) throw new Error("there are no more connections");
      used.set(`${use} ${name}`, link);
      return new OwnClock(link, { isShared: true });
    },
  };
}

function simulatedSide(): Side {
  let clock = START;
  const server = new SimulatedServer({ now: () => clock });
  return {
    schema: "simulated",
    async setClock(now) {
      clock = now;
    },
    connect: () => server.connection(),
  };
}

/** Processes that carry out commands, and what these came to, in words that are the same on both sides. */
class Processes {
  now = START;
  readonly #side: Side;
  readonly #modules: Modules;
  readonly #running = new Map<
    string,
    { readonly writer: PostgresWriter; readonly database: PostgresDatabase }
  >();
  /** The claims that there were, each by the name of its node and its number. */
  readonly #claims = new Map<string, string>();
  readonly #leases = new Map<string, Lease>();
  #reader: PostgresReader | undefined;
  /** What one knows that looks again and again, and since when. */
  readonly #followed = new Map<string, string>();
  #epoch = 0;

  constructor(side: Side, modules: Modules) {
    this.#side = side;
    this.#modules = modules;
  }

  async do(command: Command): Promise<unknown> {
    const result = await this.#do(command).catch((error: unknown) => translate(error).code);
    // A process whose claim has ended stops.
    if (JSON.stringify(result)?.includes('"io"')) await this.#do({ ...command, kind: "kill" });
    return this.#named(result);
  }

  async #do({ kind, name, ...command }: Command): Promise<unknown> {
    const one = this.#running.get(name);
    switch (kind) {
      case "pass":
        this.now += command.milliseconds ?? 0;
        return this.#side.setClock(this.now);
      case "start":
        return one ? undefined : this.#start(name);
      case "kill":
        this.#running.delete(name);
        return one?.database.end();
      case "close":
        this.#running.delete(name);
        return one?.writer.close();
      case "renew":
        return one?.writer.renew();
      case "list":
        return this.#list();
      case "follow":
        return this.#follow();
      case "change":
        return one?.writer
          .apply([{ changes: [this.#change(command.change)], durable: true }])
          .map((outcome) => {
            if ("error" in outcome) return outcome.error.code;
            this.#note(outcome.results[0]);
            return outcome.results;
          });
    }
  }

  async #start(name: string): Promise<string> {
    const database = this.#side.connect(name, "write");
    const data = { ...this.#data("writer"), node: { id: name, labels: { zone: name }, capacity: 10 } };
    const writer = new PostgresWriter(data, this.#modules, database, () => this.now);
    try {
      await writer.open();
    } catch (error) {
      await database.end();
      throw error;
    }
    this.#running.set(name, { writer, database });
    for (const { id, claim } of await this.#list())
      if (claim !== "" && !this.#claims.has(claim)) this.#claims.set(claim, `${id} ${this.#claims.size}`);
    return "started";
  }

  /** The nodes that others reach, as one of them knows that has looked before; the same that a list shows. */
  async #follow(): Promise<readonly string[]> {
    const nodes = await this.#list();
    const last = { node: "a", claim: nodes[0]?.claim ?? "", epoch: this.#epoch };
    const said: unknown = this.#reader?.query("nodes", "since", last);
    const { epoch, joined, ended, isDraining } = said as NodesSince;
    this.#epoch = epoch;
    for (const peer of joined) this.#followed.set(peer.node, peer.claim);
    for (const node of ended) this.#followed.delete(node);
    const followed = [...this.#followed].map((one) => one.join(" ")).toSorted();
    const reached = nodes.filter(({ claim, state }) => claim !== "" && state);
    expect(followed).toEqual(reached.map(({ id, claim }) => `${id} ${claim}`));
    expect(isDraining).toBe(nodes[0]?.state?.isDraining ?? false);
    return followed;
  }

  async #list(): Promise<KnownNode[]> {
    if (!this.#reader) {
      const reader = new PostgresReader(this.#data("reader"), this.#modules, this.#side.connect("", "read"));
      await reader.open();
      this.#reader = reader;
    }
    return this.#reader.query("nodes", "list", null) as KnownNode[];
  }

  #data(role: "writer" | "reader") {
    return {
      ...{ role, tables: partsOf(TABLES), maxBatch: 10, schema: this.#side.schema, acceptLoss: false },
      ...{ status: new Int32Array(1), link: undefined as never, node: { id: "", labels: {} } },
    };
  }

  #change(given: Given = { what: "own", place: 0 }): Change<unknown> {
    const { what, place, tenant = "t", lease = "l", isDraining = false } = given;
    const claims = [...this.#claims].slice(-4);
    const [claim = "", label = "a"] = claims[place % Math.max(1, claims.length)] ?? [];
    const [node = "a"] = label.split(" ");
    const held = this.#leases.get(lease) ?? { name: lease, owner: "other", epoch: 0, expires: 0 };
    const state = { address: `${node}:1`, version: "1", sessions: place, agents: [] };
    switch (what) {
      case "tell":
        return change(nodeTables, "tell", { node, claim, state });
      case "own":
        return change(nodeTables, "own", { tenant, ...(place % 3 === 0 && { labels: { zone: "a" } }) });
      case "disown":
        return change(nodeTables, "disown", { tenant, node, claim });
      case "drain":
        return change(nodeTables, "drain", { node, isDraining });
      case "end":
        return change(nodeTables, "end", { node, claim });
      case "claim":
        return change(leases, "claim", { name: lease, owner: `o${place % 3}`, milliseconds: 3_000 });
      case "renew":
        return change(leases, "renew", { lease: held, milliseconds: 3_000 });
      case "release":
        return change(leases, "release", { lease: held });
      case "fence":
        return change(leases, "fence", { lease: held });
    }
  }

  /** Keeps a lease, so that older ones are used, too. */
  #note(result: unknown): void {
    if (typeof result !== "object" || result === null || !("expires" in result)) return;
    const lease = result as Lease;
    if (lease.epoch % 2 === 0) this.#leases.set(lease.name, lease);
  }

  #named(result: unknown): unknown {
    const text = JSON.stringify(result ?? null);
    return JSON.parse([...this.#claims].reduce((all, [claim, label]) => all.replaceAll(claim, label), text));
  }
}

const CHANGES = ["tell", "own", "disown", "drain", "end", "claim", "renew", "release", "fence"] as const;

interface Given {
  readonly what: (typeof CHANGES)[number];
  readonly place: number;
  readonly tenant?: string;
  readonly lease?: string;
  readonly isDraining?: boolean;
}

interface Command {
  readonly kind: "pass" | "start" | "kill" | "close" | "renew" | "list" | "follow" | "change";
  readonly name: string;
  readonly milliseconds?: number;
  readonly change?: Given;
}

/** How often each is given. */
const SHARES = { pass: 2, start: 9, kill: 1, close: 1, renew: 2, list: 1, follow: 12, change: 25 } as const;
const KINDS = (Object.keys(SHARES) as Command["kind"][]).flatMap((kind) =>
  Array<Command["kind"]>(SHARES[kind]).fill(kind),
);

function randomCommand(random: Random): Command {
  const kind = random.pick(KINDS);
  const given = {
    ...{ what: random.pick(CHANGES), place: random.int(12), isDraining: random.chance(0.4) },
    ...{ tenant: random.pick(["t", "u", "v"]), lease: random.pick(["l", "m"]) },
  };
  const milliseconds = random.pick([500, 1_500, 3_500, 6_500]);
  return { kind, name: random.pick(NAMES), milliseconds, ...(kind === "change" && { change: given }) };
}

requirement(
  "PostgreSQL from npm",
  postgresFolder !== undefined,
  "the simulated database is compared with it",
)("the database of simulations", () => {
  let server: PostgresServer;
  beforeAll(async () => {
    server = await PostgresServer.start();
  });
  afterAll(() => server.stop());

  it.each([1, 2])("does with claims, leases and owners what PostgreSQL does, commands %i", async (seed) => {
    const random = seededRandom(seed);
    const modules = await modulesOf(TABLES);
    const real = new Processes(await realSide(server), modules);
    const simulated = new Processes(simulatedSide(), modules);
    const first: Command[] = [
      { kind: "pass", name: "" },
      ...NAMES.map((name) => ({ kind: "start" as const, name })),
    ];
    const commands = [...first, ...Array.from({ length: 140 }, () => randomCommand(random))];
    const states = new Set<string>();
    for (const [index, command] of commands.entries()) {
      const said = `${index}: ${JSON.stringify(command)}`;
      expect(await simulated.do(command), said).toEqual(await real.do(command));
      const list = { kind: "list", name: "" } as const;
      const state = await real.do(list);
      expect(await simulated.do(list), `after ${said}`).toEqual(state);
      states.add(JSON.stringify(state));
    }
    expect(states.size).toBeGreaterThan(20);
  });
});
