import { Advisor } from "../src/advisor/advisor.ts";
import type { ControlCall, ControlPort } from "../src/control/control-port.ts";
import type { AskedEvents, AskedEventType } from "../src/control/events.ts";

type Decide = {
  [Type in AskedEventType]?: (
    payload: AskedEvents[Type]["payload"],
  ) => AskedEvents[Type]["decision"] | Promise<AskedEvents[Type]["decision"]>;
};

/** A supervisor that decides as a test wrote, and otherwise by default; it remembers what it was asked and told. */
export class ScriptedControl implements ControlPort {
  readonly asked: { type: AskedEventType; payload: unknown }[] = [];
  // biome-ignore lint/suspicious/noExplicitAny: tests look into payloads of every shape
  readonly told: any[] = [];
  readonly #decide: Decide;
  readonly #otherwise = new Advisor();

  constructor(decide: Decide = {}) {
    this.#decide = decide;
  }

  async ask<Type extends AskedEventType>(
    type: Type,
    payload: AskedEvents[Type]["payload"],
    call: ControlCall,
  ): Promise<AskedEvents[Type]["decision"]> {
    this.asked.push({ type, payload });
    return this.#decide[type]?.(payload) ?? this.#otherwise.ask(type, payload, call);
  }

  readonly charged: { readonly tokens: number; readonly cost?: number }[] = [];

  async charge(usage: { readonly tokens: number; readonly cost?: number }): Promise<void> {
    this.charged.push(usage);
  }

  tell: ControlPort["tell"] = (type, payload) => void this.told.push({ type, ...payload });

  /** The payloads of a type that were asked about. */
  // biome-ignore lint/suspicious/noExplicitAny: tests look into payloads of every shape
  payloads(type: AskedEventType): any[] {
    return this.asked.filter((one) => one.type === type).map(({ payload }) => payload);
  }
}
