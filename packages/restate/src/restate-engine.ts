import { randomUUID } from "node:crypto";
import {
  type EngineRun,
  JournalEngine,
  type JournaledRun,
  type JournalSeal,
  type Orchestration,
  type RunEngine,
  type RunJournal,
} from "@reins/graph";
import { errorMessage, KeyedQueue, settlesWithin, sleep, systemClock } from "@reins/kit";
import { z } from "zod";
import { Carrier } from "./carrier.ts";
import { type RestateAddress, RestateApi, RestateError } from "./restate-api.ts";
import {
  Endpoint,
  type InboxDelivery,
  type ServedEngine,
  type ServiceNames,
  serviceNames,
  services,
} from "./services.ts";

/** How Reins and Restate reach each other. */
export interface RestateSettings extends RestateAddress {
  /** Where this process listens for Restate. */
  readonly host: string;
  readonly port: number;
  /** The address at which Restate reaches it, or any other process of the same home; by default where it listens. */
  readonly advertise?: string | undefined;
  /** The public keys of Restate; needed where it is not listened on loopback. */
  readonly identityKeys: readonly string[];
}

export interface RestateEngineOptions<Input, Result> {
  readonly settings: RestateSettings;
  /** The same for every process that runs the same, and for no other. */
  readonly name: string;
  /**
   * What this process shares among its engines. One process at a time runs what has a name then: the last that has begun
   * gets what Restate had others carry.
   */
  readonly endpoint?: Endpoint | undefined;
  readonly orchestrate: Orchestration<Input, Result>;
  /** Where all processes store what runs did. */
  readonly journal: RunJournal<Input, Result>;
  /** Whether a run in the journal is one of this engine; by default each is. */
  readonly isOwn?: ((run: string) => boolean) | undefined;
  /** Seals what Restate gets to keep. */
  readonly seal: JournalSeal;
  /** Called when a run has to wait for Restate, and with `undefined` when it no longer does. */
  readonly onWait?: ((run: string, reason: string | undefined) => void) | undefined;
  /** Receives errors of background work. */
  readonly onError?: ((error: unknown) => void) | undefined;
}

/** The pause between two looks at whether Restate answers, and at whether a run of another process has ended. */
const CHECK_MS = 2_000;
const LOOK_MS = 50;
const MOST_LOOKS = 200;

/**
 * Has a Restate server carry runs: it decides which process runs one, has another continue it when that is gone, and
 * keeps what is sent to it. What a run did lies in the journal, and no second time in Restate.
 */
export class RestateEngine<Input, Result> implements RunEngine<Input, Result> {
  readonly #options: RestateEngineOptions<Input, Result>;
  readonly #api: RestateApi;
  readonly #names: ServiceNames;
  readonly #carrier: Carrier<Input, Result>;
  readonly #local: JournalEngine<Input, Result>;
  readonly #closed = new AbortController();
  /** What is sent to a run arrives in the order of the calls. */
  readonly #sending = new KeyedQueue();
  /** Cancels that are on their way: what is sent after one does not arrive. */
  readonly #canceling = new Map<string, Promise<boolean>>();
  #served: Promise<ServedEngine> | undefined;
  #watching: Promise<void> | undefined;
  #outage: string | undefined;
  /** Whether another process may still have what this one takes over. */
  #isTaking = false;

  constructor(options: RestateEngineOptions<Input, Result>) {
    this.#options = options;
    const { settings, name, orchestrate, journal, seal, onWait = () => undefined } = options;
    this.#api = new RestateApi(settings);
    this.#names = serviceNames(name);
    this.#carrier = new Carrier({ seal, onWait });
    this.#local = new JournalEngine({
      orchestrate: (input, scope) =>
        orchestrate(input, {
          ...scope,
          // A process that has lost a run takes no other course than the one that has it now.
          choose: async (name, choice) => {
            await this.#carrier.connection(scope.run);
            return scope.choose(name, choice);
          },
        }),
      journal: this.#carrier.journal(journal),
      children: {
        start: (run, input) => this.#startChild(run, input),
        cancel: (run) => this.cancel(run),
        ended: (run) => this.ended(run),
      },
    });
    this.#carrier.carryIn(this.#local);
  }

  /** Why Restate carries no runs now; `undefined` while it does, and until it was asked. */
  get outage(): string | undefined {
    return this.#outage;
  }

  /** Listens for Restate, has it call this process, and keeps doing so. Where it does not answer, runs wait. */
  async resume(): Promise<void> {
    await this.#listen();
    this.#watching ??= this.#watch();
  }

  async start(run: string, input: Input): Promise<void> {
    const { journal } = this.#options;
    if (await journal.load(run)) return;
    await journal.create(run, input);
    try {
      await this.#call(run, "start");
    } catch (error) {
      // It may have arrived all the same. What could not begin does not begin later.
      if (this.#local.isUnderWay(run)) return;
      if (this.#closed.signal.aborted) throw error;
      await journal.end(run, { state: "failed", error: `it could not begin: ${errorMessage(error)}` });
      throw error;
    }
  }

  send(run: string, name: string, value: unknown, { reopen = false } = {}): Promise<boolean> {
    return this.#sending.run(run, () => this.#sendNext(run, name, value, reopen));
  }

  async #sendNext(run: string, name: string, value: unknown, reopen: boolean): Promise<boolean> {
    if (await this.#canceling.get(run)?.catch(() => false)) return false;
    const journaled = await this.#options.journal.load(run);
    if (!journaled || journaled.isCanceled) return false;
    const begins = reopen && journaled.end?.state !== "failed";
    const sealed = this.#carrier.sealed(run, name, value);
    const earlier = [...journaled.entries.keys()].filter((entry) => entry.startsWith(`sent/${name}/`)).length;
    const number = await this.#send(run, { sealed, name, earlier, begins });
    if (number === null) return false;
    // Its journal has what reopens it, or what another process carries it with, before it can go on.
    if (journaled.end || !this.#local.isUnderWay(run))
      await this.#sees(run, ({ entries }) => entries.has(`sent/${name}/${number}`));
    if (this.#local.isUnderWay(run))
      await settlesWithin(this.#carrier.received(run, name, number), MOST_LOOKS * LOOK_MS);
    return true;
  }

  cancel(run: string): Promise<boolean> {
    const canceling = this.#cancel(run);
    this.#canceling.set(run, canceling);
    const over = () => void this.#canceling.delete(run);
    canceling.then(over, over);
    return canceling;
  }

  async #cancel(run: string): Promise<boolean> {
    // Where it runs, it is canceled whether Restate answers or not.
    if (await this.#local.cancel(run)) return true;
    const { journal } = this.#options;
    const sealed = this.#carrier.sealed(run, undefined, null);
    if ((await this.#send(run, { sealed })) === null) return false;
    const isStored = await this.#sees(run, ({ isCanceled, end }) => isCanceled || end !== undefined);
    if (!isStored) await journal.cancel(run);
    return true;
  }

  find(run: string): Promise<EngineRun<Result> | undefined> {
    return this.#local.find(run);
  }

  async ended(run: string): Promise<Result> {
    const { signal } = this.#closed;
    while ((await this.find(run))?.state === "running" && !this.#local.isUnderWay(run)) {
      if (signal.aborted) throw new Error("the engine is closed; the run is continued by the next one");
      await sleep(LOOK_MS, systemClock, signal);
    }
    return this.#local.ended(run);
  }

  async close(): Promise<void> {
    this.#closed.abort();
    this.#carrier.close();
    await this.#local.close();
    const served = await this.#served?.catch(() => undefined);
    await served?.close();
    await this.#watching;
  }

  /** A child of a run that is under way begins as soon as Restate answers. */
  async #startChild(run: string, input: Input): Promise<void> {
    await this.#options.journal.create(run, input);
    for (const { signal } = this.#closed; ; ) {
      try {
        await this.#call(run, "start");
        return;
      } catch (error) {
        if (signal.aborted) throw error;
        await sleep(CHECK_MS, systemClock, signal);
      }
    }
  }

  #listen(): Promise<ServedEngine> {
    const { settings, name, endpoint, onError = () => undefined } = this.#options;
    this.#served ??= (endpoint ?? new Endpoint(settings)).serve(endpoint ? name : "", {
      services: services(this.#names, this.#carrier),
      logger: ({ level }, message, ...more) => {
        const isOver = this.#closed.signal.aborted;
        if (level === "error" && !isOver)
          onError(new RestateError("unavailable", [message, ...more].join(" ")));
      },
    });
    return this.#served;
  }

  /** Has Restate know this process, and begins what it does not have, whenever it is there again. */
  async #watch(): Promise<void> {
    const { signal } = this.#closed;
    const { onError = () => undefined } = this.#options;
    for (let isKnown = false; !signal.aborted; ) {
      try {
        await this.#api.check(signal);
        if (!isKnown || (await this.#isElsewhere())) await this.#register();
        isKnown = true;
        this.#outage = undefined;
      } catch (error) {
        isKnown = false;
        const outage = errorMessage(error);
        if (!signal.aborted && this.#outage !== outage) onError(error);
        this.#outage = outage;
      }
      await sleep(CHECK_MS, systemClock, signal);
    }
  }

  async #register(): Promise<void> {
    const { journal, endpoint, isOwn = () => true } = this.#options;
    const { signal } = this.#closed;
    const uri = await this.#uri();
    const known = endpoint && (await this.#api.deploymentOf(this.#names.run, signal));
    await (known ? this.#api.move(known, uri, signal) : this.#api.register(uri, signal));
    this.#isTaking ||= known !== undefined && !isSame(known.uri, uri);
    await this.#api.revive(Object.values(this.#names), { isTaken: this.#isTaking, signal });
    this.#isTaking = false;
    for (const run of await journal.unfinished()) if (isOwn(run)) await this.#call(run, "start");
  }

  /** Whether Restate calls another process in place of this one, which alone is to be called. */
  async #isElsewhere(): Promise<boolean> {
    if (!this.#options.endpoint) return false;
    const known = await this.#api.deploymentOf(this.#names.run, this.#closed.signal);
    return !isSame(known?.uri, await this.#uri());
  }

  /** Where Restate reaches what is served here. */
  async #uri(): Promise<string> {
    const { settings, endpoint, name } = this.#options;
    const { host } = settings;
    const { port } = await this.#listen();
    const own = `http://${host.includes(":") ? `[${host}]` : host}:${port}`;
    return endpoint ? new URL(`${name}/`, `${settings.advertise ?? own}/`).href : (settings.advertise ?? own);
  }

  /** Whether the journal of a run comes to show something soon: the process that carries it has what was sent then. */
  async #sees(run: string, isThere: (journaled: JournaledRun<Input, Result>) => boolean): Promise<boolean> {
    const { signal } = this.#closed;
    for (let looks = 0; looks < MOST_LOOKS && !signal.aborted; looks += 1) {
      const journaled = await this.#options.journal.load(run);
      if (journaled && isThere(journaled)) return true;
      await sleep(LOOK_MS, systemClock, signal);
    }
    return false;
  }

  async #send(run: string, sending: InboxDelivery): Promise<number | null> {
    return z
      .number()
      .nullable()
      .parse(await this.#call(run, "send", sending));
  }

  async #call(key: string, handler: string, body?: InboxDelivery): Promise<unknown> {
    await this.#listen();
    const { signal } = this.#closed;
    // A server that is known to be away is not waited for.
    const isPatient = this.#outage === undefined;
    const target = { object: this.#names.inbox, key, handler };
    return this.#api.call(target, body, { id: randomUUID(), signal, isPatient });
  }
}

function isSame(one: string | undefined, other: string): boolean {
  return one?.replace(/\/+$/, "") === other.replace(/\/+$/, "");
}
