import type { Tables } from "@reins/store";
import type { SessionMode, SessionRecord, SessionState } from "./session-record.ts";

/** Which sessions. */
export interface SessionRange {
  readonly tenant: string;
  readonly agent?: string | undefined;
  readonly state?: SessionState | undefined;
  /** Those of one principal only. */
  readonly principal?: string | undefined;
  /** Those that work in one folder only. */
  readonly cwd?: string | undefined;
  /** Those that one session began only. */
  readonly parent?: string | undefined;
  /** Only those that have not ended. */
  readonly open?: boolean | undefined;
  readonly mode?: SessionMode | undefined;
  /** Only those that were last active before a time, RFC 3339. */
  readonly before?: string | undefined;
  /** The id of the last one of the page before. */
  readonly after?: string | undefined;
  readonly limit: number;
}

/** What is changed about sessions. */
export type SessionChanges = {
  /** Writes a session over its former record. */
  put(args: SessionRecord): undefined;
};

/** What is asked about them. */
export type SessionQueries = {
  get(args: { id: string; tenant: string }): SessionRecord | undefined;
  /** The newest session of a key, also one that has ended. */
  byKey(args: { key: string; tenant: string }): SessionRecord | undefined;
  /** The most recently active first. */
  list(args: SessionRange): SessionRecord[];
  /** How many have not ended, of a tenant and of one principal in it. */
  countOpen(args: { tenant: string; principal: string }): {
    readonly tenant: number;
    readonly principal: number;
  };
  /** The agents of those that have not ended. */
  agents(args: { tenant: string }): string[];
  /** Those whose MCP servers were sealed with some keys, by id. */
  sealedWithKeys(args: { keys: readonly string[]; after: string; limit: number }): SessionRecord[];
};

/** The sessions of a home. */
export const sessionTables: Tables<SessionChanges, SessionQueries> = {
  name: "sessions",
  module: new URL("./module.ts", import.meta.url),
};
