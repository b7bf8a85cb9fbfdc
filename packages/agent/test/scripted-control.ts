import { Advisor } from "../src/advisor/advisor.ts";
import type { ControlCall, ControlPort } from "../src/agent-dependencies.ts";
import type { DecisionEvents, DecisionEventType } from "../src/control/events.ts";

type Decide = {
  [Type in DecisionEventType]?: (
    payload: DecisionEvents[Type]["payload"],
  ) => DecisionEvents[Type]["decision"] | Promise<DecisionEvents[Type]["decision"]>;
};

/** A supervisor with scripted decisions and the advisor's for the rest. It records every event. */
export class ScriptedControl implements ControlPort {
  readonly asked: { type: DecisionEventType; payload: unknown }[] = [];
  // biome-ignore lint/suspicious/noExplicitAny: tests look into payloads of every shape
  readonly reported: any[] = [];
  readonly #decide: Decide;
  readonly #otherwise = new Advisor();

  constructor(decide: Decide = {}) {
    this.#decide = decide;
  }

  async ask<Type extends DecisionEventType>(
    type: Type,
    payload: DecisionEvents[Type]["payload"],
    call: ControlCall,
  ): Promise<DecisionEvents[Type]["decision"]> {
    this.asked.push({ type, payload });
    return this.#decide[type]?.(payload) ?? this.#otherwise.ask(type, payload, call);
  }

  readonly charged: { readonly tokens: number; readonly cost?: number }[] = [];

  async charge(usage: { readonly tokens: number; readonly cost?: number }): Promise<void> {
    this.charged.push(usage);
  }

  report: ControlPort["report"] = (type, payload) => void this.reported.push({ type, ...payload });

  /** The payloads of a type that a decision was requested for. */
  // biome-ignore lint/suspicious/noExplicitAny: tests look into payloads of every shape
  payloads(type: DecisionEventType): any[] {
    return this.asked.filter((one) => one.type === type).map(({ payload }) => payload);
  }
}
