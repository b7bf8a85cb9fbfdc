/** Something known, for later sessions to find. */
export interface MemoryFact {
  readonly id: string;
  readonly content: string;
  /** Who or what it is from, such as a session. */
  readonly source: string;
  /** From 0 to 1. */
  readonly confidence: number;
  /** The folder it is true in; empty when it is true everywhere. */
  readonly workspace: string;
  /** When it was last said, RFC 3339. */
  readonly created_at: string;
}

/** A fact to be kept. */
export interface NewFact {
  readonly content: string;
  readonly source: string;
  readonly confidence?: number;
  readonly workspace?: string;
}

/** A fact that was found, and how well it fits. */
export interface RecalledFact extends MemoryFact {
  readonly score: number;
}

/** What is to be recalled. */
export interface RecallQuery {
  readonly query: string;
  readonly limit: number;
  /** Where the one who asks works: facts of other folders are left out. */
  readonly workspace?: string;
}

/** What sessions of one owner know together. Saying the same again keeps one fact and makes it newer. */
export interface Memory {
  remember(fact: NewFact): Promise<MemoryFact>;
  /** The facts that fit best, best first. */
  recall(query: RecallQuery): Promise<RecalledFact[]>;
  /** The newest facts. */
  list(limit: number): Promise<MemoryFact[]>;
  /** Whether there was such a fact. */
  forget(id: string): Promise<boolean>;
}
