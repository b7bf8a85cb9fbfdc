import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { sessionTables } from "@reins/host";
import { ledgerTables } from "@reins/ledger";
import { type Change, change, nodeTables } from "@reins/store";
import { type Approvals, approvalTables, limitTables, Vault } from "@reins/supervisor";
import type { Random } from "../../../../scripts/torture/random.ts";
import { seededRandom } from "../../../../scripts/torture/random.ts";
import { SimulatedServer } from "../../../store/test/simulated/server.ts";
import { type Modules, modulesOf } from "../../../store/test/simulated/store.ts";
import { Invariants, type Violation } from "./invariants.ts";
import { type Cluster, SimulatedNode } from "./simulated-node.ts";
import { ProcessClock, VirtualTime } from "./virtual-time.ts";

/** How large a simulation is. */
export interface Size {
  readonly nodes: number;
  readonly tenants: number;
  readonly sessions: number;
  /** For how many seconds sessions begin. */
  readonly seconds: number;
  /** How many faults there are meanwhile. */
  readonly faults: number;
  /** The kinds of faults; all by default. */
  readonly kinds?: readonly (keyof typeof FAULTS)[];
  readonly approvals: number;
}

/** What a test may leave out to see whether that is noticed. */
export interface Omission {
  readonly rewrite?: (sql: string) => string;
  readonly modules?: (modules: Modules) => Modules;
  readonly isCredulous?: boolean;
}

export interface SimulationOptions extends Omission {
  readonly seed: number;
  readonly size: Size;
  readonly signal?: AbortSignal;
  readonly log?: (message: string) => void;
}

/** What a simulation came to. */
export interface Simulated {
  readonly entries: number;
  readonly checkpoints: number;
  readonly acknowledged: number;
  readonly refused: number;
  readonly faults: Readonly<Record<string, number>>;
  /** What the database did while nothing happened, and while sessions began and nodes failed. */
  readonly quiet: Work;
  readonly busy: Work;
}

/** How often the database did what, by kind of statement. */
export interface Work {
  readonly seconds: number;
  readonly counts: ReadonlyMap<string, number>;
}

const TABLES = [nodeTables, sessionTables, ledgerTables, approvalTables, limitTables];
/** 2026-01-01. */
const START = 1_767_225_600_000;
/** Those whose calls a limit counts are as many, each may make as many calls, and three times as many are tried. */
const [MOST_LIMITED, MOST_CALLS] = [50, 10];
const SETTLING_SECONDS = 180;

/** Runs a whole simulation; throws a {@link Violation} as soon as something happened that must not. */
export async function simulate(options: SimulationOptions): Promise<Simulated> {
  const folder = await mkdtemp(join(tmpdir(), "reins-simulation-"));
  try {
    const vault = await Vault.open(folder);
    const modules = await modulesOf(TABLES);
    const world = new World(options, vault, options.modules?.(modules) ?? modules);
    return await world.run();
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

class World {
  readonly #options: SimulationOptions;
  readonly #random: Random;
  readonly #time = new VirtualTime(START);
  readonly #server: SimulatedServer;
  readonly #invariants: Invariants;
  readonly #cluster: Cluster;
  /** The process of each node, or its clock while it starts. */
  readonly #running: ({ readonly clock: ProcessClock; process: SimulatedNode | undefined } | undefined)[] =
    [];
  readonly #cuts = new Set<string>();
  readonly #faults: Record<string, number> = {};
  #violation: unknown;
  #open = 0;
  #refused = 0;
  #sessions = 0;
  #approvals = 0;

  constructor(options: SimulationOptions, vault: Vault, modules: Modules) {
    const { seed, rewrite, isCredulous } = options;
    this.#options = options;
    this.#random = seededRandom(seed);
    this.#server = new SimulatedServer({ now: () => this.#time.now, rewrite });
    this.#invariants = new Invariants(this.#server);
    const network = seededRandom(seed + 1);
    this.#cluster = {
      ...{ server: this.#server, tables: TABLES, modules, vault, time: this.#time },
      ...(isCredulous && { isCredulous }),
      invariants: this.#invariants,
      delay: () => 0.2 + network.int(1_000) / 2_000,
      randomId: () => network.string(16),
      processes: new Map(),
      isCut: (from, to) => this.#cuts.has(`${from} ${to}`) || this.#cuts.has(`${to} ${from}`),
      onViolation: (error) => {
        this.#violation ??= error;
      },
    };
  }

  async run(): Promise<Simulated> {
    const { size, log = () => undefined } = this.#options;
    this.#startAll();
    await this.#until("all nodes serve", () => this.#cluster.processes.size === size.nodes, 600);
    log(`${size.nodes} nodes serve after ${this.#seconds} s`);
    const quiet = await this.#measured(5);
    this.#begin();
    this.#disturb();
    const busy = await this.#measured(size.seconds);
    log(`${this.#sessions} sessions have begun, ${this.#open} requests are open`);
    await this.#settle();
    await this.#allPlaced();
    const found = await this.#audit();
    return {
      ...found,
      acknowledged: this.#invariants.acknowledged.size,
      refused: this.#refused,
      faults: this.#faults,
      ...{ quiet, busy },
    };
  }

  get #seconds(): number {
    return Math.round((this.#time.now - START) / 1_000);
  }

  get #processes(): SimulatedNode[] {
    return this.#running.flatMap((one) => one?.process ?? []).filter(({ clock }) => !clock.isEnded);
  }

  #anyProcess(): SimulatedNode {
    return this.#random.pick(this.#processes);
  }

  /** Advances time until something holds. */
  async #until(what: string, holds: () => boolean, seconds = SETTLING_SECONDS): Promise<void> {
    const isOver = await this.#pass(seconds, holds);
    if (!isOver) throw new Error(`after ${seconds} s it does not hold that ${what}`);
  }

  async #pass(seconds: number, holds: () => boolean = () => false): Promise<boolean> {
    const isOver = await this.#time.run(
      this.#time.now + seconds * 1_000,
      () => this.#violation !== undefined || this.#options.signal?.aborted === true || holds(),
    );
    this.#options.signal?.throwIfAborted();
    if (this.#violation !== undefined) throw this.#violation;
    return isOver;
  }

  /** What the database does in so many seconds. */
  async #measured(seconds: number): Promise<Work> {
    const before = new Map(this.#server.work);
    await this.#pass(seconds);
    const counts = [...this.#server.work].map(([kind, many]): [string, number] => [
      kind,
      many - (before.get(kind) ?? 0),
    ]);
    return { seconds, counts: new Map(counts) };
  }

  /** Starts the nodes one after another, and again when they have ended. */
  #startAll(): void {
    for (let place = 0; place < this.#options.size.nodes; place += 1)
      this.#time.add(place * 20, () => this.#start(place));
  }

  #start(place: number): void {
    const clock = new ProcessClock(this.#time);
    const started: { readonly clock: ProcessClock; process: SimulatedNode | undefined } = {
      clock,
      process: undefined,
    };
    this.#running[place] = started;
    const again = () => this.#time.add(500 + this.#random.int(1_000), () => this.#start(place));
    const watch = () => void this.#time.add(200, () => (clock.isEnded ? again() : watch()));
    const node = { id: `n${place}`, labels: { zone: `z${place % 3}` }, capacity: 100 };
    SimulatedNode.start(this.#cluster, node, clock).then(
      (process) => {
        started.process = process;
      },
      () => clock.end(),
    );
    watch();
  }

  /** Has sessions begin at an even rate. */
  #begin(): void {
    const { sessions, seconds } = this.#options.size;
    const step = () => {
      const due = Math.min(sessions, this.#sessions + Math.max(1, Math.ceil(sessions / (seconds * 100))));
      for (; this.#sessions < due; this.#sessions += 1) this.#session(this.#sessions);
      if (this.#sessions < sessions) this.#time.add(10, step);
    };
    step();
  }

  /** One session: it begins, and a few are prompted, ask people, or come up against a limit. */
  #session(number: number): void {
    const { tenants, sessions, approvals } = this.#options.size;
    const tenant = `t${number % tenants}`;
    const session = `${tenant}/s${number}`;
    void this.#record(tenant, session, 0);
    if (this.#random.chance(0.05))
      this.#time.add(1_000 + this.#random.int(20_000), () => void this.#record(tenant, session, 1));
    const limited = Math.min(MOST_LIMITED, Math.ceil(sessions / 40));
    if (this.#random.chance((limited * MOST_CALLS * 3) / sessions))
      void this.#count(this.#random.int(limited));
    if (this.#approvals < approvals && this.#random.chance(Math.min(1, (approvals * 1.2) / sessions))) {
      this.#approvals += 1;
      void this.#ask(tenant, session);
    }
  }

  /** Asks again, through another node, until there is an answer. */
  async #again<Result>(job: (through: SimulatedNode) => Promise<Result>): Promise<Result | undefined> {
    this.#open += 1;
    try {
      for (let tries = 0; ; tries += 1) {
        const processes = this.#running;
        const through = processes[this.#random.int(Math.max(1, processes.length))]?.process;
        const result = through && (await this.#answered(through, job));
        if (result && "value" in result) return result.value;
        if (
          result?.error instanceof Error &&
          "code" in result.error &&
          FINAL.has(String(result.error.code))
        ) {
          this.#refused += 1;
          return undefined;
        }
        await this.#pause(100 + this.#random.int(Math.min(2_000, 200 * (tries + 1))));
      }
    } finally {
      this.#open -= 1;
    }
  }

  /** The answer of a node; none where it takes too long, as of one that was killed. */
  #answered<Result>(
    through: SimulatedNode,
    job: (through: SimulatedNode) => Promise<Result>,
  ): Promise<{ readonly value: Result } | { readonly error: unknown } | undefined> {
    return new Promise((resolve) => {
      const late = this.#time.add(10_000, () => resolve(undefined));
      const settle = (answer: { readonly value: Result } | { readonly error: unknown }) => {
        late();
        resolve(answer);
      };
      through.clock.after(this.#cluster.delay(), () => {
        const back = (answer: { readonly value: Result } | { readonly error: unknown }) =>
          void through.clock.after(this.#cluster.delay(), () => settle(answer));
        job(through).then(
          (value) => back({ value }),
          (error: unknown) => back({ error }),
        );
      });
    });
  }

  #pause(milliseconds: number): Promise<void> {
    return new Promise((resolve) => void this.#time.add(milliseconds, resolve));
  }

  /** A verdict of a session, decided where its tenant is served. */
  async #record(tenant: string, session: string, turn: number): Promise<void> {
    const cid = await this.#again((through) =>
      through.serve(tenant, async ({ ledger }) => {
        const { entries } = await ledger.record([verdict(session, `p${turn}`, [])]);
        return entries[0]?.cid;
      }),
    );
    if (cid !== undefined) this.#invariants.acknowledged.add(cid);
  }

  /** A call that counts against a limit of all nodes, at any node. */
  async #count(holder: number): Promise<void> {
    await this.#again(async (through) => {
      const id = this.#random.string(16);
      const use = { id, limit: "calls", holder: `["h${holder}"]`, at: through.clock.now().getTime() };
      const used = { ...use, calls: 1, tokens: 0, cost: 0, time_ms: 0 };
      const bounded = { use: used, bound: { calls: MOST_CALLS, since: 0 } };
      const { entries } = await through.ledger.record([verdict(`h${holder}`, "counted", [])], {
        with: [change(limitTables, "admit", { uses: [bounded] })],
      });
      return entries[0]?.cid;
    }).then((cid) => cid !== undefined && this.#invariants.acknowledged.add(cid));
  }

  /** A question, which two people answer and two processes use at the same time, each at any node. */
  async #ask(tenant: string, session: string): Promise<void> {
    const request = question(tenant, session);
    const approval = await this.#again((through) =>
      through.serve(tenant, ({ approvals }) => approvals.seek(request)),
    );
    if (!approval) return;
    const answers = ["allow_once", this.#random.pick(["allow_once", "deny"] as const)] as const;
    await Promise.all(
      answers.map((decision, index) =>
        this.#again(({ approvals }) =>
          approvals.answer(approval.id, { by: `p${index}`, tenant, roles: ["admin"], decision }),
        ),
      ),
    );
    const use = () =>
      this.#again(async ({ approvals, ledger }) => {
        const settled = await approvals.settled(request);
        if (!settled?.change) return undefined;
        const changes: Change<undefined>[] = [settled.change];
        const { entries } = await ledger.record(
          [verdict(`u${tenant}`, "used", [`approval:${approval.id}`])],
          {
            with: changes,
          },
        );
        return entries[0]?.cid;
      });
    for (const cid of await Promise.all([use(), use()]))
      if (cid !== undefined) this.#invariants.acknowledged.add(cid);
  }

  /** Faults at random moments. */
  #disturb(): void {
    const { faults, seconds, kinds = Object.keys(FAULTS) as (keyof typeof FAULTS)[] } = this.#options.size;
    for (let fault = 0; fault < faults; fault += 1)
      this.#time.add(this.#random.int(seconds * 1_000), () => {
        const kind = this.#random.pick(kinds);
        this.#faults[kind] = (this.#faults[kind] ?? 0) + 1;
        this[FAULTS[kind]]();
      });
  }

  kill(): void {
    if (this.#processes.length > 0) this.#anyProcess().kill({ isNoticed: this.#random.chance(0.8) });
  }

  killSequencer(): void {
    this.#sequencer()?.kill();
  }

  stop(): void {
    if (this.#processes.length === 0) return;
    const process = this.#anyProcess();
    this.#write(process);
    this.#stopFor(process);
  }

  /** Stops it with something on its way that it may not do any more when it goes on. */
  stopSequencer(): void {
    const until = this.#time.now + 1_000;
    const step = () => {
      const sequencer = this.#sequencer();
      if (sequencer?.store.isFencing) this.#stopFor(sequencer);
      else if (this.#time.now < until) this.#time.add(0.1, step);
    };
    if (this.#processes.length > 0) this.#write(this.#anyProcess());
    step();
  }

  /** A process writes by itself, as the operator has it do. */
  #write({ ledger }: SimulatedNode): void {
    ledger.record([verdict("operator", "ordered", [])]).then(
      ({ entries }) => entries.map(({ cid }) => this.#invariants.acknowledged.add(cid)),
      () => undefined,
    );
  }

  /** The network between a node and the database. */
  cutOff(): void {
    if (this.#processes.length === 0) return;
    const { store } = this.#anyProcess();
    for (const connection of [store.connection, store.reading]) {
      connection.isReachable = false;
      connection.lose({ isNoticed: false });
      this.#time.add(this.#random.pick(SPANS), () => {
        connection.isReachable = true;
      });
    }
  }

  /** The connection during a commit: kept or not, which the process cannot know. */
  breakCommit(): void {
    if (this.#processes.length === 0) return;
    const process = this.#anyProcess();
    this.#write(process);
    process.store.connection.fails = this.#random.pick(["before", "after"] as const);
  }

  /** The network between two nodes. */
  cutLink(): void {
    const cut = `n${this.#random.int(this.#options.size.nodes)} n${this.#random.int(this.#options.size.nodes)}`;
    this.#cuts.add(cut);
    this.#time.add(this.#random.pick(SPANS), () => this.#cuts.delete(cut));
  }

  outage(): void {
    if (!this.#server.isUp) return;
    this.#server.setUp(false);
    this.#time.add(this.#random.pick(SPANS) / 3, () => this.#server.setUp(true));
  }

  drain(): void {
    const { nodes } = this.#options.size;
    const node = `n${this.#random.int(nodes)}`;
    const order = (isDraining: boolean) =>
      this.#again(({ membership }) => membership.drain(node, isDraining));
    void order(true);
    this.#time.add(5_000 + this.#random.int(10_000), () => void order(false));
  }

  #stopFor({ clock }: SimulatedNode): void {
    clock.stop();
    this.#time.add(this.#random.pick(SPANS), () => clock.proceed());
  }

  #sequencer(): SimulatedNode | undefined {
    const sql = "SELECT owner FROM leases WHERE name = 'ledger sequencer'";
    const lease = this.#server.database.prepare(sql).get();
    const owner = typeof lease === "object" && lease && "owner" in lease ? String(lease.owner) : "";
    return this.#processes.find(({ node }) => owner.startsWith(`${node} `));
  }

  /** Everything goes on, and every request gets its answer. */
  async #settle(): Promise<void> {
    await this.#until("all is answered", () => this.#open === 0);
  }

  async #allPlaced(): Promise<void> {
    const owed = this.#server.database.prepare(
      `SELECT (SELECT count(*) FROM ledger_intake) + (SELECT coalesce(max(seq) + 1, 0) FROM ledger_entries)
         - (SELECT coalesce(max(size), 0) FROM ledger_checkpoints) AS many`,
    );
    await this.#until("a checkpoint covers all", () => (owed.get() as { many: number }).many === 0);
  }

  async #audit(): Promise<ReturnType<Invariants["ledger"]>> {
    const connection = this.#server.connection();
    await connection.connect();
    const tables = await this.#cluster.modules.get("ledger")?.open(connection);
    assert(tables);
    return this.#invariants.ledger(tables);
  }
}

const FAULTS = {
  "a node was killed": "kill",
  "the sequencer was killed": "killSequencer",
  "a node was stopped": "stop",
  "the sequencer was stopped": "stopSequencer",
  "a node was cut off from the database": "cutOff",
  "a connection broke during a commit": "breakCommit",
  "a node was cut off from another": "cutLink",
  "the database was away": "outage",
  "a node drained": "drain",
} as const;

/** Shorter or longer than leases and claims count, in milliseconds. */
const SPANS = [100, 1_000, 4_000, 7_000, 12_000] as const;

/** Errors after which asking again does not help. */
const FINAL: ReadonlySet<string> = new Set(["exhausted", "conflict", "invalid", "forbidden", "not_found"]);

function verdict(entity_id: string, target: string, tags: readonly string[]) {
  const payload = { verdict: "allowed", rule: "simulated" };
  return {
    quality: "policy_verdict",
    actor: "a",
    target,
    entity_id,
    tags: ["verdict", ...tags],
    payload,
  } as const;
}

function question(tenant: string, session: string): Parameters<Approvals["seek"]>[0] {
  return {
    subject: {
      ...{
        user: "ann",
        tenant,
        roles: ["member"],
        scopes: ["work"],
        agent: "a",
        trust: "registered",
        session,
      },
      ...{ started: "interactive", chain: [], depth: 0, mode: "default", enforcement: "asked" },
    },
    event_type: "pre_action",
    facts: { tool: "edit", effects: [], opaque: true, doubts: [], claims: {}, arguments: {} },
    ...{ cwd: "/w", target_state: {}, reason: "edits are asked about", expires_ms: 3_600_000 },
  };
}
