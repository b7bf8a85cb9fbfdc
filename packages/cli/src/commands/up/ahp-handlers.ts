import {
  type AhpEvent,
  closedDecision,
  DECISIONS,
  type Decision,
  type Decisions,
  decode,
  type EventCall,
  type Handlers,
  isBlocking,
  type Payloads,
  type SpecialisedEventType,
  type SpecialisedHandlers,
} from "@reins/ahp";
import { familyAnswers, type NativeSettings } from "@reins/host";
import { errorMessage } from "@reins/kit";
import { type Harness, type HookPort, supervisorHandlers, type Workspace } from "@reins/supervisor";
import type { z } from "zod";

/** Called for every event; the decision is undefined for events without one. */
export type DecisionObserver = (event: AhpEvent, decision: string | undefined) => void;

interface AhpHandlerOptions {
  readonly harness: () => Promise<Harness>;
  /** The sessions of agents whose hooks ask; by default none are shown. */
  readonly hooks?: () => Promise<HookPort>;
  /** The folder of agents that only speak AHP. */
  readonly workspace: Workspace;
  readonly observe: DecisionObserver;
  /** Settings of the typed families, as for the native agent. */
  readonly native?: NativeSettings | undefined;
  /** Called for a notification that was rejected. */
  readonly onRefused: (event: AhpEvent, error: unknown) => void;
}

/**
 * The supervisor of a home as AHP handlers. While the home cannot be opened, events that need a decision are
 * blocked.
 */
export function ahpHandlers(options: AhpHandlerOptions): Handlers {
  const { harness, observe } = options;
  const known = new WeakMap<Harness, ReturnType<typeof supervisorHandlers>>();
  const handlers = async () => {
    const opened = await harness();
    const found = known.get(opened) ?? (await handlersOf(opened, options));
    known.set(opened, found);
    return found;
  };
  return {
    async event(event, call): Promise<Decision> {
      const decision = await decided(event, call, handlers);
      observe(event, isBlocking(event.event_type) ? decision.decision : undefined);
      return decision;
    },
    async notification(event, call): Promise<void> {
      await (await handlers()).notification(event, call);
      observe(event, undefined);
    },
    query: async (request, call) => (await handlers()).query(request, call),
    ...typedFamilies(handlers, observe),
  };
}

type Open = () => Promise<ReturnType<typeof supervisorHandlers>>;

type Families = {
  readonly [Type in SpecialisedEventType]: (payload: Payloads[Type], call: EventCall) => unknown;
};

/** The typed families; each returns its closed decision on an error. */
function typedFamilies(handlers: Open, observe: DecisionObserver): Required<SpecialisedHandlers> {
  const schemas: { readonly [Key in SpecialisedEventType]: z.ZodType<Decisions[Key]> } = DECISIONS;
  const family =
    <Type extends SpecialisedEventType>(type: Type) =>
    async (payload: Payloads[Type], call: EventCall): Promise<Decisions[Type]> => {
      const decision = await closedOnFault(type, async () => {
        const families: Families = await handlers();
        return decode(schemas[type], await families[type](payload, call));
      });
      observe(call.event, decision.decision);
      return decision;
    };
  return {
    idle: family("idle"),
    context_perception: family("context_perception"),
    memory_recall: family("memory_recall"),
    planning: family("planning"),
    reasoning: family("reasoning"),
    rate_limit: family("rate_limit"),
    confirmation: family("confirmation"),
    intent_detection: family("intent_detection"),
  };
}

async function closedOnFault<Type extends SpecialisedEventType>(
  type: Type,
  decide: () => Promise<Decisions[Type]>,
): Promise<Decisions[Type]> {
  try {
    return await decide();
  } catch (error) {
    return closedDecision(type, `Reins allows nothing now: ${errorMessage(error)}`);
  }
}

async function decided(event: AhpEvent, call: EventCall, handlers: Open): Promise<Decision> {
  try {
    return await (await handlers()).event(event, call);
  } catch (error) {
    if (!isBlocking(event.event_type)) throw error;
    return closedDecision("pre_action", `Reins allows nothing now: ${errorMessage(error)}`);
  }
}

/** Loaded when the harness is open, so that listening does not wait for it. */
async function handlersOf(
  harness: Harness,
  { workspace, hooks, onRefused, native }: AhpHandlerOptions,
): Promise<ReturnType<typeof supervisorHandlers>> {
  const { supervisor, identity, approvals, policies, runs, reports, ledger, redact, quotas } = harness;
  const parts = { supervisor, identity, approvals, policies, runs, reports, ledger, redact, quotas };
  return supervisorHandlers({
    ...parts,
    advise: (tenant, type, payload) => harness.advise(tenant, type, payload),
    forward: (tenant, event) => harness.forward(tenant, event),
    families: familyAnswers(harness, native),
    workspaceOf: () => workspace,
    hooks: await hooks?.(),
    onRefused,
  });
}
