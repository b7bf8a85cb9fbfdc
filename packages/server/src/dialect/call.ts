import type { IncomingMessage } from "node:http";
import type { Operation } from "@reins/api";
import type { Harness, Principal } from "@reins/supervisor";
import type { z } from "zod";
import type { Caller } from "../access/gatekeeper.ts";
import type { Doorway } from "../gateway/doorway.ts";
import type { SupervisorCode } from "./governing.ts";

/** What comes back: the body, in the form that the operation names, or nothing. */
export type Answer = object | undefined;

/** A request for an operation, read and checked. */
export interface PlainCall<Op extends Operation = Operation> {
  readonly params: z.output<Op["params"]>;
  readonly query: z.output<Op["query"]>;
  readonly body: z.output<Op["body"]>;
  readonly request: IncomingMessage;
  readonly doorway: Doorway;
  /** Sets a header of the answer. */
  header(name: string, value: string): void;
  /** Has the answer come with the other status that the operation names. */
  otherwise(): void;
}

/** What comes back where the operation alone does not say with what status. */
export interface HeldAnswer {
  readonly status: 200 | 202 | 204;
  /** The body as text of JSON, if there is one. */
  readonly text?: string | undefined;
}

/** One for which the harness is open, from somebody who may. */
export interface GovernedCall<Op extends Operation = Operation> extends PlainCall<Op> {
  readonly caller: Caller;
  /** Whoever asks, as they were when they did. */
  readonly principal: Principal;
  /** Whoever asks, as they are now; nothing when they may not ask for this any more. */
  asOfNow(): Promise<Principal | undefined>;
  readonly harness: Harness;
  /** The code behind the harness. It is not loaded before the harness is there. */
  readonly supervisor: SupervisorCode;
}

/** One whose answer may take as long as it takes. */
export interface HeldCall<Op extends Operation = Operation> extends GovernedCall<Op> {
  /** Has something done when whoever asked hangs up before the answer is there; gives back how to call that off. */
  whenGone(run: () => void): () => void;
}
