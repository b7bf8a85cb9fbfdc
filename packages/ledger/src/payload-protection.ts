import { StoreError } from "@reins/store";
import type { ArtifactStore } from "./artifacts/artifact-store.ts";
import { withhold } from "./artifacts/private-payload.ts";
import type { Draft } from "./entry/draft.ts";
import { SEALED_PAYLOAD } from "./entry/entry.ts";
import { LedgerError } from "./ledger-error.ts";
import type { Audiences } from "./seal/audiences.ts";
import type { ParentlessContent } from "./tables/prepared-entry.ts";

/** Where protected content goes. */
export interface ProtectionOptions {
  /** Seals what is for an audience only. */
  readonly audiences?: Pick<Audiences, "seal">;
  /** Keeps what is private. */
  readonly artifacts?: ArtifactStore;
}

/** Protects the payloads of one commit; the artifacts made for it are erased should it fail. */
export class PayloadProtection {
  readonly #options: ProtectionOptions;
  readonly #artifacts: string[] = [];

  constructor(options: ProtectionOptions) {
    this.#options = options;
  }

  /** Moves private parts into artifacts and seals what is for an audience. */
  async protect(draft: Draft, content: ParentlessContent): Promise<ParentlessContent> {
    const { artifacts, audiences } = this.#options;
    let { payload } = content;
    if (!artifacts && (draft.isPrivate || draft.audience === undefined)) {
      throw new LedgerError("invalid", "this ledger has no place for private content");
    }
    if (artifacts) {
      const withheld = await withhold(artifacts, payload, draft.isPrivate ?? (() => false));
      this.#artifacts.push(...withheld.artifacts.map(({ digest }) => digest));
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

  /** Erases the artifacts of a commit that failed. After a failure of the disk it may have been written, so they stay. */
  async undo(error: unknown): Promise<void> {
    if (error instanceof StoreError && error.code === "io") return;
    await Promise.allSettled(this.#artifacts.map((digest) => this.#options.artifacts?.erase(digest)));
  }
}
