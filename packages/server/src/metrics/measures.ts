import { METHODS as METHODS_OF_NODE } from "node:http";
import { monitorEventLoopDelay } from "node:perf_hooks";
import type { Clock } from "@reins/kit";
import type { Harness } from "@reins/supervisor";
import type { AnsweredRequest } from "../gateway/application.ts";
import { Counter, History, Timings } from "./instruments.ts";

const VERDICT_MS = [0.25, 0.5, 1, 2.5, 5, 10, 25, 50, 100, 250, 1_000];
const REQUEST_MS = [1, 5, 10, 25, 50, 100, 250, 500, 1_000, 5_000];
const WAIT_MS = [1_000, 5_000, 15_000, 60_000, 300_000, 900_000, 3_600_000, 86_400_000];
const STEP_MS = 5_000;
const ANSWERED: ReadonlySet<string> = new Set(["approved", "denied"]);
/** HTTP/2 allows any method name, which would not be bounded. */
const METHODS: ReadonlySet<string> = new Set(METHODS_OF_NODE);
const OTHER_METHOD = "other";

/** The metrics of the server since its start. */
export class Measures {
  readonly startedAt: Date;
  readonly decisions = new Counter();
  readonly verdicts: Timings;
  readonly answers = new Counter();
  readonly waits: Timings;
  readonly turns = new Counter();
  readonly tokens = new Counter();
  readonly cost = new Counter();
  readonly ledgerEntries = new Counter();
  readonly requests = new Counter();
  readonly requestTimes: Timings;
  readonly history: History;
  readonly #clock: Clock;
  readonly #attended = new WeakSet<Harness>();
  readonly #delay = monitorEventLoopDelay({ resolution: 20 });
  /** Event loop delay in the last step. */
  #loop = { p50: 0, p99: 0, max: 0 };
  #logEvents: () => number = () => 0;
  #pending = 0;
  #cancel: () => void = () => undefined;

  constructor(clock: Clock) {
    const now = () => clock.now().getTime();
    this.#clock = clock;
    this.startedAt = clock.now();
    this.verdicts = new Timings(VERDICT_MS, now);
    this.requestTimes = new Timings(REQUEST_MS, now);
    this.waits = new Timings(WAIT_MS, now);
    this.history = new History(STEP_MS);
  }

  /** Starts sampling the process. */
  start(): void {
    this.#delay.enable();
    this.#stepLater();
  }

  stop(): void {
    this.#cancel();
    this.#delay.disable();
  }

  /** Subscribes to the decisions of a harness, once per harness. */
  attend(harness: Harness, logEvents: () => number): void {
    this.#logEvents = logEvents;
    if (this.#attended.has(harness)) return;
    this.#attended.add(harness);
    harness.supervisor.observe({
      decided: ({ verdict, enforcement }, ms) => {
        this.decisions.add({ verdict, enforcement });
        this.verdicts.note(ms);
      },
      turnEnded: ({ tokens = 0, cost = 0 }) => {
        this.turns.add();
        this.tokens.add({}, tokens);
        this.cost.add({}, cost);
      },
    });
    harness.ledger.subscribe((entries) => this.ledgerEntries.add({}, entries));
    harness.approvals.subscribe(({ at, approval: { state, created_at } }) => {
      if (state === "pending") return;
      this.answers.add({ state });
      if (ANSWERED.has(state)) this.waits.note(Date.parse(at) - Date.parse(created_at));
    });
  }

  /** Counts a request that was answered. */
  readonly answered = ({ method, status, ms, streams }: AnsweredRequest): void => {
    const counted = METHODS.has(method) ? method : OTHER_METHOD;
    this.requests.add({ method: counted, status: `${Math.floor(status / 100)}xx` });
    if (!streams) this.requestTimes.note(ms);
  };

  /** Sets the number of pending approvals. */
  set pending(count: number) {
    this.#pending = count;
  }

  /** The event loop delay in the last step, in milliseconds. */
  get loop(): { readonly p50: number; readonly p99: number; readonly max: number } {
    return this.#loop;
  }

  /** The number of logged messages. */
  get logEvents(): number {
    return this.#logEvents();
  }

  #stepLater(): void {
    this.#cancel = this.#clock.after(STEP_MS, () => {
      this.#step();
      this.#stepLater();
    });
  }

  #step(): void {
    const ms = (nanoseconds: number) => Math.round(nanoseconds / 1_000) / 1_000;
    this.#loop = {
      p50: ms(this.#delay.percentile(50)),
      p99: ms(this.#delay.percentile(99)),
      max: ms(this.#delay.max),
    };
    this.#delay.reset();
    const { p50, p99, count } = this.verdicts.percentiles(STEP_MS);
    const verdicts = this.decisions.by("verdict");
    this.history.add(this.#clock.now().getTime(), {
      decisions: this.decisions.total,
      blocked: verdicts.blocked ?? 0,
      asked: verdicts.ask ?? 0,
      ledger_entries: this.ledgerEntries.total,
      log_events: this.logEvents,
      requests: this.requests.total,
      latency_p50_ms: count === 0 ? null : p50,
      latency_p99_ms: count === 0 ? null : p99,
      event_loop_p99_ms: this.#loop.p99,
      rss_bytes: process.memoryUsage.rss(),
      pending_approvals: this.#pending,
    });
  }
}
