import type { JsonObject } from "@reins/acp";
import type { Draft } from "@reins/ledger";
import type { Principal } from "@reins/supervisor";
import type { SessionRecord } from "../sessions/session-record.ts";
import type { AcceptedChanges } from "../sessions/session-state.ts";

/** What a client answered, and who sat in front of it. */
export interface ClientAnswer {
  readonly value: unknown;
  readonly by: Principal;
}

/** A question as one of the clients is asked it; nothing for one who is not. */
export type AskedOf = (client: Principal) => JsonObject | undefined;

/** How clients are asked. */
export interface RequestOptions {
  /** The ids of principals that are not asked, because they have no more to say to it. */
  readonly without?: ReadonlySet<string>;
  /** How each of them is asked, where that is not the same for all. */
  readonly asked?: AskedOf;
  /** The id of the only client that is asked. */
  readonly only?: string | undefined;
}

/** The clients of a session, as the governor sees them: any number, which come and go. */
export interface Clients {
  /** Tells all of them, in order. Settles when the next may be told. */
  notify(method: string, params: JsonObject): void | Promise<void>;
  /**
   * Asks them; the first answer counts, and from the others the question is taken back. While there is nobody it waits.
   * Aborting takes it back from all and rejects. A permission request is answered by a choice, or by the answer of the last
   * of them if all chose nothing. Any other is put only to those that offered to answer it; where none of those that are
   * there did, it fails as a method that is not known.
   */
  request(
    method: string,
    params: JsonObject,
    signal: AbortSignal,
    options?: RequestOptions,
  ): Promise<ClientAnswer>;
  /** The id of a client that offers to answer a request of an agent, and is asked alone: it has an effect there. */
  whoServes?(method: string, params: JsonObject): string | undefined;
  /**
   * Keeps the entry of a turn until it is in the ledger, whatever becomes of this process. Where nobody can, a turn ends
   * only when its entry is there.
   */
  concluded?(turn: Draft): void | Promise<void>;
}

/** A session as the governor sees it: only its owner changes and stores the record. */
export interface SessionPort {
  readonly record: SessionRecord;
  readonly clients: Clients;
  /** Has the owner apply what an agent accepted, and store it in one commit with the entry that says so. */
  started(changes: AcceptedChanges, entry: Draft): Promise<void>;
}
