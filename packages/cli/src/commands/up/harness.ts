import {
  type AhpEvent,
  type BlockingEventType,
  closedDecision,
  type Decision,
  type EventCall,
  type Handlers,
  isBlocking,
} from "@reins/ahp";
import type { Harness, supervisorHandlers, Workplace } from "@reins/supervisor";
import { textOf } from "../../errors/render.ts";

/** Told of every event: what it was, and `undefined` or the decision it got. */
export type Witness = (event: AhpEvent, decision: string | undefined) => void;

/** How `reins up` answers AHP agents. */
export interface AhpHarnessOptions {
  /** The harness, once it is open. */
  readonly harness: () => Promise<Harness>;
  /** Where agents that only speak AHP work. */
  readonly workplace: Workplace;
  readonly witness: Witness;
  /** Told of a notification that was not taken, and why. */
  readonly onRefused: (event: AhpEvent, error: unknown) => void;
}

/** The supervisor of a home as an AHP harness. As long as the home cannot be opened, whatever waits for a decision is blocked. */
export function ahpHarness({ harness, workplace, witness, onRefused }: AhpHarnessOptions): Handlers {
  const known = new WeakMap<Harness, ReturnType<typeof supervisorHandlers>>();
  const handlers = async () => {
    const opened = await harness();
    const found = known.get(opened) ?? (await handlersOf(opened, workplace, onRefused));
    known.set(opened, found);
    return found;
  };
  return {
    async event(event, call): Promise<Decision> {
      const decision = await decided(event, call, handlers);
      witness(event, isBlocking(event.event_type) ? decision.decision : undefined);
      return decision;
    },
    async notification(event, call): Promise<void> {
      await (await handlers()).notification(event, call);
      witness(event, undefined);
    },
    query: async (request, call) => (await handlers()).query(request, call),
  };
}

async function decided(
  event: AhpEvent,
  call: EventCall,
  handlers: () => Promise<ReturnType<typeof supervisorHandlers>>,
): Promise<Decision> {
  try {
    return await (await handlers()).event(event, call);
  } catch (error) {
    if (!isBlocking(event.event_type)) throw error;
    const type: BlockingEventType = "pre_action";
    return closedDecision(type, `Reins allows nothing now: ${textOf(error)}`);
  }
}

/** Loaded when the harness is open, so that listening does not wait for it. */
async function handlersOf(
  { supervisor, identity, approvals, policies, runs, ledger, redact }: Harness,
  workplace: Workplace,
  onRefused: (event: AhpEvent, error: unknown) => void,
): Promise<ReturnType<typeof supervisorHandlers>> {
  const { supervisorHandlers } = await import("@reins/supervisor");
  const parts = { supervisor, identity, approvals, policies, runs, ledger, redact };
  return supervisorHandlers({ ...parts, workplaceOf: () => workplace, onRefused });
}
