import type { JournalSeal, Orchestration, RunEngine, RunJournal } from "@reins/graph";

/** What an engine that carries durable runs is opened with. */
interface DurableEngineParts<Input, Result> {
  readonly orchestrate: Orchestration<Input, Result>;
  /** Where what runs did is stored, in one commit with what the ledger says of it. */
  readonly journal: RunJournal<Input, Result>;
  /** Seals what the engine keeps elsewhere. */
  readonly seal: JournalSeal;
  /** The name of the ledger: the same in all processes that serve one home. */
  readonly origin: string;
  /** Called when a run has to wait for the engine, and with `undefined` when it no longer does. */
  readonly onWait: (run: string, reason: string | undefined) => void;
  /** Receives errors of background work. */
  readonly onError: (error: unknown) => void;
}

/** An engine beside the embedded one. */
export interface DurableEngine<Input, Result> extends RunEngine<Input, Result> {
  /** Why it carries no runs now; `undefined` while it does. */
  readonly outage: string | undefined;
}

export type OpenDurableEngine = <Input, Result>(
  parts: DurableEngineParts<Input, Result>,
) => DurableEngine<Input, Result>;
