import type { Model, ModelEvent, ModelInfo } from "./model.ts";
import { ModelError } from "./model-error.ts";

/** Stands for a model that was asked for by name and cannot run: every request says why. */
export class UnavailableModel implements Model {
  readonly info: ModelInfo;
  /** Why it cannot run. */
  readonly reason: string;
  /** Whether it is a model of a provider that lacks a key, not a name of none. */
  readonly isKnown: boolean;

  constructor(id: string, reason: string, isKnown: boolean) {
    this.isKnown = isKnown;
    this.info = { id, contextTokens: 128_000, maxOutputTokens: 8_192, images: false, summarises: false };
    this.reason = reason;
  }

  // biome-ignore lint/correctness/useYield: it never gets that far
  async *stream(): AsyncIterable<ModelEvent> {
    throw new ModelError("not_configured", this.reason);
  }
}
