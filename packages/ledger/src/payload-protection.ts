import { StoreError } from "@reins/store";
import type { ArtifactStore } from "./artifacts/artifact-store.ts";
import { withhold } from "./artifacts/private-payload.ts";
import type { Draft } from "./entry/draft.ts";
import { SEALED_PAYLOAD } from "./entry/entry.ts";
import { LedgerError } from "./ledger-error.ts";
import type { Audiences } from "./seal/audiences.ts";
import type { ParentlessContent } from "./tables/prepared-entry.ts";

/** What keeps content from those it is not for. */
export interface Concealers {
  /** Seals what is for an audience only. */
  readonly audiences?: Pick<Audiences, "seal">;
  /** Keeps what is private. */
  readonly artifacts?: ArtifactStore;
}

/** The concealing of what is recorded together; what was kept aside for it is erased should it not be recorded. */
export class Concealment {
  readonly #concealers: Concealers;
  readonly #kept: string[] = [];

  constructor(concealers: Concealers) {
    this.#concealers = concealers;
  }

  /** Takes out what is private and seals what is for an audience. */
  async conceal(draft: Draft, content: ParentlessContent): Promise<ParentlessContent> {
    const { artifacts, audiences } = this.#concealers;
    let { payload } = content;
    if (!artifacts && (draft.isPrivate || draft.audience === undefined)) {
      throw new LedgerError("invalid", "this ledger has no place for private content");
    }
    if (artifacts) {
      const withheld = await withhold(artifacts, payload, draft.isPrivate ?? (() => false));
      this.#kept.push(...withheld.artifacts.map(({ digest }) => digest));
      payload = withheld.payload;
    }
    if (draft.audience === undefined) return { ...content, payload };
    if (!audiences) throw new LedgerError("invalid", "this ledger knows no audiences");
    return {
      ...content,
      payload: SEALED_PAYLOAD,
      envelope: await audiences.seal(payload, draft.audience, content),
    };
  }

  /** Erases what was kept aside, because nothing was recorded. After a failure of the disk it may have been. */
  async giveUp(error: unknown): Promise<void> {
    if (error instanceof StoreError && error.code === "io") return;
    await Promise.allSettled(this.#kept.map((digest) => this.#concealers.artifacts?.erase(digest)));
  }
}
