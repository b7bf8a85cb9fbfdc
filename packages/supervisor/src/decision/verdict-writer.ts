import type { Draft, Ledger } from "@reins/ledger";
import { type ControlEvent, isModest, type Policy } from "@reins/policy";
import type { Change } from "@reins/store";
import type { Commitment } from "../record/commitment.ts";
import { withoutSecrets } from "../record/redacted-draft.ts";
import { knownRedactor } from "../redaction/redact.ts";
import type { Redactor } from "../redaction/redactor.ts";
import { type Buffered, BufferedRecords } from "./buffered-records.ts";
import type { Decided } from "./decided.ts";
import type { DecisionRequest } from "./decision-context.ts";
import { refusalDraft, type VerdictRecord, verdictDraft } from "./verdict-record.ts";

/** What a writer of verdicts stands on. */
export interface VerdictWriterOptions {
  readonly ledger: Ledger;
  /** The policy of a tenant, as it is in force now. */
  readonly policyFor: (tenant: string) => Policy | undefined;
  /** Commits to what an agent sent, which itself is not recorded. */
  readonly commitment?: Pick<Commitment, "to">;
  /** Takes secrets out of what is recorded; by default those that are known by their form. */
  readonly redactor?: Redactor;
  /** Told when a verdict could not be written. */
  readonly onRecordError?: (error: unknown) => void;
  readonly now: () => number;
}

/** Writes verdicts down: those that let something through before they are told, the others a little later. */
export class VerdictWriter {
  readonly #options: VerdictWriterOptions;
  readonly #redactor: Redactor;
  readonly #buffered: BufferedRecords;

  constructor(options: VerdictWriterOptions) {
    this.#options = options;
    this.#redactor = options.redactor ?? knownRedactor();
    this.#buffered = new BufferedRecords(options.ledger, (error) => this.tell(error));
  }

  /** Writes a verdict in one commit with what belongs to it; settles with its entry once that is on the disk. */
  now(
    request: DecisionRequest,
    record: VerdictRecord,
    changes: readonly Change<unknown>[],
  ): ReturnType<Ledger["record"]> {
    // What was decided before comes before it in the ledger, too.
    this.#buffered.hurry();
    return this.#options.ledger.record([this.#draft(request, record)], { with: changes });
  }

  /** Writes a verdict that lets nothing through; without its facts, if they cannot be written. */
  later(request: DecisionRequest, record: VerdictRecord): Buffered {
    return this.#buffered.add(() => this.#draft(request, record), this.#refusal(request, record.decided));
  }

  /** Writes that something was blocked because it could not be decided. */
  refused(request: DecisionRequest, decided: Omit<Decided, "entry">): Buffered {
    return this.#buffered.add(this.#refusal(request, decided));
  }

  /** Settles when everything is written. */
  flush(): Promise<void> {
    return this.#buffered.flush();
  }

  /** Tells what could not be written. Whoever listens must not be able to make a verdict fail. */
  tell(error: unknown): void {
    try {
      this.#options.onRecordError?.(error);
    } catch {
      // There is nobody else to tell.
    }
  }

  #draft({ event }: DecisionRequest, record: VerdictRecord): Draft {
    this.#redactor.remember(record.input.subject);
    const draft = verdictDraft(record, this.#commitTo(event));
    return withoutSecrets(draft, this.#redactor.knowing(event.payload));
  }

  #refusal({ event, subject }: DecisionRequest, decided: Omit<Decided, "entry">): () => Draft {
    return () => {
      const hashes = this.#options.policyFor(subject.tenant)?.hashes;
      const at = this.#options.now();
      // What is too deep or too large to be judged is so to be committed to.
      const commitment = isModest(event.payload) ? this.#commitTo(event) : undefined;
      const draft = refusalDraft({ event, subject, at, decided, hashes }, commitment);
      return withoutSecrets(draft, (value) => this.#redactor.value(value));
    };
  }

  #commitTo({ payload }: ControlEvent): string | undefined {
    return this.#options.commitment?.to(payload);
  }
}
