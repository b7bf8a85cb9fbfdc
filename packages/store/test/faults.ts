/** What goes wrong, and at which statement. */
export interface FaultPlan {
  /** The code of an error of SQLite, the end of the thread or of the process, or a wait until the plan changes. */
  readonly fault: `SQLITE_${string}` | "exit" | "throw" | "kill" | "hold";
  /** Only statements that begin like this; all, if not said. */
  readonly on?: string;
  /** How many of them pass before. */
  readonly after?: number;
  /** How many of them fail; all that follow, if not said. */
  readonly times?: number;
  /** Whether the statement is carried out nevertheless, before it fails. */
  readonly done?: boolean;
}

const TEXT_AT = 16;

/** Breaks the database of a store, from the thread of the test. */
export class Faults {
  /** To be given to the store as `wrap`. */
  readonly wrap: { readonly module: string; readonly settings: SharedArrayBuffer };
  readonly #memory = new SharedArrayBuffer(1_024);
  readonly #cells = new Int32Array(this.#memory, 0, TEXT_AT / 4);

  constructor(plan?: FaultPlan) {
    this.wrap = {
      module: new URL("./faulty-database.ts", import.meta.url).href,
      settings: this.#memory,
    };
    if (plan) this.plan(plan);
  }

  /** From now on this goes wrong; nothing, if there is no plan. */
  plan(plan?: FaultPlan): void {
    const text = new TextEncoder().encode(plan ? JSON.stringify(plan) : "");
    new Uint8Array(this.#memory, TEXT_AT).set(text);
    Atomics.store(this.#cells, 1, text.length);
    Atomics.store(this.#cells, 2, 0);
    Atomics.store(this.#cells, 3, 0);
    Atomics.add(this.#cells, 0, 1);
    Atomics.notify(this.#cells, 0);
  }

  /** How many statements the plan was for, failed or not. */
  get seen(): number {
    return Atomics.load(this.#cells, 2);
  }

  /** How many failed. */
  get failed(): number {
    return Atomics.load(this.#cells, 3);
  }
}

/** The other end of {@link Faults}, in the thread of the database. */
export class PlannedFaults {
  readonly #memory: SharedArrayBuffer;
  readonly #cells: Int32Array;
  #version = -1;
  #plan: FaultPlan | undefined;

  constructor(memory: SharedArrayBuffer) {
    this.#memory = memory;
    this.#cells = new Int32Array(memory, 0, TEXT_AT / 4);
  }

  /** The plan, if this statement is to fail. */
  for(sql: string): FaultPlan | undefined {
    const plan = this.#read();
    if (!plan || !sql.startsWith(plan.on ?? "")) return undefined;
    const index = Atomics.add(this.#cells, 2, 1) - (plan.after ?? 0);
    if (index < 0 || index >= (plan.times ?? Number.POSITIVE_INFINITY)) return undefined;
    Atomics.add(this.#cells, 3, 1);
    return plan;
  }

  /** Waits until there is another plan. */
  hold(): void {
    Atomics.wait(this.#cells, 0, this.#version);
  }

  #read(): FaultPlan | undefined {
    const version = Atomics.load(this.#cells, 0);
    if (version === this.#version) return this.#plan;
    this.#version = version;
    const length = Atomics.load(this.#cells, 1);
    const text = new TextDecoder().decode(new Uint8Array(this.#memory, TEXT_AT, length).slice());
    this.#plan = text === "" ? undefined : JSON.parse(text);
    return this.#plan;
  }
}
