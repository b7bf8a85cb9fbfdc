import { createHash } from "node:crypto";
import {
  CONTROL,
  type Control,
  type ControlOrigin,
  type EngineEnd,
  type JournaledRun,
  type ProjectedControl,
  projectControl,
  type RunJournal,
  StoreJournal,
  sentNumber,
} from "@reins/graph";
import { errorMessage, exponentialBackoff, sleep, systemClock } from "@reins/kit";
import type { Draft } from "@reins/ledger";
import { type Change, StoreError } from "@reins/store";
import { type Harness, VaultError } from "@reins/supervisor";
import { isFull } from "../log/backlog.ts";
import type { ActionDetails, GraphRun } from "./graph-run.ts";
import { CONTROL_CHANGES, nameControlEntries } from "./open-verdicts.ts";

/** What changes with the journal of a run: in the same commit, and for all to see once that is stored. */
export interface RunTransition {
  readonly changes: () => readonly Change<unknown>[];
  readonly stored: () => Promise<void> | void;
  /** Called when it is not stored, for good. */
  readonly undo: () => void;
}

export interface RecordedJournalOptions<Result> {
  readonly harness: Pick<Harness, "record" | "store" | "vault">;
  /** Whether a run is to last: what others store is not waited for on the disk. */
  readonly isDurable: (run: string) => boolean;
  /** Aborts when Reins stops. */
  readonly stopping: AbortSignal;
  /** Called when a run has to wait until something of it can be stored, and with `undefined` when it is. */
  readonly onWait: (run: string, reason: string | undefined) => void;
  /** What the end of a run changes. */
  readonly ending?: (run: string, end: EngineEnd<Result>) => Promise<RunTransition>;
  /** What a value changes that reopens a run. Rejects where the run is not reopened by it. */
  readonly reopening?: (run: string, value: unknown) => Promise<RunTransition>;
  /** Called when a control is stored and recorded, with its number; a cancel of the run has none. */
  readonly onControl?: (run: string, control: ProjectedControl, number: number | undefined) => void;
}

const AGAIN = { firstMs: 250, mostMs: 5_000 };

/**
 * The journal of runs, sealed. Stores the result of an attempt in one commit with the ledger entries that tell of it. Where
 * there is no room on the disk it waits until there is: what was done is not forgotten, and not done again.
 */
export class RecordedJournal<Input, Result>
  extends StoreJournal<Input, Result>
  implements RunJournal<Input, Result>
{
  readonly #options: RecordedJournalOptions<Result>;
  readonly #drafts = new Map<string, readonly Draft[]>();
  /** Names under which what comes next is not waited for on the disk. */
  readonly #relaxed = new Set<string>();
  /** What is stored beside the value that comes next under a name. */
  readonly #beside = new Map<string, readonly Change<unknown>[]>();
  /** Who cancels runs, until that is being stored. */
  readonly #cancels = new Map<string, ControlOrigin | undefined>();
  /** Settles when the write that a run waits for is over. */
  readonly #waiting = new Map<string, Promise<void>>();

  constructor(options: RecordedJournalOptions<Result>) {
    super(options.harness.store, options.harness.vault);
    this.#options = options;
  }

  /** Has entries recorded with the value that is stored next under a name. */
  recordWith(run: string, name: string, drafts: readonly Draft[]): void {
    this.#drafts.set(`${run}/${name}`, drafts);
  }

  /** Has the value that is stored next under a name not waited for on the disk: without it, it is made again. */
  relax(run: string, name: string): void {
    this.#relaxed.add(`${run}/${name}`);
  }

  /** Has what is known of an action stored with the result of an attempt at it; a long input is shown alone. */
  knownWith(run: string, attempt: string, { input, prompt, assignment, ...known }: ActionDetails): void {
    const shown = { input, prompt, assignment };
    const details = { ...known, ...(JSON.stringify(shown).length <= LONGEST_SHOWN && shown) };
    this.#beside.set(`${run}/${attempt}`, [this.entry(run, `${KNOWN}${attempt}`, details)]);
  }

  /** Cancels a run, and has recorded who does: of several at the same time, the first. */
  async cancelingBy(run: string, origin: ControlOrigin, cancel: () => Promise<unknown>): Promise<void> {
    const isFirst = !this.#cancels.has(run);
    if (isFirst) this.#cancels.set(run, origin);
    try {
      await cancel();
    } finally {
      if (isFirst) this.#cancels.delete(run);
    }
  }

  override async append(
    run: string,
    name: string,
    value: unknown,
    how: { readonly durable: boolean },
  ): Promise<void> {
    const { harness, isDurable } = this.#options;
    const key = `${run}/${name}`;
    const drafts = this.#drafts.get(key);
    const beside = this.#beside.get(key) ?? [];
    const isRelaxed = this.#relaxed.delete(key);
    const durable = how.durable && isDurable(run) && !isRelaxed;
    this.#drafts.delete(key);
    this.#beside.delete(key);
    const control = controlIn(name, value);
    await this.#untilStored(run, async () => {
      const changes = [this.entry(run, name, value), ...beside];
      if (control) return this.#commit(run, changes, control, durable);
      if (drafts) await harness.record(drafts, { with: changes, durable });
      else if (how.durable === durable && beside.length === 0) await super.append(run, name, value, how);
      else await harness.store.commit(changes, { durable });
    });
  }

  /** Stores that an output is about to be written: after a stop, one that nothing refers to is found by that. */
  async announce(run: GraphRun, digest: string): Promise<void> {
    run.outputs.add(digest);
    const entry = this.entry(run.key, `${OUTPUT}${digest}`, null);
    await this.#untilStored(run.key, () => this.#commit(run.key, [entry], undefined, false));
  }

  /** What cannot be opened any more, because the key is lost, is not there. */
  override async load(run: string): Promise<JournaledRun<Input, Result> | undefined> {
    try {
      return await super.load(run);
    } catch (error) {
      if (error instanceof VaultError) return undefined;
      throw error;
    }
  }

  override async end(run: string, end: EngineEnd<Result>): Promise<void> {
    const transition = await this.#options.ending?.(run, end);
    const changes = () => [this.ending(run, end), ...(transition?.changes() ?? [])];
    await this.#change(transition, () =>
      this.#untilStored(run, () => this.#commit(run, changes(), undefined)),
    );
  }

  override async reopen(run: string, name: string, value: unknown): Promise<void> {
    const transition = await this.#options.reopening?.(run, value);
    // Where there is no room it is refused, as a new run is.
    const changes = () => [...this.reopening(run, name, value), ...(transition?.changes() ?? [])];
    await this.#change(transition, () => this.#commit(run, changes(), controlIn(name, value)));
  }

  override cancel(run: string): Promise<void> {
    const origin = this.#cancels.get(run);
    if (origin) this.#cancels.set(run, undefined);
    const changes = [this.canceling(run), ...(origin ? [this.entry(run, CANCELED, origin)] : [])];
    return this.#untilStored(run, () => this.#commit(run, changes, origin && { origin }));
  }

  /** Stores changes, in one commit with what the ledger says of a control. */
  async #commit(
    run: string,
    changes: readonly Change<unknown>[],
    sent: SentControl | undefined,
    durable = true,
  ): Promise<void> {
    const { harness, onControl } = this.#options;
    if (!sent) return void (await harness.store.commit(changes, { durable }));
    const control = projectControl(sent.control, sent.origin);
    const { entries } = await harness.record([controlDraft(run, control, sent.origin)], {
      with: changes,
      durable,
    });
    const [{ cid: entry } = {}] = entries;
    onControl?.(run, { ...control, ...(entry !== undefined && { entry }) }, sent.number);
  }

  /** Does something about a run that stores what came of it, again and again where there is no room for that. */
  async untilRoom<Value>(run: string, act: () => Promise<Value>): Promise<Value> {
    const { stopping, onWait } = this.#options;
    for (let failures = 0; ; ) {
      try {
        const value = await act();
        if (failures > 0) onWait(run, undefined);
        return value;
      } catch (error) {
        if (!isRetryable(error) || stopping.aborted) throw error;
        failures += 1;
        onWait(run, waitingFor(error));
        await sleep(exponentialBackoff(AGAIN, failures), systemClock, stopping);
      }
    }
  }

  /** Writes until that succeeds. What a run writes meanwhile waits behind it, so that the order stays. */
  async #untilStored(run: string, write: () => Promise<void>): Promise<void> {
    for (;;) {
      await this.#waiting.get(run);
      try {
        return await write();
      } catch (error) {
        if (!isRetryable(error) || this.#options.stopping.aborted) throw error;
        if (this.#waiting.has(run)) continue;
        const waiting = this.#again(run, write, error);
        const over = waiting
          .then(
            () => undefined,
            () => undefined,
          )
          .finally(() => this.#waiting.delete(run));
        this.#waiting.set(run, over);
        return waiting;
      }
    }
  }

  async #change(transition: RunTransition | undefined, store: () => Promise<void>): Promise<void> {
    try {
      await store();
    } catch (error) {
      transition?.undo();
      throw error;
    }
    await transition?.stored();
  }

  async #again(run: string, write: () => Promise<void>, first: unknown): Promise<void> {
    const { stopping, onWait } = this.#options;
    let error = first;
    for (let failures = 1; ; failures += 1) {
      onWait(run, waitingFor(error));
      await sleep(exponentialBackoff(AGAIN, failures), systemClock, stopping);
      try {
        await write();
        onWait(run, undefined);
        return;
      } catch (again) {
        if (!isRetryable(again) || stopping.aborted) throw again;
        error = again;
      }
    }
  }
}

/** What was sent to a run to change it; a cancel of the run is no value. */
interface SentControl {
  readonly control?: Control | undefined;
  readonly origin: ControlOrigin;
  readonly number?: number | undefined;
}

/** The control that a journal has under a name, with who sent it. */
function controlIn(name: string, value: unknown): SentControl | undefined {
  const number = sentNumber(name, CONTROL);
  if (number === undefined) return undefined;
  // Controls are sent by `sendControl` alone.
  const control = value as Control;
  return control.origin && { control, origin: control.origin, number };
}

/** The entry of what was changed in a run, in the chain of its session. */
function controlDraft(
  key: string,
  { kind, declaration, ...shown }: ProjectedControl,
  { by, session, chain }: ControlOrigin,
): Draft {
  const change = CONTROL_CHANGES[kind];
  const run_id = key.slice(key.lastIndexOf("/") + 1);
  const digest = declaration && createHash("sha256").update(declaration).digest("hex");
  return {
    quality: "session_lifecycle",
    actor: by,
    target: session ?? run_id,
    ...(chain !== undefined && { entity_id: chain }),
    tags: [change, `run:${run_id}`],
    payload: {
      ...{ change, run_id, ...shown },
      ...(declaration !== undefined && { declaration: { digest, size: Buffer.byteLength(declaration) } }),
    },
  };
}

/** The name under which the journal has who canceled a run. */
const CANCELED = "canceled";
/** The beginning of the names under which the journal has what is known of an action after an attempt at it. */
const KNOWN = "known/";
/** The beginning of the names under which the journal has the digests of outputs, before these are written. */
const OUTPUT = "output/";
/** No number of an attempt is as long, whatever its action is called. */
const OUTPUT_NAME = /^output\/[0-9a-f]{64}$/;
/** The most characters of an input and an assignment that the journal keeps to be shown again. */
const LONGEST_SHOWN = 4_000;

/** Takes over what an earlier process stored of a run in the journal alone. */
export async function recall(
  run: GraphRun,
  entries: ReadonlyMap<string, unknown>,
  harness: Pick<Harness, "ledger">,
): Promise<void> {
  const attempts = new Map<string, number>();
  for (const [name, value] of entries) {
    const sent = controlIn(name, value);
    if (sent) run.control(projectControl(sent.control, sent.origin), sent.number);
    // Stored by `cancel`.
    if (name === CANCELED) run.control(projectControl(undefined, value as ControlOrigin), undefined);
    if (OUTPUT_NAME.test(name)) run.outputs.add(name.slice(OUTPUT.length));
    const [action, number] = name.startsWith(KNOWN) ? name.slice(KNOWN.length).split("/") : [];
    if (action === undefined || Number(number) <= (attempts.get(action) ?? 0)) continue;
    attempts.set(action, Number(number));
    // Written by `knownWith`.
    run.note(action, value as ActionDetails);
  }
  run.children.load(entries);
  await nameControlEntries(harness, run);
}

function waitingFor(error: unknown): string {
  return `it waits until it can be stored: ${errorMessage(error)}`;
}

function isRetryable(error: unknown): boolean {
  return (error instanceof StoreError && error.retryable) || isFull(error);
}
